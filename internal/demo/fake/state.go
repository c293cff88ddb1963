// Package fake has a lock that wakes waiters. The stand-ins of both chat platforms use the
// lock. The package knows no platform.
package fake

import (
	"context"
	"sync"
)

// State is the lock of a stand-in's fields. It wakes goroutines that wait for a change.
type State struct {
	sync.Mutex
	changed chan struct{} // nil while nobody waits
}

// Changed returns a channel that the next change closes. The caller holds the lock.
func (s *State) Changed() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Notify wakes all who wait. The caller holds the lock.
func (s *State) Notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Change calls f under the lock, and wakes all who wait.
func (s *State) Change(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
	s.Notify()
}

// Wait blocks until done returns true, or ctx is done. It calls done at every change.
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

// Locked calls f under the lock and returns its result.
func Locked[T any](s *State, f func() T) T {
	s.Lock()
	defer s.Unlock()
	return f()
}
