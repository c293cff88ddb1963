package discord

import (
	"sync"
	"time"

	"herald/internal/chat"
)

// maxRefused bounds the refusals that wait to be sent, at some 370 bytes each. At
// 25 ms a call, maxCalls at a time send that many within the 3 seconds for which
// Discord takes them.
const maxRefused = 30_000

// refused is an interaction of the gateway for which there is no room.
type refused struct {
	id, token string
	arrived   time.Time
	language  chat.Language // of its asker
}

// refusals are those that wait to be told "busy", the oldest first.
type refusals struct {
	mu      sync.Mutex
	waiting []refused
	senders int
}

// refuse tells the asker "busy". It does not block: up to maxCalls senders do
// it, each of which ends when nobody is waiting.
func (a *Adapter) refuse(work *chat.Work, r refused) {
	taken, needed := a.refusals.add(r)
	if !taken {
		a.Count("dropped")
		return
	}
	a.Count("busy")
	if needed && !work.Go(func(string) { a.sendRefusals(work) }) {
		a.Count("dropped")
	}
}

func (a *Adapter) sendRefusals(work *chat.Work) {
	for {
		r, ok := a.refusals.next()
		if !ok {
			return
		}
		if time.Since(r.arrived) >= firstResponse {
			a.Count("too_late")
			continue
		}
		a.recordOutcome(a.callback(work, r.id, r.token, r.arrived, busy(r.language)))
	}
}

// add reports whether there was room for r, and whether another sender is
// needed, which the caller then starts.
func (q *refusals) add(r refused) (taken, sender bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxRefused {
		return false, false
	}
	q.waiting = append(q.waiting, r)
	sender = q.senders < maxCalls
	if sender {
		q.senders++
	}
	return true, sender
}

// next takes the oldest. If there is none, the calling sender counts as ended.
func (q *refusals) next() (r refused, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.senders--
		q.waiting = nil
		return refused{}, false
	}
	r = q.waiting[0]
	q.waiting = q.waiting[1:]
	return r, true
}
