package query

import (
	"time"

	"herald/internal/core"
)

const (
	// maxPause is the maximum length of a pause, even if the service asks for a longer one. It may answer earlier than it
	// said.
	maxPause = 5 * time.Minute
	// maxFailures is how many failures in a row begin a pause.
	maxFailures = 5
	// breakerPause is how long a pause after maxFailures lasts, unless the shortest TTL of the service's queries is
	// shorter.
	breakerPause = 5 * time.Second
	// recheckBudget is the maximum length of a pause that begins because the Budget refuses a credit. It is short, because
	// the Budget may soon learn of more credits, and another replica may get a newer answer.
	recheckBudget = 5 * time.Second
)

// pause is a time in which a service is not called. It may be over. The zero pause is over.
type pause struct {
	why *core.Error // nil in the zero pause
	// until is when the pause ends.
	until time.Time
	// retryAt is when the service or the Budget allows the next call. It may be after until, because maxPause and
	// recheckBudget limit the pause.
	retryAt time.Time
}

// isOver reports whether calls may be made.
func (p pause) isOver() bool { return !time.Now().Before(p.until) }

// reason returns why the pause began, with the time until retryAt as its RetryAfter.
func (p pause) reason() *core.Error {
	why := *p.why
	why.RetryAfter = max(time.Until(p.retryAt), 0)
	return &why
}

// isForCredit reports whether the pause began because there was no credit for a call.
func (p pause) isForCredit() bool {
	return p.why != nil && (p.why.Reason == core.NoCredit || p.why.Reason == core.UsedUp)
}

// lull is a time in which there is no newer answer, although the service works. The zero lull is over.
type lull struct {
	// until is when the next call is expected to be possible.
	until time.Time
	// recheck is when to look for a newer answer. It is before until, because the lull may end earlier than expected.
	recheck time.Time
	why     *core.Error
}

// creditLull returns the lull that began because there is no credit for a call. It returns the zero lull if there is a
// credit, or if the service fails for another reason. The lull lasts longer than the pause that began with it: until
// the next call, after which attempt forgets the pause.
func (u *Upstream) creditLull() lull {
	u.mu.Lock()
	defer u.mu.Unlock()
	// NoCredit comes only from the Budget, which is asked before a call. So it is never the reason of a failed call.
	failsOtherwise := u.health.isFailing() && u.health.Reason != core.UsedUp
	if !u.pause.isForCredit() || failsOtherwise {
		return lull{}
	}
	return lull{until: u.pause.retryAt, recheck: u.pause.until, why: u.pause.reason()}
}

// whyPaused returns why the service must not be called now, with the time until the next call. It returns nil if calls
// may be made.
func (u *Upstream) whyPaused() *core.Error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pause.isOver() {
		return nil
	}
	return u.pause.reason()
}

// pauseFor pauses the calls for wait, but at most for maxPause. The next call is allowed after why.RetryAfter, if that
// is longer. If the current pause ends later than the new one, pauseFor does nothing. The caller holds mu.
func (u *Upstream) pauseFor(why *core.Error, wait time.Duration) {
	if wait <= 0 {
		return
	}
	now := time.Now()
	until := now.Add(min(wait, maxPause))
	if until.After(u.pause.until) {
		u.pause = pause{why: why, until: until, retryAt: core.Later(until, now.Add(why.RetryAfter))}
	}
}

// forgetPastPause forgets the pause if it is over. attempt calls it after a call. The caller holds mu.
func (u *Upstream) forgetPastPause() {
	if u.pause.isOver() {
		u.pause = pause{}
	}
}
