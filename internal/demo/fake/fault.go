// Package fake is what the stand-ins of the chat platforms share: the ways in
// which one of their calls can go wrong, and a network in memory.
//
// It knows no platform. It does not import package testing, which would be
// linked into the program.
package fake

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Fault is what happens to one call instead of its usual response, or in
// addition to it. The zero Fault changes nothing.
type Fault struct {
	// Latency passes, and Held is closed, before anything else happens.
	Latency time.Duration
	Held    <-chan struct{}
	// Status refuses the call. Code and Description are the platform's own error;
	// Page responds with a proxy's HTML instead.
	Status      int
	Code        int
	Description string
	Page        bool
	RetryAfter  time.Duration
	// Global says that the limit is about all calls.
	Global bool
	// Landed carries a call out that is refused, dropped or left without a
	// response.
	Landed bool
	// Drop closes the connection before the call is carried out, DropAnswer
	// closes it afterwards.
	Drop, DropAnswer bool
	// Hang sends no response until the client goes away.
	Hang bool
}

// CarriedOut is the fault, for a call that takes effect all the same.
func (f Fault) CarriedOut() Fault {
	f.Landed = true
	return f
}

// Unclear reports whether a client cannot know if the call was carried out.
func (f Fault) Unclear() bool {
	return f.Hang || f.Drop || f.DropAnswer || f.Status == http.StatusOK || f.Status >= http.StatusInternalServerError
}

// Serve handles a call with this fault: call carries it out and returns what
// writes the response, and refuse writes a refusal.
func (f Fault) Serve(r *http.Request, refuse func(Fault), call func() (respond func())) {
	if f.Latency > 0 || f.Held != nil {
		late := time.NewTimer(f.Latency)
		defer late.Stop()
		if !wait(r, late.C) || f.Held != nil && !wait(r, f.Held) {
			panic(http.ErrAbortHandler)
		}
	}
	failing := f.Hang || f.Drop || f.Status != 0
	respond := func() {}
	if !failing || f.Landed {
		respond = call()
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Drop, f.DropAnswer:
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		refuse(f)
	default:
		respond()
	}
}

// wait reports whether something came before the client went away.
func wait[T any](r *http.Request, came <-chan T) bool {
	select {
	case <-came:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Faults are what is going to happen to calls, by a platform's name of the call.
// The zero value is ready for use.
type Faults[Call comparable] struct {
	mu   sync.Mutex
	next map[Call][]Fault
	rest map[Call]Fault
}

// Add has each fault happen to one of the next calls.
func (f *Faults[Call]) Add(call Call, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = map[Call][]Fault{}
	}
	f.next[call] = append(f.next[call], faults...)
}

// Set replaces what Add has left over, and has the fault happen to every call
// from now on.
func (f *Faults[Call]) Set(call Call, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rest == nil {
		f.rest = map[Call]Fault{}
	}
	f.rest[call] = fault
}

// Clear forgets what Add has left over.
func (f *Faults[Call]) Clear(call Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.next, call)
}

// Pop returns the fault of a call that has just come.
func (f *Faults[Call]) Pop(call Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if faults := f.next[call]; len(faults) > 0 {
		f.next[call] = faults[1:]
		return faults[0]
	}
	return f.rest[call]
}

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
