package state

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// callTimeout bounds one call to Redis unless the URL says otherwise. A
	// command makes mostCalls at most, one after the other, and Redis may cost
	// it 50 ms: the average starts at zero, so that one call may take all of its
	// time, the others the longest average that is accepted, and the last is
	// given up.
	callTimeout = 10 * time.Millisecond
	mostCalls   = 14
	// slowShare of the time that a call may take is more than calls may take on
	// average.
	slowShare = 4
	// averagedCalls is how many calls, about, the average is of.
	averagedCalls = 4
	// quickProbes in a row close the breaker.
	quickProbes = 3
	// probePause is the time between two probes. It doubles with each that
	// fails, up to mostProbePause: a Redis that is gone is not flooded with
	// connections.
	probePause     = 50 * time.Millisecond
	mostProbePause = 500 * time.Millisecond
	// probeCallTimeout bounds one probe in the background. It is longer than
	// callTimeout, so that a new connection can be made.
	probeCallTimeout = 500 * time.Millisecond
	// loggedAfter is how long the breaker is open before that is logged. What
	// is over sooner is only counted.
	loggedAfter = time.Second
)

// breaker keeps commands from waiting for a Redis that is slow or gone. It
// opens at a call that failed, and where calls take too long on average. While
// it is open no command asks Redis: probes do, in the background, and the
// breaker closes after some quick ones in a row.
//
// A library's breaker would let a command try, which then pays for it.
type breaker struct {
	timeout time.Duration // of a call
	probe   func(context.Context) error
	log     *slog.Logger

	open atomic.Bool
	// opened holds why the breaker has opened, until somebody takes it to call
	// awaitClosed.
	opened chan error

	mu      sync.Mutex
	average time.Duration
}

func newBreaker(timeout time.Duration, probe func(context.Context) error, log *slog.Logger) *breaker {
	return &breaker{timeout: timeout, probe: probe, log: log, opened: make(chan error, 1)}
}

// tooSlow is the longest average with which Redis is still asked.
func (b *breaker) tooSlow() time.Duration { return b.timeout / slowShare }

// record takes how a call ended. It does not block.
func (b *breaker) record(took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.average += (took - b.average) / averagedCalls
	if err == nil && b.average > b.tooSlow() {
		err = context.DeadlineExceeded
	}
	if err != nil && b.open.CompareAndSwap(false, true) {
		b.opened <- err
	}
}

// awaitClosed probes Redis until the breaker, which opened with err, has
// closed. It reports false if ctx was done before.
func (b *breaker) awaitClosed(ctx context.Context, err error) bool {
	opened, logged := time.Now(), false
	quick, pause := 0, probePause
	for quick < quickProbes {
		if !logged && time.Since(opened) >= loggedAfter {
			logged = true
			b.log.Warn("redis does not answer, this process decides alone", slog.String("reason", reason(err)))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		start := time.Now()
		failed := b.probe(ctx)
		switch took := time.Since(start); {
		case failed != nil:
			err, quick, pause = failed, 0, min(2*pause, mostProbePause)
		case took > b.tooSlow():
			err, quick, pause = context.DeadlineExceeded, 0, probePause
		default:
			quick, pause = quick+1, probePause
		}
	}
	b.mu.Lock()
	b.average = 0
	b.open.Store(false)
	b.mu.Unlock()
	if logged {
		b.log.Info("redis answers again")
	}
	return true
}
