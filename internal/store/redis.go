package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/singleflight"
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup, chat.Limiter, core.Store and members.Store. Saved addresses
// never expire there; everything else does.
//
// Redis retries a call once if it fails or is not answered within 50 ms (or the
// read_timeout of the URL). If the retry fails too, the memory of this process decides the
// call, and all later calls until Redis answers again. Meanwhile limits hold for each
// replica by itself, and two replicas may both answer an update that each of them got.
//
// A claim is renewed until Release, and expires if the process dies.
type Redis struct {
	client   *redis.Client
	memory   *Memory
	log      *slog.Logger
	salt     []byte
	owner    string        // begins the values of this process' claims
	claimTTL time.Duration // of a claim that is not renewed
	claimed  atomic.Uint64 // claims so far
	up       atomic.Bool   // the last call was answered in time
	pings    singleflight.Group

	mu sync.Mutex
	// claims maps the keys of claims that are not released to their values.
	claims map[string]string
	// released maps the keys of released claims to changes that Redis does not know yet.
	released map[string]change
	// releasing wakes maintain after a release.
	releasing chan struct{}

	stop        context.CancelFunc
	maintaining sync.WaitGroup
	fallbacks   atomic.Uint64
}

// connections is the size of the connection pool unless the URL says otherwise.
const connections = 20

// NewRedis returns a Redis that connects in the background. It hashes keys with salt, a
// secret that all replicas of one deployment share. claimTTL is how long the claims of a dead
// process last, at least a second. NewRedis fails on a malformed URL; the
// error does not hold the URL.
func NewRedis(s Settings, salt []byte, claimTTL time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	// The wait for a connection and the wait for Redis have limits of their own. A context's
	// deadline would be one limit for both.
	options.PoolTimeout, options.DialTimeout = connectTimeout, connectTimeout
	options.ReadTimeout = cmp.Or(options.ReadTimeout, callTimeout)
	options.WriteTimeout = options.ReadTimeout
	options.PoolSize = cmp.Or(options.PoolSize, connections)
	options.MinIdleConns = options.PoolSize // A TLS handshake takes longer than a call.
	options.ConnMaxIdleTime = -1
	options.MaxRetries = -1 // none by the client: ask retries
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would log to standard error. Its logger is a global of the process.
	redis.SetLogger(&logging.VoidLogger{})
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: redis.NewClient(options), memory: NewMemory(), log: log, salt: salt,
		owner: rand.Text(), claimTTL: claimTTL, stop: stop,
		claims: map[string]string{}, released: map[string]change{}, releasing: make(chan struct{}, 1),
	}
	r.up.Store(true)
	r.maintaining.Go(func() { r.maintain(ctx) })
	return r, nil
}

// Close tells Redis of the last releases, stops renewing claims and closes the connections. It
// blocks for the time of one call at most, or of the check of a Redis that is down.
func (r *Redis) Close() error {
	r.stop()
	r.maintaining.Wait()
	return r.client.Close()
}

// Fallbacks returns the number of calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis answered the last call in time. It is true before the first.
func (r *Redis) Up() bool { return r.up.Load() }

// key returns the key of id in Redis: a hash, because id may be personal.
func (r *Redis) key(kind, id string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(kind + " " + id))
	return "herald:" + kind + ":" + hex.EncodeToString(mac.Sum(nil)[:16])
}
