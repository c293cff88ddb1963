package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
)

// Snapshot is an answer of a service and when it was given.
type Snapshot[V any] struct {
	Value V
	At    time.Time
	// Stale marks an answer past its TTL, shown because its service fails.
	Stale bool
	// FreshUntil is until when the same question has this answer, unless it is
	// refreshed before; zero is not at all, as for a Stale one.
	FreshUntil time.Time `json:"-"`
}

// Source answers one kind of question. Cached is the one of the product. Get
// returns when ctx is done and fails with an *Error. Its answers are the
// caller's own.
type Source[K, V any] interface {
	Get(ctx context.Context, key K) (Snapshot[V], error)
}

// struct{} is the key of a question that takes none. Every failure to answer it
// is the service's own, where an odd answer about one wallet or person must not
// pause the service for others.

// Query is one kind of question to one service. Keys of different answers
// must differ as fmt prints them.
type Query[K, V any] struct {
	// Name stands in metrics and in keys.
	Name string
	// TTL is how long an answer is fresh.
	TTL time.Duration
	// Shared is set for a question with one answer, which is the same for
	// everybody and not personal. It is refreshed shortly before it expires, while
	// people ask. The answer may stand in for a failing service for StaleFor, is
	// kept in the Store, and is the last to make room in a full cache.
	Shared *Shared[V]
	// Fetch asks the service itself, once. It returns when ctx is done.
	Fetch func(ctx context.Context, key K) (V, error)
	// Cacheable reports whether an answer is whole enough to be cached; nil is
	// always.
	Cacheable func(V) bool
	// Clone copies an answer that holds slices; nil copies by assignment.
	Clone func(V) V
}

// Shared is what it takes to believe an answer in the Store, which other
// replicas write to: of this version or another, with these settings or others.
type Shared[V any] struct {
	// Source names all that the answer depends on, such as the service's URL
	// and the token. Only what was saved for the same Source is loaded.
	Source string
	// Check fails if an answer cannot be one of the service's.
	Check func(V) error
}

// schema is the version of what is in the Store. It is raised when a saved
// answer comes to mean something else.
const schema = 1

// longestHold is how long an answer may have to last for want of a credit: a
// Budget has at least one a month.
const longestHold = 31 * 24 * time.Hour

// Cached answers a question from its cache, else from the service.
type Cached[K, V any] struct {
	Query[K, V]
	breaker *Breaker
	cache   *Cache
	renewal renewal
	// lifetime is how long an answer is kept: its TTL and, if shared, for as long
	// as it may have to last or stand in.
	lifetime time.Duration
}

// NewCached makes a question to the service behind b.
func NewCached[K, V any](b *Breaker, q Query[K, V]) *Cached[K, V] {
	c := &Cached[K, V]{Query: q, breaker: b, cache: b.cache, lifetime: q.TTL}
	c.renewal.ttl = q.TTL
	if q.Shared == nil {
		return c
	}
	c.renewal.lead = min(b.cache.CallTimeout, q.TTL/3)
	c.renewal.callTimeout = b.cache.CallTimeout
	c.lifetime += b.cache.StaleFor
	if b.budget != nil {
		c.lifetime += longestHold
	}
	return c
}

// Get implements Source. Simultaneous askers of one key share one call, which
// does not end with the asker that began it.
func (q *Cached[K, V]) Get(ctx context.Context, key K) (Snapshot[V], error) {
	snapshot, result, err := q.get(ctx, key)
	q.cache.Observer.Lookup(q.Name, result, time.Since(snapshot.At))
	if q.Clone != nil {
		snapshot.Value = q.Clone(snapshot.Value)
	}
	if err == nil && !snapshot.Stale && q.kept(snapshot.Value) {
		snapshot.FreshUntil = q.renewal.expires(snapshot.At)
	}
	return snapshot, err
}

func (q *Cached[K, V]) get(ctx context.Context, key K) (snapshot Snapshot[V], result string, err error) {
	id := q.id(key)
	last, known := q.last(id)
	if known {
		fresh, due := q.renewal.look(last.At)
		if due {
			q.refresh(id, key, last.At)
		}
		if fresh {
			return last, "fresh", nil
		}
	}
	select {
	case answer := <-q.refresh(id, key, last.At):
		if err = answer.Err; err == nil {
			return answer.Val.(Snapshot[V]), "asked", nil
		}
	case <-ctx.Done():
		err = q.breaker.service.Fail(SlowAnswer, ctx.Err())
	}
	last, known = q.last(id)
	switch left := time.Until(q.renewal.expires(last.At)); {
	case known && left > 0:
		return last, "fresh", nil
	case known && q.Shared != nil && left > -q.cache.StaleFor:
		last.Stale = true
		return last, "stale", nil
	}
	return Snapshot[V]{}, "failed", err
}

// Last is the last answer to a question, however old, if there is one. The
// service is not asked.
func (q *Cached[K, V]) Last(key K) (Snapshot[V], bool) {
	last, known := q.last(q.id(key))
	if q.Clone != nil {
		last.Value = q.Clone(last.Value)
	}
	return last, known
}

func (q *Cached[K, V]) id(key K) string {
	if _, none := any(key).(struct{}); none {
		return q.Name
	}
	return fmt.Sprint(q.Name, " ", key)
}

// last is the last answer, unless it is older than its lifetime.
func (q *Cached[K, V]) last(id string) (Snapshot[V], bool) {
	item, _ := q.cache.items.Get(id)
	last, known := item.(Snapshot[V])
	return last, known
}

// refresh begins a call for a newer answer than the one of a time, unless one is
// under way. It does not block.
func (q *Cached[K, V]) refresh(id string, key K, than time.Time) <-chan singleflight.Result {
	return q.cache.calls.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(q.cache.running, q.cache.Timeout)
		defer cancel()
		s, err := q.newer(ctx, id, key, than)
		if q.Shared != nil {
			q.renewal.ended(err)
		}
		return s, err
	})
}

// newer gets an answer newer than the one of a time, from another replica or
// from the service.
func (q *Cached[K, V]) newer(ctx context.Context, id string, key K, than time.Time) (Snapshot[V], error) {
	// A call that ended since the asker looked has already answered.
	if last, known := q.last(id); known && last.At.After(than) && time.Since(last.At) < q.TTL {
		return last, nil
	}
	if s, ok := q.load(ctx); ok && s.At.After(than) {
		age := time.Since(s.At)
		q.cache.put(id, s, true, q.lifetime-age)
		if age < q.TTL {
			return s, nil
		}
	}
	var value V
	_, noArgument := any(key).(struct{})
	err := q.breaker.do(ctx, noArgument, func(ctx context.Context) (err error) {
		value, err = q.Fetch(ctx, key)
		return err
	})
	if err != nil {
		return Snapshot[V]{}, err
	}
	s := Snapshot[V]{Value: value, At: time.Now()}
	if q.kept(value) {
		q.cache.put(id, s, q.Shared != nil, q.lifetime)
		q.save(ctx, s)
	}
	return s, nil
}

// kept reports whether an answer is cached.
func (q *Cached[K, V]) kept(value V) bool { return q.Cacheable == nil || q.Cacheable(value) }

// storeKey names the answer in the Store.
func (q *Cached[K, V]) storeKey() string {
	return fmt.Sprintf("%s %d %s", q.Name, schema, q.Shared.Source)
}

// load is the answer that another replica saved, if it is one that this one
// could have saved and is not too old.
func (q *Cached[K, V]) load(ctx context.Context) (s Snapshot[V], ok bool) {
	if q.Shared == nil || q.cache.Store == nil {
		return s, false
	}
	saved, found := q.cache.Store.Load(ctx, q.storeKey())
	if !found || json.Unmarshal(saved, &s) != nil {
		return s, false
	}
	age := time.Since(s.At)
	if age < 0 || age >= q.lifetime || s.Stale || q.Shared.Check(s.Value) != nil {
		return s, false
	}
	// A member that is missing, unknown or written in another way is a sign of
	// another version, and does not make decoding fail.
	own, err := json.Marshal(s)
	return s, err == nil && bytes.Equal(own, saved)
}

// save hands an answer to the other replicas.
func (q *Cached[K, V]) save(ctx context.Context, s Snapshot[V]) {
	if q.Shared == nil || q.cache.Store == nil {
		return
	}
	if b, err := json.Marshal(s); err == nil {
		q.cache.Store.Save(ctx, q.storeKey(), b, q.lifetime)
	}
}
