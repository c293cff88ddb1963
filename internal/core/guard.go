package core

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

const (
	// callsInHand bounds the simultaneous calls to one service.
	callsInHand = 32
	// failuresToPause in a row open a service's breaker.
	failuresToPause = 5
	// maxPause is how long a service's breaker stays open at most.
	maxPause = 5 * time.Second
	// maxRetryAfter caps how long a service may ask to be left alone.
	maxRetryAfter = 5 * time.Minute
	// retryShare of the calls may be made once more.
	retryShare = 0.1
	// maxSavedRetries bounds what a long quiet time saves up.
	maxSavedRetries = 10
	// retryDelay is the longest wait before a call is made once more.
	retryDelay = 300 * time.Millisecond
)

// guard stands before one service: it bounds the calls under way, stops asking
// a service that fails, obeys its Retry-After, and makes a failed call once
// more within a budget.
type guard struct {
	service Service
	// timeout bounds one call.
	timeout time.Duration
	// outage tells which failures are the service's and not the question's.
	outage  func(Reason) bool
	observe func(service Service, outcome string, took time.Duration)

	slots   chan struct{}
	breaker circuitbreaker.CircuitBreaker[any]

	mu          sync.Mutex
	pausedUntil time.Time
	retries     float64
}

// newGuard makes a guard whose pauses are no longer than ttl, so that a
// service that has come back is asked again within one.
func newGuard(service Service, timeout, ttl time.Duration, outage func(Reason) bool, o Observer) *guard {
	return &guard{
		service: service,
		timeout: timeout,
		outage:  outage,
		observe: o.Call,
		slots:   make(chan struct{}, callsInHand),
		breaker: circuitbreaker.NewBuilder[any]().
			WithFailureThreshold(failuresToPause).
			WithDelay(min(ttl, maxPause)).
			Build(),
		retries: 1,
	}
}

// do makes call, at most twice. It fails with an *Error.
func (g *guard) do(ctx context.Context, call func(context.Context) error) error {
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
		return &Error{Service: g.service, Reason: Paused, Err: errors.New("too many calls are under way")}
	}
	g.earnRetry()
	err := g.once(ctx, call)
	if err == nil || err.Reason != Unreachable || err.RetryAfter > 0 || !g.spendRetry() {
		return asError(err)
	}
	select {
	case <-time.After(rand.N(retryDelay)):
	case <-ctx.Done():
		return err
	}
	if again := g.once(ctx, call); again == nil || again.Reason != Paused {
		return asError(again)
	}
	return err
}

// asError keeps a nil *Error from becoming an error that is not nil.
func asError(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}

func (g *guard) once(ctx context.Context, call func(context.Context) error) *Error {
	if wait := g.paused(); wait > 0 {
		return &Error{Service: g.service, Reason: Limited, RetryAfter: wait, Err: errors.New("asked to wait")}
	}
	if !g.breaker.TryAcquirePermit() {
		return &Error{Service: g.service, Reason: Paused, Err: errors.New("not asked, it has just failed repeatedly")}
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	start := time.Now()
	err := g.typed(safely(ctx, call))
	if err == nil {
		g.breaker.RecordSuccess()
		g.observe(g.service, "ok", time.Since(start))
		return nil
	}
	if g.outage(err.Reason) {
		g.breaker.RecordFailure()
	} else {
		g.breaker.RecordSuccess()
	}
	if err.RetryAfter > 0 {
		g.pause(err.RetryAfter)
	}
	g.observe(g.service, string(err.Reason), time.Since(start))
	return err
}

// safely turns a panic of a source into its failure: it runs on a goroutine
// that no command's recover watches.
func safely(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			// The text of another value may be personal.
			text := fmt.Sprintf("with a %T", v)
			if known, ok := v.(runtime.Error); ok {
				text = known.Error()
			}
			err = fmt.Errorf("panic: %s\n%s", text, debug.Stack())
		}
	}()
	return call(ctx)
}

// typed makes an *Error of whatever a source failed with.
func (g *guard) typed(err error) *Error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Service: g.service, Reason: SlowAnswer, Err: err}
	default:
		return &Error{Service: g.service, Reason: Malformed, Err: err}
	}
}

func (g *guard) paused() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.pausedUntil)
}

func (g *guard) pause(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pausedUntil = time.Now().Add(min(d, maxRetryAfter))
}

func (g *guard) earnRetry() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retries = min(g.retries+retryShare, maxSavedRetries)
}

func (g *guard) spendRetry() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retries < 1 {
		return false
	}
	g.retries--
	return true
}
