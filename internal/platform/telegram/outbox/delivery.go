package outbox

import (
	"context"
	"errors"
	"time"

	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// delivery is a message on its way, for one sender or for several who share it.
type delivery struct {
	*Outbox
	bundle *bundle // nil if no other message may join
	// m is the first message until the delivery is sealed, then what is sent.
	m Message
	// whole is the sealed content, before styles or a picture are left out.
	whole Content
	// outdated is set by seal if a newer edit has been made; nothing is then sent.
	outdated bool
	// giveUp is the time past which no 429 may delay the message.
	giveUp   time.Time
	attempts int
	// migrated is set once the message follows its chat to another ID.
	migrated bool

	// Until the delivery is sealed, Outbox.mu guards the six fields below.

	newest   Message
	requests int
	senders  []int64   // each once, in the order of their requests
	deadline time.Time // the latest
	position position
	next     chan struct{} // closed when no message of the chat is before this one

	// joined has a token if a sender has joined since the message last looked for a sender's slot.
	joined chan struct{}
	// done is closed once receipt is set.
	done    chan struct{}
	receipt Receipt
}

func newDelivery(o *Outbox, m Message) *delivery {
	return &delivery{
		Outbox: o, m: m, newest: m, requests: 1, senders: []int64{m.Sender}, deadline: m.Deadline,
		giveUp: time.Now().Add(deliveryLimit), joined: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// run blocks until the outcome of the message is known or ctx ends, and sets receipt.
func (d *delivery) run(ctx context.Context) {
	policy := transport.Policy{Backoff: backoff, Again: d.again}
	if d.m.Ephemeral.Arrived() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.m.Deadline)
		defer cancel()
		policy.Until = d.m.Deadline
	}
	d.receipt.Err = policy.Do(ctx, d.attempt)
	d.receipt.Result, d.receipt.Unknown = d.result(ctx), d.m.Unknown
	if d.receipt.Result == Lost || d.receipt.Result == OutcomeUnknown && !d.m.Ephemeral.Arrived() {
		d.Count("send_abandoned")
	}
}

// attempt sends the message, and again, in further slots, without each part that Telegram refuses.
func (d *delivery) attempt(ctx context.Context) error {
	for {
		err := d.call(ctx)
		e, called := errors.AsType[*botapi.Error](err)
		if !called {
			return err
		}
		refused := refusedPart(e, &d.m)
		if refused == noPart {
			return err
		}
		d.leaveOut(refused)
	}
}

// call waits for a slot and calls Telegram once. The first call seals the delivery.
func (d *delivery) call(ctx context.Context) error {
	err := d.waitForSlot(ctx)
	d.attempts++
	if d.attempts == 1 {
		d.seal()
	} else if err == nil {
		d.Count("send_repeated")
	}
	if err != nil || d.outdated {
		return err
	}
	d.receipt.Sent.Chat = d.m.To.Chat
	d.receipt.Sent.MessageID, err = d.sendOrEdit(ctx)
	return err
}

// again reports whether to send the message again after err, and after how long at least.
func (d *delivery) again(err error) (again bool, atLeast time.Duration) {
	e, called := errors.AsType[*botapi.Error](err)
	if !called {
		return false, 0
	}
	repeats := len(unknownWaits)
	if d.m.Ephemeral.Arrived() {
		repeats = ephemeralRepeats
	}
	switch e.Kind {
	case botapi.NotSent:
		return true, 0
	case botapi.TooManyRequests:
		return d.m.Notice != "" || time.Now().Add(e.RetryAfter).Before(d.giveUp), e.RetryAfter
	case botapi.OutcomeUnknown:
		d.m.Unknown++
		if d.m.Unknown == len(unknownWaits) && d.m.has(picturePart) { // The server may fail because of it.
			d.leaveOut(picturePart)
		}
		if d.m.Unknown <= repeats {
			return true, unknownWaits[d.m.Unknown-1]
		}
	case botapi.Migrated:
		follows := !d.migrated && d.m.EditID == 0 && !d.m.Ephemeral.Arrived()
		// The new chat does not know the message IDs of the old one.
		d.m.To.Chat, d.m.To.ReplyTo, d.migrated = e.NewChat, 0, true
		return follows, 0
	}
	return false, 0
}

// result returns the Result for receipt.Err, the error of the last attempt.
func (d *delivery) result(ctx context.Context) Result {
	err := d.receipt.Err
	e, called := errors.AsType[*botapi.Error](err)
	switch {
	case err == nil:
		return Delivered
	case errors.Is(err, errNoRoom):
		return Dropped
	case errors.Is(err, errHeld), called && e.Kind == botapi.TooManyRequests:
		return Lost
	case !called, e.Kind == botapi.NotSent, e.Kind == botapi.Unauthorized:
		return NotSent
	case e.Kind == botapi.OutcomeUnknown && ctx.Err() != nil:
		return NotSent // A polled update comes again: a repetition is better than silence.
	case e.Kind == botapi.OutcomeUnknown:
		return OutcomeUnknown
	case e.Unreachable():
		return Unreachable
	}
	return Refused
}

// sendOrEdit sends or edits the message. It returns the ID of a new message that everybody in the
// chat sees, or 0. It counts a failure, and after a 429 holds back the chat.
func (d *delivery) sendOrEdit(ctx context.Context) (id int, err error) {
	m := &d.m
	switch {
	case m.Ephemeral.Arrived():
		id, err = d.API.SendEphemeral(ctx, m.Ephemeral, textMessage(Destination{}, m.Content))
	case m.EditID != 0:
		var changed bool
		changed, err = d.edit(ctx, MessageRef{Chat: m.To.Chat, MessageID: m.EditID}, m.Content)
		// An attempt with an unknown outcome may have changed it.
		d.receipt.Unchanged = err == nil && !changed && m.Unknown == 0
	default:
		id, err = d.post(ctx, m.To, m.Content)
	}
	if err == nil {
		return id, nil
	}
	e := botapi.ErrorOf(err)
	switch e.Kind {
	case botapi.Unauthorized:
		d.Unauthorized()
	case botapi.TooManyRequests:
		d.Count("rate_limited")
		d.hold(e.RetryAfter)
		d.m.Waits()
	case botapi.OutcomeUnknown:
		d.Count("send_outcome_unknown")
	case botapi.Migrated:
		d.Migrated(m.To.Chat, e.NewChat)
	case botapi.Refused, botapi.Forbidden, botapi.Conflict, botapi.Public:
		d.Count("send_refused")
	}
	return id, err
}
