package telegram

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// stuckAfter is how long an update is in flight before it counts as stuck.
const stuckAfter = 300 * time.Millisecond

// offsetTracker knows which updates of Telegram's queue are answered. All updates
// before one number, the offset, are acknowledged, while answers come in any order.
type offsetTracker struct {
	mu sync.Mutex
	// next is the offset once all of pending is answered; 0 is unknown.
	next int64
	// pending are the updates taken from the offset on, in ascending order.
	// The first of them is not answered.
	pending []pendingUpdate
	// reached is closed once no more than max are pending; nil if nobody waits.
	reached chan struct{}
	max     int
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
	o.pending = slices.Insert(o.pending, i, pendingUpdate{id: id, since: time.Now()})
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
	o.pending[i].answered = true
	o.advance(time.Time{})
}

// acknowledgeStuck moves the offset past the first updates that are stuck, as
// if they were answered.
func (o *offsetTracker) acknowledgeStuck() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.advance(time.Now().Add(-stuckAfter))
}

// offset returns the first update that is not answered, or the one after the last, and
// whether any is in flight.
func (o *offsetTracker) offset() (offset int64, busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 {
		return o.pending[0].id, true
	}
	return o.next, false
}

// whenPending is closed as soon as no more than max updates are pending. It
// ends an earlier call's waiting.
func (o *offsetTracker) whenPending(max int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	reached := make(chan struct{})
	o.reached, o.max = reached, max
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

// signal closes reached once few enough are pending.
func (o *offsetTracker) signal() {
	if o.reached != nil && len(o.pending) <= o.max {
		close(o.reached)
		o.reached = nil
	}
}
