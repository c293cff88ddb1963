package telegram

import (
	"cmp"
	"slices"
	"sync"
	"time"
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
	// moved gets a token when the first of pending is answered.
	moved chan struct{}
}

// pendingUpdate is an update that is not acknowledged.
type pendingUpdate struct {
	id       int64
	since    time.Time
	answered bool
}

func newOffsetTracker() *offsetTracker { return &offsetTracker{moved: make(chan struct{}, 1)} }

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
	if i == 0 {
		o.advance(time.Time{})
		select {
		case o.moved <- struct{}{}:
		default:
		}
	}
}

// acknowledgeStuck moves the offset past the first updates that were taken
// before a time, as if they were answered.
func (o *offsetTracker) acknowledgeStuck(before time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.advance(before)
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
}
