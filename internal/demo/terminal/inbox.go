package terminal

import (
	"sync"

	"herald/internal/demo/fake/telegram"
)

// inbox has the events that the window has not printed yet. It is safe for concurrent use.
type inbox struct {
	mu     sync.Mutex
	events []telegram.Event
	// arrived can be received from if an event was put since the previous receive.
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

// take removes and returns all events, in order.
func (b *inbox) take() []telegram.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
