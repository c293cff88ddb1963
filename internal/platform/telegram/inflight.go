package telegram

import (
	"context"
	"sync/atomic"
)

const (
	// maxRunning is how many updates run at a time. An update that waits for its chat's rate, the end
	// of a 429 or another message does not run.
	maxRunning = 1000
	// maxHeld is how many updates are in flight at a time: they run or wait.
	maxHeld = 10_000
)

// inFlight bounds the updates in flight.
type inFlight struct {
	// held has a token for each update in flight, and running one for each that runs.
	held, running chan struct{}
}

func newInFlight(maxRunning, maxHeld int) *inFlight {
	return &inFlight{
		held:    make(chan struct{}, maxHeld),
		running: make(chan struct{}, maxRunning),
	}
}

// count returns how many updates are in flight.
func (f *inFlight) count() int { return len(f.held) }

// enter returns a place for an update that begins to run. The caller must call leave at the end. enter
// blocks while too many updates run or are in flight, and returns nil if ctx ends first.
func (f *inFlight) enter(ctx context.Context) *place {
	select {
	case f.held <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	select {
	case f.running <- struct{}{}:
		return &place{of: f}
	case <-ctx.Done():
		<-f.held
		return nil
	}
}

// tryEnter is enter that does not block: it returns nil if too many updates run or are in flight.
func (f *inFlight) tryEnter() *place {
	select {
	case f.held <- struct{}{}:
	default:
		return nil
	}
	select {
	case f.running <- struct{}{}:
		return &place{of: f}
	default:
		<-f.held
		return nil
	}
}

// place is what one update in flight holds. The update runs until stopRunning.
type place struct {
	of      *inFlight
	stopped atomic.Bool
}

// stopRunning lets another update run instead of this one, which waits from now on. It is safe for concurrent
// use. Only the first call has an effect.
func (p *place) stopRunning() {
	if !p.stopped.Swap(true) {
		<-p.of.running
	}
}

// leave ends the hold. It must be called once.
func (p *place) leave() {
	p.stopRunning()
	<-p.of.held
}
