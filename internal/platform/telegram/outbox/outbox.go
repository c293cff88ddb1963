// Package outbox sends what the bot says in Telegram: in time, at the pace that
// Telegram allows, and again until it is out. It knows calls of the Bot API and
// nothing of commands, and only what a message says decides what becomes of it.
//
// A message waits for the others of its chat (those who asked are served in
// turn), then until no 429 holds its chat back and there is a slot by Telegram's
// published rates. A message that was definitely not sent is retried: until ctx ends
// if Telegram cannot be reached, for up to 5 minutes after a 429. If the outcome is
// unknown, the message is sent again at most twice, seconds apart, because Telegram has
// no idempotency key. A message that is refused without a clear reason is sent once
// more as plain text; a picture is finally replaced by its text.
//
// Messages with the same Key that wait at the same time are one message.
package outbox

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// deliveryLimit bounds how long a message is repeated that Telegram refuses to
// take for now.
const deliveryLimit = 5 * time.Minute

// unknownWaits are the waits before each repetition of a message that may already
// be out, and so bound how many there are: long enough for a proxy to recover,
// short enough to be read as a repetition. An ephemeral message is repeated once:
// the private chat remains.
var unknownWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

const ephemeralRepeats = 1

// sameAnswerGap is the least time from one message to the next with the same Key:
// the rate that Telegram publishes for a chat. The burst that a chat may have is for
// different answers.
const sameAnswerGap = time.Second

var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// Config is what an Outbox works with.
type Config struct {
	API *botapi.Client
	// Limiter keeps Notices to their rate and, with Pacing, all messages to Telegram's.
	Limiter chat.Limiter
	// Pacing keeps messages to Telegram's published rates; without it, only 429s slow
	// them down.
	Pacing bool
	// Bot begins the keys of the Limiter.
	Bot string
	// Count is called with rate_limited, send_repeated, send_outcome_unknown,
	// send_refused, send_abandoned and send_shared.
	Count func(event string)
	// Unauthorized is called when the token is refused for a message.
	Unauthorized func()
}

// Outbox sends messages. Its methods may be called from many goroutines.
type Outbox struct {
	Config
	// turn is held by the message that takes its slot.
	turn chan struct{}

	mu sync.Mutex
	// lines has the chats in which a message waits for its slot, and what waits there
	// for that message.
	lines   map[int64][]waiter
	held    map[int64]time.Time // by chat: until when a 429 holds messages back
	bundles map[any]*bundle     // by Key
}

// New makes an Outbox.
func New(c Config) *Outbox {
	return &Outbox{
		Config: c, turn: make(chan struct{}, 1),
		lines: map[int64][]waiter{}, held: map[int64]time.Time{}, bundles: map[any]*bundle{},
	}
}

// Message is something to send, and what that is worth.
type Message struct {
	To botapi.Destination
	botapi.Content
	// Edits is the message that this one replaces; 0 is a new message.
	Edits int64
	// Ephemeral is the message to answer for its user's eyes alone; zero is a message
	// for everybody in the chat.
	Ephemeral botapi.EphemeralMessage
	// User is who asked: the slots of a chat are shared fairly between them.
	User int64
	// Deadline is by when its chat must have a slot for it; zero is no deadline. An
	// ephemeral message is not sent after it.
	Deadline time.Time
	// Notice names a message that goes at most once a minute to its chat, and before
	// all that waits there; "" is any other.
	Notice string
	// Unknown is how often the message was sent elsewhere without knowing whether it
	// is out.
	Unknown int
	// Key says which messages may stand for each other while they wait, such as
	// the edits of one message; nil stands alone. The newest goes.
	Key any
	// Subject and AsOf say which is newer: of two messages with the same Subject the
	// one with the later AsOf, otherwise the one that came later.
	Subject string
	AsOf    time.Time
	// Shared makes the content that stands for so many messages; nil is Content.
	Shared func(messages int) botapi.Content
}

func (m Message) olderThan(other Message) bool {
	return m.Subject == other.Subject && m.AsOf.Before(other.AsOf)
}

// Result is what became of a message.
type Result int

// The results.
const (
	// None is that there was nothing to send.
	None Result = iota
	Delivered
	// NotSent is a message that certainly is not out, and may be taken later.
	NotSent
	// OutcomeUnknown is a message that may be out. It is not sent again.
	OutcomeUnknown
	// Dropped is a message for which its chat had no room in time.
	Dropped
	// Unreachable is a user to whom the bot may not write.
	Unreachable
	// Refused is a message that Telegram will not take.
	Refused
)

// Receipt is what became of a message.
type Receipt struct {
	Result Result
	// Sent is a new message that was Delivered to everybody in its chat.
	Sent botapi.MessageRef
	// Unknown is how often it was sent without knowing whether it is out.
	Unknown int
	// Err says why it was not Delivered, for a log.
	Err error
}

// Send sends a message, and blocks until it is clear what becomes of it, or ctx
// ends.
func (o *Outbox) Send(ctx context.Context, m Message) Receipt {
	if m.Key == nil {
		return o.deliver(ctx, m, func() (Message, bool) { return m, true })
	}
	b, s, first := o.join(m)
	if !first {
		<-s.done
		if s.receipt.Result == Delivered && m.Edits == 0 {
			o.Count("send_shared")
		}
		return s.receipt
	}
	defer close(s.done)
	b.turn <- struct{}{} // Who is before it ends with ctx at the latest.
	next := func() {
		<-b.turn
		o.forget(m.Key, b)
	}
	s.receipt = o.deliver(ctx, m, func() (Message, bool) {
		if m.Edits == 0 {
			time.AfterFunc(sameAnswerGap, next)
		}
		return o.seal(b)
	})
	if m.Edits != 0 {
		if s.receipt.Result == Delivered && !s.olderThan(b.made) {
			b.made = s.Message
		}
		next()
	}
	return s.receipt
}

// deliver sends a message when it has its slot, and again for as long as that is
// worth it. seal is called once, when the message has its slot or gets none: it
// returns what the message is by then, and whether it is due at all.
func (o *Outbox) deliver(ctx context.Context, m Message, seal func() (Message, bool)) Receipt {
	repeats, ephemeral := len(unknownWaits), m.Ephemeral.Arrived()
	policy := transport.Policy{Backoff: backoff}
	if ephemeral {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, m.Deadline)
		defer cancel()
		repeats, policy.Until = ephemeralRepeats, m.Deadline
	}
	full, giveUp, attempts := m.Content, time.Now().Add(deliveryLimit), 0
	dropPicture := func() bool {
		if m.Picture == nil || m.Edits != 0 {
			return false
		}
		m.Content = full
		m.Picture = nil
		return true
	}
	policy.Again = func(err error) (bool, time.Duration) {
		e, called := errors.AsType[*botapi.Error](err)
		if !called {
			return false, 0
		}
		switch e.Kind {
		case botapi.NotSent:
			return true, 0
		case botapi.TooManyRequests:
			if time.Now().Add(e.RetryAfter).After(giveUp) {
				o.Count("send_abandoned")
				return false, 0
			}
			return true, e.RetryAfter
		case botapi.OutcomeUnknown:
			m.Unknown++
			if m.Unknown == len(unknownWaits) {
				dropPicture() // It may be the picture that the server cannot take.
			}
			if m.Unknown <= repeats {
				return true, unknownWaits[m.Unknown-1]
			}
			if !ephemeral {
				o.Count("send_abandoned")
			}
		case botapi.Refused:
			return downgrade(e, &m.Content) || dropPicture(), 0
		case botapi.Forbidden:
			return dropPicture(), 0 // A chat may allow texts alone.
		case botapi.Migrated:
			// Nothing in the new chat has a number of the old one.
			m.To.Chat, m.To.ReplyTo = e.NewChat, 0
			return !ephemeral && m.Edits == 0, 0
		}
		return false, 0
	}
	r, due := Receipt{}, true
	r.Err = policy.Do(ctx, func(ctx context.Context) error {
		err := o.slot(ctx, &m)
		if attempts++; attempts == 1 {
			m, due = seal()
			full = m.Content
			m.Deadline, m.Notice = time.Time{}, "" // They are meant for the first time.
		} else if err == nil {
			o.Count("send_repeated")
		}
		if err != nil || !due {
			return err
		}
		r.Sent.Chat = m.To.Chat
		r.Sent.MessageID, err = o.call(ctx, m)
		return err
	})
	r.Unknown = m.Unknown
	e, called := errors.AsType[*botapi.Error](r.Err)
	switch {
	case r.Err == nil:
		r.Result = Delivered
	case errors.Is(r.Err, errNoRoom) && attempts == 1:
		r.Result = Dropped
	case !called, e.Kind == botapi.NotSent, e.Kind == botapi.TooManyRequests, e.Kind == botapi.Unauthorized:
		r.Result = NotSent
	case e.Kind == botapi.OutcomeUnknown:
		r.Result = OutcomeUnknown
		if ctx.Err() != nil {
			r.Result = NotSent // Somebody else may send it: silence is worse than a repetition.
		}
	case e.Unreachable():
		r.Result = Unreachable
	default:
		r.Result = Refused
	}
	return r
}

// call makes the one call that shows a message, and counts why it failed.
func (o *Outbox) call(ctx context.Context, m Message) (id int64, err error) {
	switch {
	case m.Ephemeral.Arrived():
		err = o.API.SendEphemeral(ctx, m.Ephemeral, m.Content)
	case m.Edits != 0:
		err = o.API.Edit(ctx, botapi.MessageRef{Chat: m.To.Chat, MessageID: m.Edits}, m.Content)
	default:
		id, err = o.API.Send(ctx, m.To, m.Content)
	}
	if err == nil {
		return id, nil
	}
	e := botapi.ErrorOf(err)
	switch e.Kind {
	case botapi.Unauthorized:
		o.Unauthorized()
	case botapi.TooManyRequests:
		o.Count("rate_limited")
		o.mu.Lock()
		maps.DeleteFunc(o.held, func(_ int64, until time.Time) bool { return time.Since(until) > afterHold })
		if until := time.Now().Add(e.RetryAfter); until.After(o.held[m.To.Chat]) {
			o.held[m.To.Chat] = until
		}
		o.mu.Unlock()
	case botapi.OutcomeUnknown:
		o.Count("send_outcome_unknown")
	case botapi.Refused, botapi.Forbidden, botapi.Conflict, botapi.Public:
		o.Count("send_refused")
	}
	return id, err
}

// Answer makes the call that answers an inline query or a press, at no pace. It is
// repeated until then if it was certainly not taken, or with contents made plain.
func (o *Outbox) Answer(ctx context.Context, until time.Time, call func(context.Context) error, contents ...*botapi.Content) error {
	again := func(err error) (bool, time.Duration) {
		e := botapi.ErrorOf(err)
		notTaken := e.Kind == botapi.NotSent || e.Kind == botapi.TooManyRequests
		return notTaken || downgrade(e, contents...), e.RetryAfter
	}
	return transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(ctx, call)
}

// bundle is the messages with one Key.
type bundle struct {
	users int
	// turn is held by the message that goes: of edits until it is made, of answers
	// for sameAnswerGap.
	turn chan struct{}
	// made is the edit that was made last, for whoever holds turn.
	made Message
	// waiting is what others may join; nil if there is nothing.
	waiting *shared
}

// shared is one message that waits for several.
type shared struct {
	Message  // the newest
	requests int
	// done is closed once receipt is what became of it.
	done    chan struct{}
	receipt Receipt
}

// join adds m to the message with its Key that waits, or makes it that one. The
// first seals and forgets it.
func (o *Outbox) join(m Message) (b *bundle, s *shared, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b = o.bundles[m.Key]
	if b == nil {
		b = &bundle{turn: make(chan struct{}, 1)}
		o.bundles[m.Key] = b
	}
	if first = b.waiting == nil; first {
		b.users++
		b.waiting = &shared{Message: m, done: make(chan struct{})}
	}
	s = b.waiting
	s.requests++
	if !m.olderThan(s.Message) {
		to, user := s.To, s.User
		s.Message = m
		s.To, s.User = to, user // It answers whoever waited longest.
	}
	return b, s, first
}

// seal lets nobody join any more. It returns the message, and false if what it
// edits says something newer by now.
func (o *Outbox) seal(b *bundle) (m Message, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := b.waiting
	b.waiting = nil
	m = s.Message
	if m.Edits != 0 {
		return m, !m.olderThan(b.made)
	}
	if s.requests > 1 && m.Shared != nil {
		m.Content = m.Shared(s.requests)
	}
	return m, true
}

func (o *Outbox) forget(key any, b *bundle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(o.bundles, key)
	}
}
