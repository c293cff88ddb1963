package discord

import (
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

// deferrals sends deferrals, at most api.MaxFirst at once. Those that wait for their turn have
// no goroutine: if a service is slow, thousands are due in the same second.
type deferrals struct {
	mu      sync.Mutex
	waiting []*deferral // the first is sent next
	senders int         // goroutines that send deferrals
}

// deferral is the first response to an interaction whose answer comes later.
type deferral struct {
	work      *platform.Work
	reference string // of the interaction
	send      func() error
	timer     *time.Timer // calls deferrals.add
	// claimed is true once the deferral is being sent or is cancelled, whichever is first.
	claimed atomic.Bool
	done    chan struct{} // closed once send has ended
	err     error         // of send, once done is closed
}

// deferLater sends a deferral at deferAfter, unless it is cancelled before. It does not block.
// The interaction must be in flight until cancel returns.
func (s *session) deferLater(i *interaction, to target) *deferral {
	d := &deferral{
		work: s.work, reference: i.reference, done: make(chan struct{}),
		send: func() error { return s.sendDeferral(i, to.promise(to.private)) },
	}
	d.timer = time.AfterFunc(time.Until(i.Arrived.Add(deferAfter)), func() { s.deferrals.add(d) })
	return d
}

// add lets d wait, and then sends the deferrals that wait until there is none. If api.MaxFirst
// goroutines do so already, add leaves d to them and returns at once.
func (q *deferrals) add(d *deferral) {
	q.mu.Lock()
	q.waiting = append(q.waiting, d)
	enough := q.senders == api.MaxFirst
	if !enough {
		q.senders++
	}
	q.mu.Unlock()
	if enough {
		return
	}
	for first := q.next(); first != nil; first = q.next() {
		first.sendOnce()
	}
}

// next removes the first deferral that waits and returns it. If none waits, it ends a sender
// and returns nil.
func (q *deferrals) next() *deferral {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.senders--
		return nil
	}
	first := q.waiting[0]
	q.waiting[0] = nil // The array outlives the deferral.
	q.waiting = q.waiting[1:]
	return first
}

// sendOnce sends d unless it is cancelled. It blocks until send has ended. After a panic,
// which it recovers, nobody knows whether Discord has the deferral.
func (d *deferral) sendOnce() {
	if !d.claimed.CompareAndSwap(false, true) {
		return
	}
	defer close(d.done)
	d.err = api.ErrOutcomeUnknown
	d.work.Recover(d.reference, func() { d.err = d.send() })
}

// cancel keeps the deferral from being sent and returns false. If it is already being sent,
// cancel blocks until send has ended, and returns true and the error of send.
func (d *deferral) cancel() (sent bool, err error) {
	d.timer.Stop()
	if d.claimed.CompareAndSwap(false, true) {
		return false, nil
	}
	<-d.done
	return true, d.err
}
