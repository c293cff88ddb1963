package core

import (
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
	// Lookup is one question; result is "fresh", "asked", "stale" or "failed".
	Lookup(question, result string)
}

// CacheConfig is what a Cache works with. All but Store is required.
type CacheConfig struct {
	// MaxItems bounds the cached answers.
	MaxItems int
	// StaleFor is how long past its TTL a shared answer may stand in while its
	// service fails.
	StaleFor time.Duration
	// CallTimeout bounds one call to a service, Timeout all calls for one
	// answer. The services' clients hold the first, since only they know how
	// many calls a question takes.
	CallTimeout, Timeout time.Duration
	// Store is shared with other replicas; nil is none.
	Store    Store
	Observer Observer
}

// sweepEvery is how often expired answers are dropped from memory.
const sweepEvery = time.Minute

// Cache keeps the answers to every question, at most MaxItems of them, and
// merges simultaneous questions.
//
// Underneath is go-cache, which has no bound, loader or single flight of its
// own. It is made without its janitor, which cannot be stopped; expired answers
// are swept as the Cache is used.
type Cache struct {
	CacheConfig
	items *gocache.Cache
	calls singleflight.Group
	// reserved places are for shared answers, so that many wallets cannot
	// crowd out the price.
	reserved int

	mu    sync.Mutex
	swept time.Time
}

// NewCache makes an empty Cache.
func NewCache(c CacheConfig) *Cache {
	return &Cache{CacheConfig: c, items: gocache.New(gocache.NoExpiration, 0), swept: time.Now()}
}

// put keeps a snapshot unless the cache is full.
func (c *Cache) put(key string, snapshot any, shared bool, ttl time.Duration) {
	c.sweep()
	room := c.MaxItems
	if !shared {
		room -= c.reserved
	}
	if _, known := c.items.Get(key); !known && c.items.ItemCount() >= room {
		return
	}
	c.items.Set(key, snapshot, ttl)
}

func (c *Cache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) < sweepEvery {
		return
	}
	c.swept = time.Now()
	c.items.DeleteExpired()
}
