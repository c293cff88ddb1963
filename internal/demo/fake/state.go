// Package fake has a lock that wakes goroutines that wait for a change. The fakes of both chat platforms
// use it. The package knows no platform.
package fake

import (
	"context"
	"sync"
)

// State locks the fields of a fake, and wakes goroutines that wait for a change of them.
type State struct {
	sync.Mutex
	changed chan struct{} // nil while no goroutine waits
}

// Changed returns a channel that the next Notify closes. The caller must hold the lock.
func (s *State) Changed() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Notify wakes all waiting goroutines. The caller must hold the lock.
func (s *State) Notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Change calls f under the lock, and wakes all waiting goroutines.
func (s *State) Change(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
	s.Notify()
}

// Wait blocks until done returns true or ctx is done. It calls done without the lock, once at first and then
// after every change. It returns the error of ctx.
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

// Locked calls f under the lock, and returns its result.
func Locked[T any](s *State, f func() T) T {
	s.Lock()
	defer s.Unlock()
	return f()
}
