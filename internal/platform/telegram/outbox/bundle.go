package outbox

import (
	"context"
	"slices"
	"time"
)

// bundle is the messages with one Sharing.Key.
type bundle struct {
	// sending is held while an edit is made, or for sameAnswerGap after an answer.
	sending chan struct{}
	// made is the Sharing of the last edit that was made. Only the holder of sending may
	// use it.
	made Sharing
	// waiting is the delivery that others may join, or nil.
	waiting *delivery
}

// noticeKey is the Sharing.Key of a Notice.
type noticeKey struct {
	chat   int64
	notice string
}

// join adds m to the waiting delivery with its Sharing.Key. If there is none, it makes m
// that delivery and returns first, and the caller must send it.
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
	}
	return b, d, false
}

// send sends d once no other message of the bundle is being sent.
func (b *bundle) send(ctx context.Context, d *delivery) {
	b.sending <- struct{}{} // Its holder releases it soon after ctx has ended, or before.
	d.run(ctx)
	if d.m.Edits == 0 {
		return
	}
	if d.receipt.Result == Delivered && !d.m.Sharing.olderThan(&b.made) {
		b.made = d.m.Sharing
	}
	d.release()
}

// seal makes the newest message the one that is sent, and lets no other message join.
func (d *delivery) seal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	to := d.m.To // of whoever waited longest
	d.m = d.newest
	d.m.To, d.m.Deadline = to, time.Time{}
	if combined := d.m.Sharing.Combined; combined != nil && d.requests > 1 {
		d.m.Content = combined(d.requests)
	}
	d.whole = d.m.Content
	if d.bundle == nil {
		return
	}
	d.bundle.waiting = nil
	if d.m.Edits == 0 {
		time.AfterFunc(sameAnswerGap, d.release)
	} else {
		d.outdated = d.m.Sharing.olderThan(&d.bundle.made)
	}
}

// release lets the next message of the bundle be sent.
func (d *delivery) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	<-d.bundle.sending // at once, since this delivery holds it
	if d.bundle.waiting == nil {
		delete(d.bundles, d.m.Sharing.Key)
	}
}
