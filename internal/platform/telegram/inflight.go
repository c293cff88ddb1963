package telegram

import (
	"context"
	"sync/atomic"
)

const (
	// maxRunning is how many updates run at a time. An update that waits for its chat's rate, for the end of a 429 or
	// for another message does not run.
	maxRunning = 1000
	// maxHeld is how many updates are in flight at a time, which run or wait.
	maxHeld = 10_000
)

// inFlight limits how many updates are in flight, and how many of these run.
type inFlight struct {
	// held has a token for each update in flight.
	held chan struct{}
	// running has a token for each update that runs.
	running chan struct{}
}

func newInFlight(maxRunning, maxHeld int) *inFlight {
	return &inFlight{
		held:    make(chan struct{}, maxHeld),
		running: make(chan struct{}, maxRunning),
	}
}

// count returns how many updates are in flight.
func (f *inFlight) count() int { return len(f.held) }

// enter returns the flight of an update that begins to run. The caller must call its leave at the end. enter blocks
// while too many updates run or are in flight, and returns nil if ctx ends first.
func (f *inFlight) enter(ctx context.Context) *flight {
	select {
	case f.held <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	select {
	case f.running <- struct{}{}:
		return &flight{limits: f}
	case <-ctx.Done():
		<-f.held
		return nil
	}
}

// tryEnter is like enter, but does not block. It returns nil if too many updates run or are in flight.
func (f *inFlight) tryEnter() *flight {
	select {
	case f.held <- struct{}{}:
	default:
		return nil
	}
	select {
	case f.running <- struct{}{}:
		return &flight{limits: f}
	default:
		<-f.held
		return nil
	}
}

// flight is one update in flight. The update runs until stopRunning.
type flight struct {
	limits  *inFlight
	stopped atomic.Bool
}

// stopRunning lets another update run instead of this one, which waits from now on. It is safe for concurrent use. Only
// the first call has an effect.
func (f *flight) stopRunning() {
	alreadyStopped := f.stopped.Swap(true)
	if !alreadyStopped {
		<-f.limits.running
	}
}

// leave ends the flight. It must be called once.
func (f *flight) leave() {
	f.stopRunning()
	<-f.limits.held
}
