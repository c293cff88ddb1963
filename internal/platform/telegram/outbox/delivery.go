package outbox

import (
	"context"
	"time"

	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// deliveryLimit is how long 429s may delay a message.
const deliveryLimit = 5 * time.Minute

var backoff = transport.Backoff{First: 500 * time.Millisecond, Max: 30 * time.Second}

// delivery is a message on its way, for one sender or for several who share it. Other messages can join it until it is
// sealed: see share.go.
type delivery struct {
	out *Outbox
	// m is the message of the first sender until the delivery is sealed, and then the message to send.
	m      *Message
	limits limits
	// giveUpAt is the time after which no 429 may delay the message.
	giveUpAt time.Time
	// attempts counts the calls that were made to send the message.
	attempts int
	// leftOut holds the parts that an attempt left out. Later attempts leave them out, too.
	leftOut part
	// hasFollowed is set once the message has followed its group to another ID.
	hasFollowed bool
	receipt     Receipt
	keyed
}

func newDelivery(o *Outbox, m *Message) *delivery {
	return &delivery{
		out:      o,
		m:        m,
		limits:   o.limitsOf(m),
		giveUpAt: time.Now().Add(deliveryLimit),
		keyed:    keyed{deadline: m.Deadline},
	}
}

// run sends the message until its outcome is known or ctx ends.
func (d *delivery) run(ctx context.Context) Receipt {
	if d.m.Ephemeral.Arrived() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.m.Deadline)
		defer cancel()
	}
	if err := d.waitForPrevious(ctx); err != nil {
		return d.end(resultOf(err), err)
	}
	for {
		if err := d.waitForSlots(ctx); err != nil {
			return d.end(resultOf(err), err)
		}
		mustSend := d.seal()
		if !mustSend {
			return d.end(Delivered, nil)
		}
		err := d.attempt(ctx)
		if err == nil {
			return d.end(Delivered, nil)
		}
		e := botapi.ErrorOf(err)
		step := next(e, d.state())
		switch step.action {
		case done:
			return d.end(Delivered, nil)
		case giveUp:
			return d.end(step.result, err)
		case retry:
			d.reopen() // The message was not sent, so others may still join it.
		case resend:
			// The delivery stays sealed, because this content may be delivered already.
		case retryPlainer:
			d.leftOut |= step.part
			d.m.leaveOut(d.leftOut)
		case followGroup:
			d.follow(e.NewChat)
		}
		if !transport.Sleep(ctx, step.after) {
			// The caller may send the answer again after a restart, even if this attempt may have delivered it: two answers
			// are better than none.
			return d.end(Retryable, err)
		}
	}
}

// end returns the receipt of the message, and counts a message that was abandoned.
func (d *delivery) end(result Result, err error) Receipt {
	isEphemeral := d.m.Ephemeral.Arrived()
	// An ephemeral message with an unknown outcome is not abandoned: its caller then writes to the private chat.
	isAbandoned := result == Lost || (result == OutcomeUnknown && !isEphemeral)
	if isAbandoned {
		d.out.Count("send_abandoned")
	}
	r := d.receipt
	r.Result = result
	r.UnknownAttempts = d.m.UnknownAttempts
	r.Err = err
	return r
}

// attempt makes one attempt to send the message, and counts how it failed. A 429 also pauses the chat. attempt reports
// a refused token to Unauthorized, and a moved group to Migrated.
func (d *delivery) attempt(ctx context.Context) error {
	if d.attempts > 0 {
		d.out.Count("send_repeated")
	}
	d.attempts++
	err := d.sendOrEdit(ctx)
	if err == nil {
		return nil
	}
	e := botapi.ErrorOf(err)
	switch e.Kind {
	case botapi.Unauthorized:
		d.out.Unauthorized()
	case botapi.TooManyRequests:
		d.out.Count("rate_limited")
		d.out.pause(d.m.To.Chat, e.RetryAfter)
		d.m.OnWait()
	case botapi.OutcomeUnknown:
		d.m.UnknownAttempts++
		d.out.Count("send_outcome_unknown")
	case botapi.Migrated:
		d.out.Migrated(d.m.To.Chat, e.NewChat)
	case botapi.Refused, botapi.Forbidden, botapi.Conflict, botapi.Public:
		d.out.Count("send_refused")
	}
	return err
}

// sendOrEdit makes the message's call, and stores the result in the receipt.
func (d *delivery) sendOrEdit(ctx context.Context) (err error) {
	m := d.m
	d.receipt.Sent = MessageRef{Chat: m.To.Chat}
	switch {
	case m.Ephemeral.Arrived():
		text := textMessage(Destination{}, m.Content)
		d.receipt.Sent.MessageID, err = d.out.API.SendEphemeral(ctx, m.Ephemeral, text)
	case m.EditID != 0:
		var changed bool
		changed, err = d.out.edit(ctx, MessageRef{Chat: m.To.Chat, MessageID: m.EditID}, m.Content)
		mayHaveChanged := changed || m.UnknownAttempts > 0 // by an attempt with an unknown outcome
		d.receipt.Unchanged = err == nil && !mayHaveChanged
	default:
		d.receipt.Sent.MessageID, err = d.out.post(ctx, m.To, m.Content)
	}
	return err
}

// state returns what next has to know about the delivery.
func (d *delivery) state() state {
	s := state{
		lifetime:  normal,
		unknown:   d.m.UnknownAttempts,
		left:      time.Until(d.giveUpAt),
		backoff:   backoff.After(d.attempts),
		parts:     d.m.parts(),
		canFollow: d.m.isNew() && !d.hasFollowed,
	}
	switch {
	case d.m.Ephemeral.Arrived():
		s.lifetime = short
		s.left = time.Until(d.m.Deadline)
	case d.m.Notice != "":
		s.lifetime = unlimited
	}
	return s
}

// follow addresses the message to the supergroup that its group has become. The message then replies to none, because
// the supergroup has other message IDs.
func (d *delivery) follow(newChat int64) {
	d.m.To.Chat = newChat
	d.m.To.ReplyTo = 0
	d.limits = d.out.limitsOf(d.m)
	d.hasFollowed = true
}
