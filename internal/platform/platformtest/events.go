package platformtest

import (
	"fmt"
	"sync"
)

// Events counts the events of an adapter. Its method Add serves as the adapter's Count. The zero value is ready to use.
type Events struct {
	mu     sync.Mutex
	counts map[string]int
}

// Add counts an event.
func (e *Events) Add(event string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts == nil {
		e.counts = map[string]int{}
	}
	e.counts[event]++
	if e.counts[event] > 100_000 {
		// Simulated time does not advance during such a loop, so the test would never end.
		panic("a loop without a pause: " + event)
	}
}

// Of returns how often an event was counted.
func (e *Events) Of(event string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts[event]
}

func (e *Events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(e.counts)
}
