package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Snapshot is an answer of a service and when it was given.
type Snapshot[V any] struct {
	Value V
	At    time.Time
	// Stale marks an answer past its TTL, shown because its service fails.
	Stale bool
	// FreshUntil is until when the same question has this answer; zero is not at
	// all, as for a Stale one.
	FreshUntil time.Time `json:"-"`
}

// Source answers one kind of question. Cached is the one of the product. Get
// returns when ctx is done and fails with an *Error. Its answers are the
// caller's own.
type Source[K, V any] interface {
	Get(ctx context.Context, key K) (Snapshot[V], error)
}

// NoArgument is the key of a question that takes none.
type NoArgument struct{}

// Question is one kind of question to one service. Keys of different answers
// must differ as fmt prints them.
type Question[K, V any] struct {
	// Name stands in metrics and in keys.
	Name string
	// TTL is how long an answer is fresh.
	TTL time.Duration
	// Shared is set for a question with one answer, which is the same for
	// everybody and not personal. The answer may stand in for a failing service
	// for StaleFor, is kept in the Store, and is the last to make room in a
	// full cache. And every failure is the service's own, where an odd answer
	// about one wallet or person must not pause the service for others.
	Shared *Shared[V]
	// Ask asks the service itself, once. It returns when ctx is done.
	Ask func(ctx context.Context, key K) (V, error)
	// Keep reports whether an answer is whole enough to be cached; nil is
	// always.
	Keep func(V) bool
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

// Cached answers a question from its cache, else from the service.
type Cached[K, V any] struct {
	Question[K, V]
	breaker *Breaker
	cache   *Cache
	// lifetime is how long an answer is kept: its TTL and, if shared, StaleFor.
	lifetime time.Duration
}

// NewCached makes a question to the service behind b.
func NewCached[K, V any](b *Breaker, q Question[K, V]) *Cached[K, V] {
	lifetime := q.TTL
	if q.Shared != nil {
		lifetime += b.cache.StaleFor
	}
	return &Cached[K, V]{Question: q, breaker: b, cache: b.cache, lifetime: lifetime}
}

// Get implements Source. Simultaneous askers of one key share one call, which
// does not end with the asker that began it.
func (q *Cached[K, V]) Get(ctx context.Context, key K) (Snapshot[V], error) {
	snapshot, result, err := q.get(ctx, key)
	q.cache.Observer.Lookup(q.Name, result)
	if q.Clone != nil {
		snapshot.Value = q.Clone(snapshot.Value)
	}
	if err == nil && !snapshot.Stale && q.kept(snapshot.Value) {
		snapshot.FreshUntil = snapshot.At.Add(q.TTL)
	}
	return snapshot, err
}

func (q *Cached[K, V]) get(ctx context.Context, key K) (snapshot Snapshot[V], result string, err error) {
	id := q.Name
	if _, none := any(key).(NoArgument); !none {
		id = fmt.Sprint(q.Name, " ", key)
	}
	if last, known := q.last(id); known && !last.Stale {
		return last, "fresh", nil
	}
	call := q.cache.calls.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.cache.Timeout)
		defer cancel()
		return q.refresh(ctx, id, key)
	})
	select {
	case answer := <-call:
		if err = answer.Err; err == nil {
			return answer.Val.(Snapshot[V]), "asked", nil
		}
	case <-ctx.Done():
		err = q.breaker.service.Fail(SlowAnswer, ctx.Err())
	}
	if last, known := q.last(id); known {
		return last, "stale", nil
	}
	return Snapshot[V]{}, "failed", err
}

// last is the last answer, unless it is older than its lifetime.
func (q *Cached[K, V]) last(id string) (Snapshot[V], bool) {
	item, _ := q.cache.items.Get(id)
	last, known := item.(Snapshot[V])
	last.Stale = time.Since(last.At) >= q.TTL
	return last, known
}

// refresh gets a fresh answer from another replica or from the service.
func (q *Cached[K, V]) refresh(ctx context.Context, id string, key K) (Snapshot[V], error) {
	// A call that ended since the asker looked has already answered.
	if last, known := q.last(id); known && !last.Stale {
		return last, nil
	}
	if s, ok := q.load(ctx); ok {
		age := time.Since(s.At)
		q.cache.put(id, s, true, q.lifetime-age)
		if age < q.TTL {
			return s, nil
		}
	}
	var value V
	err := q.breaker.do(ctx, q.Shared != nil, func(ctx context.Context) (err error) {
		value, err = q.Ask(ctx, key)
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
func (q *Cached[K, V]) kept(value V) bool { return q.Keep == nil || q.Keep(value) }

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
