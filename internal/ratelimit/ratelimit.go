// Package ratelimit decides when something may happen, so that it does not happen too often.
//
// A Limit is a bucket of slots. A slot is the right to act once, from a certain time on: then the slot is due. Nothing
// here waits: the caller sleeps until its slot is due.
//
// The rule is the generic cell rate algorithm (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm). The whole
// state of a bucket is one time: when it is full again. Memory keeps that time in a map, and Script keeps it in Redis.
// Both decide alike.
package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Limit is a bucket that holds at most Burst slots, and gets one back per Every.
//
// For example, {Burst: 4, Every: 3800ms} allows four events at once and then one every 3.8 seconds: at most
// 20 in any 61 seconds.
type Limit struct {
	// Key names what is limited, such as a chat. Limits with one Key share their slots.
	Key string
	// Burst is at least 1.
	Burst int
	// Every is at least a microsecond.
	Every time.Duration
}

// MaxAhead is how far ahead a slot can be reserved.
const MaxAhead = time.Hour

// Limiter gives out the slots of limits. A limit may be exceeded after a restart. One that replicas share may also be
// exceeded while Redis is unavailable.
//
// A slot that is reserved ahead delays all other callers of its limits. So a caller that has limits of its own and
// shares others should reserve its own first, wait until they are due, and reserve the shared ones in a second call.
type Limiter interface {
	// Reserve takes a slot from each limit, and returns how long to wait until the slots are due. If that is longer
	// than maxWait or MaxAhead, it takes no slot and returns the wait and false. The limits must have different keys.
	// Reserve never fails, and blocks for at most one call to Redis.
	Reserve(ctx context.Context, maxWait time.Duration, limits ...Limit) (wait time.Duration, ok bool)
	// Peek returns the wait that Reserve would return, but takes no slot.
	Peek(ctx context.Context, limits ...Limit) (wait time.Duration)
}

const (
	// maxKeys is about the maximum number of keys in a Memory, at some 150 bytes each.
	maxKeys = 100_000
	// sweepEvery is how often a Memory deletes the keys with a full bucket.
	sweepEvery = time.Minute
)

// Memory is the Limiter of one process. It remembers about 100,000 keys. If more are in use at a time, it forgets all,
// and each limit may then be exceeded once. It is safe for concurrent use, and does no I/O.
//
// All its times are durations since started, so that they follow the monotonic clock.
type Memory struct {
	started time.Time

	mu sync.Mutex
	// swept is when sweep last deleted keys.
	swept time.Duration
	// fullAt maps a key to the time at which its bucket is full again. A key without an entry has a full bucket.
	fullAt map[string]time.Duration
}

// NewMemory returns a Memory whose buckets are full.
func NewMemory() *Memory {
	return &Memory{started: time.Now(), fullAt: map[string]time.Duration{}}
}

// Reserve implements Limiter.
func (m *Memory) Reserve(_ context.Context, maxWait time.Duration, limits ...Limit) (wait time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	m.sweep(now)
	due := m.due(now, limits)
	wait = due - now
	if wait > min(maxWait, MaxAhead) {
		return wait, false
	}
	for _, l := range limits {
		// A bucket that would be full before due counts as full at due: nobody else gets its slots until then.
		m.fullAt[l.Key] = max(due, m.fullAt[l.Key]) + l.Every
	}
	return wait, true
}

// Peek implements Limiter.
func (m *Memory) Peek(_ context.Context, limits ...Limit) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	return m.due(now, limits) - now
}

// Allow takes a slot if one is due now, and reports whether it took one.
func (m *Memory) Allow(l Limit) bool {
	_, ok := m.Reserve(context.Background(), 0, l)
	return ok
}

// GiveBack returns a slot to the bucket. The caller has reserved the slot, but has not used it.
func (m *Memory) GiveBack(l Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fullAt[l.Key] -= l.Every
}

// Slots returns how many slots of l can be reserved now without a wait.
func (m *Memory) Slots(l Limit) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(int(m.slots(time.Since(m.started), l)), 0)
}

// Change replaces a limit by another one with the same key. The bucket keeps its slots, up to the Burst of to.
//
// For example, a bucket of 4 has 3 slots. As a bucket of 10 it has 3 slots, and as a bucket of 2 it has 2.
func (m *Memory) Change(from, to Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	slots := min(m.slots(now, from), float64(to.Burst))
	missing := float64(to.Burst) - slots
	m.fullAt[to.Key] = now + time.Duration(missing*float64(to.Every))
}

// slots returns how many slots a bucket holds, including the part of the next slot that has come back. It returns a
// negative number if slots are reserved ahead. The caller holds mu.
//
// For example, now is 10 s, and a bucket of 4 that gets a slot back every 3 s will be full at 14.5 s. One and a
// half slots are missing: it holds 2.5.
func (m *Memory) slots(now time.Duration, l Limit) float64 {
	missing := float64(m.fullAt[l.Key]-now) / float64(l.Every)
	return float64(l.Burst) - max(missing, 0)
}

// due returns the first time from now on at which each limit has a slot. The caller holds mu.
//
// For example, now is 10 s, and a bucket of 4 that gets a slot back every 3 s will be full at 22 s. It is
// empty: its next slot is at 22 - (4-1)*3 = 13 s.
func (m *Memory) due(now time.Duration, limits []Limit) time.Duration {
	due := now
	for _, l := range limits {
		nextSlot := m.fullAt[l.Key] - time.Duration(l.Burst-1)*l.Every
		due = max(due, nextSlot)
	}
	return due
}

// sweep deletes the keys with a full bucket, if it last did so at least sweepEvery ago, or if there are maxKeys. If
// there were maxKeys and more than half of them are left, it deletes all. Otherwise each call would sweep. The caller
// holds mu.
func (m *Memory) sweep(now time.Duration) {
	tooMany := len(m.fullAt) >= maxKeys
	if !tooMany && now-m.swept < sweepEvery {
		return
	}
	m.swept = now
	maps.DeleteFunc(m.fullAt, func(_ string, fullAt time.Duration) bool { return fullAt <= now })
	if tooMany && len(m.fullAt) > maxKeys/2 {
		clear(m.fullAt)
	}
}
