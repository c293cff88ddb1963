package query

import (
	"time"

	"herald/internal/core"
)

// freshness is how long an answer may be used, and how. Its times separate the stages of the answer:
//
//	 answered     refresh           expires                useless
//	────┼────────────┼─────────────────┼──────────────────────┼────▶
//	       current     dueForRefresh           standIn          tooOld
//
// A personal answer is current until its TTL is over, and then tooOld: refresh, expires and useless are the same time.
type freshness struct {
	refresh time.Time
	expires time.Time
	useless time.Time
	// why is the reason of the lull that makes the answer expire later. It is nil if the answer expires after its TTL.
	why *core.Error
}

// stage is how Get uses an answer.
type stage int

const (
	// current: Get returns it.
	current stage = iota
	// dueForRefresh: Get returns it, and starts to fetch a newer one.
	dueForRefresh
	// standIn: Get returns it if it cannot get a newer one.
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

// freshnessOf returns the freshness of an answer. The zero Snapshot, which means that there is no answer, is tooOld.
func (q *Query[K, V]) freshnessOf(s Snapshot[V]) freshness {
	afterTTL := s.At.Add(q.TTL)
	isMissing := s.At.IsZero()
	if isMissing || !q.isPublic() {
		return freshness{refresh: afterTTL, expires: afterTTL, useless: afterTTL}
	}
	usual := freshness{
		refresh: afterTTL.Add(-min(q.cache.CallTimeout, q.TTL/3)),
		expires: afterTTL,
		useless: afterTTL.Add(q.cache.StaleFor),
	}
	return usual.during(q.upstream.creditLull(), q.cache.CallTimeout)
}

// during returns f, but lets the answer be held in a lull: it expires only when a newer one can be there. The newer one
// comes from the first call after the lull, which takes at most callTimeout. A long lull does not make the answer
// expire later than f.useless. After that, it stands in at least until the call has ended.
//
// For example, an answer of 12:00:00 with a TTL of 30 s expires at 12:00:30, and calls take at most 5 s. If a lull
// lasts until 12:05:00, the answer expires at 12:05:05.
func (f freshness) during(l lull, callTimeout time.Duration) freshness {
	lullEndsFirst := !l.until.After(f.expires)
	if lullEndsFirst {
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
