package platform

import (
	"sync"

	"herald/internal/chat"
)

// Moves remembers groups whose IDs in the settings are outdated. The zero value is empty; Moves are
// safe for concurrent use.
type Moves struct {
	mu sync.Mutex
	to map[string]chat.Move
}

// Add remembers a move. It returns false if the move is known.
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

// To returns the move of the group that has an ID now.
func (m *Moves) To(id string) (moved chat.Move, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	moved, known = m.to[id]
	return moved, known
}
