package core

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// SilentObserver is an Observer that counts nothing.
type SilentObserver struct{}

func (SilentObserver) Call(*Service, string, time.Duration) {}

func (SilentObserver) Lookup(string, string, time.Duration) {}

// oneEntry is a Store that holds one value, whatever its key.
type oneEntry struct{ value []byte }

func (s *oneEntry) Load(context.Context, string) ([]byte, error) { return s.value, nil }

func (s *oneEntry) Save(context.Context, string, []byte, time.Duration) {}

// noteCounter is a Budget without a bound, which counts the calls of others.
type noteCounter struct{ noted int }

func (*noteCounter) Spend(context.Context) *Error { return nil }

func (b *noteCounter) Note() { b.noted++ }

// newShared returns a shared question whose service answers "service", with a call's limit of
// 5 seconds and a StaleFor of an hour.
func newShared(ttl time.Duration, store Store) *Query[struct{}, string] {
	cache := NewCache(CacheConfig{
		MaxItems: 10, CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, StaleFor: time.Hour, Store: store, Observer: SilentObserver{},
	})
	return NewQuery(NewUpstream(cache, &Service{Name: "any"}, ttl, nil), &Query[struct{}, string]{
		Name: "text", TTL: ttl, SharedAs: "text", Check: func(string) error { return nil },
		Fetch: func(context.Context, struct{}) (string, error) { return "service", nil },
	})
}

// All times are those after the answer.
func TestTheDeadlinesOfAnAnswer(t *testing.T) {
	const s, never = time.Second, -time.Hour
	for name, test := range map[string]struct {
		ttl, recheck, next, lastCall time.Duration // the last three of a pause for want of a credit
		paused, failing              Reason        // why there is a pause, and the last failure
		due, fresh, stale            time.Duration
	}{
		"no pause":                       {ttl: 30 * s, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
		"a short TTL":                    {ttl: 6 * s, due: 4 * s, fresh: 6 * s, stale: 3606 * s},
		"the credit comes later":         {ttl: 30 * s, recheck: 31 * s, next: 60 * s, paused: NoCredit, due: 31 * s, fresh: 65 * s, stale: 3630 * s},
		"the plan is used up":            {ttl: 30 * s, recheck: 31 * s, next: 60 * s, paused: UsedUp, due: 31 * s, fresh: 65 * s, stale: 3630 * s},
		"the service says so":            {ttl: 30 * s, recheck: 31 * s, next: 60 * s, paused: UsedUp, failing: UsedUp, due: 31 * s, fresh: 65 * s, stale: 3630 * s},
		"the recheck is over":            {ttl: 30 * s, recheck: 20 * s, next: 60 * s, paused: NoCredit, due: 25 * s, fresh: 65 * s, stale: 3630 * s},
		"the credit comes within a TTL":  {ttl: 30 * s, recheck: 27 * s, next: 30 * s, paused: NoCredit, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
		"the credit comes after that":    {ttl: 30 * s, recheck: 31 * s, next: 31 * s, paused: NoCredit, due: 31 * s, fresh: 36 * s, stale: 3630 * s},
		"the credit comes in two hours":  {ttl: 30 * s, recheck: 31 * s, next: 7200 * s, paused: NoCredit, due: 31 * s, fresh: 3630 * s, stale: 7205 * s},
		"a pause for another reason":     {ttl: 30 * s, recheck: 31 * s, next: 60 * s, paused: Limited, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
		"the service fails":              {ttl: 30 * s, recheck: 31 * s, next: 60 * s, paused: NoCredit, failing: Unreachable, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
		"a call was made after a pause":  {ttl: 30 * s, recheck: 31 * s, next: 60 * s, lastCall: 32 * s, paused: NoCredit, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
		"a call was made before a pause": {ttl: 30 * s, recheck: 31 * s, next: 60 * s, lastCall: 31 * s, paused: NoCredit, due: 31 * s, fresh: 65 * s, stale: 3630 * s},
		"nothing is known":               {ttl: 30 * s, recheck: 31 * s, next: never, due: 25 * s, fresh: 30 * s, stale: 3630 * s},
	} {
		q, at := newShared(test.ttl, nil), time.Now()
		q.upstream.lastPause = pause{until: at.Add(test.recheck), retryAt: at.Add(test.next)}
		if test.paused != "" {
			q.upstream.lastPause.why = &Error{Reason: test.paused}
		}
		q.upstream.health.LastCall = at.Add(test.lastCall)
		if test.failing != "" {
			q.upstream.health.FailingSince, q.upstream.health.Reason = at, test.failing
		}
		got := q.deadlines(at)
		if due, fresh, stale := got.due.Sub(at), got.fresh.Sub(at), got.stale.Sub(at); due != test.due || fresh != test.fresh || stale != test.stale {
			t.Errorf("%s: %v, %v and %v, want %v, %v and %v", name, due, fresh, stale, test.due, test.fresh, test.stale)
		}
		if waits := got.why != nil; waits != (test.fresh > test.ttl) {
			t.Errorf("%s: it waits for a credit: %t", name, waits)
		}
		q.SharedAs = ""
		if got := q.deadlines(at); got.due.Sub(at) != test.ttl || got.fresh.Sub(at) != test.ttl || got.stale.Sub(at) != test.ttl {
			t.Errorf("%s, and not shared: %+v", name, got)
		}
	}
}

// A refetch takes what is newer than the last answer and still fresh, and asks the service
// otherwise.
func TestWhereANewerAnswerComesFrom(t *testing.T) {
	const none = -1 * time.Second
	for name, test := range map[string]struct {
		cached, stored, last time.Duration // ages; none: there is none
		fails                bool
		want                 string
		kept                 string // in the cache
		noted                int    // calls of another replica
	}{
		"nothing is known":                   {cached: none, stored: none, last: none, want: "service", kept: "service"},
		"another call has just ended":        {cached: 5 * time.Second, stored: none, last: time.Minute, want: "cache", kept: "cache"},
		"it has ended long ago":              {cached: 40 * time.Second, stored: none, last: time.Minute, want: "service", kept: "service"},
		"the last answer is due":             {cached: 26 * time.Second, stored: none, last: 26 * time.Second, want: "service", kept: "service"},
		"a replica has one":                  {cached: 26 * time.Second, stored: 9 * time.Second, last: 26 * time.Second, want: "store", kept: "store", noted: 1},
		"there is one after a start":         {cached: none, stored: 9 * time.Second, last: none, want: "store", kept: "store"},
		"a replica has an old one":           {cached: time.Minute, stored: 40 * time.Second, last: time.Minute, fails: true, kept: "store", noted: 1},
		"a replica has an older one":         {cached: 26 * time.Second, stored: 27 * time.Second, last: 26 * time.Second, fails: true, kept: "cache"},
		"a replica has one of a month ago":   {cached: none, stored: maxCreditWait, last: none, fails: true, kept: "store"},
		"a replica has one from before that": {cached: none, stored: maxCreditWait + time.Second, last: none, fails: true},
		"a replica's clock is ahead":         {cached: none, stored: -2 * time.Second, last: none, fails: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			age := func(d time.Duration) (at time.Time) {
				if d != none {
					at = time.Now().Add(-d)
				}
				return at
			}
			store := &oneEntry{}
			if test.stored != none {
				store.value, _ = json.Marshal(Snapshot[string]{Value: "store", At: age(test.stored)})
			}
			q, budget := newShared(30*time.Second, store), &noteCounter{}
			q.upstream.budget = budget
			if test.cached != none {
				q.put(struct{}{}, Snapshot[string]{Value: "cache", At: age(test.cached)})
			}
			if test.fails {
				q.Fetch = func(context.Context, struct{}) (string, error) { return "", errors.New("no") }
			}
			got, err := q.refetch(t.Context(), struct{}{}, age(test.last))
			if got.Value != test.want || (err != nil) != (test.want == "") {
				t.Errorf("%s: %q, %v, want %q", name, got.Value, err, test.want)
			}
			if kept, _ := q.Last(struct{}{}); kept.Value != test.kept {
				t.Errorf("%s: %q is in the cache, want %q", name, kept.Value, test.kept)
			}
			if budget.noted != test.noted {
				t.Errorf("%s: %d calls are noted, want %d", name, budget.noted, test.noted)
			}
		})
	}
}
