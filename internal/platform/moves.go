package platform

import (
	"sync"

	"herald/internal/chat"
)

// Moves remembers the groups whose ID has changed while the settings still name the old one. The zero value is empty.
// Moves are safe for concurrent use.
type Moves struct {
	mu sync.Mutex
	to map[string]chat.Move // by the group's new ID
}

// Add remembers a move. It returns false if it already knew the move.
func (m *Moves) Add(moved chat.Move) (isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to = map[string]chat.Move{}
	}
	if m.to[moved.To] == moved {
		return false
	}
	m.to[moved.To] = moved
	return true
}

// To returns the move that gave a group the new ID id. known is false if there was no such move.
func (m *Moves) To(id string) (moved chat.Move, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	moved, known = m.to[id]
	return moved, known
}
