package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/panics"
	"herald/internal/retry"
)

// MaxCalls bounds the simultaneous calls to one service.
const MaxCalls = 32

const (
	// failuresToPause in a row open a service's circuit.
	failuresToPause = 5
	// maxPause is how long a service's circuit stays open at most.
	maxPause = 5 * time.Second
	// maxRetryAfter caps how long a service may ask to wait.
	maxRetryAfter = 5 * time.Minute
	// retryShare of the calls may be made once more.
	retryShare = 0.1
	// maxSavedRetries bounds what a long quiet time saves up.
	maxSavedRetries = 10
	// retryDelay is the longest wait before a call is made once more.
	retryDelay = 300 * time.Millisecond
)

// Breaker stands before one service: it bounds the calls under way, stops
// calling a service that fails, obeys its Retry-After, and makes a failed call
// once more within a budget.
//
// The bulkhead and the circuit are failsafe-go's, the retry is not. Its budget
// bounds the retries under way, not their share of all calls; it is consulted
// only after the wait, and then its own error takes the place of the service's.
type Breaker struct {
	service *Service
	cache   *Cache
	calls   bulkhead.Bulkhead[any]
	circuit circuitbreaker.CircuitBreaker[any]

	mu          sync.Mutex
	pausedUntil time.Time
	retries     float64
}

// NewBreaker makes a Breaker for a service's questions, of which ttl is the
// shortest TTL: pauses are no longer, so that a service that has come back is
// asked again within one.
func NewBreaker(c *Cache, service *Service, ttl time.Duration) *Breaker {
	return &Breaker{
		service: service,
		cache:   c,
		calls:   bulkhead.New[any](MaxCalls),
		circuit: circuitbreaker.NewBuilder[any]().
			WithFailureThreshold(failuresToPause).
			WithDelay(min(ttl, maxPause)).
			Build(),
		retries: 1,
	}
}

// do makes call, at most twice. It fails with an *Error. Reasons that can only
// be the service's own count as its failures; with anyReason all of them do.
func (b *Breaker) do(ctx context.Context, anyReason bool, call func(context.Context) error) error {
	if b.calls.AcquirePermit(ctx) != nil {
		return b.service.Fail(Paused, errors.New("too many calls are under way"))
	}
	defer b.calls.ReleasePermit()
	b.earnRetry()
	err := b.once(ctx, anyReason, call)
	if err == nil {
		return nil
	}
	if err.Reason != Unreachable || err.RetryAfter > 0 || !b.spendRetry() || !retry.Sleep(ctx, rand.N(retryDelay)) {
		return err
	}
	switch again := b.once(ctx, anyReason, call); {
	case again == nil:
		return nil
	case again.Reason != Paused:
		return again
	}
	return err
}

func (b *Breaker) once(ctx context.Context, anyReason bool, call func(context.Context) error) *Error {
	if wait := b.wait(); wait > 0 {
		return &Error{Service: b.service, Reason: Limited, RetryAfter: wait, Err: errors.New("asked to wait")}
	}
	if !b.circuit.TryAcquirePermit() {
		return b.service.Fail(Paused, errors.New("not called, it has just failed repeatedly"))
	}
	start := time.Now()
	err := b.typed(safely(ctx, call))
	outcome := "ok"
	if err != nil {
		outcome = string(err.Reason)
		b.pause(err.RetryAfter)
	}
	if err != nil && (anyReason || err.Reason == Unreachable || err.Reason == SlowAnswer || err.Reason == Limited) {
		b.circuit.RecordFailure()
	} else {
		b.circuit.RecordSuccess()
	}
	b.cache.Observer.Call(b.service, outcome, time.Since(start))
	return err
}

// safely turns a panic into a failure of the service: it runs on a goroutine
// that no command's recover watches.
func safely(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panics.Error(v)
		}
	}()
	return call(ctx)
}

// typed makes an *Error of whatever a call failed with.
func (b *Breaker) typed(err error) *Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return b.service.Fail(SlowAnswer, err)
	}
	return b.service.Fail(Malformed, err)
}

// wait is how much longer the service asked not to be called.
func (b *Breaker) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.pausedUntil)
}

func (b *Breaker) pause(retryAfter time.Duration) {
	if retryAfter <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pausedUntil = time.Now().Add(min(retryAfter, maxRetryAfter))
}

func (b *Breaker) earnRetry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries = min(b.retries+retryShare, maxSavedRetries)
}

func (b *Breaker) spendRetry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retries < 1 {
		return false
	}
	b.retries--
	return true
}
