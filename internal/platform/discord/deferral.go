package discord

import (
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/platform/discord/api"
)

// deferrals sends deferrals, at most api.MaxFirst at once. Those that wait for their turn have
// no goroutine: if a service is slow, thousands are due in the same second.
type deferrals struct {
	mu      sync.Mutex
	due     []*deferral // wait for their turn
	senders int         // goroutines that send them
}

// deferral is the promise of an answer.
type deferral struct {
	timer *time.Timer
	send  func() error
	// claimed is true once the deferral is sent or cancelled, whichever is first.
	claimed atomic.Bool
	sent    chan error // receives the outcome of send, and is then closed
}

// deferLater defers the answer to i at deferAfter, unless that is cancelled before. It does not
// block.
func (s *session) deferLater(i *interaction, to target) *deferral {
	d := &deferral{sent: make(chan error, 1), send: func() error { return s.sendDeferral(i, to.promise(to.private)) }}
	d.timer = s.tasks.AfterFunc(time.Until(i.Arrived.Add(deferAfter)), i.reference, func() { s.deferrals.add(d) })
	return d
}

// add sends d and all others that are due. If enough goroutines do so, add returns at once and
// leaves d to them.
func (q *deferrals) add(d *deferral) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = append(q.due, d)
	if q.senders == api.MaxFirst {
		return
	}
	q.senders++
	defer func() { q.senders-- }()
	for len(q.due) > 0 {
		first := q.due[0]
		q.due[0] = nil // The array outlives the deferral.
		q.due = q.due[1:]
		q.sendUnlocked(first)
	}
}

// sendUnlocked sends d unless it is cancelled. mu is not held meanwhile, also after a panic.
func (q *deferrals) sendUnlocked(d *deferral) {
	q.mu.Unlock()
	defer q.mu.Lock()
	if d.claimed.CompareAndSwap(false, true) {
		defer close(d.sent)
		d.sent <- d.send()
	}
}

// cancel keeps the deferral from being sent and returns false. If it is already being sent,
// cancel blocks until its outcome is known, and returns true and the error.
func (d *deferral) cancel() (sent bool, err error) {
	d.timer.Stop()
	if d.claimed.CompareAndSwap(false, true) {
		return false, nil
	}
	return true, <-d.sent
}
