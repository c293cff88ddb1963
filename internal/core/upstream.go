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
	// After maxFailures in a row a service is not called for maxOutage at most.
	maxFailures = 5
	maxOutage   = 5 * time.Second
	// firstPause follows the second failure in a row of a service with a Budget. Each
	// further failure doubles the pause.
	firstPause = time.Second
	// maxRetryAfter caps every pause except for a used-up limit or a lack of credits.
	maxRetryAfter = 5 * time.Minute
	// maxRetryDelay is the longest wait before a call is repeated.
	maxRetryDelay = 300 * time.Millisecond
	// warnEvery is the least time between two warnings about one service. A service that
	// fails every other call must not fill the log.
	warnEvery = time.Minute
)

// Budget bounds the calls to a service that charges for each. It is safe for concurrent
// use.
type Budget interface {
	// Take spends the credit for one call and returns 0. Without a credit it spends
	// nothing and returns how long to wait before the next Take. It may block for its store.
	Take(ctx context.Context) (wait time.Duration)
}

// Upstream is a service as this process calls it. It bounds the calls in flight, does not
// call a failing service for a while, obeys Retry-After, and reports the service's Health.
// It is safe for concurrent use.
//
// No library's circuit breaker fits: a pause has to be as long as the service asks
// for, and a permit that a lack of credit leaves unused would have to be given back.
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
	failures    int // calls in a row that failed
	health      Health
	warned      time.Time // when the log last told that the service fails
	announced   bool      // whether the log's last word is that the service fails
}

// NewUpstream makes the Upstream of a service. ttl is the shortest TTL of its queries and
// bounds the pauses after failures: a service that has come back is noticed within a TTL.
// A nil budget sets no bound.
func NewUpstream(c *Cache, service *Service, ttl time.Duration, budget Budget) *Upstream {
	return &Upstream{
		Service: service, cache: c, budget: budget, ttl: ttl, calls: semaphore.NewWeighted(MaxCalls),
	}
}

// PingWith sets the source that u.Ping asks. It must be called before the first Ping.
func PingWith[V any](u *Upstream, source Source[struct{}, V]) {
	u.ping = func(ctx context.Context) (Snapshot[any], error) {
		s, err := source.Get(ctx, struct{}{})
		return Snapshot[any]{Value: s.Value, At: s.At, Stale: s.Stale}, err
	}
}

// Ping asks the service a question that concerns no person. The answer is cached, so a
// Ping costs the service little. It blocks as Source.Get does.
func (u *Upstream) Ping(ctx context.Context) (Snapshot[any], error) { return u.ping(ctx) }

// call asks the service by f, and once more if the service was unreachable. With countAll
// every failure counts as the service's own. Otherwise a Rejected or Malformed one does
// not: it may be about one wallet or person.
//
// The order is: a permit for one of MaxCalls, the pause, a credit, the call, and
// one retry. The pause comes after the permit because waiting for one takes time.
func (u *Upstream) call(ctx context.Context, countAll bool, f func(context.Context) error) *Error {
	if u.calls.Acquire(ctx, 1) != nil {
		return u.Fail(Paused, errors.New("too many calls are in flight"))
	}
	defer u.calls.Release(1)
	if err := u.admit(ctx); err != nil {
		return err
	}
	err := u.once(ctx, countAll, f)
	// With a Budget, once pauses after a second failure, and admit refuses the retry. So a
	// failing service costs hardly more credits than a sound one.
	if err != nil && err.Reason == Unreachable && err.RetryAfter == 0 &&
		transport.Sleep(ctx, rand.N(maxRetryDelay)) && u.admit(ctx) == nil {
		return u.once(ctx, countAll, f)
	}
	return err
}

// admit spends a credit and returns nil if the service may be called now.
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

// once makes one call and updates the Health, and the pause after a failure.
func (u *Upstream) once(ctx context.Context, countAll bool, f func(context.Context) error) *Error {
	start := time.Now()
	err := u.try(ctx, f)
	outcome := "ok"
	if err != nil {
		outcome = string(err.Reason)
	}
	u.cache.Observer.Call(u.Service, outcome, time.Since(start))

	u.mu.Lock()
	defer u.mu.Unlock()
	u.health.Asked = time.Now()
	if err == nil {
		u.logRecovery()
		u.failures, u.health.FailingSince, u.health.Reason = 0, time.Time{}, ""
		return nil
	}
	if !countAll && (err.Reason == Rejected || err.Reason == Malformed) {
		return err
	}
	u.failures++
	u.health.Reason = err.Reason
	if u.health.FailingSince.IsZero() {
		u.health.FailingSince = u.health.Asked
	}
	u.logFailure(err)
	u.pause(err.Reason, err.RetryAfter)
	if u.budget != nil && u.failures > 1 {
		u.pause(err.Reason, min(firstPause<<min(u.failures-2, 20), u.ttl))
	} else if u.failures >= maxFailures {
		u.pause(Paused, min(maxOutage, u.ttl))
	}
	return err
}

// try calls f and converts its error to an *Error. It recovers a panic of f, because f
// runs on a goroutine without another recover.
func (u *Upstream) try(ctx context.Context, f func(context.Context) error) (failed *Error) {
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

// pause stops calls to the service for at least wait. The caller holds mu.
func (u *Upstream) pause(reason Reason, wait time.Duration) {
	if reason != UsedUp && reason != NoCredit {
		wait = min(wait, maxRetryAfter)
	}
	if until := time.Now().Add(wait); wait > 0 && until.After(u.pausedUntil) {
		u.pausedUntil, u.pausedFor = until, reason
	}
}

// nextCredit returns when there is a credit again. It returns zero, or a past time, if the
// service fails or does not wait for a credit.
func (u *Upstream) nextCredit() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pausedFor == NoCredit && u.health.FailingSince.IsZero() {
		return u.pausedUntil
	}
	return time.Time{}
}

// logFailure logs that the service began to fail, once until logRecovery and at most once
// in warnEvery. The caller holds mu.
func (u *Upstream) logFailure(err *Error) {
	if u.cache.Log == nil || u.announced || time.Since(u.warned) < warnEvery {
		return
	}
	u.announced, u.warned = true, time.Now()
	u.cache.Log.Warn("a service fails", "service", u.Name, "reason", err.Reason, "since", u.health.FailingSince, "err", err.Err)
}

// logRecovery logs that the service answers again, if the log says that it fails. The
// caller holds mu.
func (u *Upstream) logRecovery() {
	if u.announced {
		u.announced = false
		u.cache.Log.Info("a service answers again", "service", u.Name, "failed_for", time.Since(u.health.FailingSince).Round(time.Second))
	}
}

// Health is what is known of a service's state.
type Health struct {
	Service *Service
	// Asked is when the last call ended; zero: there was none.
	Asked time.Time
	// FailingSince is the time of the first failure since the last success. Reason is that
	// of the last failure. Both are zero while the service is well.
	FailingSince time.Time
	Reason       Reason
	// PausedFor is the rest of a pause after a failure or a Retry-After. A lack of credits
	// does not count.
	PausedFor time.Duration
}

// Health returns the current Health. It does not call the service.
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
