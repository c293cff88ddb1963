// Package faketest has what the fakes of the chat platforms share in tests: faults of a call, and a network in memory.
// Only tests may import it.
package faketest

import (
	"net/http"
	"sync"
	"time"
)

// Fault is one way for a call to fail. The zero Fault has no effect.
//
// A fault of Status, Hang, Drop or Answer replaces the fake's response, and the fake does not carry the call out unless
// Landed is set. For example, {Status: 502} is a call that never reached the platform, and {Status: 502, Landed: true}
// one that did, before its response was lost.
type Fault struct {
	// Latency is how long the call waits before anything else happens. It then waits until Held is closed, if that is
	// not nil.
	Latency time.Duration
	Held    <-chan struct{}

	// Status is the HTTP status of a refusal. Code and Description are the platform's own error, and Page makes the
	// response a proxy's HTML page instead.
	Status      int
	Code        int
	Description string
	Page        bool
	// RetryAfter is how long the refusal tells the bot to wait.
	RetryAfter time.Duration
	// Global is set if the refusal is about a rate limit of all calls.
	Global bool

	// Hang sends no response until the client disconnects.
	Hang bool
	// Drop closes the connection instead of responding.
	Drop bool
	// DropAnswer carries the call out, and then closes the connection instead of responding.
	DropAnswer bool
	// Answer responds in place of the platform, if it is not nil.
	Answer http.Handler

	// Landed carries the call out even though the client gets no answer of the platform.
	Landed bool
}

// CarriedOut returns the fault with Landed set.
func (f Fault) CarriedOut() Fault {
	f.Landed = true
	return f
}

// Unclear reports whether a client cannot tell from the fault whether the call was carried out.
func (f Fault) Unclear() bool {
	return f.Hang || f.Drop || f.DropAnswer || f.Status == http.StatusOK || f.Status >= http.StatusInternalServerError
}

// Serve answers a call with this fault. handle carries the call out, and returns the function that writes the response
// to w. refuse writes a refusal to w.
func (f Fault) Serve(w http.ResponseWriter, r *http.Request, refuse func(Fault), handle func() (respond func())) {
	f.wait(r)
	replacesResponse := f.Hang || f.Drop || f.Status != 0 || f.Answer != nil
	respond := func() {}
	if !replacesResponse || f.Landed {
		respond = handle()
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

// wait blocks for Latency and until Held is closed. If the client disconnects first, wait aborts the call.
func (f Fault) wait(r *http.Request) {
	if f.Latency > 0 {
		timer := time.NewTimer(f.Latency)
		defer timer.Stop()
		receive(r, timer.C)
	}
	if f.Held != nil {
		receive(r, f.Held)
	}
}

// receive blocks until it can receive from c. If the client disconnects first, receive aborts the call.
func receive[T any](r *http.Request, c <-chan T) {
	select {
	case <-c:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// Faults has the faults of future calls. Call is the type of the platform's names of calls. The zero value has no
// faults. It is safe for concurrent use.
type Faults[Call comparable] struct {
	mu   sync.Mutex
	next map[Call][]Fault // one for each of the next calls
	rest map[Call]Fault   // for all calls after those
}

// Add queues faults. Each is used for one of the next calls with this name.
func (f *Faults[Call]) Add(call Call, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = map[Call][]Fault{}
	}
	f.next[call] = append(f.next[call], faults...)
}

// Set sets the fault of all calls with this name for which Add has queued none.
func (f *Faults[Call]) Set(call Call, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rest == nil {
		f.rest = map[Call]Fault{}
	}
	f.rest[call] = fault
}

// Clear deletes the queued faults of calls with this name.
func (f *Faults[Call]) Clear(call Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.next, call)
}

// Pop returns the fault of a call that has just arrived.
func (f *Faults[Call]) Pop(call Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if faults := f.next[call]; len(faults) > 0 {
		f.next[call] = faults[1:]
		return faults[0]
	}
	return f.rest[call]
}
