package telegram

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// When an update counts as stuck: it has been in hand for stuckAfter, or
// nothing has moved for stalledAfter although most of those behind it are
// answered.
const (
	stuckAfter   = time.Second
	stalledAfter = 100 * time.Millisecond
)

// offsetTracker is what polling knows of Telegram's queue. Telegram has one
// number, the offset, before which all updates are acknowledged, while answers
// come in any order.
type offsetTracker struct {
	mu sync.Mutex
	// next is the offset once all of pending is answered; 0 is unknown.
	next int64
	// pending are the updates taken from the offset on, in ascending order.
	// The first of them is not answered.
	pending []pendingUpdate
	// moved is when an update was last taken or answered.
	moved time.Time
	// reached is closed once no more than most are pending; nil if nobody
	// waits for that.
	reached chan struct{}
	most    int
}

// pendingUpdate is an update that is not acknowledged.
type pendingUpdate struct {
	id       int64
	since    time.Time
	answered bool
}

// begin takes an update. It returns false for one that is known.
func (o *offsetTracker) begin(id int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i, known := o.find(id)
	if known || id < o.next {
		return false
	}
	o.moved = time.Now()
	o.pending = slices.Insert(o.pending, i, pendingUpdate{id: id, since: o.moved})
	return true
}

// done marks an update as answered.
func (o *offsetTracker) done(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i, known := o.find(id)
	if !known {
		return
	}
	o.moved = time.Now()
	o.pending[i].answered = true
	o.advance(time.Time{})
}

// acknowledgeStuck moves the offset past the first updates that are stuck, as
// if they were answered.
func (o *offsetTracker) acknowledgeStuck() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	before := now.Add(-stuckAfter)
	if now.Sub(o.moved) >= stalledAfter && o.mostAnswered() {
		before = now
	}
	o.advance(before)
}

func (o *offsetTracker) mostAnswered() bool {
	answered := 0
	for _, p := range o.pending {
		if p.answered {
			answered++
		}
	}
	return answered > len(o.pending)/2
}

// offset is the first update that is not answered, or the one after all that
// are, and whether any is not.
func (o *offsetTracker) offset() (offset int64, busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 {
		return o.pending[0].id, true
	}
	return o.next, false
}

// whenPending is closed as soon as no more than most updates are pending. It
// ends an earlier call's waiting.
func (o *offsetTracker) whenPending(most int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	reached := make(chan struct{})
	o.reached, o.most = reached, most
	o.signal()
	return reached
}

// forget drops the offset, when nothing is pending.
func (o *offsetTracker) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = 0
}

func (o *offsetTracker) find(id int64) (i int, known bool) {
	return slices.BinarySearchFunc(o.pending, id, func(p pendingUpdate, id int64) int {
		return cmp.Compare(p.id, id)
	})
}

func (o *offsetTracker) advance(stuckBefore time.Time) {
	for len(o.pending) > 0 && (o.pending[0].answered || o.pending[0].since.Before(stuckBefore)) {
		o.next = o.pending[0].id + 1
		o.pending = o.pending[1:]
	}
	o.signal()
}

// signal closes reached if that has come.
func (o *offsetTracker) signal() {
	if o.reached != nil && len(o.pending) <= o.most {
		close(o.reached)
		o.reached = nil
	}
}
