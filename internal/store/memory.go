// Package store holds what must outlive a command, or the process: which work is claimed or
// done, such as the answer to an update, how often something happened lately, the last values
// of services, and saved addresses.
//
// Memory holds that in this process (saved addresses in the demo alone), Redis shares it
// between replicas, and Folder keeps values in files. All are bounded. While Redis is away, this process decides by
// what it knows, and saved addresses are out of reach. Keys in Redis are hashes, because
// they may name users; the value of a saved address holds a user ID. The package knows no
// platform and no service.
package store

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"time"

	"herald/internal/chat"
)

// maxDone bounds what Memory knows to be done, at some 150 bytes each: an hour of the 30
// messages a second that Telegram lets a bot send
// (https://core.telegram.org/bots/faq#broadcasting-to-users).
const maxDone = 30 * 60 * 60

// Memory is the state of one process. It implements chat.Dedup, chat.Limiter and members.Store.
type Memory struct {
	*MemoryLimiter

	mu sync.Mutex
	// work holds what is in flight, which its callers bound, and what is done, at most maxDone.
	work map[string]chat.Progress
	// done holds the keys of the work that is done, the oldest first.
	done []string
	// values are what Replace saved. Only the demo saves anything here.
	values map[string][]byte
}

// NewMemory makes an empty Memory. Work is in flight until its Release, however late. When
// more than 108,000 pieces of work are done, the oldest is forgotten.
func NewMemory() *Memory {
	return &Memory{MemoryLimiter: NewMemoryLimiter(), work: map[string]chat.Progress{}, values: map[string][]byte{}}
}

// Claim implements chat.Dedup. It does not block.
func (m *Memory) Claim(ctx context.Context, key string, limits ...chat.Limit) (p chat.Progress, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.work[key]; known != 0 {
		return known, 0
	}
	m.work[key] = chat.InFlight
	wait, _ = m.Reserve(ctx, 0, limits...)
	return chat.New, wait
}

// Release implements chat.Dedup. It ignores ttl: what is done is known until that is too much.
func (m *Memory) Release(key string, done bool, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !done {
		delete(m.work, key)
		return
	}
	m.work[key] = chat.Done
	m.done = append(m.done, key)
	if len(m.done) > maxDone {
		delete(m.work, m.done[0])
		m.done = m.done[1:]
	}
}

// Load returns the value of key, or nil if there is none. It does not block, and never fails.
func (m *Memory) Load(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

// Replace saves value and returns true if old is the value of key; an empty old stands for no
// value, and an empty value deletes. It does not block, and never fails.
func (m *Memory) Replace(_ context.Context, key string, old, value []byte) (replaced bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !bytes.Equal(m.values[key], old) {
		return false, nil
	}
	if m.values[key] = value; len(value) == 0 {
		delete(m.values, key)
	}
	return true, nil
}

const (
	// maxLimits bounds the limits that a MemoryLimiter knows. One takes 200 bytes, and 8
	// for each event of its window.
	maxLimits = 100_000
	// sweepPause is how often a MemoryLimiter looks for limits to forget.
	sweepPause = time.Minute
)

// MemoryLimiter is the chat.Limiter of one process. It forgets all limits when more than
// 100,000 are in use; each may then be exceeded once. It is safe for concurrent use and
// does no I/O.
type MemoryLimiter struct {
	mu      sync.Mutex
	started time.Time
	swept   time.Duration
	used    map[string]*usage
}

// usage is what is used of one limit. All times are since MemoryLimiter.started, by the
// monotonic clock.
type usage struct {
	// last is the last slot of a window, or when a bucket will be full again.
	last time.Duration
	// window holds the slots of a window that still count, in order.
	window []time.Duration
	// idle is when all of the limit may be used again.
	idle time.Duration
}

// NewMemoryLimiter makes a MemoryLimiter that has given out no slot.
func NewMemoryLimiter() *MemoryLimiter {
	return &MemoryLimiter{started: time.Now(), used: map[string]*usage{}}
}

// Reserve implements chat.Limiter.
func (m *MemoryLimiter) Reserve(_ context.Context, within time.Duration, limits ...chat.Limit) (wait time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.forget()
	slot := now
	for _, l := range limits {
		slot = max(slot, m.usageOf(l).firstSlot(l, now))
	}
	if slot-now > within {
		return slot - now, false
	}
	for _, l := range limits {
		m.used[l.Key].add(l, slot)
	}
	return slot - now, true
}

// note records a slot that Redis has given out, so that a fallback does not give it out
// again. Limits that Redis has exceeded do not delay others.
func (m *MemoryLimiter) note(wait time.Duration, limits []chat.Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.forget()
	for _, l := range limits {
		u := m.usageOf(l)
		u.firstSlot(l, now) // drops what no longer counts
		u.add(l, now+wait)
	}
}

// usageOf returns what is used of l, which it makes if l is unknown. The caller holds mu.
func (m *MemoryLimiter) usageOf(l chat.Limit) *usage {
	u := m.used[l.Key]
	if u == nil {
		u = &usage{}
		m.used[l.Key] = u
	}
	return u
}

// forget returns the time. Every sweepPause it drops the idle limits, and at maxLimits
// all of them. The caller holds mu.
func (m *MemoryLimiter) forget() (now time.Duration) {
	now = time.Since(m.started)
	if full := len(m.used) >= maxLimits; full || now-m.swept > sweepPause {
		m.swept = now
		maps.DeleteFunc(m.used, func(_ string, u *usage) bool { return full || u.idle <= now })
	}
	return now
}

// firstSlot returns the first slot that keeps the limit. It may be in the past.
func (u *usage) firstSlot(l chat.Limit, now time.Duration) time.Duration {
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

// add records a slot as used.
func (u *usage) add(l chat.Limit, slot time.Duration) {
	u.last = max(u.last, slot)
	if l.Refill {
		u.last = min(u.last+l.Every(), slot+l.Window) // No bucket is emptier than empty.
		u.idle = u.last
		return
	}
	u.window = append(u.window, u.last)
	u.idle = u.last + l.Window
}
