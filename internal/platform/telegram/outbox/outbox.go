// Package outbox sends messages to Telegram, within the rates that Telegram allows. It makes calls of the Bot API, and
// does not know commands. Only a message's fields decide how it is sent.
//
//	outbox.go    messages, receipts, and how to send one
//	delivery.go  one message, from its first slot to its receipt
//	next.go      what follows an attempt: one decision, for each kind of error and what was tried before
//	parts.go     the parts that a message can be sent without
//	limits.go    the limits that apply to a message
//	wait.go      a message waits for its chat's pause and for its slots
//	share.go     messages with the same Key that wait at the same time become one
//	content.go   messages as calls of the Bot API
//
// Telegram limits how many messages per second and per minute the bot may send to a chat, and to all chats together. A
// slot is the right to send one message under one such limit. A message waits for a slot of each limit. If Telegram
// answers 429, it refuses messages to the chat for a time: the chat is paused.
//
// Telegram has no idempotency key. So a message that was definitely not sent is retried for as long as it is useful,
// and a message with an unknown outcome, which may be delivered, is resent at most twice.
package outbox

import (
	"context"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// Config is what an Outbox works with.
type Config struct {
	API *botapi.Client
	// Limiter limits Notices (Message.Notice) and, if Pacing is set, all messages.
	Limiter ratelimit.Limiter
	// Pacing keeps messages to Telegram's published rates. If it is not set, only 429s slow them down.
	Pacing bool
	// Bot begins the keys of the Limiter, so that several bots can share one.
	Bot string
	// Count is called with rate_limited, send_repeated, send_outcome_unknown, send_refused, send_abandoned
	// and send_shared.
	Count func(event string)
	// Unauthorized is called when the token is refused for a message.
	Unauthorized func()
	// Migrated is called when a message is refused because its group has become a supergroup with another ID.
	Migrated func(from, to int64)
}

// Outbox sends messages. Its methods may be called from many goroutines.
type Outbox struct {
	Config
	// global is globalLimit with the key of the bot.
	global ratelimit.Limit
	// permits holds a token for each message that is taking its slots, and plan spaces the messages that wait for the same
	// chat. wait.go says why.
	permits chan struct{}
	plan    *ratelimit.Memory

	mu sync.Mutex
	// pausedUntil holds the end of each chat's last 429.
	pausedUntil map[int64]time.Time
	// latest holds the latest delivery of each Sharing.Key.
	latest map[any]*delivery
}

// New returns an Outbox.
func New(c Config) *Outbox {
	global := globalLimit
	global.Key = c.Bot + " all"
	return &Outbox{
		Config:      c,
		global:      global,
		permits:     make(chan struct{}, maxTaking),
		plan:        ratelimit.NewMemory(),
		pausedUntil: map[int64]time.Time{},
		latest:      map[any]*delivery{},
	}
}

// Message is something to send, and how.
type Message struct {
	To      Destination
	Content Content
	// EditID is the ID of the message to edit; 0 sends a new message.
	EditID int
	// Ephemeral is the ephemeral message to answer, so that only its user can read the answer. If it is zero, everybody
	// in the chat can read the message.
	Ephemeral botapi.EphemeralMessage
	// Sender is the ID of the user who asked, or of the chat as which they spoke. In a group, new messages that have a
	// Deadline are also limited by their Sender.
	Sender int64
	// Deadline is until when the message may wait for slots before its first attempt; zero is no deadline. After a 429,
	// the message may also wait until afterPause (30 s) is over. An ephemeral message is never sent after its Deadline.
	Deadline time.Time
	// Notice names a kind of message that a chat gets at most once a minute; "" is any other message. In a
	// channel's direct messages, each topic gets it once a minute. A Notice does not queue behind the other messages of
	// its chat, but it waits for the end of a 429, however long that is.
	Notice string
	// UnknownAttempts counts earlier attempts with an unknown outcome, for example, of the ephemeral message that this
	// one replaces.
	UnknownAttempts int
	// Sharing says which messages may be sent as one; the zero value shares nothing. For a Notice, Send sets it.
	Sharing Sharing
	// OnWait is called each time the message begins to wait for a slot of its chat or its sender, the end of a 429, or
	// another message; it may be nil.
	OnWait func()
}

// Sharing joins messages that wait at the same time. One is sent: the newest, or what Combined makes of all.
type Sharing struct {
	// Key is equal for messages of which one is enough, such as the edits of one message; nil equals no other.
	Key any
	// Subject and AsOf tell which of two messages is newer. If both have the same Subject, it is the one with the newer
	// AsOf. Otherwise, it is the one that came later.
	Subject string
	AsOf    chat.Version
	// Combined returns the content that is sent instead of two or more messages; nil sends the Content of the
	// newest.
	Combined func(messages int) Content
	// OnJoin is called if another message will be sent instead of this one; it may be nil.
	OnJoin func()
}

// olderThan reports whether other has the same Subject and a newer AsOf.
func (s *Sharing) olderThan(other *Sharing) bool {
	return s.Subject == other.Subject && s.AsOf.Compare(other.AsOf) == chat.Older
}

// Result is what became of a message.
type Result int

const (
	// None: there was nothing to send, or the delivery panicked.
	None Result = iota
	Delivered
	// Retryable: the caller may send it again. It was not sent, or ctx ended during an attempt and nobody knows.
	Retryable
	// OutcomeUnknown: it may be delivered, and is not sent again.
	OutcomeUnknown
	// Dropped: its chat or its sender had no slot before the deadline, or it is a Notice and another one already waits.
	Dropped
	// Lost: a 429 lasted longer than deliveryLimit (5 min).
	Lost
	// Unreachable: the bot may not write to the user.
	Unreachable
	// Refused: Telegram does not accept it.
	Refused
)

// Receipt is what became of a message.
type Receipt struct {
	Result Result
	// Sent is the new message. If the Kind of Err is botapi.Public, Telegram has shown an ephemeral message to
	// everybody: the Result is then Refused, and the caller must delete Sent.
	Sent MessageRef
	// Unchanged is set if an edited message had that content already.
	Unchanged bool
	// UnknownAttempts counts the attempts with an unknown outcome, including Message.UnknownAttempts.
	UnknownAttempts int
	// Err says why the message was not Delivered, for a log.
	Err error
}

// Send sends a message, in these steps:
//
//  1. If a message with the same Key waits to be sent, m joins it: only one of them is sent, and both get its receipt.
//  2. Otherwise m waits for a slot of its sender.
//  3. If another message with the same Key has begun to wait meanwhile, m joins it. Otherwise, other messages can join
//     m from now on.
//  4. m is sent, and retried as next decides.
//
// Send blocks until the outcome is known, or ctx ends. If m has joined another message, Send returns the receipt of
// that message, and blocks until it is known, even if ctx ends. But a Notice that would join another one is Dropped at
// once.
func (o *Outbox) Send(ctx context.Context, m Message) Receipt {
	if m.OnWait == nil {
		m.OnWait = func() {}
	}
	if m.Notice != "" {
		m.Sharing.Key = noticeKey{m.To.Chat, m.To.DirectTopic, m.Notice}
	}
	if other := o.join(&m); other != nil {
		return other.awaitReceipt(ctx, &m)
	}
	d := newDelivery(o, &m)
	if err := d.waitForSender(ctx); err != nil {
		return d.end(resultOf(err), err)
	}
	if other := o.leadOrJoin(d); other != nil {
		return other.awaitReceipt(ctx, &m)
	}
	defer o.finish(d) // also after a panic
	d.receipt = d.run(ctx)
	return d.receipt
}

// Answer makes the call that answers an inline query or a press, without a slot. It blocks until the outcome is
// known, or ctx ends. It retries the call as next decides, until the deadline. If Telegram refuses a part of the
// contents, Answer removes that part from each of contents before it retries.
func (o *Outbox) Answer(
	ctx context.Context, deadline time.Time, call func(context.Context) error, contents ...*Content,
) error {
	s := state{lifetime: short} // The answer is worth nothing after the deadline.
	for failures := 1; ; failures++ {
		err := call(ctx)
		if err == nil {
			return nil
		}
		e := botapi.ErrorOf(err)
		if e.Kind == botapi.OutcomeUnknown {
			s.unknown++
		}
		s.parts = 0
		for _, c := range contents {
			s.parts |= c.parts()
		}
		s.left = time.Until(deadline)
		s.backoff = backoff.After(failures)
		step := next(e, s)
		switch step.action {
		case done: // An earlier attempt answered it.
			return nil
		case giveUp:
			return err
		case retry, resend: // the same call again
		case retryPlainer:
			for _, c := range contents {
				*c = c.without(step.part)
			}
		}
		if !transport.Sleep(ctx, step.after) {
			return err
		}
	}
}
