package core

import (
	"container/list"
	"context"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"golang.org/x/sync/singleflight"
)

// Store keeps answers that several replicas share. It holds nothing personal.
// It never fails: what it cannot reach it does not have.
type Store interface {
	Load(ctx context.Context, key string) ([]byte, bool)
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// Observer sees what is asked. Its methods must not block.
type Observer interface {
	// Call is one call to a service; outcome is "ok" or a Reason.
	Call(service *Service, outcome string, took time.Duration)
	// Lookup is one question; result is "fresh", "asked", "stale" or "failed". The
	// answer is age old; if it failed there is none, and age means nothing.
	Lookup(question, result string, age time.Duration)
}

// CacheConfig is what a Cache works with. All but Store is required.
type CacheConfig struct {
	// MaxItems bounds the cached answers; it is above 0.
	MaxItems int
	// StaleFor is how long past its TTL a shared answer may stand in while its
	// service fails.
	StaleFor time.Duration
	// CallTimeout bounds one call to a service, Timeout all calls for one
	// answer. The services' clients keep the first, since only they know how
	// many calls a question takes.
	CallTimeout, Timeout time.Duration
	// Store is shared with other replicas; nil is none.
	Store    Store
	Observer Observer
}

// sweepEvery is how often expired answers are dropped from memory.
const sweepEvery = time.Minute

// Cache keeps the answers to every question, at most MaxItems of them, and
// merges simultaneous questions. When it is full the oldest answers make room;
// shared ones last, so that many wallets cannot crowd out the price.
//
// Underneath is go-cache, which has no bound, loader or single flight of its
// own. It is made without its janitor, which cannot be stopped; expired answers
// are swept as the Cache is used.
type Cache struct {
	CacheConfig
	items *gocache.Cache
	calls singleflight.Group
	// running is done once the Cache is closed.
	running context.Context
	stop    context.CancelFunc

	// mu is held by all that changes the keys of items, and for what follows.
	mu    sync.Mutex
	swept time.Time
	// Every key of items is in one of these.
	personal, shared *keysByAge
	breakers         []*Breaker // of every service
}

// NewCache makes an empty Cache. It is closed when nobody asks any more.
func NewCache(config CacheConfig) *Cache {
	running, stop := context.WithCancel(context.Background())
	c := &Cache{
		CacheConfig: config,
		items:       gocache.New(gocache.NoExpiration, 0),
		running:     running,
		stop:        stop,
		swept:       time.Now(),
		personal:    newKeysByAge(),
		shared:      newKeysByAge(),
	}
	c.items.OnEvicted(func(key string, _ any) {
		c.personal.remove(key)
		c.shared.remove(key)
	})
	return c
}

// Close ends the calls under way.
func (c *Cache) Close() { c.stop() }

// put keeps a snapshot for ttl, or until it has to make room.
func (c *Cache) put(key string, snapshot any, shared bool, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) >= sweepEvery {
		c.swept = time.Now()
		c.items.DeleteExpired()
	}
	c.items.Set(key, snapshot, ttl)
	if shared {
		c.shared.add(key)
	} else {
		c.personal.add(key)
	}
	if c.items.ItemCount() <= c.MaxItems {
		return
	}
	oldest := c.personal.order.Front()
	if oldest == nil {
		oldest = c.shared.order.Front()
	}
	c.items.Delete(oldest.Value.(string))
}

// keysByAge are keys in the order in which they were last added.
type keysByAge struct {
	order  *list.List // of string, the oldest first
	places map[string]*list.Element
}

func newKeysByAge() *keysByAge {
	return &keysByAge{list.New(), map[string]*list.Element{}}
}

// add makes key the newest.
func (k *keysByAge) add(key string) {
	k.remove(key)
	k.places[key] = k.order.PushBack(key)
}

func (k *keysByAge) remove(key string) {
	if place, known := k.places[key]; known {
		k.order.Remove(place)
		delete(k.places, key)
	}
}
