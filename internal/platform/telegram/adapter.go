// Package telegram joins Telegram's Bot API to a chat.Handler, by long polling or by
// webhook. An update goes one way:
//
//	poll.go, webhook.go   take it, and acknowledge it when it is answered
//	parse.go              finds the command in a message, a press or an inline query
//	respond.go            has it handled, rendered (render.go) and sent
//	cleanup.go            takes away in a group what has served
//	outbox                sends: at Telegram's pace, again where that is worth it
//
// What people read before they ask anything is set at the start (profile.go).
//
// Sent messages are not stored; only the IDs of those to be deleted later are
// (cleanup.go). A button holds what it asks, and a question the command that it belongs
// to. So both work after a restart, and both are checked like typed text.
//
// A polled update counts as answered once its answer is out, so a stop in the middle
// loses nothing. A webhook update is acknowledged within a fraction of a second, because
// Telegram delivers nothing else from that chat until then. The answer to a private
// command is only sent to its user's private chat, or stays in the group as an ephemeral
// message if the command was one. A group is told about it in a fixed sentence (notice).
//
// The events that Config.Count is called with:
//
//	update_undecodable    an update that is not JSON of the expected form
//	update_too_large      a polled update that is too large to be read and is skipped
//	update_repeated       a webhook delivery whose update is answered or in flight
//	webhook_unauthorized  a webhook call without the secret
//	webhook_full          a webhook call turned away with 503
//	webhook_replaced      a webhook that Telegram says somebody else set or deleted, and is set again
//	poll_failed           a getUpdates call that failed
//	rate_limited          a 429
//	send_repeated         a message or an edit sent again
//	send_outcome_unknown  a message that may be out or not, each time it is sent
//	send_refused          a message that Telegram will not take
//	answered              an answer that is out
//	answer_failed         one that is not out, or may not be
//	send_abandoned        a message not sent again, though it may not be out
//	send_shared           an answer that went out in another user's message
//	send_shed             an answer not said because the chat's rate is used up
//	busy_sent             the one message said instead
//	lost_sent             the one message said after a 429 too long for answers
//	private_unreachable   a user to whom the bot may not write yet
//	press_unanswered      a press whose spinner could not be ended
//	inline_unanswered     an inline query that could not be answered
//	panic                 a panic while an update was handled
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/transport"
)

// Platform is Telegram's name in requests, logs and settings.
const Platform chat.Platform = "telegram"

// maxInFlight bounds the updates in flight. Those that wait for the message of another
// one do not count.
const maxInFlight = 1000

// allowedUpdates are the kinds of update asked for: new messages, presses of
// buttons and inline queries, no edits and no channel posts.
var allowedUpdates = []string{"message", "callback_query", "inline_query"}

var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// errToken ends Run.
var errToken = errors.New("telegram: the token was refused (401): set TELEGRAM_BOT_TOKEN to the one that @BotFather shows")

// Config is what an Adapter works with.
type Config struct {
	Settings
	// Dedup knows repeated deliveries; polling does without.
	Dedup chat.Dedup
	// Limiter keeps Telegram's rates, if Pacing is on, and notices to theirs.
	Limiter chat.Limiter
	// CommandTimeout is how long after a command's arrival its answer may still wait
	// for a slot under Pacing.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is called with every event in the package comment.
	Count func(event string)
	// Connected is called with the bot's name when Ready comes true, once a minute at most.
	Connected func(name string)
}

// Adapter is Telegram as a chat.Adapter; it is the webhook's http.Handler too.
type Adapter struct {
	Config
	api   *botapi.Client
	ready atomic.Bool
	// withoutEphemeral is set once the server has made an ephemeral message public.
	withoutEphemeral atomic.Bool
	places           *places
	// refused holds a token if ServeHTTP has refused a call without the secret.
	refused chan struct{}
	// serving is the Run that takes webhook deliveries, or nil.
	serving atomic.Pointer[session]
}

// session is one Run.
type session struct {
	*Adapter
	me    *models.User
	tasks *chat.Tasks
	out   *outbox.Outbox
	// told is when Connected was last called.
	told time.Time
	// setAt is when the webhook was last set.
	setAt time.Time
	// failedAt is the last_error_date, by Telegram's clock, that getWebhookInfo told first
	// after the webhook was set, or unknown. Telegram tells of a failure for more than an
	// hour after the last one.
	failedAt int
	// delivered holds a channel for each update of the webhook that is in flight, closed
	// once it is over.
	delivered sync.Map
	// offsets knows the polled updates.
	offsets *offsetTracker
	// running ends when the drain begins.
	running context.Context
	// fail ends the session with an error that no waiting can mend.
	fail context.CancelCauseFunc

	// removing holds the messages that are about to be deleted.
	removing sync.Map

	mu     sync.Mutex
	posted posted
}

// New makes an Adapter, and asks Telegram nothing. The token must be set.
func New(c Config) *Adapter {
	// An update may have two calls under way: "typing…" and its sender's role.
	api := botapi.New(botapi.Config{Token: c.Token, URL: c.APIURL, MaxConns: 2 * maxInFlight})
	return &Adapter{Config: c, api: api, places: newPlaces(maxInFlight), refused: make(chan struct{}, 1)}
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready implements chat.Adapter: the last poll was answered, or within the last minute
// or so Telegram told of a webhook of ours that takes its deliveries.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// InFlight counts the updates in flight that hold a place.
func (a *Adapter) InFlight() int { return len(a.places.taken) }

// Role asks Telegram whether a user administers a chat.
func (a *Adapter) Role(ctx context.Context, user chat.User, chatID string) (chat.Role, error) {
	id, _ := strconv.ParseInt(user.ID, 10, 64) // Who has no ID has no UnknownRole.
	member, err := a.api.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: chatID, UserID: id})
	if err != nil {
		return chat.Member, err
	}
	if member.Type == models.ChatMemberTypeOwner || member.Type == models.ChatMemberTypeAdministrator {
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

// Run implements chat.Adapter.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &session{
		Adapter: a, tasks: chat.NewTasks(ctx, h, a.Log, a.Count), running: ctx, fail: fail, offsets: newOffsetTracker(), posted: posted{},
	}
	// If it fails, ctx has ended, and poll and receive return at once.
	_ = s.repeat(ctx, func() (err error) { s.me, err = a.api.GetMe(ctx); return err })
	s.out = outbox.New(outbox.Config{
		API: a.api, Limiter: a.Limiter, Pacing: a.Pacing, Bot: fmt.Sprint("telegram ", s.me.ID), Count: a.Count, Unauthorized: s.unauthorized,
	})
	var profile sync.WaitGroup
	defer profile.Wait()
	profile.Go(func() { s.syncProfile(ctx) })

	if a.WebhookURL == "" {
		s.poll(ctx)
	} else {
		s.receive(ctx)
	}
	a.ready.Store(false)

	s.tasks.Drain()
	if errors.Is(context.Cause(ctx), errToken) {
		return errToken
	}
	s.commit(ctx)
	return nil
}

// repeat makes a call until it succeeds, and fails if ctx is done or the token is
// refused.
func (s *session) repeat(ctx context.Context, call func() error) error {
	return transport.Policy{
		Backoff: backoff,
		Again: func(err error) (bool, time.Duration) {
			e := botapi.ErrorOf(err)
			if e.Kind == botapi.Unauthorized {
				s.unauthorized()
			}
			return e.Kind != botapi.Unauthorized, e.RetryAfter
		},
		Failed: func(err error, _ int, _ time.Duration) {
			s.Log.Log(ctx, s.tasks.Rarely(slog.LevelWarn, "repeated"), "telegram: a call failed and will be repeated", "err", err)
		},
	}.Do(ctx, func(context.Context) error { return call() })
}

// unauthorized ends the session and what is in flight: nothing can be sent any more.
func (s *session) unauthorized() {
	s.fail(errToken)
	s.tasks.Cancel()
}

// connected marks the adapter as ready, and calls Connected at most once a minute. With
// two processes polling one token it would otherwise fill the log.
func (s *session) connected() {
	if !s.ready.Swap(true) && time.Since(s.told) >= time.Minute {
		s.told = time.Now()
		s.Connected("@" + s.me.Username)
	}
}
