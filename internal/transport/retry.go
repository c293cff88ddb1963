// Package retry repeats what may succeed later, for the chat adapters: calls,
// polls and connections.
//
// failsafe-go, which stands before the services, does not fit here. Its jitter
// also shortens a wait that a platform asks for, and at the end of its time
// limit it tries once more, however long it was asked to wait.
package transport

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is how long to wait before another attempt: about First after the
// first failure, twice as long after each further one, and Most at most.
type Backoff struct{ First, Max time.Duration }

// After is the wait after so many failures in a row, at least 1. A random half
// of it is left out, so that replicas do not return together.
func (b Backoff) After(failures int) time.Duration {
	d := min(b.First<<min(failures-1, 20), b.Max)
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for d. It reports false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Policy says what is repeated, and for how long.
type Policy struct {
	Backoff Backoff
	// Until is when to give up; zero is never. No attempt begins later.
	Until time.Time
	// Again reports whether another attempt may succeed after err, and the
	// least that it has to wait.
	Again func(err error) (again bool, atLeast time.Duration)
	// Failed is called before each wait, with the failures so far; nil is not.
	Failed func(err error, failures int, wait time.Duration)
}

// Do calls attempt until it succeeds, and returns its last error if it may not
// be repeated or ctx ends before it can be.
func (p Policy) Do(ctx context.Context, attempt func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		again, atLeast := p.Again(err)
		wait := max(p.Backoff.After(failures), atLeast)
		if !again || ctx.Err() != nil || !p.Until.IsZero() && time.Now().Add(wait).After(p.Until) {
			return err
		}
		if p.Failed != nil {
			p.Failed(err, failures, wait)
		}
		if !Sleep(ctx, wait) {
			return err
		}
	}
}
