package store

import (
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

	"github.com/gomodule/redigo/redis"
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup, ratelimit.Limiter, core.Store and members.Store. Saved addresses
// never expire there; everything else does.
//
// Redis retries a call once if the connection breaks or there is no answer within 50 ms (or
// the read_timeout of the URL). If the retry fails too, or the answer is an error, the memory
// of this process decides the call, and all later calls until Redis answers again. Meanwhile
// limits hold for each replica by itself, and two replicas may both answer an update that each
// of them got.
//
// A claim is renewed until Release, and expires if the process dies.
type Redis struct {
	pool     *redis.Pool
	memory   *Memory
	log      *slog.Logger
	salt     []byte
	owner    string                    // begins the values of this process' claims
	claimTTL time.Duration             // of a claim that is not renewed
	claimed  atomic.Uint64             // claims so far
	up       atomic.Bool               // the last call was answered in time
	dropped  atomic.Pointer[time.Time] // no connection that was idle then is used

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

// NewRedis returns a Redis that connects at its first calls. It hashes keys with salt, a
// secret that all replicas of one deployment share. claimTTL is how long the claims of a dead
// process last, at least a second. NewRedis fails on a malformed URL; the
// error does not hold the URL.
func NewRedis(s Settings, salt []byte, claimTTL time.Duration, log *slog.Logger) (*Redis, error) {
	pool, err := newPool(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		pool: pool, memory: NewMemory(), log: log, salt: salt,
		owner: rand.Text(), claimTTL: claimTTL, stop: stop,
		claims: map[string]string{}, released: map[string]change{}, releasing: make(chan struct{}, 1),
	}
	pool.TestOnBorrow = r.usable
	r.up.Store(true)
	r.maintaining.Go(func() { r.maintain(ctx) })
	return r, nil
}

// Close tells Redis of the last releases, stops renewing claims and closes the connections. It
// blocks for the time of one call at most, or of the check of a Redis that is down.
func (r *Redis) Close() error {
	r.stop()
	r.maintaining.Wait()
	return r.pool.Close()
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
