// Package faketest has what the fakes of the chat platforms share in tests: faults of a call, and a network in memory.
// Only tests may import it.
package faketest

import (
	"net/http"
	"sync"
	"time"
)

// Fault is one way for a call to go wrong. The zero Fault changes nothing.
type Fault struct {
	// Latency passes, and Held is closed, before anything else happens.
	Latency time.Duration
	Held    <-chan struct{}
	// Status refuses the call. Code and Description are the platform's own error. Page
	// responds with a proxy's HTML instead.
	Status      int
	Code        int
	Description string
	Page        bool
	RetryAfter  time.Duration
	// Global is true for a limit of all calls.
	Global bool
	// Landed carries the call out although it is refused, dropped or not answered.
	Landed bool
	// Drop closes the connection before the call is carried out, DropAnswer afterwards.
	Drop, DropAnswer bool
	// Hang sends no response until the client goes away.
	Hang bool
	// Answer answers in place of the platform; nil: something else is wrong.
	Answer http.Handler
}

// CarriedOut returns the fault with Landed set.
func (f Fault) CarriedOut() Fault {
	f.Landed = true
	return f
}

// Unclear reports whether a client cannot know that the call was or was not carried out.
func (f Fault) Unclear() bool {
	return f.Hang || f.Drop || f.DropAnswer || f.Status == http.StatusOK || f.Status >= http.StatusInternalServerError
}

// Serve handles a call with this fault. call carries the call out and returns the function
// that writes the response; refuse writes a refusal.
func (f Fault) Serve(w http.ResponseWriter, r *http.Request, refuse func(Fault), call func() (respond func())) {
	if f.Latency > 0 || f.Held != nil {
		late := time.NewTimer(f.Latency)
		defer late.Stop()
		if !wait(r, late.C) || f.Held != nil && !wait(r, f.Held) {
			panic(http.ErrAbortHandler)
		}
	}
	failing := f.Hang || f.Drop || f.Status != 0 || f.Answer != nil
	respond := func() {}
	if !failing || f.Landed {
		respond = call()
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Drop, f.DropAnswer:
		panic(http.ErrAbortHandler)
	case f.Answer != nil:
		f.Answer.ServeHTTP(w, r)
	case f.Status != 0:
		refuse(f)
	default:
		respond()
	}
}

// wait blocks until something comes or the client goes away. It returns false for the
// latter.
func wait[T any](r *http.Request, came <-chan T) bool {
	select {
	case <-came:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Faults holds the faults of calls to come, by the platform's name of the call. The zero
// value is ready for use.
type Faults[Call comparable] struct {
	mu   sync.Mutex
	next map[Call][]Fault
	rest map[Call]Fault
}

// Add puts each fault on one of the next calls.
func (f *Faults[Call]) Add(call Call, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = map[Call][]Fault{}
	}
	f.next[call] = append(f.next[call], faults...)
}

// Set puts the fault on every later call that has none from Add.
func (f *Faults[Call]) Set(call Call, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rest == nil {
		f.rest = map[Call]Fault{}
	}
	f.rest[call] = fault
}

// Clear deletes the faults that Add has left.
func (f *Faults[Call]) Clear(call Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.next, call)
}

// Pop returns the fault of the call that has just come.
func (f *Faults[Call]) Pop(call Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if faults := f.next[call]; len(faults) > 0 {
		f.next[call] = faults[1:]
		return faults[0]
	}
	return f.rest[call]
}
