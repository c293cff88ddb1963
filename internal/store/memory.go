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
	// answeredFor is how long an answered update is known. Telegram keeps an
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
	// inFlight is bounded by what adapters take on.
	inFlight map[string]bool
	// young and old are the answered updates. Since a time, or until there are half
	// of maxAnswered, new ones go to young; then young becomes old.
	young, old map[string]bool
	since      time.Time
}

var _ chat.Dedup = (*Memory)(nil)

// NewMemory makes an empty Memory. An update is in flight until its Release,
// however long that takes. An answered one is known for a day or two; of more than
// 108,000 the oldest are forgotten.
func NewMemory() *Memory {
	return &Memory{Slots: NewSlots(), inFlight: map[string]bool{}, young: map[string]bool{}, since: time.Now()}
}

// Claim implements chat.Dedup.
func (m *Memory) Claim(_ context.Context, key string) chat.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	switch {
	case m.young[key], m.old[key]:
		return chat.Answered
	case m.inFlight[key]:
		return chat.InFlight
	}
	m.inFlight[key] = true
	return chat.New
}

// Release implements chat.Dedup.
func (m *Memory) Release(_ context.Context, key string, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.inFlight, key)
	if answered {
		m.forget()
		m.young[key] = true
	}
}

// forget drops what was answered long ago. mu is held.
func (m *Memory) forget() {
	age := time.Since(m.since)
	if age < answeredFor && len(m.young) < maxAnswered/2 {
		return
	}
	if m.old = m.young; age >= 2*answeredFor {
		m.old = nil
	}
	m.young, m.since = map[string]bool{}, time.Now()
}
