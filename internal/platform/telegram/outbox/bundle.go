package outbox

import (
	"context"
	"slices"
	"time"
)

// bundle is the messages with one Sharing.Key.
type bundle struct {
	// sending holds a token while an edit is made, or until sameAnswerGap after an answer
	// got its slot.
	sending chan struct{}
	// made is the Sharing of the newest edit that Telegram made, or may have made. Only the
	// delivery whose token sending holds may use it.
	made Sharing
	// waiting is the delivery that others may join, or nil.
	waiting *delivery
}

// noticeKey is the Sharing.Key of a Notice.
type noticeKey struct {
	chat   int64
	topic  int
	notice string
}

// join adds m to the delivery that waits with its Sharing.Key. If none waits, join makes
// one of m and returns true; the caller must then send the delivery.
func (o *Outbox) join(m Message) (b *bundle, d *delivery, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b = o.bundles[m.Sharing.Key]
	if b == nil {
		b = &bundle{sending: make(chan struct{}, 1)}
		o.bundles[m.Sharing.Key] = b
	}
	if b.waiting == nil {
		b.waiting = newDelivery(o, m)
		b.waiting.bundle = b
		return b, b.waiting, true
	}
	d = b.waiting
	d.requests++
	if m.Deadline.After(d.deadline) {
		d.deadline = m.Deadline
	}
	if !m.Sharing.olderThan(&d.newest.Sharing) {
		d.newest = m
	}
	if !slices.Contains(d.senders, m.Sender) {
		d.senders = append(d.senders, m.Sender)
		o.lines[m.To.Chat].advance(d, m.Sender)
		select {
		case d.joined <- struct{}{}:
		default:
		}
	}
	return b, d, false
}

// send blocks until no other message of the bundle is being sent, then sends d. An answer
// releases the bundle by a timer of seal, and an edit at its end, even after a panic.
func (b *bundle) send(ctx context.Context, d *delivery) {
	select {
	case b.sending <- struct{}{}:
	default:
		d.m.Waits()
		b.sending <- struct{}{} // The delivery before ends soon after ctx at the latest.
	}
	defer func() {
		if d.m.EditID != 0 || d.attempts == 0 { // Without an attempt there was a panic before seal.
			d.release()
		}
	}()
	d.run(ctx)
	r := d.receipt.Result
	if d.m.EditID != 0 && (r == Delivered || r == OutcomeUnknown) && !d.m.Sharing.olderThan(&b.made) {
		b.made = d.m.Sharing
	}
}

// seal replaces d.m by the newest message that joined, and lets no other one join. The
// first attempt calls seal after its wait for a slot.
func (d *delivery) seal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest.To, d.newest.Waits = d.m.To, d.m.Waits // The answer replies to whoever waited longest.
	d.m = d.newest
	if d.bundle != nil {
		d.bundle.waiting = nil
		if d.m.EditID == 0 {
			time.AfterFunc(sameAnswerGap, d.release)
		} else {
			d.outdated = d.m.Sharing.olderThan(&d.bundle.made)
		}
	}
	if combined := d.m.Sharing.Combined; combined != nil && d.requests > 1 {
		d.m.Content = combined(d.requests) // If it panics, the bundle is released all the same.
	}
	d.whole = d.m.Content
}

// release lets the next message of the bundle be sent.
func (d *delivery) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	<-d.bundle.sending // at once, since this delivery holds it
	if d.bundle.waiting == d {
		d.bundle.waiting = nil
	}
	if d.bundle.waiting == nil {
		delete(d.bundles, d.m.Sharing.Key)
	}
}
