package store

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// maxDone is the maximum number of finished pieces of work that a Memory remembers, at about 200 bytes each. It is the
// number of answers in an hour: Telegram lets a bot send 30 messages a second
// (https://core.telegram.org/bots/faq#broadcasting-to-users).
const maxDone = 30 * 60 * 60

// Memory is the state of one process. It implements claim.Claims and ratelimit.Limiter, and has Buckets. It is safe
// for concurrent use, and does no I/O.
type Memory struct {
	*ratelimit.Memory

	mu sync.Mutex
	// claims has the work that is in flight or done, by key. A claim that has expired counts as none.
	claims map[string]memoryClaim
	// done has the keys of finished work, at most maxDone, the oldest first.
	done []string
	// buckets has the values of buckets: the first key is the bucket's name, the second the value's key.
	buckets map[string]map[string][]byte
}

// memoryClaim is work that is in flight or done.
type memoryClaim struct {
	progress claim.Progress
	expires  time.Time
}

// NewMemory returns an empty Memory. It remembers at most 108,000 finished pieces of work, and then forgets the oldest.
func NewMemory() *Memory {
	return &Memory{
		Memory:  ratelimit.NewMemory(),
		claims:  map[string]memoryClaim{},
		buckets: map[string]map[string][]byte{},
	}
}

// Claim implements claim.Claims.
func (m *Memory) Claim(
	ctx context.Context, key string, limits ...ratelimit.Limit,
) (p claim.Progress, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, known := m.claims[key]
	if known && time.Now().Before(c.expires) {
		return c.progress, 0
	}
	m.claims[key] = newMemoryClaim()
	wait, _ = m.Reserve(ctx, 0, limits...)
	return claim.New, wait
}

// newMemoryClaim returns the claim of work that begins now.
func newMemoryClaim() memoryClaim {
	return memoryClaim{claim.InFlight, time.Now().Add(claim.Lasts)}
}

// setInFlight records a claim that this process has just made in Redis.
func (m *Memory) setInFlight(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims[key] = newMemoryClaim()
}

// Release implements claim.Claims.
func (m *Memory) Release(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.claims, key)
}

// MarkDone implements claim.Claims.
func (m *Memory) MarkDone(key string, lasts time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims[key] = memoryClaim{claim.Done, time.Now().Add(lasts)}
	m.done = append(m.done, key)
	if len(m.done) > maxDone {
		delete(m.claims, m.done[0])
		m.done = m.done[1:]
	}
}

// Bucket returns the bucket of this name. Its values are lost with the process.
func (m *Memory) Bucket(name string) Bucket {
	return memoryBucket{m, name}
}

// memoryBucket is a Bucket of a Memory. Its methods never fail.
type memoryBucket struct {
	memory *Memory
	name   string
}

// Load implements Bucket.
func (b memoryBucket) Load(_ context.Context, key string) ([]byte, error) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	return b.memory.buckets[b.name][key], nil
}

// Replace implements Bucket.
func (b memoryBucket) Replace(_ context.Context, key string, old, value []byte) (replaced bool, err error) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	values := b.memory.buckets[b.name]
	if !bytes.Equal(values[key], old) {
		return false, nil
	}
	if len(value) == 0 {
		delete(values, key)
		return true, nil
	}
	if values == nil {
		values = map[string][]byte{}
		b.memory.buckets[b.name] = values
	}
	values[key] = bytes.Clone(value)
	return true, nil
}

// Each implements Bucket.
func (b memoryBucket) Each(ctx context.Context, f func(value []byte)) error {
	b.memory.mu.Lock()
	values := slices.Collect(maps.Values(b.memory.buckets[b.name]))
	b.memory.mu.Unlock()
	for _, value := range values {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f(value)
	}
	return nil
}
