package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Snapshot is an answer and when the service gave it.
type Snapshot[V any] struct {
	Value V
	At    time.Time
	// Stale marks an answer that is too old and shown only because there is no
	// newer one to be had.
	Stale bool
	// FreshUntil is until when the same question has this answer, unless it is
	// refreshed before. Zero: the answer is Stale or not cached.
	FreshUntil time.Time `json:"-"`
}

// Source answers one kind of question. In the product it is a Query. Get blocks
// until there is an answer or ctx is done, and fails with an *Error. The caller
// owns the answer.
type Source[K, V any] interface {
	Get(ctx context.Context, key K) (Snapshot[V], error)
}

// Query is one kind of question to one service, answered from the cache or else
// by the service. A key of struct{} means that there is only one question; then
// every failure is the service's own. Different keys must print differently.
type Query[K, V any] struct {
	// Name stands in metrics and in cache keys.
	Name string
	// TTL is how long an answer is fresh.
	TTL time.Duration
	// Shared is set if there is only one question, and everybody may see its
	// answer. That answer is refreshed shortly before it expires, may stand in for
	// a failing service for CacheConfig.StaleFor, is kept in the Store, and is not
	// evicted from a full cache.
	Shared *Shared[V]
	// Fetch asks the service. It returns when ctx is done.
	Fetch func(ctx context.Context, key K) (V, error)
	// Cacheable reports whether an answer may be cached; nil: always.
	Cacheable func(V) bool
	// Clone copies an answer that holds slices; nil: it holds none.
	Clone func(V) V

	upstream *Upstream

	mu sync.Mutex // for what follows, which Shared queries alone use
	// refreshed is the time of the answer whose early refresh has begun: there is
	// one for each answer.
	refreshed time.Time
	// heldUntil is when there is a credit again.
	heldUntil time.Time
	// failing is set if the last call failed.
	failing bool
}

// Shared is what it takes to believe an answer in the Store, which replicas of
// other versions and with other settings write to.
type Shared[V any] struct {
	// Source names all that the answer depends on, such as the service's URL.
	// Only what was saved under the same Source is loaded.
	Source string
	// Check fails if the service cannot have given the answer.
	Check func(V) error
}

// schema is the version of what is in the Store. Raise it when a saved answer
// comes to mean something else.
const schema = 1

// maxCreditWait is how long an answer may have to last for want of a credit: a
// Budget has at least one a month.
const maxCreditWait = 31 * 24 * time.Hour

// NewQuery makes q a question to u and returns it.
func NewQuery[K, V any](u *Upstream, q *Query[K, V]) *Query[K, V] {
	q.upstream = u
	return q
}

// Get implements Source: a hit, perhaps with a refresh ahead of time, or a wait
// for the service. Simultaneous callers with one key share one call, which
// outlives the caller that began it.
func (q *Query[K, V]) Get(ctx context.Context, key K) (Snapshot[V], error) {
	cache := q.upstream.cache
	done := func(s Snapshot[V], result string) Snapshot[V] {
		cache.Observer.Lookup(q.Name, result, time.Since(s.At))
		if q.Clone != nil {
			s.Value = q.Clone(s.Value)
		}
		if !s.Stale && q.cacheable(s.Value) {
			s.FreshUntil = q.times(s.At).fresh
		}
		return s
	}

	id := q.id(key)
	last, known := q.last(id)
	now, times := time.Now(), q.times(last.At)
	q.mu.Lock()
	// An answer that is due is refreshed by the first who asks, so that nobody
	// waits while people ask, and the service is left alone while nobody does. All
	// others get it as long as that one call may take.
	inTime := q.Shared != nil && !q.failing && !times.due.After(times.fresh) && now.Before(times.due.Add(cache.CallTimeout))
	fresh := known && (inTime || now.Before(times.fresh))
	refresh := fresh && !now.Before(times.due) && !q.refreshed.Equal(last.At)
	if refresh {
		q.refreshed = last.At
	}
	q.mu.Unlock()
	if refresh {
		q.begin(id, key, last.At)
	}
	if fresh {
		return done(last, "hit"), nil
	}

	var err error
	select {
	case fetched := <-q.begin(id, key, last.At):
		if err = fetched.Err; err == nil {
			return done(fetched.Val.(Snapshot[V]), "miss"), nil
		}
	case <-ctx.Done():
		err = q.upstream.Fail(SlowAnswer, ctx.Err())
	}

	// The call may have changed how long the last answer is good, or have loaded
	// another replica's.
	last, known = q.last(id)
	now, times = time.Now(), q.times(last.At)
	switch {
	case known && now.Before(times.fresh):
		return done(last, "hit"), nil
	case known && now.Before(times.stale):
		last.Stale = true
		q.upstream.warnStale(ctx, q.Name, err)
		return done(last, "stale"), nil
	}
	cache.Observer.Lookup(q.Name, "failed", 0)
	return Snapshot[V]{}, err
}

// times are until when an answer needs no refresh, is fresh, and may stand in.
type times struct{ due, fresh, stale time.Time }

// times of the answer given at that time. For want of a credit a Shared answer is
// fresh for longer, though not past StaleFor, and stands in until there is one.
func (q *Query[K, V]) times(at time.Time) times {
	fresh := at.Add(q.TTL)
	if q.Shared == nil {
		return times{due: fresh, fresh: fresh, stale: fresh}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	cache := q.upstream.cache
	due := later(fresh.Add(-min(cache.CallTimeout, q.TTL/3)), q.heldUntil)
	if limit := fresh.Add(cache.StaleFor); q.heldUntil.Before(limit) {
		fresh = later(fresh, q.heldUntil)
	} else {
		fresh = limit
	}
	return times{due: due, fresh: fresh, stale: later(fresh.Add(cache.StaleFor), q.heldUntil)}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Last is the last answer, however old. It asks nobody.
func (q *Query[K, V]) Last(key K) (Snapshot[V], bool) {
	last, known := q.last(q.id(key))
	if q.Clone != nil {
		last.Value = q.Clone(last.Value)
	}
	return last, known
}

func (q *Query[K, V]) last(id string) (Snapshot[V], bool) {
	item, _ := q.upstream.cache.items.Get(id)
	last, known := item.(Snapshot[V])
	return last, known
}

func (q *Query[K, V]) id(key K) string { return fmt.Sprint(q.Name, " ", key) }

func (q *Query[K, V]) cacheable(value V) bool { return q.Cacheable == nil || q.Cacheable(value) }

// begin starts a call for an answer newer than the last, unless one is in flight.
// It does not block.
func (q *Query[K, V]) begin(id string, key K, last time.Time) <-chan singleflight.Result {
	cache := q.upstream.cache
	return cache.calls.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(cache.running, cache.Timeout)
		defer cancel()
		s, err := q.newer(ctx, id, key, last)
		q.mu.Lock()
		defer q.mu.Unlock()
		failed, _ := errors.AsType[*Error](err)
		switch {
		case err == nil:
			q.failing = false
		case failed.Reason != NoCredit:
			q.failing = true
		case !q.failing: // a lack of credits does not make up for a failure
			q.refreshed, q.heldUntil = time.Time{}, time.Now().Add(failed.RetryAfter)
		}
		return s, err
	})
}

// newer is an answer newer than the last: one that has just come, another
// replica's, or the service's.
func (q *Query[K, V]) newer(ctx context.Context, id string, key K, last time.Time) (Snapshot[V], error) {
	if s, known := q.last(id); known && s.At.After(last) && time.Since(s.At) < q.TTL {
		return s, nil
	}
	lifetime := q.TTL
	if q.Shared != nil {
		lifetime += q.upstream.cache.StaleFor
		if q.upstream.budget != nil {
			lifetime += maxCreditWait
		}
		if s, ok := q.load(ctx, lifetime); ok && s.At.After(last) {
			q.upstream.cache.put(id, s, true, lifetime-time.Since(s.At))
			if time.Since(s.At) < q.TTL {
				return s, nil
			}
		}
	}
	var value V
	_, alone := any(key).(struct{})
	failed := q.upstream.call(ctx, alone, func(ctx context.Context) (err error) {
		value, err = q.Fetch(ctx, key)
		return err
	})
	if failed != nil {
		return Snapshot[V]{}, failed
	}
	s := Snapshot[V]{Value: value, At: time.Now()}
	if q.cacheable(value) {
		q.upstream.cache.put(id, s, q.Shared != nil, lifetime)
		q.save(ctx, s, lifetime)
	}
	return s, nil
}

func (q *Query[K, V]) storeKey() string {
	return fmt.Sprintf("%s %d %s", q.Name, schema, q.Shared.Source)
}

// load is an answer that another replica saved, if this one could have saved it
// too.
func (q *Query[K, V]) load(ctx context.Context, lifetime time.Duration) (s Snapshot[V], ok bool) {
	if q.upstream.cache.Store == nil {
		return s, false
	}
	saved, found := q.upstream.cache.Store.Load(ctx, q.storeKey())
	if !found || json.Unmarshal(saved, &s) != nil {
		return s, false
	}
	age := time.Since(s.At)
	if age < 0 || age >= lifetime || s.Stale || q.Shared.Check(s.Value) != nil {
		return s, false
	}
	// Decoding takes missing and unknown members, which only another version
	// writes.
	own, err := json.Marshal(s)
	return s, err == nil && bytes.Equal(own, saved)
}

func (q *Query[K, V]) save(ctx context.Context, s Snapshot[V], lifetime time.Duration) {
	if q.Shared == nil || q.upstream.cache.Store == nil {
		return
	}
	if b, err := json.Marshal(s); err == nil {
		q.upstream.cache.Store.Save(ctx, q.storeKey(), b, lifetime)
	}
}

// Joined are the answers of two sources that were asked at once.
type Joined[A, B any] struct {
	A    Snapshot[A]
	ErrA error
	B    Snapshot[B]
	ErrB error
}

// Join asks two sources at once and blocks until both have answered or failed.
func Join[J, A, K, B any](ctx context.Context, a Source[J, A], j J, b Source[K, B], k K) (both Joined[A, B]) {
	var asking sync.WaitGroup
	asking.Go(func() { both.A, both.ErrA = a.Get(ctx, j) })
	both.B, both.ErrB = b.Get(ctx, k)
	asking.Wait()
	return both
}

// Checked is when the older answer was given: nothing in the two is older.
func (j Joined[A, B]) Checked() time.Time {
	if j.A.At.Before(j.B.At) {
		return j.A.At
	}
	return j.B.At
}

// AsOf is when the newer answer was given: since then nothing has changed.
func (j Joined[A, B]) AsOf() time.Time { return later(j.A.At, j.B.At) }

// FreshUntil is until when both are fresh; zero if one is not.
func (j Joined[A, B]) FreshUntil() time.Time {
	if j.A.FreshUntil.Before(j.B.FreshUntil) {
		return j.A.FreshUntil
	}
	return j.B.FreshUntil
}
