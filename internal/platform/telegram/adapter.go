// Package telegram joins Telegram's Bot API to a platform.Handler, by long polling or by
// webhook. An update goes one way:
//
//	poll.go, webhook.go    receive it, and acknowledge it when it is answered
//	update.go              decodes it
//	parse.go               finds the command in a message, a press or an inline query
//	respond.go             has the command handled, the reply rendered (render.go) and delivered (deliver.go)
//	outbox                 sends a message within Telegram's rates, and again where that helps
//
// Beside that way:
//
//	updates.go, inflight.go  know which polled updates may be acknowledged, and limit how many are in flight
//	press.go, typing.go      answer a press; show "typing…"
//	notice.go, cleanup.go    post short notices in a group; delete notices and older cards there
//	inline.go, album.go      answer inline queries; have one message of an album answered
//	hello.go                 has the bot say hello in a group that it was added to
//	name.go, moved.go        notice that the bot is renamed, or that a group has another ID
//	join.go                  lets people into groups who asked to join, or tells them what is missing
//	door.go, approval.go     limit how many are checked at a time; approve a join request
//	address.go               takes an address in a private chat for the sender's open requests to join
//	tags.go, member.go       set the tags of members who stake; ask what a user is in a chat
//
// The menus and descriptions of the bot are set at the start (profile.go).
//
// Sent messages are not stored; only the IDs of those to be deleted later are
// (cleanup.go). Buttons and questions carry their command. So both work after a restart,
// and are checked like typed text.
//
// A polled update is acknowledged once its answer is delivered; updates.go names the exceptions.
// A webhook update is acknowledged within a fraction of a second, because
// Telegram delivers nothing else from that chat until then. The answer to a private
// command is only sent to its user's private chat, or stays in the group as an ephemeral
// message if the command was one. The group reads only a fixed sentence about it (notice).
//
// The events that Config.Count is called with:
//
//	update_undecodable    an update that is not JSON of the expected form
//	update_repeated       a webhook delivery whose update is answered or in flight
//	webhook_unauthorized  a webhook call without the secret
//	webhook_full          a webhook call turned away with 503
//	webhook_replaced      a webhook that somebody else had set or deleted, and is set again
//	poll_failed           a getUpdates call that failed
//	rate_limited          a message or an edit that a 429 refused
//	send_repeated         a message or an edit sent again
//	send_outcome_unknown  a message that may be out or not, each time it is sent
//	send_refused          a message that Telegram will not take
//	answered              an answer that is out
//	answer_failed         an answer that is not out, or may not be
//	send_abandoned        a message not sent again, though it may not be out
//	send_shared           an answer that went out in another user's message
//	send_shed             an answer not sent because the chat's rate is used up
//	busy_sent             the one message sent instead
//	lost_sent             the one message sent after a 429 too long for answers
//	private_unreachable   a user to whom the bot may not write yet
//	press_unanswered      a press that Telegram took no answer to; a failure is then sent as a message
//	inline_unanswered     an inline query that could not be answered
//	join_approved         somebody who asked to join a group, and is let in
//	join_left_open        a join request of somebody who lacks what the group requires
//	join_unknown          a join request that could not be checked or approved
//	panic                 a panic while an update was handled
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// Platform is Telegram's name in requests, logs and settings.
const Platform chat.Platform = "telegram"

var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// errToken ends Run.
var errToken = errors.New("telegram: the token was refused (401): " +
	"set TELEGRAM_BOT_TOKEN to the one that @BotFather shows")

// Config is what an Adapter works with.
type Config struct {
	Settings Settings
	// Dedup recognizes repeated webhook deliveries. Polling does not use it.
	Dedup claim.Claims
	// Limiter limits notices and "typing…" and, if Pacing is on, all messages.
	Limiter ratelimit.Limiter
	// CommandTimeout is how long after a command's arrival its answer may still wait
	// for a slot under Pacing.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is called with every event in the package comment.
	Count func(event string)
	// Connected is called with the bot's name when Ready becomes true, at most once a
	// minute.
	Connected func(name string)
	// Retried is called with the error of a failed call that is about to be made again. It must
	// not block.
	Retried func(err error)
	// Joins remembers join requests; it may be nil without Settings.JoinChats.
	Joins *platform.JoinLog
	// Moves remembers groups of the settings that have another ID now; nil: no other package asks.
	Moves *platform.Moves
	// ModeratorChats are the IDs of Telegram's groups in MODERATOR_CHATS.
	ModeratorChats []string
	// LanguageChats are the IDs of Telegram's groups in CHAT_LANGUAGE. They get menus in the Handler's language of each.
	LanguageChats []string
	// Links are the settings that become links in messages.
	Links []Link
}

// Adapter is Telegram as a platform.Adapter; it is the webhook's http.Handler too.
type Adapter struct {
	Config
	api   *botapi.Client
	ready atomic.Bool
	// withoutEphemeral is set once the server has made an ephemeral message public.
	withoutEphemeral atomic.Bool
	inFlight         *inFlight
	door             *door
	// groups holds a models.Chat for each group of the settings by its ID, as far as it is known.
	groups sync.Map
	// shown orders the answers to presses, by messageKey.
	shown platform.Shown
	// current is the Run that can send, or nil.
	current atomic.Pointer[session]
	// hook takes webhook deliveries; nil if none can be taken.
	hook atomic.Pointer[webhook]
}

// session is one Run.
type session struct {
	a *Adapter
	// self is what me returns.
	self atomic.Pointer[models.User]
	// naming holds a token during askName.
	naming chan struct{}
	albums albums
	work   *platform.Work
	out    *outbox.Outbox
	// limits bounds how often Connected is called, and the bot's name asked for.
	limits *ratelimit.Memory
	// running ends when the drain begins.
	running context.Context
	// fail ends the session with an error that no waiting can mend.
	fail context.CancelCauseFunc

	// removing holds the messages that are about to be deleted.
	removing sync.Map

	mu       sync.Mutex
	toDelete toDelete
}

// New makes an Adapter, and asks Telegram nothing. The token must be set.
func New(c Config) *Adapter {
	// An update may have two calls under way: "typing…" and its sender's role.
	if c.Moves == nil {
		c.Moves = &platform.Moves{}
	}
	api := botapi.New(botapi.Config{Token: c.Settings.Token, URL: c.Settings.APIURL, MaxConns: 2 * maxRunning})
	return &Adapter{Config: c, api: api, inFlight: newInFlight(maxRunning, maxHeld), door: newDoor()}
}

// allowedUpdates returns the kinds of update to ask for: new messages, presses of buttons,
// inline queries and changes of the bot's own membership, no edits and no channel posts.
func (a *Adapter) allowedUpdates() []string {
	kinds := []string{"message", "callback_query", "inline_query", "my_chat_member"}
	if len(a.Settings.JoinChats) > 0 {
		kinds = append(kinds, "chat_join_request")
	}
	return kinds
}

// Platform implements platform.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready implements platform.Adapter. It reports whether the last poll was answered or, with a
// webhook, whether the last check found ours set, at most about a minute ago.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// InFlight returns how many updates are being answered, including those that wait.
func (a *Adapter) InFlight() int { return a.inFlight.count() }

// Role asks Telegram whether a user administers a chat. It returns Moderator or Member.
func (a *Adapter) Role(ctx context.Context, user chat.User, chatID string) (chat.Role, error) {
	member, err := a.chatMember(ctx, idOf(chatID), idOf(user.ID)) // Who has no ID has no UnknownRole.
	if err == nil && isAdministrator(member) {
		return chat.Moderator, nil
	}
	return chat.Member, err
}

// Run implements platform.Adapter.
func (a *Adapter) Run(ctx context.Context, h platform.Handler) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &session{
		a:        a,
		work:     platform.NewWork(ctx, h, a.Log, a.Count),
		running:  ctx,
		fail:     fail,
		toDelete: toDelete{},
		naming:   make(chan struct{}, 1),
		limits:   ratelimit.NewMemory(),
	}
	firstName := func() error {
		me, err := a.api.GetMe(ctx)
		s.self.Store(me)
		return err
	}
	if s.repeat(ctx, firstName) != nil {
		return tokenRefused(ctx) // ctx has ended
	}
	s.out = outbox.New(outbox.Config{
		API: a.api, Limiter: a.Limiter, Pacing: a.Settings.Pacing, Bot: fmt.Sprint("telegram ", s.me().ID), Count: a.Count,
		Unauthorized: s.unauthorized, Migrated: a.moved,
	})
	a.current.Store(s)
	defer a.current.Store(nil)
	var aside sync.WaitGroup
	defer aside.Wait()
	aside.Go(func() { s.syncProfile(ctx) })
	aside.Go(func() { s.watchName(ctx) })

	if a.Settings.WebhookURL != "" {
		h := &webhook{s: s}
		h.receive(ctx)
		s.drain()
		return tokenRefused(ctx)
	}
	p := newPoller(s)
	p.receive(ctx)
	s.drain()
	if err := tokenRefused(ctx); err != nil {
		return err
	}
	p.commit(ctx)
	return nil
}

// drain finishes what is in flight. Meanwhile the adapter is not ready.
func (s *session) drain() {
	s.a.ready.Store(false)
	s.work.Drain()
}

// tokenRefused returns errToken if that has ended ctx.
func tokenRefused(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errToken) {
		return errToken
	}
	return nil
}

// repeat makes a call until it succeeds. It fails if ctx is done or the token is refused.
func (s *session) repeat(ctx context.Context, call func() error) error {
	return transport.Policy{
		Backoff: backoff,
		ShouldRetry: func(err error) (bool, time.Duration) {
			e := botapi.ErrorOf(err)
			if e.Kind == botapi.Unauthorized {
				s.unauthorized()
			}
			return e.Kind != botapi.Unauthorized, e.RetryAfter
		},
		OnRetry: s.a.Retried,
	}.Do(ctx, func(context.Context) error { return call() })
}

// unauthorized ends the session and cancels the commands in flight, because nothing can be
// sent any more.
func (s *session) unauthorized() {
	s.fail(errToken)
	s.work.Cancel()
}

// connected marks the adapter as ready, and calls Connected at most once a minute. With
// two processes polling one token it would otherwise fill the log.
func (s *session) connected() {
	becameReady := !s.a.ready.Swap(true)
	if becameReady && s.limits.Allow(ratelimit.Limit{Key: "connected", Burst: 1, Every: time.Minute}) {
		s.a.Connected("@" + s.me().Username)
	}
}
