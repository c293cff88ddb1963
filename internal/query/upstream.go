package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"herald/internal/core"
	"herald/internal/ratelimit"
	"herald/internal/secret"
	"herald/internal/transport"
)

// MaxCalls is the maximum number of simultaneous calls to one service.
const MaxCalls = 32

// maxRetryDelay limits the random wait before a failed call is retried.
const maxRetryDelay = 300 * time.Millisecond

// Budget limits the calls to a service that charges for them. It is safe for concurrent use.
type Budget interface {
	// Spend spends the credit for one call and returns nil. If there is no credit, it returns an error with the reason
	// NoCredit or UsedUp, and with the time until the next credit. It may block for a call to the service.
	Spend(ctx context.Context) *core.Error
	// NoteReplicaCall spends the credit for a call that another replica made.
	NoteReplicaCall()
}

// Upstream makes this process's calls to one service. It limits the calls in flight, spends the credits of its Budget,
// pauses after failures and for as long as the service asks, and reports the service's Health. It is safe for
// concurrent use.
//
// No library's circuit breaker fits: the service decides how long a pause lasts, and a call that lacks a credit would
// have to return the breaker's permit.
type Upstream struct {
	*core.Service
	cache  *Cache
	budget Budget // nil: calls are not counted
	ttl    time.Duration
	calls  *semaphore.Weighted
	// warnings limits the lines of warn.
	warnings *ratelimit.Memory

	mu sync.Mutex
	// pause is the last pause, which may be over. After the next call it is zero.
	pause    pause
	failures int // in a row
	health   Health
	// warned is true if the latest log line about this service is a warning.
	warned bool
}

// NewUpstream returns the Upstream of a service. ttl is the shortest TTL of the service's queries. It limits pauses
// after failures, so that a recovery is noticed within a TTL. A nil budget allows every call.
func NewUpstream(c *Cache, service *core.Service, ttl time.Duration, budget Budget) *Upstream {
	return &Upstream{
		Service:  service,
		cache:    c,
		budget:   budget,
		ttl:      ttl,
		calls:    semaphore.NewWeighted(MaxCalls),
		warnings: ratelimit.NewMemory(),
		health:   Health{Service: service},
	}
}

// countedFailures is which failures of a call count against the service. A failure that counts may begin a pause.
type countedFailures int

const (
	// allFailures: the question is about the service as a whole.
	allFailures countedFailures = iota
	// failuresOfTheService: all but Rejected and Malformed, which may be due to the wallet or the person in the question.
	failuresOfTheService
)

// includes reports whether a failure for this reason counts.
func (c countedFailures) includes(reason core.Reason) bool {
	if c == allFailures {
		return true
	}
	mayBeDueToTheQuestion := reason == core.Rejected || reason == core.Malformed
	return !mayBeDueToTheQuestion
}

// Do calls the service with f as a Query does, but does not cache the answer. It blocks until f has returned or may
// not be called. The ctx of f is done when ctx is done, when the Cache is closed, and after CacheConfig.Timeout. A
// Rejected or Malformed answer does not count against the service.
func (u *Upstream) Do(ctx context.Context, f func(context.Context) error) error {
	ctx, end, err := u.cache.begin(ctx)
	if err != nil {
		return u.Fail(core.SlowAnswer, err)
	}
	defer end()
	if failed := u.call(ctx, failuresOfTheService, f); failed != nil {
		return failed
	}
	return nil // A nil *core.Error would be an error that is not nil.
}

// call calls the service with f, and retries once if the service was Unreachable and did not ask to wait. It blocks
// until fewer than MaxCalls calls are in flight, and then until the service has answered.
func (u *Upstream) call(ctx context.Context, counted countedFailures, f func(context.Context) error) *core.Error {
	if u.calls.Acquire(ctx, 1) != nil {
		return u.Fail(core.Paused, errors.New("ended while too many calls were in flight"))
	}
	defer u.calls.Release(1)
	// A pause may have begun during the wait, so this comes after it.
	if refused := u.admit(ctx); refused != nil {
		return refused
	}
	failed := u.attempt(ctx, counted, f)
	if failed == nil || failed.Reason != core.Unreachable || failed.RetryAfter > 0 {
		return failed
	}
	if !transport.Sleep(ctx, rand.N(maxRetryDelay)) || u.admit(ctx) != nil {
		return failed
	}
	return u.attempt(ctx, counted, f)
}

// admit spends a credit and returns nil, or returns why the service must not be called now. It may block as
// Budget.Spend does.
func (u *Upstream) admit(ctx context.Context) *core.Error {
	if why := u.whyPaused(); why != nil {
		return why
	}
	if u.budget == nil {
		return nil
	}
	if refused := u.spend(ctx); refused != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.pauseFor(refused, min(refused.RetryAfter, recheckBudget))
		return refused
	}
	// Another call may have begun a pause while Spend blocked. The credit is then lost, like that of a failed call.
	return u.whyPaused()
}

// spend calls Budget.Spend, and returns a panic as a *core.Error.
func (u *Upstream) spend(ctx context.Context) (failed *core.Error) {
	defer u.recoverPanic(&failed)
	return u.budget.Spend(ctx)
}

// noteReplicaCall spends a credit for a call that another replica made.
func (u *Upstream) noteReplicaCall() {
	if u.budget != nil {
		u.budget.NoteReplicaCall()
	}
}

// attempt calls f once, reports that to the Observer, and updates the Health and the pause. It reports and updates
// nothing if f fails after ctx was cancelled: that says nothing about the service.
func (u *Upstream) attempt(ctx context.Context, counted countedFailures, f func(context.Context) error) *core.Error {
	start := time.Now()
	failed := u.run(ctx, f)
	if failed != nil && errors.Is(ctx.Err(), context.Canceled) {
		return failed
	}
	result := Succeeded
	if failed != nil {
		result = CallResult(failed.Reason)
	}
	u.cache.Observer.Call(u.Service, result, time.Since(start))

	u.mu.Lock()
	defer u.mu.Unlock()
	u.health.LastCall = time.Now()
	u.forgetPastPause()
	switch {
	case failed == nil:
		u.recordSuccess()
	case counted.includes(failed.Reason):
		u.recordFailure(failed)
	}
	return failed
}

// recordSuccess notes that the service works. The caller holds mu.
func (u *Upstream) recordSuccess() {
	u.logRecovery()
	u.failures = 0
	u.health.FailingSince = time.Time{}
	u.health.Reason = ""
}

// recordFailure notes that the last call failed, and logs the failure. It pauses the calls for failed.RetryAfter, and
// after maxFailures in a row. The caller holds mu.
func (u *Upstream) recordFailure(failed *core.Error) {
	u.failures++
	u.health.Reason = failed.Reason
	if !u.health.isFailing() {
		u.health.FailingSince = u.health.LastCall
	}
	u.warn(failed)
	u.pauseFor(failed, failed.RetryAfter)
	if u.failures >= maxFailures {
		u.pauseFor(failed, min(breakerPause, u.ttl))
	}
}

// run calls f and returns its error or its panic as a *core.Error. It limits RetryAfter to maxPause, unless the reason
// is UsedUp, which may last for a day or a month.
func (u *Upstream) run(ctx context.Context, f func(context.Context) error) (failed *core.Error) {
	defer u.recoverPanic(&failed)
	err := f(ctx)
	if err == nil {
		return nil
	}
	known, isKnown := errors.AsType[*core.Error](err)
	switch {
	case isKnown && known.Reason == core.UsedUp:
		return known
	case isKnown:
		limited := *known
		limited.RetryAfter = min(known.RetryAfter, maxPause)
		return &limited
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return u.Fail(core.SlowAnswer, err)
	}
	return u.Fail(core.Malformed, err)
}

// recoverPanic turns a panic of the function that defers it into a Malformed error, and sets failed to it.
func (u *Upstream) recoverPanic(failed **core.Error) {
	if v := recover(); v != nil {
		*failed = u.Fail(core.Malformed, secret.PanicError(v))
	}
}
