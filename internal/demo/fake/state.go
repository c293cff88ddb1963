package fake

import (
	"context"
	"sync"
)

// State is the lock of what a stand-in knows, and wakes those who wait for a change.
type State struct {
	sync.Mutex
	changed chan struct{} // nil while nobody waits
}

// Changed returns what the next change closes. The caller holds the lock.
func (s *State) Changed() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Notify wakes everybody who waits. The caller holds the lock.
func (s *State) Notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Change calls f under the lock, and wakes everybody who waits.
func (s *State) Change(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
	s.Notify()
}

// Wait returns once done is true, which it asks at every change.
func (s *State) Wait(ctx context.Context, done func() bool) error {
	for {
		changed := Locked(s, s.Changed)
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Locked is what f returns under the lock.
func Locked[T any](s *State, f func() T) T {
	s.Lock()
	defer s.Unlock()
	return f()
}
