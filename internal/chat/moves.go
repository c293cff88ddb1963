package chat

import "sync"

// Move is a group that has another ID now. Both IDs are as settings name the group, such as
// "telegram:-1001234567890".
type Move struct {
	From, To string
	// Settings are the names of the settings that have From, with commas between them.
	Settings string
}

// Moves remembers groups whose IDs in the settings are outdated. The zero value is empty; Moves are
// safe for concurrent use.
type Moves struct {
	mu sync.Mutex
	to map[string]Move
}

// Add remembers a move. It returns false if the move is known.
func (m *Moves) Add(moved Move) (isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to = map[string]Move{}
	}
	if m.to[moved.To] == moved {
		return false
	}
	m.to[moved.To] = moved
	return true
}

// To returns the move of the group that has an ID now.
func (m *Moves) To(id string) (moved Move, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	moved, known = m.to[id]
	return moved, known
}
