package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Snapshot is an answer and the time at which the service gave it.
type Snapshot[V any] struct {
	Value V
	At    time.Time
	// Stale marks an answer past its TTL, which is shown because no newer one could be
	// fetched.
	Stale bool
	// Why is the reason for which there is no newer answer, though this one is past its TTL.
	// It is nil for any other answer.
	Why *Error `json:"-"`
	// FreshUntil is the time at which Get stops returning this answer, or an earlier
	// refresh replaces it. It is zero if the answer is Stale or not cached.
	FreshUntil time.Time `json:"-"`
}

// Overdue reports whether there should be a newer answer.
func (s Snapshot[V]) Overdue() bool { return s.Stale || s.Why != nil }

// Source answers one kind of question; every Query is one. Get blocks until there is an
// answer or ctx is done, and fails with an *Error. Callers share the answer and must not
// change it.
type Source[K, V any] interface {
	Get(ctx context.Context, key K) (Snapshot[V], error)
}

// Query is one kind of question to one service. Get answers from the cache, or else asks
// the service. Each key is one question, and is named in the cache as fmt.Sprint prints it.
// With the key type struct{} there is only one question, and every failure counts as the
// service's own.
type Query[K, V any] struct {
	// Name stands in metrics and in cache keys.
	Name string
	// TTL is how long an answer is fresh.
	TTL time.Duration
	// Fetch asks the service. It returns when ctx is done.
	Fetch func(ctx context.Context, key K) (V, error)
	// Cacheable reports whether an answer may be cached; nil: always.
	Cacheable func(V) bool

	// SharedAs is set if there is only one question, and everybody may see its answer. That
	// answer is refreshed shortly before it expires, is returned for up to
	// CacheConfig.StaleFor longer while the service fails, is kept in the Store, and is not
	// evicted from a full cache.
	//
	// SharedAs names all that the answer depends on, such as the service's URL. So a replica
	// never loads what another one saved under other settings.
	SharedAs string
	// Check returns an error if the service cannot have given a loaded answer. A Query with
	// SharedAs needs it.
	Check func(V) error

	upstream *Upstream
}

// schema is the version of what is in the Store. Raise it when a saved answer comes to
// mean something else.
const schema = 1

// maxCreditWait is the longest wait for a credit: a Budget has at least one a month.
const maxCreditWait = 31 * 24 * time.Hour

// NewQuery directs q to u and returns q.
func NewQuery[K, V any](u *Upstream, q *Query[K, V]) *Query[K, V] {
	q.upstream = u
	return q
}

// Get implements Source. It returns a fresh answer at once, and otherwise blocks for the
// service. Simultaneous callers with one key share one call. The call continues when the
// ctx of its first caller is done.
func (q *Query[K, V]) Get(ctx context.Context, key K) (Snapshot[V], error) {
	last, _ := q.Last(key)
	now, until := time.Now(), q.deadlines(last.At)
	if now.Before(until.fresh) {
		// A caller starts the refresh, not a timer: nobody waits in busy times, and the
		// service gets no calls in quiet ones.
		if !now.Before(until.due) {
			q.startFetch(key, last.At)
		}
		return q.record(last, "hit", now, until), nil
	}

	var err error
	select {
	case fetched := <-q.startFetch(key, last.At):
		if err = fetched.Err; err == nil {
			s := fetched.Val.(Snapshot[V])
			return q.record(s, "miss", time.Now(), q.deadlines(s.At)), nil
		}
	case <-ctx.Done():
		err = q.upstream.Fail(SlowAnswer, ctx.Err())
	}

	// The call may have moved the deadlines of the last answer, or have loaded another
	// replica's answer.
	last, _ = q.Last(key)
	now, until = time.Now(), q.deadlines(last.At)
	switch {
	case now.Before(until.fresh):
		return q.record(last, "hit", now, until), nil
	case now.Before(until.stale):
		last.Why, _ = errors.AsType[*Error](err)
		return q.record(last, "stale", now, until), nil
	}
	q.upstream.cache.Observer.Lookup(q.Name, "failed", 0)
	return Snapshot[V]{}, err
}

// record reports a lookup's result to the Observer. It returns s with Stale, FreshUntil and
// Why set. The caller has set the Why of a stale s.
func (q *Query[K, V]) record(s Snapshot[V], result string, now time.Time, until deadlines) Snapshot[V] {
	q.upstream.cache.Observer.Lookup(q.Name, result, now.Sub(s.At))
	s.Stale = result == "stale"
	if !s.Stale && q.cacheable(s.Value) {
		s.FreshUntil = until.fresh
	}
	if !s.Stale && now.Sub(s.At) >= q.TTL {
		s.Why = until.why
	}
	return s
}

// deadlines are three times in the life of an answer, in this order. From due on, Get starts
// a refresh and does not wait. From fresh on, Get blocks for a new answer. From stale on,
// Get fails without a new answer. why is set while the service waits for a credit.
type deadlines struct {
	due, fresh, stale time.Time
	why               *Error
}

// deadlines returns the deadlines of an answer that the service gave at that time. All are
// past if at is zero.
//
// While the service waits for a credit, the answer stays fresh until a call with that credit
// has ended, at most for StaleFor longer, and is returned as stale at least until then.
func (q *Query[K, V]) deadlines(at time.Time) deadlines {
	fresh := at.Add(q.TTL)
	if q.SharedAs == "" || at.IsZero() {
		return deadlines{due: fresh, fresh: fresh, stale: fresh}
	}
	cache := q.upstream.cache
	until := deadlines{due: fresh.Add(-min(cache.CallTimeout, q.TTL/3)), fresh: fresh, stale: fresh.Add(cache.StaleFor)}
	if pause := q.upstream.lastCreditPause(); pause.retryAt.After(fresh) {
		until.why = pause.why
		until.due = Later(until.due, pause.until)
		answered := pause.retryAt.Add(cache.CallTimeout)
		until.fresh = Earlier(answered, until.stale)
		until.stale = Later(answered, until.stale)
	}
	return until
}

// Earlier returns the earlier of two times; the zero Time is earlier than all others.
func Earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// Later returns the later of two times.
func Later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// Last returns the last answer, however old, and false if there is none in the cache. It
// does not block.
func (q *Query[K, V]) Last(key K) (Snapshot[V], bool) {
	item, _ := q.upstream.cache.items.Get(q.id(key))
	last, known := item.(Snapshot[V])
	return last, known
}

// id returns the cache's key for an answer.
func (q *Query[K, V]) id(key K) string {
	if isOnly(key) {
		return q.Name
	}
	return fmt.Sprint(q.Name, " ", key)
}

// isOnly reports whether key belongs to a Query with only one question.
func isOnly(key any) bool {
	_, only := key.(struct{})
	return only
}

func (q *Query[K, V]) cacheable(value V) bool { return q.Cacheable == nil || q.Cacheable(value) }

// startFetch starts a call for an answer newer than the last, unless one is in flight. It
// does not block; the channel gets the result.
func (q *Query[K, V]) startFetch(key K, last time.Time) <-chan singleflight.Result {
	cache := q.upstream.cache
	return cache.calls.DoChan(q.id(key), func() (any, error) {
		ctx, end := cache.begin(cache.running)
		defer end()
		return q.refetch(ctx, key, last)
	})
}

// refetch returns an answer newer than the last, and caches it. The answer comes from a call
// that has just ended, from another replica, or from the service.
func (q *Query[K, V]) refetch(ctx context.Context, key K, last time.Time) (Snapshot[V], error) {
	if s, _ := q.Last(key); s.At.After(last) && time.Since(s.At) < q.TTL {
		return s, nil
	}
	if s, ok := q.load(ctx); ok && s.At.After(last) {
		q.put(key, s)
		// At a start nobody knows whose the answer is.
		if q.upstream.budget != nil && !last.IsZero() {
			q.upstream.budget.Note()
		}
		if time.Since(s.At) < q.TTL {
			return s, nil
		}
	}
	var value V
	failed := q.upstream.call(ctx, isOnly(key), func(ctx context.Context) (err error) {
		value, err = q.Fetch(ctx, key)
		return err
	})
	if failed != nil {
		return Snapshot[V]{}, failed
	}
	s := Snapshot[V]{Value: value, At: time.Now()}
	if q.cacheable(value) {
		q.put(key, s)
		if b, err := json.Marshal(s); err == nil && q.SharedAs != "" && q.upstream.cache.Store != nil {
			q.upstream.cache.Store.Save(ctx, q.storeKey(), b, q.lifetime())
		}
	}
	return s, nil
}

// lifetime returns how long after its time an answer is kept: as long as Get may need it.
func (q *Query[K, V]) lifetime() time.Duration {
	if q.SharedAs == "" {
		return q.TTL
	}
	return q.TTL + q.upstream.cache.StaleFor + maxCreditWait
}

// put caches s for its lifetime.
func (q *Query[K, V]) put(key K, s Snapshot[V]) {
	q.upstream.cache.put(q.id(key), s, q.SharedAs != "", q.lifetime())
}

func (q *Query[K, V]) storeKey() string { return fmt.Sprintf("%s %d %s", q.Name, schema, q.SharedAs) }

// load returns the answer that a replica saved last. It returns false without SharedAs or a
// Store, and if nothing is saved that this version could have saved.
func (q *Query[K, V]) load(ctx context.Context) (s Snapshot[V], ok bool) {
	if q.SharedAs == "" || q.upstream.cache.Store == nil {
		return s, false
	}
	saved, err := q.upstream.cache.Store.Load(ctx, q.storeKey())
	if err != nil || json.Unmarshal(saved, &s) != nil || s.Stale || q.Check(s.Value) != nil ||
		time.Since(s.At) < 0 || time.Since(s.At) > maxCreditWait {
		return s, false
	}
	// Decoding accepts missing and unknown members, which only another version writes.
	own, err := json.Marshal(s)
	return s, err == nil && bytes.Equal(own, saved)
}

// Answer is what a Source gave: a Snapshot, or Err and the zero Snapshot.
type Answer[V any] struct {
	Snapshot[V]
	Err error
}

// Ask asks one source. It blocks as Source.Get does.
func Ask[K, V any](ctx context.Context, source Source[K, V], key K) (answer Answer[V]) {
	answer.Snapshot, answer.Err = source.Get(ctx, key)
	return answer
}

// Both asks two sources at once. It blocks until both have answered or failed.
func Both[J, A, K, B any](
	ctx context.Context, a Source[J, A], j J, b Source[K, B], k K,
) (first Answer[A], second Answer[B]) {
	var asking sync.WaitGroup
	asking.Go(func() { first = Ask(ctx, a, j) })
	second = Ask(ctx, b, k)
	asking.Wait()
	return first, second
}
