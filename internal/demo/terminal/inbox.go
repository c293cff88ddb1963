package terminal

import (
	"sync"

	"herald/internal/demo/fake/telegram"
)

// inbox holds the events that the window has not printed yet. It is safe for concurrent use.
type inbox struct {
	mu     sync.Mutex
	events []telegram.Event
	// arrived holds a token if an event was put since the last receive.
	arrived chan struct{}
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

// put adds an event. It does not block.
func (b *inbox) put(e telegram.Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// take returns the events in their order, and leaves none.
func (b *inbox) take() []telegram.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
