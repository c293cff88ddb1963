// Package query asks services questions, so that many callers cost a service few calls.
//
// A Query is one kind of question, such as the price. It answers from a Cache. If the cached answer is too old, all
// callers wait for the same call, which the service's Upstream makes. An Upstream limits the calls in flight, pauses
// after failures, and knows the Health of its service.
//
// These words have a meaning of their own here:
//
//   - A public answer is one that everybody may see, such as the price. It is refreshed shortly before it expires,
//     stands in while the service fails, and is saved in a Store. A personal answer is any other, such as a wallet's
//     stake.
//   - A credit is the right to one call of a service that charges for calls. A Budget has the credits.
//   - A pause is a time in which a service is not called, because it failed or there is no credit.
//   - A lull is a time in which a service works, but gives no newer answer, because there is no credit.
//   - An answer past its TTL is held if it is returned in a lull. It is a stand-in if it is returned because the
//     service failed.
//
// The files, in reading order: query.go (a lookup), freshness.go (how old an answer may be), upstream.go (a call),
// pause.go (when no call is made), cache.go and store.go (where answers are kept), health.go (whether the service works
// by its calls), healthcheck.go (a call that finds out), ask.go (one question or two at once), observer.go (what is
// counted).
package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"herald/internal/core"
	"herald/internal/secret"
)

// Snapshot is an answer of a service. There are three kinds:
//
//	fresh     not Stale, no Why:  younger than its TTL
//	held      not Stale, a Why:   past its TTL; the next call must wait for a credit
//	stand-in  Stale, a Why:       past its TTL; the service was asked for a newer one, and failed
type Snapshot[V any] struct {
	Value V
	At    time.Time // when the service gave the answer; zero: there is no answer
	Stale bool
	// Why is why there is no newer answer.
	Why *core.Error `json:"-"`
	// FreshUntil is until when Get returns this answer without waiting for the service. It is zero if the answer is Stale
	// or not cached.
	FreshUntil time.Time `json:"-"`
}

// Overdue reports whether there should be a newer answer.
func (s Snapshot[V]) Overdue() bool { return s.Stale || s.Why != nil }

// Source answers one kind of question. Every Query is a Source.
type Source[K, V any] interface {
	// Get blocks until there is an answer or ctx is done. Its error is a *core.Error, unless the Source documents
	// another error. Callers share the answer and must not change it.
	Get(ctx context.Context, key K) (Snapshot[V], error)
}

// Config configures a Query. Name, TTL and Fetch are required.
type Config[K, V any] struct {
	// Name identifies the question in metrics and in the Cache.
	Name string
	// TTL is how long an answer is fresh.
	TTL time.Duration
	// Fetch asks the service. It blocks for the call, and returns when ctx is done.
	Fetch func(ctx context.Context, key K) (V, error)
	// Cacheable reports whether an answer may be cached. If it is nil, every answer may be cached.
	Cacheable func(V) bool

	// SharedAs makes the answer public. It may be set if everybody may see the answer, and K is struct{}. A public
	// answer is refreshed shortly before it expires, stands in for up to CacheConfig.StaleFor while the service fails,
	// and is saved in CacheConfig.Store.
	//
	// The value of SharedAs contains everything that the answer depends on, such as the service's URL. A replica with
	// other settings has another SharedAs, and so does not load this answer.
	SharedAs string
	// Check returns an error if the service cannot have given a loaded answer. It is required with SharedAs.
	Check func(V) error
}

// Query is one kind of question to one service. Each key is one question, such as a wallet. A Query is safe for
// concurrent use.
type Query[K, V any] struct {
	Config[K, V]
	upstream *Upstream
	cache    *Cache
	// isSingle is true if K is struct{}: there is only one question.
	isSingle bool
}

// New returns a Query that asks the service of u.
func New[K, V any](u *Upstream, config Config[K, V]) *Query[K, V] {
	var key K
	_, isSingle := any(key).(struct{})
	return &Query[K, V]{Config: config, upstream: u, cache: u.cache, isSingle: isSingle}
}

// Get implements Source. If the cached answer is fresh or held, Get returns it at once. Otherwise it fetches an answer,
// and blocks until the service answers or ctx is done. If the fetch fails, a cached answer may stand in. Simultaneous
// callers with the same key share one call, which continues even if its first caller leaves.
//
// The stage of the cached answer (freshness.go) decides. If it is standIn or tooOld, Get fetches an answer; if the
// fetch fails, the stage that the cached answer then has decides. Get reports a LookupResult to the Observer:
//
//	stage                     the fetch  result  returned
//	current, dueForRefresh    –          Hit     the cached answer: fresh, or held while the service cannot be called
//	standIn, tooOld           succeeds   Miss    the fetched answer: fresh
//	current, dueForRefresh    failed     Hit     the cached answer: fresh, or held while the service cannot be called
//	standIn                   failed     Stale   the cached answer: a stand-in
//	tooOld                    failed     Failed  the error of the fetch
func (q *Query[K, V]) Get(ctx context.Context, key K) (Snapshot[V], error) {
	cached := q.lookUp(key)
	switch cached.stage {
	case current:
		return q.use(cached, Hit), nil
	case dueForRefresh:
		// A caller starts the refresh, not a timer: nobody waits in busy times, and the service gets no calls in
		// quiet ones.
		q.startFetch(key, cached.At)
		return q.use(cached, Hit), nil
	}

	fetched, err := q.waitForFetch(ctx, key, cached.At)
	if err == nil {
		return q.use(q.withStage(fetched), Miss), nil
	}

	// The cached answer may be current now. fetch may have loaded another replica's answer before it failed. Or it failed
	// for lack of credit, and a lull has begun (freshness.during).
	cached = q.lookUp(key)
	switch cached.stage {
	case current, dueForRefresh:
		return q.use(cached, Hit), nil
	case standIn:
		why, _ := errors.AsType[*core.Error](err)
		return q.useAsStandIn(cached, why), nil
	}
	q.cache.Observer.Lookup(q.Name, Failed, 0)
	return Snapshot[V]{}, err
}

// stagedAnswer is an answer with its age, its freshness and its stage at a moment.
type stagedAnswer[V any] struct {
	Snapshot[V]
	age   time.Duration
	fresh freshness
	stage stage
}

// withStage returns an answer with its age, its freshness and its stage now.
func (q *Query[K, V]) withStage(s Snapshot[V]) stagedAnswer[V] {
	now := time.Now()
	fresh := q.freshnessOf(s)
	return stagedAnswer[V]{Snapshot: s, age: now.Sub(s.At), fresh: fresh, stage: fresh.stageAt(now)}
}

// lookUp returns the cached answer. If there is none, it returns the zero Snapshot, which is tooOld.
func (q *Query[K, V]) lookUp(key K) stagedAnswer[V] {
	cached, _ := q.Last(key)
	return q.withStage(cached)
}

// use reports the result to the Observer, and returns the answer with its FreshUntil. If the answer is held, use also
// sets Why.
func (q *Query[K, V]) use(a stagedAnswer[V], result LookupResult) Snapshot[V] {
	q.cache.Observer.Lookup(q.Name, result, a.age)
	s := a.Snapshot
	if q.isCacheable(s.Value) {
		s.FreshUntil = a.fresh.expires
	}
	isHeld := a.age >= q.TTL // Get calls use only for answers that may be returned now.
	if isHeld {
		s.Why = a.fresh.why
	}
	return s
}

// useAsStandIn reports to the Observer that the answer stands in, and returns the answer. why is why there is no newer
// one.
func (q *Query[K, V]) useAsStandIn(a stagedAnswer[V], why *core.Error) Snapshot[V] {
	q.cache.Observer.Lookup(q.Name, Stale, a.age)
	s := a.Snapshot
	s.Stale = true
	s.Why = why
	return s
}

// Last returns the last answer, regardless of its age. It returns false if the Cache has none. It does not block.
func (q *Query[K, V]) Last(key K) (last Snapshot[V], known bool) {
	item, _ := q.cache.get(q.id(key), q.isPublic())
	last, known = item.(Snapshot[V])
	return last, known
}

// id returns the name of a question in the Cache. It contains the key as fmt.Sprint prints it.
func (q *Query[K, V]) id(key K) string {
	if q.isSingle {
		return q.Name
	}
	return fmt.Sprint(q.Name, " ", key)
}

// isPublic reports whether everybody may see the answer.
func (q *Query[K, V]) isPublic() bool { return q.SharedAs != "" }

func (q *Query[K, V]) isCacheable(value V) bool { return q.Cacheable == nil || q.Cacheable(value) }

// startFetch starts to fetch an answer newer than last, unless a fetch is in flight. It does not block. The channel
// receives the result.
func (q *Query[K, V]) startFetch(key K, last time.Time) <-chan singleflight.Result {
	return q.cache.fetches.DoChan(q.id(key), func() (_ any, err error) {
		ctx, end, err := q.cache.begin(context.Background())
		if err != nil {
			// The process is stopping. The caller gets the error of a call that did not end in time.
			return nil, q.upstream.Fail(core.SlowAnswer, err)
		}
		defer end()
		defer func() {
			// Check or Cacheable may panic on an impossible answer in the Store.
			if v := recover(); v != nil {
				err = q.upstream.Fail(core.Malformed, secret.PanicError(v))
			}
		}()
		return q.fetch(ctx, key, last)
	})
}

// waitForFetch fetches an answer newer than last, or joins a fetch that is in flight. It blocks until the fetch has
// ended or ctx is done. Its error is a *core.Error.
func (q *Query[K, V]) waitForFetch(ctx context.Context, key K, last time.Time) (Snapshot[V], error) {
	select {
	case result := <-q.startFetch(key, last):
		fetched, _ := result.Val.(Snapshot[V])
		return fetched, result.Err
	case <-ctx.Done():
		return Snapshot[V]{}, q.upstream.Fail(core.SlowAnswer, ctx.Err())
	}
}

// fetch returns a fresh answer, and caches it if it is cacheable. last is the time of the answer that the caller found
// in the Cache, or zero if it found none. The returned answer is newer.
func (q *Query[K, V]) fetch(ctx context.Context, key K, last time.Time) (Snapshot[V], error) {
	// First source: the Cache, if another fetch ended after the caller had looked.
	if cached, _ := q.Last(key); cached.At.After(last) && q.isFresh(cached) {
		return cached, nil
	}
	// Second source: the Store, if another replica has saved an answer.
	if loaded, ok := q.load(ctx); ok && loaded.At.After(last) {
		q.put(key, loaded) // Even an old answer may be held or stand in.
		// Another replica has saved it, and spent a credit. But if this process had no answer, it has just started, and its
		// own previous process may have saved it.
		isStart := last.IsZero()
		if !isStart {
			q.upstream.noteReplicaCall()
		}
		if q.isFresh(loaded) {
			return loaded, nil
		}
	}
	// Third source: the service.
	value, failed := q.call(ctx, key)
	if failed != nil {
		return Snapshot[V]{}, failed
	}
	fetched := Snapshot[V]{Value: value, At: time.Now()}
	if q.isCacheable(value) {
		q.put(key, fetched)
		q.save(ctx, fetched)
	}
	return fetched, nil
}

// call asks the service. If the question has a key, some failures may be due to the key, and do not count against the
// service.
func (q *Query[K, V]) call(ctx context.Context, key K) (value V, failed *core.Error) {
	counted := failuresOfTheService
	if q.isSingle {
		counted = allFailures
	}
	failed = q.upstream.call(ctx, counted, func(ctx context.Context) (err error) {
		value, err = q.Fetch(ctx, key)
		return err
	})
	return value, failed
}

// isFresh reports whether s is younger than its TTL.
func (q *Query[K, V]) isFresh(s Snapshot[V]) bool { return time.Since(s.At) < q.TTL }

// put caches s.
func (q *Query[K, V]) put(key K, s Snapshot[V]) {
	if q.isPublic() {
		q.cache.putPublic(q.id(key), s)
		return
	}
	q.cache.putPersonal(q.id(key), s, q.TTL)
}
