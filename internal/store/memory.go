// Package store holds what must outlive a command, or the process: which updates
// are answered, how often something happened lately, and the last values of
// services.
//
// Memory holds it in this process, Redis shares it between replicas, and Folder
// keeps values in files. All are bounded, and none ever fails a command: what
// cannot be asked is decided by what this process knows. No user's ID is written
// to Redis in the clear. It knows no platform and no service.
package store

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// maxAnswered bounds the answered updates that Memory knows, at some 150 bytes
	// each: an hour of the 30 messages a second that Telegram lets a bot send
	// (https://core.telegram.org/bots/faq#broadcasting-to-users).
	maxAnswered = 30 * 60 * 60
)

// Memory is the state of one process. It implements chat.Dedup and chat.Limiter.
type Memory struct {
	*Slots

	mu sync.Mutex
	// updates are the known ones; those in flight are bounded by what adapters take
	// on, and those answered by maxAnswered.
	updates map[string]chat.Delivery
	// answered are the keys of the answered ones, the oldest first.
	answered []string
}

// NewMemory makes an empty Memory. An update is in flight until its Release,
// however long that takes. Of more than 108,000 answered ones the oldest are
// forgotten.
func NewMemory() *Memory {
	return &Memory{Slots: NewSlots(), updates: map[string]chat.Delivery{}}
}

// Claim implements chat.Dedup.
func (m *Memory) Claim(_ context.Context, key string) chat.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.updates[key]; known != 0 {
		return known
	}
	m.updates[key] = chat.InFlight
	return chat.New
}

// Release implements chat.Dedup. It remembers an answered update for longer than lasts
// if there is room.
func (m *Memory) Release(_ context.Context, key string, answered bool, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !answered {
		delete(m.updates, key)
		return
	}
	m.updates[key] = chat.Answered
	m.answered = append(m.answered, key)
	if len(m.answered) > maxAnswered {
		delete(m.updates, m.answered[0])
		m.answered = m.answered[1:]
	}
}

const (
	// maxLimits bounds the limits that Slots knows. One takes 200 bytes, and 8 for
	// each event of its window.
	maxLimits = 100_000
	// sweepPause is how often Slots looks for limits to forget.
	sweepPause = time.Minute
	// keptFor is how long a bucket that nobody used is kept.
	keptFor = 31 * 24 * time.Hour
)

// Slots is the chat.Limiter of one process. It forgets a limit once all of it may be
// used again. If 100,000 are in use, they are forgotten early and may be exceeded. Slots is
// safe for concurrent use.
type Slots struct {
	// Kept keeps the buckets with a Start for later processes; nil: they begin anew.
	// It must be set before the first call.
	Kept core.Store

	mu      sync.Mutex
	started time.Time
	swept   time.Duration
	used    map[string]*slots
}

// slots are what is used of one limit. All times are since Slots.started, by the
// monotonic clock.
type slots struct {
	// last is the last slot of a window, or when a bucket will be full again.
	last time.Duration
	// window are the slots of a window that still count, in order.
	window []time.Duration
	// idle is when all of the limit may be used again.
	idle time.Duration
	// kept is true for a bucket with a Start. It is never forgotten.
	kept bool
}

// NewSlots makes a Slots that has given out no slot.
func NewSlots() *Slots { return &Slots{started: time.Now(), used: map[string]*slots{}} }

// Reserve implements chat.Limiter.
func (s *Slots) Reserve(ctx context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.started)
	s.forget(now)
	slot := now
	for _, l := range limits {
		slot = max(slot, s.of(ctx, l, now).first(l, now))
	}
	wait = slot - now
	for _, l := range limits {
		u := s.used[l.Key]
		if wait <= within {
			u.use(l, slot)
		}
		if u.kept && s.Kept != nil {
			// Saved even if nothing was taken, to correct a value written under a wrong clock.
			full := time.Now().Add(u.last - now).UnixNano()
			s.Kept.Save(ctx, l.Key, strconv.AppendInt(nil, full, 10), keptFor)
		}
	}
	return wait, wait <= within
}

// note takes the slots that another Limiter has given out. It may have given more of a
// limit than there are: that must not hold up the others.
func (s *Slots) note(ctx context.Context, wait time.Duration, limits []chat.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.started)
	s.forget(now)
	for _, l := range limits {
		u := s.of(ctx, l, now)
		u.first(l, now) // forgets what is over
		u.use(l, now+wait)
	}
}

// Left returns how many events a bucket holds now.
func (s *Slots) Left(ctx context.Context, l chat.Limit) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.started)
	missing := max(0, s.of(ctx, l, now).last-now)
	return max(0, int((l.Window-missing)/l.Every()))
}

// of returns what is used of a limit, as of now. mu is held.
func (s *Slots) of(ctx context.Context, l chat.Limit, now time.Duration) *slots {
	u := s.used[l.Key]
	if u != nil {
		return u
	}
	u = &slots{kept: l.Start > 0}
	s.used[l.Key] = u
	if !u.kept {
		return u
	}
	u.last = now + time.Duration(l.Count-l.Start)*l.Every()
	if s.Kept == nil {
		return u
	}
	text, _ := s.Kept.Load(ctx, l.Key)
	if nanos, err := strconv.ParseInt(string(text), 10, 64); err == nil && time.Since(time.Unix(0, nanos)) < keptFor {
		// No bucket is emptier than empty, so that a clock that was wrong does no harm
		// for long.
		u.last = now + min(max(0, time.Until(time.Unix(0, nanos))), l.Window)
	}
	return u
}

// forget drops idle limits once in a while, and all but the kept ones if there are
// too many. mu is held.
func (s *Slots) forget(now time.Duration) {
	full := len(s.used) >= maxLimits
	if !full && now-s.swept <= sweepPause {
		return
	}
	s.swept = now
	maps.DeleteFunc(s.used, func(_ string, u *slots) bool { return !u.kept && (full || u.idle <= now) })
}

// first returns the first slot that keeps the limit. It may be in the past.
func (u *slots) first(l chat.Limit, now time.Duration) time.Duration {
	if l.Refill {
		return u.last - l.Window + l.Every()
	}
	for len(u.window) > 0 && u.window[0] <= now-l.Window {
		u.window = u.window[1:]
	}
	if over := len(u.window) - l.Count; over >= 0 {
		return max(u.last, u.window[over]+l.Window)
	}
	return u.last
}

// use takes a slot.
func (u *slots) use(l chat.Limit, slot time.Duration) {
	u.last = max(u.last, slot)
	if l.Refill {
		u.last = min(u.last+l.Every(), slot+l.Window) // No bucket is emptier than empty.
		u.idle = u.last
		return
	}
	u.window = append(u.window, u.last)
	u.idle = u.last + l.Window
}
