// Package ratelimit decides when something may happen, so that it does not happen too often.
//
// There is one rule, the generic cell rate algorithm
// (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm). A Limit is a bucket of slots. Its whole
// state is one time: when the bucket is full again. Memory keeps that time in a map, and Script keeps it in
// Redis, with the same decisions.
//
// A slot is a moment at which the caller may act. Nothing here waits: the caller sleeps until its slot.
package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Limit is a bucket that holds Burst slots and gets one back each Every. It never holds more than Burst.
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

// Limiter gives out slots that keep their limits. It does not keep them across a restart, nor across replicas
// while Redis is unavailable.
//
// A slot that is reserved ahead delays everybody who shares a limit with it. So reserve a limit that many share in a
// call of its own, and only after the wait for the narrower ones.
type Limiter interface {
	// Reserve takes a slot from each limit, or from none. The limits have different keys. Reserve returns
	// how long to wait until the slots are due. If that is longer than within or MaxAhead, it takes
	// nothing and returns false. It never fails, and blocks for at most one call to Redis.
	Reserve(ctx context.Context, within time.Duration, limits ...Limit) (wait time.Duration, ok bool)
	// Peek returns what Reserve would return, and takes nothing.
	Peek(ctx context.Context, limits ...Limit) (wait time.Duration)
}

const (
	// maxKeys is about the most keys that a Memory knows, at some 150 bytes each.
	maxKeys = 100_000
	// sweepEvery is how often a Memory forgets the keys whose buckets are full.
	sweepEvery = time.Minute
)

// Memory is the Limiter of one process. It knows about 100,000 keys. When more are in use at a time, it forgets all,
// and each limit may then be exceeded once. It is safe for concurrent use, and does no I/O.
type Memory struct {
	mu      sync.Mutex
	started time.Time
	swept   time.Duration
	// full maps a key to the time at which its bucket is full again. A bucket without an entry is full.
	// All times are durations since started, so that they follow the monotonic clock.
	full map[string]time.Duration
}

// NewMemory returns a Memory whose buckets are full.
func NewMemory() *Memory {
	return &Memory{started: time.Now(), full: map[string]time.Duration{}}
}

// Reserve implements Limiter.
func (m *Memory) Reserve(_ context.Context, within time.Duration, limits ...Limit) (wait time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	m.sweep(now)
	start := m.start(now, limits)
	if start-now > min(within, MaxAhead) {
		return start - now, false
	}
	for _, l := range limits {
		m.full[l.Key] = max(start, m.full[l.Key]) + l.Every
	}
	return start - now, true
}

// Peek implements Limiter.
func (m *Memory) Peek(_ context.Context, limits ...Limit) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	return m.start(now, limits) - now
}

// Allow takes a slot if one is due now, and reports whether it did.
func (m *Memory) Allow(l Limit) bool {
	_, ok := m.Reserve(context.Background(), 0, l)
	return ok
}

// GiveBack returns a slot that Reserve took, because what it was for did not happen.
func (m *Memory) GiveBack(l Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full[l.Key] -= l.Every
}

// Slots returns how many slots of l can be reserved now without a wait.
func (m *Memory) Slots(l Limit) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(int(m.slots(time.Since(m.started), l)), 0)
}

// Change replaces a limit by another one with the same key. The bucket keeps its slots, but not more than the
// new Burst.
//
// For example, a bucket of 4 has 3 slots. As a bucket of 10 it has 3 slots, and as a bucket of 2 it has 2.
func (m *Memory) Change(from, to Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.started)
	slots := min(m.slots(now, from), float64(to.Burst))
	missing := float64(to.Burst) - slots
	m.full[to.Key] = now + time.Duration(missing*float64(to.Every))
}

// slots returns how many slots a bucket holds, with the part of the next one that has come back; below 0, slots
// are reserved ahead. The caller holds mu.
//
// For example, now is 10 s, and a bucket of 4 that gets a slot back every 3 s will be full at 14.5 s. One and a
// half slots are missing: it holds 2.5.
func (m *Memory) slots(now time.Duration, l Limit) float64 {
	missing := float64(m.full[l.Key]-now) / float64(l.Every)
	return float64(l.Burst) - max(missing, 0)
}

// start returns the first time from now on at which each limit has a slot. The caller holds mu.
//
// For example, now is 10 s, and a bucket of 4 that gets a slot back every 3 s will be full at 22 s. It is
// empty: its next slot is at 22 - (4-1)*3 = 13 s.
func (m *Memory) start(now time.Duration, limits []Limit) time.Duration {
	start := now
	for _, l := range limits {
		start = max(start, m.full[l.Key]-time.Duration(l.Burst-1)*l.Every)
	}
	return start
}

// sweep forgets the buckets that are full by now, once in sweepEvery or if there are too many keys. If that leaves more
// than half of them, it forgets all: otherwise each call would have to sweep. The caller holds mu.
func (m *Memory) sweep(now time.Duration) {
	tooMany := len(m.full) >= maxKeys
	if !tooMany && now-m.swept < sweepEvery {
		return
	}
	m.swept = now
	maps.DeleteFunc(m.full, func(_ string, full time.Duration) bool { return full <= now })
	if tooMany && len(m.full) > maxKeys/2 {
		clear(m.full)
	}
}
