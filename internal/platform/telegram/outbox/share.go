package outbox

import (
	"context"
	"time"
)

// sameAnswerGap is the minimum time from one message to the next with the same Key: the rate that Telegram
// publishes for a chat. A chat's burst is for different answers.
const sameAnswerGap = time.Second

// A delivery with a Key is open, then sealed, perhaps open again after a 429, and then ended:
//
//	open ── seal ──> sealed ── finish ──> ended
//	  └──── reopen ────┘
//
// Of the messages with one Key, at most one waits. Messages that come meanwhile join it, and their senders share
// its receipt. Once it has its slots, it is sealed: no other message joins, and the newest of those that joined is
// sent. The next message with the Key then follows it: an edit once the sealed edit has ended, any other message
// after sameAnswerGap.

// keyed is what a delivery knows of the others with its Key.
type keyed struct {
	// previous is the delivery to wait for, or nil. It is sealed for good, because only the latest delivery can reopen.
	// So its fields below no longer change.
	previous *delivery
	// made is the Sharing of the newest edit that Telegram made, or may have made.
	made Sharing
	// ended is closed once the receipt is set, or after a panic. It is nil if the delivery has no Key.
	ended chan struct{}

	// Outbox.mu guards the fields below.

	// open is set while other messages may join.
	open bool
	// newest is the newest of the messages that share the delivery, and requests counts these messages.
	newest   *Message
	requests int
	// deadline is the latest Deadline of the messages that share the delivery; zero: the first of them has none.
	deadline time.Time
	sealedAt time.Time
}

// noticeKey is the Sharing.Key of a Notice. Each topic of a channel's direct messages has a reader of its own.
type noticeKey struct {
	chat   int64
	topic  int
	notice string
}

// join adds m to the delivery that waits with its Key, and returns that delivery. If none waits, join returns nil.
func (o *Outbox) join(m *Message) *delivery {
	if m.Sharing.Key == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.latest[m.Sharing.Key]
	if d == nil || !d.open {
		return nil
	}
	d.add(m)
	return d
}

// leadOrJoin opens d, so that other messages can join it, and returns nil. The caller must then call finish. If another
// delivery waits with that Key by now, leadOrJoin instead adds d's message to the other one and returns that.
func (o *Outbox) leadOrJoin(d *delivery) *delivery {
	key := d.m.Sharing.Key
	if key == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	other := o.latest[key]
	if other != nil && other.open {
		other.add(d.m)
		return other
	}
	d.previous = other
	d.ended = make(chan struct{})
	d.open = true
	d.newest = d.m
	d.requests = 1
	o.latest[key] = d
	return nil
}

// add lets m share the delivery. The caller holds Outbox.mu.
func (d *delivery) add(m *Message) {
	d.requests++
	if m.Deadline.After(d.deadline) && !d.deadline.IsZero() {
		d.deadline = m.Deadline
	}
	if !m.Sharing.olderThan(&d.newest.Sharing) {
		d.newest = m
	}
}

// receiptFor returns the receipt of m, a message that has joined the delivery. It blocks until the delivery has ended,
// even if ctx ends. If the delivery panicked, receiptFor sends m by itself. A Notice is Dropped at once: the one that
// waits tells the chat.
func (d *delivery) receiptFor(ctx context.Context, m *Message) Receipt {
	if m.Notice != "" {
		return Receipt{Result: Dropped}
	}
	m.OnWait()
	if m.Sharing.OnJoin != nil {
		m.Sharing.OnJoin()
	}
	<-d.ended
	switch {
	case d.receipt.Result == None: // The delivery panicked, perhaps in Combined.
		m.Sharing = Sharing{}
		return d.out.Send(ctx, *m)
	case d.receipt.Result == Delivered && m.EditID == 0:
		d.out.Count("send_shared")
	}
	return d.receipt
}

// waitForPrevious blocks until the delivery may follow the previous one with its Key: an edit until the previous edit
// has ended, any other message until sameAnswerGap after the previous message was sealed. A Notice does not wait. It
// fails with errNoRoom if the message may not wait that long, and with ctx's error.
func (d *delivery) waitForPrevious(ctx context.Context) error {
	previous := d.previous
	d.previous = nil
	switch {
	case previous == nil, d.m.Notice != "":
		return nil
	case d.m.EditID == 0:
		gap := time.Until(previous.sealedAt.Add(sameAnswerGap))
		if gap <= 0 {
			return nil
		}
		return d.wait(ctx, gap)
	}
	d.m.OnWait()
	<-previous.ended // It ends soon after ctx at the latest.
	d.made = previous.made
	return nil
}

// seal lets no other message join, makes the newest message that has joined the one to send, and returns true. It
// returns false if a newer edit has been made already: nothing is to be sent.
func (d *delivery) seal() (isToBeSent bool) {
	newest, requests := d.stopJoining()
	if newest == nil {
		return true
	}
	m := *newest
	// The message replies to the sender who has waited longest.
	m.To = d.m.To
	m.OnWait = d.m.OnWait
	m.UnknownAttempts = d.m.UnknownAttempts
	d.m = &m
	if m.EditID != 0 && m.Sharing.olderThan(&d.made) {
		return false
	}
	if m.Sharing.Combined != nil && requests > 1 {
		m.Content = m.Sharing.Combined(requests)
	}
	m.leaveOut(d.leftOut)
	return true
}

// stopJoining lets no other message join. It returns the newest that has joined and how many have, or nil if the
// delivery was not open.
func (d *delivery) stopJoining() (newest *Message, requests int) {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	if !d.open {
		return nil, 0
	}
	d.open = false
	d.sealedAt = time.Now()
	return d.newest, d.requests
}

// latestDeadline returns the deadline of the delivery, which others may extend.
func (d *delivery) latestDeadline() time.Time {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	return d.deadline
}

// reopen lets messages join a delivery that was sealed and was not sent, unless another delivery with its Key waits by
// now.
func (d *delivery) reopen() {
	o := d.out
	o.mu.Lock()
	defer o.mu.Unlock()
	isLatest := d.ended != nil && o.latest[d.m.Sharing.Key] == d
	if isLatest {
		d.open = true
		d.newest = d.m
	}
}

// finish gives the receipt to those who share the delivery, and lets the next one follow.
func (o *Outbox) finish(d *delivery) {
	if d.ended == nil { // Nobody shares it.
		return
	}
	result := d.receipt.Result
	mayBeMade := result == Delivered || result == OutcomeUnknown
	if mayBeMade && !d.m.Sharing.olderThan(&d.made) {
		d.made = d.m.Sharing
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	d.open = false
	close(d.ended)
	gap := time.Until(d.sealedAt.Add(sameAnswerGap))
	if gap <= 0 {
		o.forget(d)
		return
	}
	time.AfterFunc(gap, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.forget(d)
	})
}

// forget removes d unless there is a later delivery with its Key. The caller holds mu.
func (o *Outbox) forget(d *delivery) {
	if o.latest[d.m.Sharing.Key] == d {
		delete(o.latest, d.m.Sharing.Key)
	}
}
