package core

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"golang.org/x/sync/singleflight"
)

// Store keeps answers that replicas share. It holds nothing personal. It never
// fails: what it cannot reach it does not have. It may keep a value for longer than
// ttl, so whoever loads it checks its age.
type Store interface {
	Load(ctx context.Context, key string) ([]byte, bool)
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// Observer sees what is asked. Its methods must not block.
type Observer interface {
	// Call is one call to a service; outcome is "ok" or a Reason.
	Call(service *Service, outcome string, took time.Duration)
	// Lookup is one question; result is "hit", "miss", "stale" or "failed". The
	// answer is age old; age means nothing if it failed.
	Lookup(question, result string, age time.Duration)
}

// CacheConfig is what a Cache works with. All but Store and Log is required.
type CacheConfig struct {
	// MaxItems bounds the cached answers; it is above 0.
	MaxItems int
	// StaleFor is how long past its TTL a shared answer may stand in while its
	// service fails.
	StaleFor time.Duration
	// CallTimeout bounds one call to a service, Timeout all calls for one answer.
	// The services' clients enforce CallTimeout, since only they know how many
	// calls a question takes.
	CallTimeout, Timeout time.Duration
	// Store is shared with other replicas; nil: nothing is saved.
	Store    Store
	Observer Observer
	// Log is told when a service begins to fail, and when it answers again; nil: nobody is.
	Log *slog.Logger
}

// sweepEvery is how often expired answers are dropped from memory.
const sweepEvery = time.Minute

// Cache keeps the answers to every Query and merges simultaneous questions. When
// it is full, the oldest answers make room; shared ones stay, so that many wallets
// cannot crowd out the price.
//
// Underneath is go-cache, which has no bound, loader or single flight of its own.
// It runs without its janitor, which cannot be stopped; expired answers are swept
// as the Cache is used.
type Cache struct {
	CacheConfig
	items *gocache.Cache
	calls singleflight.Group
	// running is done once the Cache is closed.
	running context.Context
	stop    context.CancelFunc
	// inFlight is held for reading by every call.
	inFlight sync.RWMutex

	mu    sync.Mutex // held by all that change the keys of items
	swept time.Time
	// order holds the keys that may be evicted, the oldest first, and places where
	// in it each of them is.
	order  *list.List
	places map[string]*list.Element
}

// NewCache makes an empty Cache, which must be closed.
func NewCache(config CacheConfig) *Cache {
	running, stop := context.WithCancel(context.Background())
	c := &Cache{
		CacheConfig: config,
		items:       gocache.New(gocache.NoExpiration, 0),
		running:     running,
		stop:        stop,
		swept:       time.Now(),
		order:       list.New(),
		places:      map[string]*list.Element{},
	}
	c.items.OnEvicted(func(key string, _ any) {
		if place, known := c.places[key]; known {
			c.order.Remove(place)
			delete(c.places, key)
		}
	})
	return c
}

// Close cancels the calls in flight, and returns once they have ended: from then on
// nothing is saved.
func (c *Cache) Close() {
	c.stop()
	c.inFlight.Lock()
	defer c.inFlight.Unlock()
}

// Items counts the cached answers, including expired ones that are not swept yet.
func (c *Cache) Items() int { return c.items.ItemCount() }

// put keeps a snapshot for ttl, or until it has to make room.
func (c *Cache) put(key string, snapshot any, shared bool, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) >= sweepEvery {
		c.swept = time.Now()
		c.items.DeleteExpired()
	}
	c.items.Set(key, snapshot, ttl)
	if place, known := c.places[key]; known {
		c.order.MoveToBack(place)
	} else if !shared {
		c.places[key] = c.order.PushBack(key)
	}
	if oldest := c.order.Front(); oldest != nil && c.items.ItemCount() > c.MaxItems {
		c.items.Delete(oldest.Value.(string))
	}
}
