package store

import "time"

// recent is a map that forgets what was last set more than one or two periods
// ago, and of more than most entries those set the longest ago: half of them at a
// time. It is not safe for concurrent use.
type recent[V any] struct {
	period time.Duration
	most   int

	young, old map[string]V
	since      time.Time // when young was empty
}

func newRecent[V any](period time.Duration, most int) *recent[V] {
	return &recent[V]{period: period, most: most, young: map[string]V{}, since: time.Now()}
}

// get returns what was set under key, unless it is forgotten.
func (r *recent[V]) get(key string) (value V, known bool) {
	r.forget()
	if value, known = r.young[key]; !known {
		value, known = r.old[key]
	}
	return value, known
}

func (r *recent[V]) set(key string, value V) {
	r.forget()
	r.young[key] = value
}

// forget makes what is young old once the period is over, or half of the bound
// is reached.
func (r *recent[V]) forget() {
	switch age := time.Since(r.since); {
	case age >= 2*r.period:
		r.old = nil
	case age >= r.period, len(r.young) >= r.most/2:
		r.old = r.young
	default:
		return
	}
	r.young, r.since = map[string]V{}, time.Now()
}
