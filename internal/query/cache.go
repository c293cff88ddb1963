package query

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"golang.org/x/sync/singleflight"
)

// CacheConfig configures a Cache. All fields but Store and Log are required.
type CacheConfig struct {
	// MaxItems is the maximum number of cached personal answers.
	MaxItems int
	// StaleFor is how long past its TTL a public answer may stand in while its service fails.
	StaleFor time.Duration
	// CallTimeout limits one call to a service. The service's client enforces it.
	CallTimeout time.Duration
	// Timeout limits the work on one answer: its calls to the service, and its exchange with the Store.
	Timeout time.Duration
	// Store keeps the public answers for replicas and for a later process. If it is nil, they are only in memory.
	Store    Store
	Observer Observer
	// Log receives a line when a service begins to fail, and when it answers again. It may be nil.
	Log *slog.Logger
}

// sweepEvery is the minimum time between two deletions of the expired answers while there is room.
const sweepEvery = time.Minute

// Cache is shared by the queries of a process. It holds their answers, and the fetches in flight.
//
// The answers are in two go-caches. The few public answers are replaced, but never deleted, so the answers about many
// wallets cannot displace a public one, such as the price. The personal answers are deleted after their TTL. makeRoom
// does that, because the goroutine that go-cache would start for it cannot be stopped.
type Cache struct {
	CacheConfig
	public   *gocache.Cache
	personal *gocache.Cache
	fetches  singleflight.Group

	mu    sync.Mutex
	swept time.Time // when makeRoom last deleted the expired answers
	// running is done once the Cache is closed. No work on an answer begins afterwards.
	running context.Context
	stop    context.CancelFunc // ends running
	working sync.WaitGroup     // the work on answers that is in flight
}

// NewCache returns an empty Cache. The caller must close it.
func NewCache(config CacheConfig) *Cache {
	running, stop := context.WithCancel(context.Background())
	return &Cache{
		CacheConfig: config,
		public:      gocache.New(gocache.NoExpiration, 0),
		personal:    gocache.New(gocache.NoExpiration, 0),
		swept:       time.Now(),
		running:     running,
		stop:        stop,
	}
}

// Items returns the number of cached answers, including expired ones that makeRoom has not deleted yet.
func (c *Cache) Items() int { return c.public.ItemCount() + c.personal.ItemCount() }

// get returns the answer to the question with this ID. It returns false if there is none.
func (c *Cache) get(id string, isPublic bool) (answer any, known bool) {
	if isPublic {
		return c.public.Get(id)
	}
	return c.personal.Get(id)
}

// putPublic caches a public answer.
func (c *Cache) putPublic(id string, answer any) { c.public.SetDefault(id, answer) }

// putPersonal caches a personal answer for ttl, or until makeRoom deletes all.
func (c *Cache) putPersonal(id string, answer any, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoom()
	c.personal.Set(id, answer, ttl)
}

// makeRoom deletes the expired personal answers if there are MaxItems, and otherwise once per sweepEvery. If there
// still are MaxItems, it deletes all personal answers. Only a flood of questions leads to that, and it costs at most
// one more call per question. The caller holds mu.
func (c *Cache) makeRoom() {
	isFull := c.personal.ItemCount() >= c.MaxItems
	if isFull || time.Since(c.swept) >= sweepEvery {
		c.swept = time.Now()
		c.personal.DeleteExpired()
	}
	if c.personal.ItemCount() >= c.MaxItems {
		c.personal.Flush()
	}
}

// errClosed is returned by begin after Close.
var errClosed = errors.New("the bot is stopping")

// begin begins the work on one answer. The returned ctx is done when parent is done, when c is closed, and after
// Timeout. The caller must call end; Close waits for that. begin returns errClosed if c is closed.
func (c *Cache) begin(parent context.Context) (ctx context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.Err() != nil {
		return nil, nil, errClosed
	}
	c.working.Add(1)
	ctx, cancel := context.WithTimeout(parent, c.Timeout)
	stop := context.AfterFunc(c.running, cancel)
	return ctx, func() {
		stop()
		cancel()
		c.working.Done()
	}, nil
}

// Close cancels the work in flight and blocks until it has ended. Nothing is saved afterwards.
func (c *Cache) Close() {
	c.mu.Lock() // No work may begin while Close waits.
	c.stop()
	c.mu.Unlock()
	c.working.Wait()
}
