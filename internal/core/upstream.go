package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"herald/internal/secret"
	"herald/internal/transport"
)

// MaxCalls is the largest number of simultaneous calls to one service.
const MaxCalls = 32

const (
	// maxFailures is how many failures in a row pause the calls to a service without a
	// Budget, for breakerPause or its TTL if that is shorter.
	maxFailures  = 5
	breakerPause = 5 * time.Second
	// firstPause is the pause after the second failure in a row of a service with a
	// Budget. Each further failure doubles the pause, up to the service's TTL.
	firstPause = time.Second
	// maxPause bounds every pause except those for UsedUp and NoCredit.
	maxPause = 5 * time.Minute
	// maxRetryDelay bounds the random wait before a failed call is retried.
	maxRetryDelay = 300 * time.Millisecond
	// warnEvery is the shortest time between two warnings about one service. Without a
	// bound, a service that fails every other call would fill the log.
	warnEvery = time.Minute
)

// Budget bounds the calls to a service that charges for each. It is safe for concurrent
// use.
type Budget interface {
	// Take spends the credit for one call and returns 0. Without a credit it spends
	// nothing and returns how long to wait before the next Take. It may block for its store.
	Take(ctx context.Context) (wait time.Duration)
}

// Upstream makes this process's calls to one service. It bounds the calls in flight, pauses
// after failures and for as long as Retry-After asks, and reports the service's Health. It
// is safe for concurrent use.
//
// No library's circuit breaker fits: the service decides how long a pause lasts, and a call
// that lacks a credit would have to return the breaker's permit.
type Upstream struct {
	*Service
	cache  *Cache
	budget Budget // nil: calls are not counted
	ttl    time.Duration
	calls  *semaphore.Weighted
	ping   func(context.Context) (Snapshot[any], error)

	mu          sync.Mutex
	pausedUntil time.Time
	pausedFor   Reason
	failures    int // in a row
	health      Health
	lastWarned  time.Time
	warned      bool // whether a warning was logged, and no recovery since
}

// NewUpstream returns the Upstream of a service. ttl is the shortest TTL of the service's
// queries. It bounds the pauses after failures, so that a recovery is noticed within a TTL.
// A nil budget allows every call.
func NewUpstream(c *Cache, service *Service, ttl time.Duration, budget Budget) *Upstream {
	return &Upstream{
		Service: service, cache: c, budget: budget, ttl: ttl, calls: semaphore.NewWeighted(MaxCalls),
	}
}

// PingWith sets the source of u.Ping. It must be called before the first Ping.
func PingWith[V any](u *Upstream, source Source[struct{}, V]) {
	u.ping = func(ctx context.Context) (Snapshot[any], error) {
		s, err := source.Get(ctx, struct{}{})
		return Snapshot[any]{Value: s.Value, At: s.At, Stale: s.Stale}, err
	}
}

// Ping returns the answer to a question that concerns no person, from the cache or else from
// the service. It blocks as Source.Get does.
func (u *Upstream) Ping(ctx context.Context) (Snapshot[any], error) { return u.ping(ctx) }

// call calls the service with f, and retries once if the service was Unreachable. It blocks
// until fewer than MaxCalls are in flight, and then while the service answers. With countAll
// every failure counts against the service. Otherwise a Rejected or Malformed answer does
// not count, because it may be about one wallet or person.
func (u *Upstream) call(ctx context.Context, countAll bool, f func(context.Context) error) *Error {
	if u.calls.Acquire(ctx, 1) != nil {
		return u.Fail(Paused, errors.New("too many calls are in flight"))
	}
	defer u.calls.Release(1)
	// Only now, because a pause may have begun during the wait to acquire.
	if err := u.admit(ctx); err != nil {
		return err
	}
	err := u.callOnce(ctx, countAll, f)
	// With a Budget, the second failure in a row begins a pause, in which admit refuses the
	// retry. So a failing service costs hardly more credits than a sound one.
	if err != nil && err.Reason == Unreachable && err.RetryAfter == 0 &&
		transport.Sleep(ctx, rand.N(maxRetryDelay)) && u.admit(ctx) == nil {
		return u.callOnce(ctx, countAll, f)
	}
	return err
}

// admit spends a credit and returns nil, or returns why the service must not be called now.
// It may block as Budget.Take does.
func (u *Upstream) admit(ctx context.Context) *Error {
	u.mu.Lock()
	wait, reason := time.Until(u.pausedUntil), u.pausedFor
	u.mu.Unlock()
	if wait <= 0 && u.budget != nil {
		wait, reason = u.budget.Take(ctx), NoCredit
		u.mu.Lock()
		u.pause(reason, wait)
		u.mu.Unlock()
	}
	if wait <= 0 {
		return nil
	}
	return &Error{Service: u.Service, Reason: reason, RetryAfter: wait, Err: errors.New("not called, it is too early")}
}

// callOnce calls f, reports the call to the Observer, and updates the Health and the pause.
func (u *Upstream) callOnce(ctx context.Context, countAll bool, f func(context.Context) error) *Error {
	start := time.Now()
	err := u.run(ctx, f)
	outcome := "ok"
	if err != nil {
		outcome = string(err.Reason)
	}
	u.cache.Observer.Call(u.Service, outcome, time.Since(start))

	u.mu.Lock()
	defer u.mu.Unlock()
	u.health.LastCall = time.Now()
	switch {
	case err == nil:
		u.logRecovery()
		u.failures, u.health.FailingSince, u.health.Reason = 0, time.Time{}, ""
	case countAll || err.Reason != Rejected && err.Reason != Malformed:
		u.recordFailure(err)
	}
	return err
}

// recordFailure counts a failure of the last call, logs it, and pauses the calls. The caller
// holds mu.
func (u *Upstream) recordFailure(err *Error) {
	u.failures++
	u.health.Reason = err.Reason
	if u.health.FailingSince.IsZero() {
		u.health.FailingSince = u.health.LastCall
	}
	u.logFailure(err)
	u.pause(err.Reason, err.RetryAfter)
	if u.budget != nil && u.failures > 1 {
		u.pause(err.Reason, min(firstPause<<min(u.failures-2, 20), u.ttl))
	} else if u.failures >= maxFailures {
		u.pause(Paused, min(breakerPause, u.ttl))
	}
}

// run calls f and returns its error as an *Error. It recovers a panic of f, because the
// goroutine of f has no other recover.
func (u *Upstream) run(ctx context.Context, f func(context.Context) error) (failed *Error) {
	defer func() {
		if v := recover(); v != nil {
			failed = u.Fail(Malformed, secret.PanicError(v))
		}
	}()
	err := f(ctx)
	known, ok := errors.AsType[*Error](err)
	switch {
	case err == nil || ok:
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return u.Fail(SlowAnswer, err)
	}
	return u.Fail(Malformed, err)
}

// pause makes admit refuse calls for at least wait, within maxPause. The caller holds mu.
func (u *Upstream) pause(reason Reason, wait time.Duration) {
	if reason != UsedUp && reason != NoCredit {
		wait = min(wait, maxPause)
	}
	if until := time.Now().Add(wait); wait > 0 && until.After(u.pausedUntil) {
		u.pausedUntil, u.pausedFor = until, reason
	}
}

// nextCredit returns when the pause for want of a credit ends. Without such a pause, or while
// the service fails, it returns zero or a past time.
func (u *Upstream) nextCredit() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pausedFor == NoCredit && u.health.FailingSince.IsZero() {
		return u.pausedUntil
	}
	return time.Time{}
}

// logFailure logs a warning, unless one was logged since the last recovery or within
// warnEvery. The caller holds mu.
func (u *Upstream) logFailure(err *Error) {
	if u.cache.Log == nil || u.warned || time.Since(u.lastWarned) < warnEvery {
		return
	}
	u.warned, u.lastWarned = true, time.Now()
	u.cache.Log.Warn("a service fails", "service", u.Name, "reason", err.Reason, "since", u.health.FailingSince, "err", err.Err)
}

// logRecovery logs that the service answers again, if a warning said that it fails. The
// caller holds mu.
func (u *Upstream) logRecovery() {
	if u.warned {
		u.warned = false
		u.cache.Log.Info("a service answers again", "service", u.Name, "failed_for", time.Since(u.health.FailingSince).Round(time.Second))
	}
}

// Health is the state of a service by the calls of this process.
type Health struct {
	Service *Service
	// LastCall is when the last call ended; zero: there was none.
	LastCall time.Time
	// FailingSince is the time of the first failure since the last success, and Reason the
	// last failure's. Both are zero if the last counted call succeeded.
	FailingSince time.Time
	Reason       Reason
	// PausedFor is how much longer a pause lasts; 0 without one, or for want of a credit.
	PausedFor time.Duration
}

// Health returns the current Health without a call to the service.
func (u *Upstream) Health() Health {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.health
	h.Service = u.Service
	if u.pausedFor != NoCredit {
		h.PausedFor = max(time.Until(u.pausedUntil), 0)
	}
	return h
}
