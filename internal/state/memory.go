// Package state remembers what must outlive one command: which updates are
// answered and how many commands somebody gave lately; and, where replicas
// share a Redis, whose turn it is to send, and the last answers of services.
//
// Memory keeps it in this process, Redis shares it between replicas. Both are
// bounded, and neither ever fails a command: what cannot be asked is decided
// by what this process knows. No user's ID is written to a Redis in the clear.
package state

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/patrickmn/go-cache"

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
	most    int
	updates *cache.Cache // chat.Delivery by key
	room    sync.Mutex   // held while old updates are forgotten
}

var _ chat.Dedup = (*Memory)(nil)

// NewMemory makes an empty Memory. An update is in hand until its End, however
// long that takes. Of more than 108,000 updates the oldest answered ones are
// forgotten.
func NewMemory() *Memory {
	// No interval: go-cache's sweep cannot be stopped.
	return &Memory{most: mostUpdates, updates: cache.New(cache.NoExpiration, 0)}
}

// Begin implements chat.Dedup.
func (m *Memory) Begin(_ context.Context, key string) chat.Delivery {
	for {
		if m.updates.Add(key, chat.InHand, cache.NoExpiration) == nil {
			m.makeRoom()
			return chat.Fresh
		}
		// Between the two calls it may have been given up.
		if delivery, known := m.updates.Get(key); known {
			return delivery.(chat.Delivery)
		}
	}
}

// End implements chat.Dedup.
func (m *Memory) End(_ context.Context, key string, answered bool) {
	if answered {
		m.updates.Set(key, chat.Answered, remembered)
	} else {
		m.updates.Delete(key)
	}
}

// makeRoom forgets the older half of the answered updates beyond the bound:
// newer ones are likelier to be delivered again, and half at a time
// makes the cost of sorting small. Those in hand stay; their number is bounded
// by what adapters take on.
func (m *Memory) makeRoom() {
	m.room.Lock()
	defer m.room.Unlock()
	if m.updates.ItemCount() <= m.most {
		return
	}
	m.updates.DeleteExpired()
	if m.updates.ItemCount() <= m.most {
		return
	}
	items := m.updates.Items()
	var old []string
	for key, item := range items {
		if item.Object == chat.Answered {
			old = append(old, key)
		}
	}
	slices.SortFunc(old, func(a, b string) int {
		return cmp.Compare(items[a].Expiration, items[b].Expiration)
	})
	for _, key := range old[:(len(old)+1)/2] {
		m.updates.Delete(key)
	}
}

// Limiter makes a limiter of its own that allows perMinute events of a key at
// once, and as many again in each minute; 0 is no limit.
func (m *Memory) Limiter(perMinute int) chat.Limiter {
	if perMinute == 0 {
		return unlimited{}
	}
	return newLimiter(perMinute)
}
