package core

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"golang.org/x/sync/singleflight"
)

// Snapshot is an answer of a service and when it was given.
type Snapshot[V any] struct {
	Value V
	At    time.Time
	// Stale marks an answer past its TTL, shown because its source fails.
	Stale bool
}

// Store keeps answers that several replicas share. It holds nothing personal.
// It never fails: what it cannot reach it does not have.
type Store interface {
	Load(ctx context.Context, key string) ([]byte, bool)
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// sweepEvery is how often expired answers are dropped from memory.
const sweepEvery = time.Minute

// cache holds the answers of every question, at most max of them. It is made
// without go-cache's janitor, which cannot be stopped, and sweeps as it is used.
type cache struct {
	items *gocache.Cache
	max   int
	calls singleflight.Group

	mu    sync.Mutex
	swept time.Time
}

func newCache(maxItems int) *cache {
	return &cache{items: gocache.New(gocache.NoExpiration, 0), max: maxItems, swept: time.Now()}
}

// sharedQuestions counts those whose one answer always has a place, so that
// many wallets cannot crowd out the price.
const sharedQuestions = 2

// put keeps an answer unless the cache is full.
func (c *cache) put(key string, snapshot any, shared bool, ttl time.Duration) {
	c.sweep()
	room := c.max
	if !shared {
		room -= sharedQuestions
	}
	if _, known := c.items.Get(key); !known && c.items.ItemCount() >= room {
		return
	}
	c.items.Set(key, snapshot, ttl)
}

func (c *cache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) < sweepEvery {
		return
	}
	c.swept = time.Now()
	c.items.DeleteExpired()
}

// question is one kind of question to one service.
type question[V any] struct {
	name  string
	guard *guard
	ttl   time.Duration
	// staleFor is how long past ttl the answer may stand in for a failing
	// source.
	staleFor time.Duration
	// shared puts the answer into the Store; it must not be personal.
	shared bool
	// keep tells whether an answer is whole enough to be cached; nil is always.
	keep func(V) bool
}

// ask answers from the cache, else from the source. Simultaneous askers of one
// key share one call, which does not end with the asker that began it.
func ask[V any](ctx context.Context, c *Client, q question[V], key string, load func(context.Context) (V, error)) (Snapshot[V], error) {
	key = q.name + " " + key
	last, known := lookup[V](c.cache, key)
	if known && time.Since(last.At) < q.ttl {
		c.Observer.Lookup(q.name, "fresh")
		return last, nil
	}
	call := c.cache.calls.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout)
		defer cancel()
		return refresh(ctx, c, q, key, load)
	})
	var err error
	select {
	case result := <-call:
		if err = result.Err; err == nil {
			c.Observer.Lookup(q.name, "asked")
			return result.Val.(Snapshot[V]), nil
		}
	case <-ctx.Done():
		err = &Error{Service: q.guard.service, Reason: SlowAnswer, Err: ctx.Err()}
	}
	// What is kept is no older than its TTL and what the question allows on top.
	if last, known = lookup[V](c.cache, key); known {
		last.Stale = time.Since(last.At) >= q.ttl
		c.Observer.Lookup(q.name, "stale")
		return last, nil
	}
	c.Observer.Lookup(q.name, "failed")
	return Snapshot[V]{}, err
}

func lookup[V any](c *cache, key string) (Snapshot[V], bool) {
	v, known := c.items.Get(key)
	if !known {
		return Snapshot[V]{}, false
	}
	return v.(Snapshot[V]), true
}

// refresh gets a fresh answer from another replica or from the source.
func refresh[V any](ctx context.Context, c *Client, q question[V], key string, load func(context.Context) (V, error)) (Snapshot[V], error) {
	// A call that ended since the asker looked has already answered.
	if last, known := lookup[V](c.cache, key); known && time.Since(last.At) < q.ttl {
		return last, nil
	}
	lifetime := q.ttl + q.staleFor
	if q.shared {
		if s, ok := loadShared[V](ctx, c.Store, key); ok && time.Since(s.At) < lifetime {
			c.cache.put(key, s, q.shared, lifetime-time.Since(s.At))
			if time.Since(s.At) < q.ttl {
				return s, nil
			}
		}
	}
	var value V
	err := q.guard.do(ctx, func(ctx context.Context) (err error) {
		value, err = load(ctx)
		return err
	})
	if err != nil {
		return Snapshot[V]{}, err
	}
	s := Snapshot[V]{Value: value, At: time.Now()}
	if q.keep == nil || q.keep(value) {
		c.cache.put(key, s, q.shared, lifetime)
		if q.shared {
			saveShared(ctx, c.Store, key, s, lifetime)
		}
	}
	return s, nil
}

func loadShared[V any](ctx context.Context, store Store, key string) (s Snapshot[V], ok bool) {
	if store == nil {
		return s, false
	}
	b, ok := store.Load(ctx, key)
	if !ok || json.Unmarshal(b, &s) != nil || s.At.After(time.Now()) {
		return Snapshot[V]{}, false
	}
	return s, true
}

func saveShared[V any](ctx context.Context, store Store, key string, s Snapshot[V], ttl time.Duration) {
	if store == nil {
		return
	}
	if b, err := json.Marshal(s); err == nil {
		store.Save(ctx, key, b, ttl)
	}
}
