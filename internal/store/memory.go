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
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// maxDone bounds what Memory knows to be done, at some 150 bytes each: an hour of the 30
// messages a second that Telegram lets a bot send
// (https://core.telegram.org/bots/faq#broadcasting-to-users).
const maxDone = 30 * 60 * 60

// Memory is the state of one process. It implements chat.Dedup, ratelimit.Limiter and members.Store.
type Memory struct {
	*ratelimit.Memory

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
	return &Memory{Memory: ratelimit.NewMemory(), work: map[string]chat.Progress{}, values: map[string][]byte{}}
}

// Claim implements chat.Dedup. It does not block.
func (m *Memory) Claim(ctx context.Context, key string, limits ...ratelimit.Limit) (p chat.Progress, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.work[key]; known != 0 {
		return known, 0
	}
	m.work[key] = chat.InFlight
	wait, _ = m.Reserve(ctx, 0, limits...)
	return chat.New, wait
}

// Release implements chat.Dedup.
func (m *Memory) Release(key string) { m.release(key, false, 0) }

// MarkDone implements chat.Dedup. It ignores lasts: what is done is known until that is too much.
func (m *Memory) MarkDone(key string, lasts time.Duration) { m.release(key, true, lasts) }

func (m *Memory) release(key string, done bool, _ time.Duration) {
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
