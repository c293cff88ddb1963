// Package telegram joins Telegram's Bot API to a chat.Handler, by long polling
// or by webhook. A command goes one way: poll.go or webhook.go takes its update,
// parse.go finds the command, the Handler answers it, render.go makes a message
// of that, and send.go sends it, at the pace of package pace. adapter.go is
// this order. The press of a button (press.go) joins it as a command like any
// other, and its answer may replace the message with the button (edit.go). So
// does an inline query, whose results are answers that the asker may send
// (inline.go). What people read before they ask anything is set at the start
// (menu.go).
//
// Nothing is kept of a message that was sent. What a button asks stands in the
// button, and the command that a question for an argument belongs to stands in
// the question (ask.go), so that both are understood after a restart, and both
// are checked like what is typed.
//
// An update counts as answered only once its answer is out, so that a stop in
// the middle loses nothing; an inline query counts as answered once its time is
// over. The answer to a private command is only ever sent to its asker's private
// chat, or in a group for their eyes alone if the command arrived like that
// (ephemeral.go); what a group is told about it is a fixed sentence (notice.go).
// What concerns a presser alone is shown to them alone.
//
// Identical public answers that wait for their turn in one chat share one
// message; shared.go says which.
//
// A message that certainly was not sent is sent again for as long as it takes,
// or for minutes if Telegram refuses to take it. If it is unclear whether
// it is out (Telegram has no key by which it would know a repetition) it is
// sent again twice at most, seconds apart, counted each time, and then given up
// and logged by its reference. A stop in between leaves its update
// unacknowledged, so that the next process answers it. One that is refused for an
// unexplained reason goes once more as plain text (plain.go), and one with a
// picture as text at last.
//
// The events that Config.Count is called with:
//
//	update_undecodable    an update that is not JSON of the expected form
//	update_too_large      an update that is too large to be read and is skipped
//	update_repeated       a webhook delivery whose update is answered or in hand
//	webhook_unauthorized  a webhook call without the secret
//	webhook_full          a webhook call turned away with 503
//	poll_failed           a getUpdates call that failed
//	rate_limited          a 429
//	send_repeated         a message or an edit sent again
//	send_unclear          a message that may be out or not, each time it is sent
//	send_refused          a message that Telegram will not take
//	answered              an answer that is out
//	answer_failed         one that is not out, or may not be
//	send_given_up         a message not sent again, though it may not be out
//	send_shared           an answer that went out in another asker's message
//	send_shed             an answer not said because the chat's rate is used up
//	busy_said             the one message said instead
//	private_unreachable   an asker to whom the bot may not write yet
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/pace"
	"herald/internal/transport"
	"herald/internal/words"
)

// Platform is Telegram's name in requests, logs and settings.
const Platform chat.Platform = "telegram"

// maxInHand bounds the updates in hand.
const maxInHand = 1000

// lastTurn is how long into a drain a message may still wait for its turn.
const lastTurn = chat.DrainTime - 2*time.Second

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
	// Turns keeps Pacing for all replicas together; nil where there are none.
	Turns chat.Turns
	// CommandTimeout is how long after a command's arrival its answer may
	// still wait for its turn under Pacing.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is called with every event in the package comment.
	Count func(event string)
	// Connected is called with the bot's name whenever Ready comes true.
	Connected func(name string)
}

// Adapter is Telegram as a chat.Adapter; it is the webhook's http.Handler too.
type Adapter struct {
	Config
	api  *botapi.Client
	pace *pace.Limiter
	// shared are the public answers that wait, and edits those that replace a
	// message.
	shared sharedAnswers
	edits  pendingEdits
	// invitations are the messages by which people were asked to start the bot.
	invitations invitations
	ready       atomic.Bool
	// inHand holds a token for each update in hand.
	inHand chan struct{}
	// serving is the Run that takes webhook deliveries; nil takes none.
	serving atomic.Pointer[session]
}

// New makes an Adapter, and asks Telegram nothing. It fails if the token is
// not set.
func New(c Config) (*Adapter, error) {
	// An update may have two calls under way: "typing…" and its sender's role.
	api, err := botapi.New(botapi.Config{Token: c.Token, URL: c.APIURL, MaxConns: 2 * maxInHand})
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	// The number before the colon is the bot's, and no secret.
	number, _, _ := strings.Cut(c.Token.Reveal(), ":")
	return &Adapter{
		Config: c, api: api, pace: pace.New(c.Pacing, "telegram "+number, c.Turns), inHand: make(chan struct{}, maxInHand),
		shared: sharedAnswers{waiting: map[answerKey]*sharedAnswer{}, next: map[answerKey]time.Time{}},
		edits:  pendingEdits{of: map[destination]*messageEdits{}},
	}, nil
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready implements chat.Adapter: the last poll was answered, or the webhook is
// set.
func (a *Adapter) Ready() bool { return a.ready.Load() }

// InFlight counts the updates that are being answered.
func (a *Adapter) InFlight() int { return len(a.inHand) }

// Role asks Telegram whether a user administers a chat.
func (a *Adapter) Role(ctx context.Context, user chat.User, chatID string) (chat.Role, error) {
	id, err := strconv.ParseInt(user.ID, 10, 64)
	if err != nil {
		return chat.Member, nil
	}
	member, err := a.api.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: chatID, UserID: id})
	if err != nil {
		return chat.Member, err
	}
	if member.Type == models.ChatMemberTypeOwner || member.Type == models.ChatMemberTypeAdministrator {
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

// session is one Run.
type session struct {
	*Adapter
	me   botapi.User
	work *chat.Tasks
	// fail ends the session with an error that no waiting can mend.
	fail context.CancelCauseFunc
}

// Run implements chat.Adapter.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &session{Adapter: a, work: chat.NewTasks(ctx, h, a.Log, a.Count), fail: fail}

	// If it fails, ctx has ended, and poll and receive return at once.
	_ = s.repeat(ctx, func() (err error) { s.me, err = a.api.GetMe(ctx); return err })
	var introduced sync.WaitGroup
	defer introduced.Wait()
	introduced.Go(func() { s.introduce(ctx) })

	offsets := &offsetTracker{}
	if a.WebhookURL == "" {
		s.poll(ctx, offsets)
	} else {
		s.receive(ctx)
	}
	a.ready.Store(false)

	a.pace.Drain(time.Now().Add(lastTurn))
	s.work.Drain()
	if errors.Is(context.Cause(ctx), errToken) {
		return errToken
	}
	if a.WebhookURL == "" {
		s.commit(ctx, offsets)
	}
	return nil
}

// answer answers one update. It returns false if an answer is due that certainly
// is not out, so that the update must not be acknowledged.
func (s *session) answer(id string, u update) (settled bool) {
	switch {
	case u.Press != nil:
		return s.answerPress(id, u.Press)
	case u.Inline != nil:
		s.answerInline(id, u.Inline)
		return true
	}
	return s.answerMessage(id, u.Message)
}

// answerMessage answers one message, from parse to send.
func (s *session) answerMessage(id string, m *message) (settled bool) {
	deadline := time.Now().Add(s.CommandTimeout)
	c, ours := parse(m, s.me, s.work.Handler.Commands())
	if !ours {
		return true
	}
	c.request.ID = id
	c.asked.language = s.work.Handler.Language(c.request, false)
	if c.private && c.asked.group {
		point := func(n notice) error { return s.point(c, n, deadline) }
		return s.recordOutcome(id, s.answerPrivately(c, deadline, point, func(chat.Reply) {}))
	}
	reply, shown := s.handle(c.request, c.asked)
	if reply.Repeated {
		return true
	}
	err := s.deliver(c, reply, shown, deadline)
	if err == nil && c.request.Direct {
		s.uninvite(c.sender)
	}
	return s.recordOutcome(id, err)
}

// deliver sends an answer to where it was asked for.
func (s *session) deliver(c commandMessage, reply chat.Reply, shown richText, deadline time.Time) error {
	if c.private || !s.Pacing {
		return s.sendAnswer(c.asked, shown, deadline)
	}
	return s.sendShared(c, reply, shown, deadline)
}

// answerPrivately answers a command that was asked in a group: there, if it
// arrived as ephemeral, or else in the asker's private chat, of which they are
// told by point. A refusal that was said before is for again alone.
func (s *session) answerPrivately(c commandMessage, deadline time.Time, point func(notice) error, again func(chat.Reply)) error {
	arrived := time.Now()
	if c.sender == 0 {
		return point(stayedAnonymous)
	}
	private := destination{chat: c.sender, language: s.work.Handler.Language(c.request, true)}
	reply, shown := s.handle(c.request, private)
	if reply.Repeated {
		again(reply)
		return nil
	}
	unclear, err := s.answerEphemerally(c, reply, arrived.Add(ephemeralLasts))
	if err == nil {
		s.uninvite(c.sender)
		return nil
	}
	private.unclear = unclear
	err = s.sendAnswer(private, shown, deadline)
	switch {
	case err == nil:
		s.uninvite(c.sender)
		return point(answeredPrivately)
	case botapi.ErrorOf(err).Unreachable():
		s.Count("private_unreachable")
		return point(pressStart)
	}
	return err
}

// handle has the request answered and renders the reply, with "typing…"
// meanwhile where the answer will stand.
func (s *session) handle(req chat.Request, to destination) (reply chat.Reply, shown richText) {
	defer s.typing(to)()
	s.work.Handle(req, func(r chat.Reply) { reply, shown = r, s.render(r, to) })
	return reply, shown
}

// render shows a reply as it will stand there.
func (s *session) render(r chat.Reply, to destination) richText {
	return render(words.Print(r), s.me.Username, !to.group)
}

// repeat makes a call until it succeeds, and fails if ctx is done or the token
// is refused. Any other failure is logged.
func (s *session) repeat(ctx context.Context, call func() error) error {
	return transport.Policy{
		Backoff: backoff,
		Again: func(err error) (bool, time.Duration) {
			return !s.tokenRefused(err), botapi.ErrorOf(err).RetryAfter
		},
		Failed: func(err error, failures int, _ time.Duration) {
			level := slog.LevelWarn
			if failures > 1 {
				level = slog.LevelDebug
			}
			s.Log.Log(ctx, level, "telegram: a call failed and will be repeated", "err", err)
		},
	}.Do(ctx, func(context.Context) error { return call() })
}

// tokenRefused reports whether err says that the token is refused, and ends
// the session if so, with what is in hand: nothing can be sent any more.
func (s *session) tokenRefused(err error) bool {
	refused := botapi.ErrorOf(err).Kind == botapi.Unauthorized
	if refused {
		s.fail(errToken)
		s.work.Cancel()
	}
	return refused
}

// connected marks the adapter as ready, and tells of it once.
func (s *session) connected() {
	if !s.ready.Swap(true) {
		s.Connected("@" + s.me.Username)
	}
}
