package core

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// renewal decides when an answer is refreshed. A shared one is refreshed shortly
// before it expires, by the first who asks then: so nobody waits for the service
// while people ask, and it is not called while nobody does. Where there is no
// credit for a call, the answer expires when there is one.
type renewal struct {
	ttl time.Duration
	// lead is how long before its TTL ends an answer is refreshed: as long as one
	// call may take, unless that is much of a short TTL. lead and callTimeout are 0
	// for an answer that is not shared.
	lead, callTimeout time.Duration

	mu sync.Mutex
	// begunFor is the time of the answer that is, or was, refreshed early, which
	// happens once. running is set until that call has ended.
	begunFor time.Time
	running  bool
	// heldUntil is when there is a credit again.
	heldUntil time.Time
	// failing is set if the last call failed.
	failing bool
}

// look reports whether the answer of a time can be given at once, and whether
// the caller is to begin its refresh. An answer that is refreshed in time can be
// given until that call must have ended, which is later than its TTL if that is
// short, or if it had to wait for a credit.
func (r *renewal) look(at time.Time) (fresh, begin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	due := later(at.Add(r.ttl-r.lead), r.heldUntil)
	fresh = now.Before(r.expiry(at))
	inTime := !r.failing && now.Before(due.Add(r.callTimeout))
	if begin = !now.Before(due) && (fresh || inTime) && !r.begunFor.Equal(at); begin {
		r.begunFor, r.running = at, true
	}
	return fresh || inTime && r.running && r.begunFor.Equal(at), begin
}

// expires is when the answer of a time is fresh no more.
func (r *renewal) expires(at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expiry(at)
}

// expiry is expires for a caller that holds mu.
func (r *renewal) expiry(at time.Time) time.Time { return later(at.Add(r.ttl), r.heldUntil) }

// ended takes what came of a call. A lack of credits is no failure, but neither
// does it make up for one.
func (r *renewal) ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	failed, _ := errors.AsType[*Error](err)
	switch {
	case err == nil:
		r.failing = false
	case failed == nil || failed.Reason != NoCredit:
		r.failing = true
	case !r.failing:
		r.begunFor, r.heldUntil = time.Time{}, time.Now().Add(failed.RetryAfter)
	}
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
