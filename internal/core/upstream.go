package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"herald/internal/ratelimit"
	"herald/internal/secret"
	"herald/internal/transport"
)

// MaxCalls is the largest number of simultaneous calls to one service.
const MaxCalls = 32

const (
	// maxFailures is how many failures in a row pause the calls to a service, for
	// breakerPause or its TTL if that is shorter.
	maxFailures  = 5
	breakerPause = 5 * time.Second
	// maxPause bounds every pause.
	maxPause = 5 * time.Minute
	// recheckBudget bounds a pause that begins because the Budget gave no credit. Then the
	// Budget is asked again: it may have learned of more, and another replica may have a newer
	// answer.
	recheckBudget = 5 * time.Second
	// maxRetryDelay bounds the random wait before a failed call is retried.
	maxRetryDelay = 300 * time.Millisecond
	// warnEvery is the shortest time between two warnings about one service. Without a
	// bound, a service that fails every other call would fill the log.
	warnEvery = time.Minute
)

// Budget bounds the calls to a service that charges for them. It is safe for concurrent use.
type Budget interface {
	// Spend spends the credit for one call and returns nil. Without a credit it spends nothing
	// and returns an error of the reason NoCredit or UsedUp, with the time until the next one.
	// It may block for a call to the service.
	Spend(ctx context.Context) *Error
	// Note counts a call that another replica made.
	Note()
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
	// warnings limits the warnings of logFailure.
	warnings *ratelimit.Memory

	mu        sync.Mutex
	lastPause pause
	failures  int // in a row
	health    Health
	warned    bool // whether a warning was logged, and no recovery since
}

// pause is a time in which a service is not called. It may be over.
type pause struct {
	why   *Error
	until time.Time // when the pause ends
	// retryAt is until when the service or the Budget wants no call. The pause may end before
	// that, to ask the Budget again.
	retryAt time.Time
}

// reason returns why the pause began, with the time until retryAt.
func (p pause) reason() *Error {
	why := *p.why
	why.RetryAfter = max(time.Until(p.retryAt), 0)
	return &why
}

// NewUpstream returns the Upstream of a service. ttl is the shortest TTL of the service's
// queries. It bounds the pauses after failures, so that a recovery is noticed within a TTL.
// A nil budget allows every call.
func NewUpstream(c *Cache, service *Service, ttl time.Duration, budget Budget) *Upstream {
	return &Upstream{
		Service: service, cache: c, budget: budget, ttl: ttl, calls: semaphore.NewWeighted(MaxCalls),
		warnings: ratelimit.NewMemory(),
	}
}

// PingWith sets the source of u.Ping. It must be called before the first Ping.
func PingWith[V any](u *Upstream, source Source[struct{}, V]) {
	u.ping = func(ctx context.Context) (Snapshot[any], error) {
		s, err := source.Get(ctx, struct{}{})
		return Snapshot[any]{Value: s.Value, At: s.At, Stale: s.Stale, Why: s.Why}, err
	}
}

// Ping returns the answer to a question that concerns no person, from the cache or else from
// the service. It blocks as Source.Get does.
func (u *Upstream) Ping(ctx context.Context) (Snapshot[any], error) { return u.ping(ctx) }

// Do calls the service with f, under the bounds, pauses and retry of a Query's call, and caches
// nothing. It blocks until f has returned or may not be called. f's ctx is done with ctx, once
// the Cache is closed, and after CacheConfig.Timeout at the latest. A Rejected or Malformed
// answer does not count against the service.
func (u *Upstream) Do(ctx context.Context, f func(context.Context) error) error {
	ctx, end := u.cache.begin(ctx)
	defer end()
	if err := u.call(ctx, false, f); err != nil {
		return err
	}
	return nil // A nil *Error would be an error that is not nil.
}

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
	if err == nil || err.Reason != Unreachable || err.RetryAfter > 0 {
		return err
	}
	if !transport.Sleep(ctx, rand.N(maxRetryDelay)) || u.admit(ctx) != nil {
		return err
	}
	return u.callOnce(ctx, countAll, f)
}

// admit spends a credit and returns nil, or returns why the service must not be called now.
// It may block as Budget.Spend does.
func (u *Upstream) admit(ctx context.Context) *Error {
	if why := u.pausedBy(); why != nil || u.budget == nil {
		return why
	}
	if err := u.spend(ctx); err != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.pauseFor(err, min(err.RetryAfter, recheckBudget))
		return err
	}
	return u.pausedBy() // Another call may have failed while Spend blocked.
}

// pausedBy returns why there is a pause now, with the time until the next call, or nil.
func (u *Upstream) pausedBy() *Error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !time.Now().Before(u.lastPause.until) {
		return nil
	}
	return u.lastPause.reason()
}

// spend calls Budget.Spend, and returns a panic as an *Error.
func (u *Upstream) spend(ctx context.Context) (failed *Error) {
	defer u.recoverPanic(&failed)
	return u.budget.Spend(ctx)
}

// callOnce calls f, reports the call to the Observer, and updates the Health and the pause. It reports
// and updates nothing if f fails after ctx was cancelled.
func (u *Upstream) callOnce(ctx context.Context, countAll bool, f func(context.Context) error) *Error {
	start := time.Now()
	err := u.run(ctx, f)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return err // We gave up, which says nothing of the service.
	}
	outcome := "ok"
	if err != nil {
		outcome = string(err.Reason)
	}
	u.cache.Observer.Call(u.Service, outcome, time.Since(start))

	u.mu.Lock()
	defer u.mu.Unlock()
	u.health.LastCall = time.Now()
	if err == nil {
		u.logRecovery()
		u.failures = 0
		u.health.FailingSince = time.Time{}
		u.health.Reason = ""
		return nil
	}
	aboutOneKey := err.Reason == Rejected || err.Reason == Malformed
	if countAll || !aboutOneKey {
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
	u.pauseFor(err, err.RetryAfter)
	if u.failures >= maxFailures {
		u.pauseFor(err, min(breakerPause, u.ttl))
	}
}

// run calls f and returns its error, or its panic, as an *Error. RetryAfter is at most maxPause,
// unless the plan is UsedUp until a day or a month ends.
func (u *Upstream) run(ctx context.Context, f func(context.Context) error) (failed *Error) {
	defer u.recoverPanic(&failed)
	err := f(ctx)
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*Error](err)
	switch {
	case ok && known.Reason == UsedUp:
		return known
	case ok:
		capped := *known
		capped.RetryAfter = min(known.RetryAfter, maxPause)
		return &capped
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return u.Fail(SlowAnswer, err)
	}
	return u.Fail(Malformed, err)
}

// recoverPanic sets failed if the function that defers it panics. The goroutine of a Query's
// call has no other recover.
func (u *Upstream) recoverPanic(failed **Error) {
	if v := recover(); v != nil {
		*failed = u.Fail(Malformed, secret.PanicError(v))
	}
}

// pauseFor makes admit refuse calls for at least wait, within maxPause, because of why. The
// caller holds mu.
func (u *Upstream) pauseFor(why *Error, wait time.Duration) {
	now := time.Now()
	if until := now.Add(min(wait, maxPause)); wait > 0 && until.After(u.lastPause.until) {
		u.lastPause = pause{why: why, until: until, retryAt: Later(until, now.Add(why.RetryAfter))}
	}
}

// lastCreditPause returns the last pause if its reason is NoCredit or UsedUp. It returns the zero
// pause for another reason, once a call was made after the pause, and while the service fails
// for a reason other than UsedUp.
func (u *Upstream) lastCreditPause() pause {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.lastPause
	if last.why == nil || last.why.Reason != NoCredit && last.why.Reason != UsedUp {
		return pause{}
	}
	calledSince := u.health.LastCall.After(last.until)
	fails := !u.health.FailingSince.IsZero() && u.health.Reason != UsedUp
	if calledSince || fails {
		return pause{}
	}
	last.why = last.reason()
	return last
}

// logFailure logs a warning, unless one was logged since the last recovery or within
// warnEvery. The caller holds mu.
func (u *Upstream) logFailure(err *Error) {
	if u.cache.Log == nil || u.warned || !u.warnings.Allow(ratelimit.Limit{Burst: 1, Every: warnEvery}) {
		return
	}
	u.warned = true
	u.cache.Log.Warn("a service fails",
		"service", u.Name, "reason", err.Reason, "since", u.health.FailingSince, "err", err.Err)
}

// logRecovery logs that the service answers again, if a warning said that it fails. The
// caller holds mu.
func (u *Upstream) logRecovery() {
	if u.warned {
		u.warned = false
		failedFor := time.Since(u.health.FailingSince).Round(time.Second)
		u.cache.Log.Info("a service answers again", "service", u.Name, "failed_for", failedFor)
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
	// PausedFor is how much longer a pause lasts; 0 without one, and while the service works.
	PausedFor time.Duration
}

// Health returns the current Health without a call to the service.
func (u *Upstream) Health() Health {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.health
	h.Service = u.Service
	if !h.FailingSince.IsZero() {
		h.PausedFor = max(time.Until(u.lastPause.until), 0)
	}
	return h
}
