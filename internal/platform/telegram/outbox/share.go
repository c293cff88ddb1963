package outbox

import (
	"context"
	"time"
)

// sameAnswerGap is the minimum time from one message to the next with the same Key: the rate that Telegram publishes
// for a chat. The bursts of limits.go are for different answers.
const sameAnswerGap = time.Second

// Of the messages with one Sharing.Key, at most one waits for its slots. Messages that come meanwhile join its
// delivery, and their senders share its receipt. A delivery with a Key has these states:
//
//	open ── seal ──> sealed ── finish ──> ended
//	  └──── reopen ────┘
//
// While it is open, other messages may join. Once it has its slots, it is sealed: the newest of the messages that
// joined is sent, and a message that comes now begins a new delivery. The new delivery waits for the sealed one: an
// edit until the sealed edit has ended, any other message for sameAnswerGap. If the message was not sent, for example
// because of a 429, the delivery is reopened.

// keyed is what a delivery knows about other messages with its Key.
type keyed struct {
	// previous is the delivery to wait for, or nil. Only the latest delivery can reopen, so previous stays sealed, and
	// its fields below do not change.
	previous *delivery
	// made is the Sharing of the newest edit that Telegram made, or may have made.
	made Sharing
	// ended is closed once the receipt is set, or after a panic. It is nil if the delivery has no Key.
	ended chan struct{}

	// Outbox.mu guards the fields below.

	// open is set while other messages may join.
	open bool
	// newest is the newest of the messages that share the delivery, and messages is how many they are.
	newest   *Message
	messages int
	// deadline is the latest Deadline of the messages that share the delivery, or zero if the first of them has none.
	deadline time.Time
	// sealedAt is when the delivery was last sealed.
	sealedAt time.Time
}

// noticeKey is the Sharing.Key of a Notice. Each topic of a channel's direct messages has a reader of its own.
type noticeKey struct {
	chat   int64
	topic  int
	notice string
}

// join adds m to the open delivery with its Key, and returns that delivery. If none is open, join returns nil.
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

// leadOrJoin opens d, so that other messages can join it, and returns nil. The caller must then call finish. But if
// another delivery with the Key is open by now, leadOrJoin adds d's message to that delivery, and returns it.
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
	d.messages = 1
	o.latest[key] = d
	return nil
}

// add lets m share the delivery. The caller holds Outbox.mu.
func (d *delivery) add(m *Message) {
	d.messages++
	if m.Deadline.After(d.deadline) && !d.deadline.IsZero() {
		d.deadline = m.Deadline
	}
	if !m.Sharing.olderThan(&d.newest.Sharing) {
		d.newest = m
	}
}

// awaitReceipt returns the receipt of m, a message that has joined the delivery. It blocks until the delivery has
// ended, even if ctx ends. If the delivery panicked, awaitReceipt sends m by itself. A Notice is Dropped at once,
// because the Notice that it joined tells the chat the same.
func (d *delivery) awaitReceipt(ctx context.Context, m *Message) Receipt {
	if m.Notice != "" {
		return Receipt{Result: Dropped}
	}
	m.OnWait()
	if m.Sharing.OnJoin != nil {
		m.Sharing.OnJoin()
	}
	<-d.ended
	panicked := d.receipt.Result == None // perhaps in Combined
	if panicked {
		m.Sharing = Sharing{}
		return d.out.Send(ctx, *m)
	}
	isEdit := m.EditID != 0
	if d.receipt.Result == Delivered && !isEdit {
		d.out.Count("send_shared")
	}
	return d.receipt
}

// waitForPrevious blocks until the delivery may follow the previous one with its Key: an edit until the previous edit
// has ended, any other message until sameAnswerGap after the previous message was sealed. A Notice does not wait. It
// fails with errTooLate if the message may not wait that long, and with ctx's error.
func (d *delivery) waitForPrevious(ctx context.Context) error {
	previous := d.previous
	d.previous = nil
	if previous == nil || d.m.Notice != "" {
		return nil
	}
	isEdit := d.m.EditID != 0
	if !isEdit {
		return d.wait(ctx, time.Until(previous.sealedAt.Add(sameAnswerGap)))
	}
	d.m.OnWait()
	<-previous.ended // It ends soon after ctx at the latest.
	d.made = previous.made
	return nil
}

// seal lets no other message join, and makes d.m the message to send: the newest of those that have joined. It returns
// false if nothing is to be sent, because a newer edit has been made already.
func (d *delivery) seal() (mustSend bool) {
	newest, messages := d.stopJoining()
	if newest == nil {
		return true
	}
	m := *newest
	m.To = d.m.To // The message replies to the sender who has waited longest.
	m.OnWait = d.m.OnWait
	m.UnknownAttempts = d.m.UnknownAttempts
	d.m = &m
	if m.EditID != 0 && m.Sharing.olderThan(&d.made) {
		return false
	}
	if m.Sharing.Combined != nil && messages > 1 {
		m.Content = m.Sharing.Combined(messages)
	}
	m.leaveOut(d.leftOut)
	return true
}

// stopJoining lets no other message join. It returns the newest of the messages that share the delivery, and how many
// they are. If the delivery was not open, it returns nil.
func (d *delivery) stopJoining() (newest *Message, messages int) {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	if !d.open {
		return nil, 0
	}
	d.open = false
	d.sealedAt = time.Now()
	return d.newest, d.messages
}

// latestDeadline returns the deadline of the delivery. Messages that join may extend it.
func (d *delivery) latestDeadline() time.Time {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	return d.deadline
}

// reopen lets messages join a delivery that was sealed and was not sent, unless there is a later delivery with its Key.
func (d *delivery) reopen() {
	o := d.out
	o.mu.Lock()
	defer o.mu.Unlock()
	hasKey := d.ended != nil
	if hasKey && o.latest[d.m.Sharing.Key] == d {
		d.open = true
		d.newest = d.m
	}
}

// finish gives the receipt to those who share the delivery, and lets the next delivery with its Key follow. It does
// nothing for a delivery without a Key.
func (o *Outbox) finish(d *delivery) {
	hasKey := d.ended != nil
	if !hasKey {
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
