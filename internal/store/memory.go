// Package state remembers what must outlive one command: which updates are
// answered and how many commands somebody gave lately; and, where replicas
// share a Redis, whose turn it is to send, and the last answers of services.
//
// Memory keeps it in this process, Redis shares it between replicas. Both are
// bounded, and neither ever fails a command: what cannot be asked is decided
// by what this process knows. No user's ID is written to a Redis in the clear.
package store

import (
	"context"
	"sync"
	"time"

	"herald/internal/chat"
)

const (
	// remembered is how long an answered update is known. Telegram keeps an
	// update for delivery for up to 24 hours
	// (https://core.telegram.org/bots/api#getting-updates); Discord's
	// interactions are void after 15 minutes.
	remembered = 24 * time.Hour
	// mostUpdates bounds the updates that Memory knows, at some 150 bytes
	// each: an hour of the 30 messages a second that Telegram lets a bot send
	// (https://core.telegram.org/bots/faq#broadcasting-to-users).
	mostUpdates = 30 * 60 * 60
)

// Memory is the state of one process. It implements chat.Dedup.
type Memory struct {
	mu sync.Mutex
	// inHand is bounded by what adapters take on.
	inHand   map[string]bool
	answered *recent[struct{}]
}

var _ chat.Dedup = (*Memory)(nil)

// NewMemory makes an empty Memory. An update is in hand until its End, however
// long that takes. An answered one is known for a day or two; of more than
// 108,000 the oldest are forgotten.
func NewMemory() *Memory {
	return &Memory{inHand: map[string]bool{}, answered: newRecent[struct{}](remembered, mostUpdates)}
}

// Claim implements chat.Dedup.
func (m *Memory) Claim(_ context.Context, key string) chat.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, answered := m.answered.get(key); answered {
		return chat.Answered
	}
	if m.inHand[key] {
		return chat.InFlight
	}
	m.inHand[key] = true
	return chat.New
}

// Release implements chat.Dedup.
func (m *Memory) Release(_ context.Context, key string, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.inHand, key)
	if answered {
		m.answered.set(key, struct{}{})
	}
}

// Limiter makes a limiter of its own that allows perMinute events of a key at
// once, and as many again in each minute; 0 is no limit.
func (m *Memory) Limiter(perMinute int) chat.KeyLimiter { return newLimiter(perMinute) }
