package query

import (
	"time"

	"herald/internal/core"
)

const (
	// maxPause is the maximum length of a pause. A call then shows whether the service answers earlier than it said.
	maxPause = 5 * time.Minute
	// maxFailures is how many failures in a row begin a pause of breakerPause, or of the shortest TTL of the
	// service's queries if that is shorter.
	maxFailures  = 5
	breakerPause = 5 * time.Second
	// recheckBudget is the maximum length of a pause that begins because the Budget refuses a credit. The Budget is then
	// asked again, because it may have learned of more credits, and another replica may have a newer answer.
	recheckBudget = 5 * time.Second
)

// pause is a time in which a service is not called. It may be over. The zero pause is over.
type pause struct {
	why *core.Error
	// until is when the pause ends.
	until time.Time
	// retryAt is when the service or the Budget asks for the next call. It is later than until if it is too far away to
	// wait for.
	retryAt time.Time
}

// newPause returns a pause that begins now and lasts for wait, at most for maxPause.
func newPause(why *core.Error, wait time.Duration) pause {
	now := time.Now()
	until := now.Add(min(wait, maxPause))
	return pause{why: why, until: until, retryAt: core.Later(until, now.Add(why.RetryAfter))}
}

// isOver reports whether calls may be made.
func (p pause) isOver() bool { return !time.Now().Before(p.until) }

// reason returns why the pause began, with the time until retryAt as its RetryAfter.
func (p pause) reason() *core.Error {
	why := *p.why
	why.RetryAfter = max(time.Until(p.retryAt), 0)
	return &why
}

// isForCredit reports whether the pause began because there is no credit for a call.
func (p pause) isForCredit() bool {
	return p.why != nil && (p.why.Reason == core.NoCredit || p.why.Reason == core.UsedUp)
}

// lull is a time in which there is no newer answer, although the service works. The zero lull is over.
type lull struct {
	// until is when the service gives its next answer, as far as that is known.
	until time.Time
	// recheck is when to ask for an answer again. It is before until if the lull may end earlier than expected.
	recheck time.Time
	why     *core.Error
}

// lull returns the lull that a lack of credits causes. It returns the zero lull once a call was made after the lack
// began, and while the service fails for another reason.
func (u *Upstream) lull() lull {
	u.mu.Lock()
	defer u.mu.Unlock()
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

// pauseFor pauses the calls for at least wait, within maxPause, because of why. The caller holds mu.
func (u *Upstream) pauseFor(why *core.Error, wait time.Duration) {
	p := newPause(why, wait)
	if !p.isOver() && p.until.After(u.pause.until) {
		u.pause = p
	}
}

// forgetPastPause forgets a pause that is over, because a call was made after it. The caller holds mu.
func (u *Upstream) forgetPastPause() {
	if u.pause.isOver() {
		u.pause = pause{}
	}
}
