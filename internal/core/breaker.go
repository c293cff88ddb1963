package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/secret"
	"herald/internal/transport"
)

// MaxCalls bounds the simultaneous calls to one service.
const MaxCalls = 32

const (
	// failuresToPause in a row open a service's circuit.
	failuresToPause = 5
	// maxPause is how long a service's circuit stays open at most.
	maxPause = 5 * time.Second
	// maxRetryAfter caps how long a service may ask to wait, unless its limit is
	// used up. It also caps the pauses after failures of a service with a Budget.
	maxRetryAfter = 5 * time.Minute
	// firstPause follows the first failure of a service with a Budget. Each
	// further one doubles it.
	firstPause = time.Second
	// retryDelay is the longest wait before a call is made once more.
	retryDelay = 300 * time.Millisecond
)

// Budget bounds the calls to a service that counts each. Safe for concurrent
// use.
type Budget interface {
	// Take takes the credit for one call. If there is none, it takes nothing and
	// returns after how long to try again, which is above zero.
	Take(ctx context.Context) (wait time.Duration)
}

// Breaker stands before one service: it bounds the calls under way, stops
// calling a service that fails, and obeys its Retry-After.
//
// A call to a service that was Unreachable is made once more after a moment, if
// there is time and the circuit is closed. So a service that fails now and then
// is called twice as often at most, and one that is down no more often than its
// circuit lets it be tried.
//
// With a Budget, every call takes a credit, whatever comes of it. After each
// failure the service is not called for longer than before, up to its TTL, and of
// several failures in a row only the first is followed by a second call: so a
// service that fails costs hardly more than one that is well.
//
// The bulkhead and the circuit are failsafe-go's. Its retry policy is not used:
// it would put its own error in the place of the service's.
type Breaker struct {
	service *Service
	cache   *Cache
	budget  Budget // nil: calls are not counted
	ttl     time.Duration
	calls   bulkhead.Bulkhead[any]
	circuit circuitbreaker.CircuitBreaker[any]

	mu          sync.Mutex
	pausedUntil time.Time
	pausedFor   Reason
	failures    int // in a row
	health      Health
}

// NewBreaker makes a Breaker for a service's questions. ttl is the shortest of
// their TTLs: pauses are no longer, so that a service that has come back is asked
// again within one. budget bounds the calls; nil is no bound.
func NewBreaker(c *Cache, service *Service, ttl time.Duration, budget Budget) *Breaker {
	b := &Breaker{
		service: service,
		cache:   c,
		budget:  budget,
		ttl:     ttl,
		calls:   bulkhead.New[any](MaxCalls),
		circuit: circuitbreaker.NewBuilder[any]().
			WithFailureThreshold(failuresToPause).
			WithDelay(min(ttl, maxPause)).
			Build(),
		health: Health{Service: service},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakers = append(c.breakers, b)
	return b
}

// do makes call, at most twice. It fails with an *Error. Reasons that can only
// be the service's own count as its failures; with anyReason all of them do.
func (b *Breaker) do(ctx context.Context, anyReason bool, call func(context.Context) error) *Error {
	if b.calls.AcquirePermit(ctx) != nil {
		return b.service.Fail(Paused, errors.New("too many calls are under way"))
	}
	defer b.calls.ReleasePermit()
	if err := b.permit(ctx); err != nil {
		return err
	}
	err := b.once(ctx, anyReason, call)
	if b.mayRepeat(err) && transport.Sleep(ctx, rand.N(retryDelay)) && b.permit(ctx) == nil {
		err = b.once(ctx, anyReason, call)
	}
	b.settle(err)
	return err
}

// once makes call, for which there is a permit.
func (b *Breaker) once(ctx context.Context, anyReason bool, call func(context.Context) error) *Error {
	start := time.Now()
	err := b.typed(safely(ctx, call))
	outcome := "ok"
	if err != nil {
		outcome = string(err.Reason)
		b.pause(err.Reason, err.RetryAfter)
	}
	if err != nil && (anyReason || err.Reason == Unreachable || err.Reason == SlowAnswer || err.Reason == Limited) {
		b.circuit.RecordFailure()
	} else {
		b.circuit.RecordSuccess()
	}
	b.note(err, anyReason)
	b.cache.Observer.Call(b.service, outcome, time.Since(start))
	return err
}

// safely turns a panic into a failure of the service: it runs on a goroutine
// that no command's recover watches.
func safely(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = secret.PanicError(v)
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

// permit returns why the service is not called now; nil if it is, for which the
// credit is then taken.
func (b *Breaker) permit(ctx context.Context) *Error {
	if wait, reason := b.paused(); wait > 0 {
		return &Error{Service: b.service, Reason: reason, RetryAfter: wait, Err: errors.New("not called, it is too early")}
	}
	if b.budget != nil {
		if wait := b.budget.Take(ctx); wait > 0 {
			b.pause(NoCredit, wait)
			return &Error{Service: b.service, Reason: NoCredit, RetryAfter: wait, Err: errors.New("not called, no credit is left for now")}
		}
	}
	if !b.circuit.TryAcquirePermit() {
		return b.service.Fail(Paused, errors.New("not called, it has just failed repeatedly"))
	}
	return nil
}

// paused is for how much longer the service is not called, and why.
func (b *Breaker) paused() (time.Duration, Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.pausedUntil), b.pausedFor
}

// pause leaves the service alone for a time, or for as long as it is already
// left alone. Only what is used up or has no credit lasts longer than
// maxRetryAfter.
func (b *Breaker) pause(reason Reason, wait time.Duration) {
	if reason != UsedUp && reason != NoCredit {
		wait = min(wait, maxRetryAfter)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := time.Now().Add(wait); wait > 0 && until.After(b.pausedUntil) {
		b.pausedUntil, b.pausedFor = until, reason
	}
}

// mayRepeat reports whether the call that failed with err is worth another.
func (b *Breaker) mayRepeat(err *Error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return err != nil && err.Reason == Unreachable && err.RetryAfter == 0 && (b.budget == nil || b.failures == 0)
}

// settle takes what came of a question. A service with a Budget that failed is
// paused.
func (b *Breaker) settle(err *Error) {
	b.mu.Lock()
	wait := min(firstPause<<min(b.failures, 20), b.ttl, maxRetryAfter)
	b.failures++
	if err == nil {
		b.failures = 0
	}
	b.mu.Unlock()
	if err != nil && b.budget != nil {
		b.pause(err.Reason, wait)
	}
}
