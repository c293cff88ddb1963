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

// Store keeps answers, for replicas or for a later process. Answers hold nothing personal.
// Its methods block for one call to Redis or one file.
type Store interface {
	// Load returns the value of key, or nil if there is none. The value may be older than its
	// ttl. Load fails if it cannot read the value.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save sets the value of key for at least ttl, if it can.
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// Observer counts calls and lookups. Its methods must not block.
type Observer interface {
	// Call reports a call to a service; outcome is "ok" or a Reason.
	Call(service *Service, outcome string, took time.Duration)
	// Lookup reports a result of Query.Get: "hit", "miss", "stale" or "failed". age is the
	// age of the answer, and 0 if there is none.
	Lookup(question, result string, age time.Duration)
}

// CacheConfig configures a Cache. All fields but Store and Log are required.
type CacheConfig struct {
	// MaxItems is above 0. While more answers are cached, the oldest are evicted. An answer with
	// SharedAs counts but is not evicted: there is only one for each such Query.
	MaxItems int
	// StaleFor is how long past its TTL an answer with SharedAs may stand in while its
	// service fails.
	StaleFor time.Duration
	// CallTimeout bounds one call to a service. The service's client enforces it.
	CallTimeout time.Duration
	// Timeout bounds all calls for one answer, which may be several.
	Timeout time.Duration
	// Store keeps the answers with SharedAs; nil: they are kept in memory alone.
	Store    Store
	Observer Observer
	// Log gets a line when a service begins to fail, and when it answers again; nil: no line.
	Log *slog.Logger
}

// sweepEvery is how often expired answers are dropped from memory.
const sweepEvery = time.Minute

// Cache keeps the answers to every Query, at most MaxItems, and merges simultaneous questions.
// Many wallets cannot crowd out the price, because its answer has SharedAs.
//
// It is built on go-cache, which has no bound, loader or single flight. go-cache's janitor
// cannot be stopped, so put sweeps expired answers instead.
type Cache struct {
	CacheConfig
	items *gocache.Cache
	calls singleflight.Group
	// running is done once the Cache is closed.
	running context.Context
	stop    context.CancelFunc
	// inFlight is read-locked by every call, from begin to its end. Close waits for all of them
	// by locking it: a WaitGroup may not grow while somebody waits for it.
	inFlight sync.RWMutex

	mu    sync.Mutex // guards the fields below, and is held while items gets or loses a key
	swept time.Time  // when put last deleted the expired answers
	// order holds the keys of the answers that may be evicted, the oldest first. elements maps
	// each of these keys to its element of order.
	order    *list.List
	elements map[string]*list.Element
}

// NewCache makes an empty Cache. The caller must close it.
func NewCache(config CacheConfig) *Cache {
	running, stop := context.WithCancel(context.Background())
	c := &Cache{
		CacheConfig: config,
		running:     running,
		stop:        stop,
		swept:       time.Now(),
		items:       gocache.New(gocache.NoExpiration, 0),
		order:       list.New(),
		elements:    map[string]*list.Element{},
	}
	// put has this called for every key that it deletes.
	c.items.OnEvicted(func(key string, _ any) {
		if element, known := c.elements[key]; known {
			c.order.Remove(element)
			delete(c.elements, key)
		}
	})
	return c
}

// Close cancels the calls in flight and blocks until they have ended. Nothing is saved
// afterwards.
func (c *Cache) Close() {
	c.stop()
	c.inFlight.Lock()
	defer c.inFlight.Unlock()
}

// begin begins a call to a service. The ctx that it returns is done with parent, once c is
// closed, and after Timeout at the latest. The caller must call end, for which Close waits.
func (c *Cache) begin(parent context.Context) (ctx context.Context, end func()) {
	c.inFlight.RLock()
	ctx, cancel := context.WithTimeout(parent, c.Timeout)
	stop := context.AfterFunc(c.running, cancel)
	return ctx, func() {
		stop()
		cancel()
		c.inFlight.RUnlock()
	}
}

// Items returns the number of cached answers, including expired ones until put sweeps them.
func (c *Cache) Items() int { return c.items.ItemCount() }

// put caches a snapshot for ttl. Unless it is shared, it may be evicted earlier.
func (c *Cache) put(key string, snapshot any, shared bool, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) >= sweepEvery {
		c.swept = time.Now()
		c.items.DeleteExpired()
	}
	c.items.Set(key, snapshot, ttl)
	if element, known := c.elements[key]; known {
		c.order.MoveToBack(element)
	} else if !shared {
		c.elements[key] = c.order.PushBack(key)
	}
	if c.items.ItemCount() <= c.MaxItems {
		return
	}
	if oldest := c.order.Front(); oldest != nil {
		c.items.Delete(oldest.Value.(string))
	}
}
