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
	"sync"
	"time"

	"herald/internal/chat"
)

const (
	// answeredFor is how long Redis knows an answered update. Telegram keeps an
	// update for delivery for up to 24 hours
	// (https://core.telegram.org/bots/api#getting-updates); Discord's
	// interactions are void after 15 minutes.
	answeredFor = 24 * time.Hour
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

// Release implements chat.Dedup.
func (m *Memory) Release(_ context.Context, key string, answered bool) {
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
