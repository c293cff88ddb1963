package query

import (
	"time"

	"herald/internal/core"
)

// freshness is how long an answer may be used. Its times are in this order:
//
//	 answered     refresh           expires                useless
//	────┼────────────┼─────────────────┼──────────────────────┼────▶
//	       current     dueForRefresh           standIn          tooOld
//
// For a personal answer, the last three are the same time: it is current until its TTL is over, and then too old.
type freshness struct {
	refresh time.Time
	expires time.Time
	useless time.Time
	// why is the reason of the lull in which the answer expires later than after its TTL; nil: there is no such lull.
	why *core.Error
}

// stage is how Get uses an answer.
type stage int

const (
	// current: Get returns it.
	current stage = iota
	// dueForRefresh: Get returns it, and starts to fetch a newer one.
	dueForRefresh
	// standIn: Get returns it if the service gives no newer one.
	standIn
	// tooOld: Get does not return it.
	tooOld
)

// stageAt returns the stage of the answer at a time.
func (f freshness) stageAt(now time.Time) stage {
	switch {
	case now.Before(f.refresh):
		return current
	case now.Before(f.expires):
		return dueForRefresh
	case now.Before(f.useless):
		return standIn
	}
	return tooOld
}

// freshnessOf returns the freshness of an answer. The zero Snapshot, which stands for no answer, is too old.
func (q *Query[K, V]) freshnessOf(s Snapshot[V]) freshness {
	afterTTL := s.At.Add(q.TTL)
	isNone := s.At.IsZero()
	if isNone || !q.isPublic() {
		return freshness{refresh: afterTTL, expires: afterTTL, useless: afterTTL}
	}
	usual := freshness{
		refresh: afterTTL.Add(-min(q.cache.CallTimeout, q.TTL/3)),
		expires: afterTTL,
		useless: afterTTL.Add(q.cache.StaleFor),
	}
	return usual.during(q.upstream.creditLull(), q.cache.CallTimeout)
}

// during returns the freshness of an answer during a lull, in which the answer is held after its TTL. The first call
// after the lull gives the next answer. The held answer expires when that call ends, but not later than it would have
// become useless without the lull. It may stand in at least until that call ends.
//
// For example, an answer of 12:00:00 with a TTL of 30 s expires at 12:00:30, and calls take at most 5 s. If a lull
// lasts until 12:05:00, the answer expires at 12:05:05.
func (f freshness) during(l lull, callTimeout time.Duration) freshness {
	if !l.until.After(f.expires) {
		return f
	}
	answered := l.until.Add(callTimeout) // when the first call after the lull ends at the latest
	expires := core.Earlier(answered, f.useless)
	return freshness{
		refresh: core.Earlier(core.Later(f.refresh, l.recheck), expires),
		expires: expires,
		useless: core.Later(answered, f.useless),
		why:     l.why,
	}
}
