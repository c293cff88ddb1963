package store

import (
	"context"
	"sync"
	"time"

	"herald/internal/chat"
)

// maxLimits bounds the limits that Slots knows.
const maxLimits = 100_000

// Slots is a chat.Limiter of this process.
type Slots struct {
	mu   sync.Mutex
	used map[string]*slots
}

// slots are what is used of one limit.
type slots struct {
	limit chat.Limit
	// times are the last Count slots of a window, in order.
	times []time.Time
	// full is when a bucket will be full again.
	full time.Time
}

var _ chat.Limiter = (*Slots)(nil)

// NewSlots makes a Slots of which nothing is used.
func NewSlots() *Slots { return &Slots{used: map[string]*slots{}} }

// Reserve implements chat.Limiter.
func (s *Slots) Reserve(_ context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	slot := now
	for _, l := range limits {
		if first := s.of(l).first(); first.After(slot) {
			slot = first
		}
	}
	if wait = slot.Sub(now); wait > within {
		return wait, false
	}
	for _, l := range limits {
		s.of(l).use(slot)
	}
	return wait, true
}

func (s *Slots) of(l chat.Limit) *slots {
	u := s.used[l.Key]
	if u == nil {
		if len(s.used) >= maxLimits {
			s.forget()
		}
		u = &slots{limit: l}
		s.used[l.Key] = u
	}
	return u
}

// forget drops limits of which nothing is used any more.
func (s *Slots) forget() {
	for key, u := range s.used {
		if time.Since(u.last()) > u.limit.Window {
			delete(s.used, key)
		}
	}
}

// first is the first slot that keeps the limit.
func (u *slots) first() time.Time {
	switch {
	case u.limit.Refill:
		return u.full.Add(-u.limit.Window + u.every())
	case len(u.times) == u.limit.Count:
		return u.times[0].Add(u.limit.Window)
	}
	return u.last()
}

func (u *slots) use(slot time.Time) {
	if u.limit.Refill {
		if u.full.Before(slot) {
			u.full = slot
		}
		u.full = u.full.Add(u.every())
		return
	}
	if len(u.times) == u.limit.Count {
		u.times = u.times[1:]
	}
	u.times = append(u.times, slot)
}

func (u *slots) every() time.Duration { return u.limit.Window / time.Duration(u.limit.Count) }

func (u *slots) last() time.Time {
	if u.limit.Refill || len(u.times) == 0 {
		return u.full
	}
	return u.times[len(u.times)-1]
}
