package query

import (
	"time"

	"herald/internal/core"
	"herald/internal/ratelimit"
)

// warnEvery is the minimum time between two warnings about one service. Without it, a service that fails every other
// call would fill the log.
const warnEvery = time.Minute

// Health is the state of a service, as the calls of this process show it.
type Health struct {
	Service *core.Service
	// LastCall is when the last call ended. It is zero if there was none.
	LastCall time.Time
	// FailingSince is when the first failed call after the last success ended. It is zero if the service works.
	FailingSince time.Time
	// Reason is why the last failed call failed. It is empty if the service works. Failures that do not count against the
	// service (countedFailures) change neither FailingSince nor Reason.
	Reason core.Reason
	// PausedFor is how much longer the calls to a failing service are paused. It is 0 while the service works, even in a
	// pause that began because there was no credit.
	PausedFor time.Duration
}

func (h Health) isFailing() bool { return !h.FailingSince.IsZero() }

// Health returns the current Health without a call to the service.
func (u *Upstream) Health() Health {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.health
	if h.isFailing() {
		h.PausedFor = max(time.Until(u.pause.until), 0)
	}
	return h
}

// warn logs that the service fails. It logs once per outage, and at most once per warnEvery over all outages. The
// caller holds mu.
func (u *Upstream) warn(failed *core.Error) {
	if u.cache.Log == nil || u.warned || !u.warnings.Allow(ratelimit.Limit{Burst: 1, Every: warnEvery}) {
		return
	}
	u.warned = true
	u.cache.Log.Warn("a service fails",
		"service", u.Name, "reason", failed.Reason, "since", u.health.FailingSince, "err", failed.Err)
}

// logRecovery logs that the service answers again, if warn logged that it fails. The caller holds mu.
func (u *Upstream) logRecovery() {
	if !u.warned {
		return
	}
	u.warned = false
	failedFor := time.Since(u.health.FailingSince).Round(time.Second)
	u.cache.Log.Info("a service answers again", "service", u.Name, "failed_for", failedFor)
}
