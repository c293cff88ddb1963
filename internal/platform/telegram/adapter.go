// Package telegram joins Telegram's Bot API to a platform.Handler, by long polling or by webhook. An update passes
// through these files from top to bottom:
//
//	poll.go, webhook.go    receive it, and acknowledge it once it is answered
//	update.go              decodes it
//	parse.go, entities.go  find the command in a message or a press
//	respond.go             gets the Reply, renders it (render.go) and delivers it (deliver.go)
//	outbox                 sends the message within Telegram's rates, and retries it if that helps
//
// The other files:
//
//	updates.go, inflight.go  track which polled updates may be acknowledged, and limit how many are in flight
//	press.go, typing.go      answer a press; show "typing…"
//	notice.go, cleanup.go    post short notices in a group; delete notices and older cards there
//	inline.go, album.go      read and answer inline queries; answer only one message of an album
//	hello.go                 says hello in a group that the bot was added to
//	name.go, moved.go        notice that the bot is renamed, or that a group has another ID
//	join.go, joinmessage.go  approve join requests, or leave them open; tell people what is missing
//	door.go, approval.go     limit how many requests are checked at a time; approve one
//	address.go               checks a wallet in a private chat for the sender's open join requests
//	tags.go, member.go       set the tags of members who stake; ask what a user is in a chat
//	profile.go               sets the bot's menus and descriptions at the start
//
// The package does not store the messages that it sends, only the IDs of messages to delete later (cleanup.go). Buttons
// and questions carry their command. So they work after a restart, and are checked like typed text.
//
// Telegram delivers an update until it is acknowledged. A polled update is acknowledged once its answer is delivered;
// updates.go names the exceptions. A webhook update is acknowledged within a fraction of a second, because Telegram
// delivers no other update of that chat until then.
//
// Only its user can read the answer to a private command. If the command was an ephemeral message, which only its
// sender sees in a group, then the answer is an ephemeral message as well. Otherwise, the answer is sent to the user's
// private chat, and the group reads only a fixed sentence about it (notice.go).
//
// The events that Config.Count is called with:
//
//	update_undecodable    an update was not JSON of the expected form
//	update_repeated       the webhook delivered an update that was answered or in flight
//	webhook_unauthorized  a webhook call came without the secret
//	webhook_full          a webhook call was refused with 503
//	webhook_replaced      the webhook was set again: Telegram had another one or none, or had got a 401 here
//	poll_failed           a getUpdates call failed
//
//	rate_limited          a 429 refused a message or an edit
//	send_repeated         a message or an edit was sent again
//	send_outcome_unknown  an attempt to send a message had an unknown outcome
//	send_refused          Telegram refused a message for good
//
//	answered              an answer was delivered
//	answer_failed         an answer was not delivered, or may not have been
//	send_abandoned        a message was given up, though it may not have been delivered
//	send_shared           an answer was delivered in another user's message
//	send_shed             an answer was not sent because the chat's rate is used up
//	busy_sent             one message was sent in place of such answers
//	lost_sent             one message was sent in place of answers that a 429 held back for too long
//
//	private_unreachable   the bot may not write to a user yet
//	press_unanswered      a press could not be answered; if the command failed, a message reports that
//	inline_unanswered     an inline query could not be answered
//
//	join_approved         a join request was approved
//	join_left_open        a join request is left open because the person lacks what the group requires
//	join_unknown          a join request could not be checked or approved
//
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

// backoff spaces the attempts of calls that are retried.
var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// errToken ends Run: Telegram does not accept the token.
var errToken = errors.New("telegram: the token was refused (401): " +
	"set TELEGRAM_BOT_TOKEN to the one that @BotFather shows")

// Config is what an Adapter works with.
type Config struct {
	Settings Settings
	// Dedup recognizes repeated webhook deliveries. Polling does not use it.
	Dedup claim.Claims
	// Limiter limits notices, "typing…" and messages about join requests and, if Pacing is on, all messages.
	Limiter ratelimit.Limiter
	// CommandTimeout is how long after a command's arrival its answer may still wait, under Pacing, for a slot in
	// Telegram's rates.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is called with every event in the package comment.
	Count func(event string)
	// Connected is called with the bot's name when Ready becomes true, at most once a minute.
	Connected func(name string)
	// Retried is called with the error of a failed call that is about to be retried. It must not block.
	Retried func(err error)
	// Joins remembers join requests; it may be nil if Settings.JoinChats is empty.
	Joins *platform.JoinLog
	// Moves remembers groups of the settings that have another ID now. If it is nil, New makes one.
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
	// groups maps the IDs of the groups in the settings to their models.Chat, once that is known.
	groups sync.Map
	// shown orders the answers to presses, by messageKey.
	shown platform.Shown
	// current is the session that can send messages, or nil.
	current atomic.Pointer[session]
	// hook takes the deliveries of Telegram's webhook. It is nil if no delivery can be taken.
	hook atomic.Pointer[webhook]
}

// session is one call of Run.
type session struct {
	adapter *Adapter
	work    *platform.Work
	out     *outbox.Outbox
	// running ends when the drain begins: Run then takes no more updates, and waits until those in flight are answered.
	running context.Context
	// fail ends the session with an error that retrying cannot fix.
	fail context.CancelCauseFunc

	// self is the bot as Telegram last described it (me).
	self atomic.Pointer[models.User]
	// naming holds a token during askName.
	naming chan struct{}
	// limits makes calls of Connected and of askName rare.
	limits *ratelimit.Memory
	albums albums

	// removing has an outbox.MessageRef for each message that remove is about to delete.
	removing sync.Map

	mu       sync.Mutex // guards toDelete
	toDelete toDelete
}

// New returns an Adapter. It makes no call. The token must be set.
func New(c Config) *Adapter {
	if c.Moves == nil {
		c.Moves = &platform.Moves{}
	}
	return &Adapter{
		Config: c,
		api: botapi.New(botapi.Config{
			Token:    c.Settings.Token,
			URL:      c.Settings.APIURL,
			MaxConns: 2 * maxRunning, // An update may have two calls in flight: "typing…" and its sender's role.
		}),
		inFlight: newInFlight(maxRunning, maxHeld),
		door:     newDoor(),
	}
}

// allowedUpdates returns the kinds of update to ask for: new messages, presses of buttons, inline queries, changes of
// the bot's own membership and, if there are JoinChats, join requests. Edits and channel posts are not among them.
func (a *Adapter) allowedUpdates() []string {
	kinds := []string{"message", "callback_query", "inline_query", "my_chat_member"}
	if len(a.Settings.JoinChats) > 0 {
		kinds = append(kinds, "chat_join_request")
	}
	return kinds
}

// Platform implements platform.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready implements platform.Adapter. It reports whether the last poll was answered or, by webhook, whether the last
// check found this process's webhook set. The last check was about a minute ago at most.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// InFlight returns how many updates are being answered, including those that wait.
func (a *Adapter) InFlight() int { return a.inFlight.count() }

// Role asks Telegram whether a user administers a chat. It returns Moderator or Member.
func (a *Adapter) Role(ctx context.Context, user chat.User, chatID string) (chat.Role, error) {
	member, err := a.chatMember(ctx, idOf(chatID), idOf(user.ID)) // The Router asks only about users with an ID.
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
		adapter:  a,
		work:     platform.NewWork(ctx, h, a.Log, a.Count),
		running:  ctx,
		fail:     fail,
		toDelete: toDelete{},
		naming:   make(chan struct{}, 1),
		limits:   ratelimit.NewMemory(),
	}
	getSelf := func() error {
		me, err := a.api.GetMe(ctx)
		s.self.Store(me)
		return err
	}
	if s.repeat(ctx, getSelf) != nil {
		return tokenRefused(ctx)
	}
	s.out = outbox.New(outbox.Config{
		API:          a.api,
		Limiter:      a.Limiter,
		Pacing:       a.Settings.Pacing,
		Bot:          fmt.Sprint("telegram ", s.me().ID),
		Count:        a.Count,
		Unauthorized: s.unauthorized,
		Migrated:     a.moved,
	})
	a.current.Store(s)
	defer a.current.Store(nil)
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() { s.syncProfile(ctx) })
	background.Go(func() { s.watchName(ctx) })

	if a.Settings.WebhookURL != "" {
		hook := &webhook{s: s}
		hook.receive(ctx)
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

// drain blocks until the updates in flight are answered, or the drain's time is over. Meanwhile the adapter is not
// ready.
func (s *session) drain() {
	s.adapter.ready.Store(false)
	s.work.Drain()
}

// tokenRefused returns errToken if ctx has ended because of it, and otherwise nil.
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
		OnRetry: s.adapter.Retried,
	}.Do(ctx, func(context.Context) error { return call() })
}

// unauthorized ends the session and cancels the commands in flight, because nothing can be sent any more.
func (s *session) unauthorized() {
	s.fail(errToken)
	s.work.Cancel()
}

// connected marks the adapter as ready. If it was not, it calls Connected, but at most once a minute: two processes
// that poll with one token would otherwise fill the log.
func (s *session) connected() {
	becameReady := !s.adapter.ready.Swap(true)
	if becameReady && s.limits.Allow(ratelimit.Limit{Key: "connected", Burst: 1, Every: time.Minute}) {
		s.adapter.Connected("@" + s.me().Username)
	}
}
