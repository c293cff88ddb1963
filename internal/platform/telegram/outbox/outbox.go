// Package outbox sends messages to Telegram, within the rates that Telegram allows. It
// knows calls of the Bot API and nothing of commands. Only a message's fields decide how it
// is sent.
//
//	outbox.go    messages, receipts, and how to send one
//	bundle.go    messages with the same Key that wait at the same time become one
//	line.go      the senders of a chat are served in turn
//	slots.go     a message waits for a slot of its chat, then for one of all chats
//	delivery.go  a message is sent, and sent again where that helps
//
// A message that was definitely not sent is retried: until ctx ends if Telegram cannot be
// reached, and for up to 5 minutes after a 429. If the outcome is unknown, the message is
// sent again at most twice, seconds apart, because Telegram has no idempotency key. A
// message that is refused is sent again at once without the part that may be the cause: the
// topic, the reply, the picture, links or styles (downgrade.go).
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

// deliveryLimit bounds how long a message is retried after 429s.
const deliveryLimit = 5 * time.Minute

// unknownWaits are the waits before each repetition of a message that may already be
// out: long enough for a proxy to recover, short enough to be read as a repetition. Their
// number bounds the repetitions. An ephemeral message is repeated once, because the
// private chat remains.
var unknownWaits = [...]time.Duration{2 * time.Second, 5 * time.Second}

const ephemeralRepeats = 1

// sameAnswerGap is the least time from one message to the next with the same Key:
// the rate that Telegram publishes for a chat. A chat's burst is for different answers.
const sameAnswerGap = time.Second

var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// Config is what an Outbox works with.
type Config struct {
	API *botapi.Client
	// Limiter keeps Notices to their rate and, with Pacing, all messages to Telegram's.
	Limiter ratelimit.Limiter
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
	// Migrated is called when a message is refused because its group has become a supergroup with
	// another ID.
	Migrated func(from, to int64)
}

// Outbox sends messages. Its methods may be called from many goroutines.
type Outbox struct {
	Config
	// permits bounds the messages that reserve slots at the same time.
	permits chan struct{}

	mu sync.Mutex
	// lines has a key for each chat in which a message waits for its slot. The value holds
	// the messages behind that one.
	lines map[int64]line
	// heldUntil holds the end of each chat's last 429.
	heldUntil map[int64]time.Time
	bundles   map[any]*bundle // by Sharing.Key
}

// New makes an Outbox.
func New(c Config) *Outbox {
	return &Outbox{
		Config: c, permits: make(chan struct{}, maxReserving),
		lines: map[int64]line{}, heldUntil: map[int64]time.Time{}, bundles: map[any]*bundle{},
	}
}

// Message is something to send, and how.
type Message struct {
	To      Destination
	Content Content
	// EditID is the ID of the message to edit; 0 sends a new message.
	EditID int
	// Ephemeral is the message to answer for its user's eyes alone; zero sends to
	// everybody in the chat.
	Ephemeral botapi.EphemeralMessage
	// Sender is the ID of the user who asked, or of the chat as which they spoke. The
	// slots of a chat are shared fairly between senders.
	Sender int64
	// Deadline is the latest time of the chat's slot for the message; zero is no deadline.
	// An ephemeral message is not sent after its Deadline.
	Deadline time.Time
	// Notice names a kind of message that goes to a chat at most once a minute, in a channel's
	// direct messages to each topic; "" is any
	// other message. A Notice overtakes all messages that wait in the chat, and waits for
	// the end of a 429 however long that is.
	Notice string
	// Unknown counts the attempts with an unknown outcome that were made before, such as
	// those of an ephemeral message.
	Unknown int
	// Sharing says which messages may be sent as one; the zero value shares nothing. A
	// Notice needs none.
	Sharing Sharing
	// Waits is called, perhaps often, if the message waits for its chat's rate, the end of a
	// 429, or another message; it may be nil.
	Waits func()
}

// Sharing joins messages that wait at the same time: only the newest is sent.
type Sharing struct {
	// Key is equal for messages of which one is enough, such as the edits of one message;
	// nil equals no other.
	Key any
	// Subject and AsOf order messages. Of two with the same Subject, the one with the older
	// AsOf is older; of any other two, the one that came first.
	Subject string
	AsOf    chat.Version
	// Combined returns the content sent instead of two or more messages; nil sends the
	// Content of the newest.
	Combined func(messages int) Content
	// Joined is called if another message will be sent instead of this one; it may be nil.
	Joined func()
}

func (s *Sharing) olderThan(other *Sharing) bool {
	return s.Subject == other.Subject && s.AsOf.Compare(other.AsOf) == chat.Older
}

// Result is what became of a message.
type Result int

// The results.
const (
	// None: there was nothing to send.
	None Result = iota
	Delivered
	// NotSent: definitely not sent. The same message may be accepted later.
	NotSent
	// OutcomeUnknown: it may be out, and is not sent again.
	OutcomeUnknown
	// Dropped: its chat had no slot before the deadline.
	Dropped
	// Lost: a 429 lasted longer than deliveryLimit.
	Lost
	// Unreachable: the bot may not write to the user.
	Unreachable
	// Refused: Telegram will not take it.
	Refused
)

// Receipt is what became of a message.
type Receipt struct {
	Result Result
	// Sent is a new message that everybody in its chat can read. If Err is botapi.Public, the
	// caller must delete it.
	Sent MessageRef
	// Unchanged is set if an edited message had that content already.
	Unchanged bool
	// Unknown counts the attempts with an unknown outcome, from Message.Unknown on.
	Unknown int
	// Err says why the message was not Delivered, for a log.
	Err error
}

// Send sends a message. It blocks until the outcome is known, or ctx ends.
func (o *Outbox) Send(ctx context.Context, m Message) Receipt {
	if m.Waits == nil {
		m.Waits = func() {}
	}
	if m.Notice != "" {
		// Each topic of a channel's direct messages has a reader of its own.
		m.Sharing.Key, m.Sender = noticeKey{m.To.Chat, m.To.DirectTopic, m.Notice}, int64(m.To.DirectTopic)
	}
	if m.Sharing.Key == nil {
		d := newDelivery(o, m)
		d.run(ctx)
		return d.receipt
	}
	b, d, first := o.join(m)
	switch {
	case first:
		defer close(d.done) // even after a panic
		b.send(ctx, d)
	case m.Notice != "":
		return Receipt{Result: Dropped} // The chat is told by the one that waits.
	default:
		m.Waits()
		if m.Sharing.Joined != nil {
			m.Sharing.Joined()
		}
		<-d.done
		if d.receipt.Result == Delivered && m.EditID == 0 {
			o.Count("send_shared")
		}
	}
	return d.receipt
}

// Answer makes the call that answers an inline query or a press, without a slot. It blocks
// until the outcome is known, or ctx ends. It retries a call that definitely had no effect
// for as long as until allows, and repeats a refused call with plainer contents. It
// repeats a call with an unknown outcome once. If the query has then expired, the first call has
// answered it.
func (o *Outbox) Answer(
	ctx context.Context, until time.Time, call func(context.Context) error, contents ...*Content,
) error {
	unknown := 0
	again := func(err error) (bool, time.Duration) {
		e := botapi.ErrorOf(err)
		if e.Kind == botapi.OutcomeUnknown {
			unknown++
		}
		return e.Passing() && unknown < 2 || downgrade(e, contents...), e.RetryAfter
	}
	err := transport.Policy{Backoff: backoff, Until: until, Again: again}.Do(ctx, call)
	if unknown == 1 && err != nil && botapi.ErrorOf(err).Expired() {
		return nil
	}
	return err
}
