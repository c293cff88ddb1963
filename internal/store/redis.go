package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Redis is the state that the replicas of one bot share, on Redis 5 or later. It implements claim.Claims,
// ratelimit.Limiter and query.Store, and its Buckets keep saved addresses. Saved addresses never expire there;
// everything else does. It is safe for concurrent use.
//
// While Redis is unavailable, the memory of this process decides claims and rates, and values cannot be read. Neither
// knows what the other decided, and nothing is sent to Redis later. So an update that is delivered twice around the
// beginning or the end of an outage may be answered twice, also by one replica, and limits hold for each replica.
type Redis struct {
	pool   *redis.Pool
	memory *Memory
	log    *slog.Logger
	salt   []byte
	bot    string

	up        atomic.Bool               // Redis answered the latest call
	dropped   atomic.Pointer[time.Time] // no connection that was idle then is used
	fallbacks atomic.Uint64             // calls that were decided without Redis

	mu sync.Mutex
	// claims has the value of each claim that this process holds in Redis, by the claim's key.
	claims map[string]string
	// marks are the claims whose work is done, and of which Redis does not know yet.
	marks chan mark

	stop     context.CancelFunc
	watching sync.WaitGroup
}

// NewRedis returns a Redis that connects at its first calls. It hashes keys with salt, a secret that all replicas of
// one deployment share, and with the ID of the bot: two bots on one Redis share nothing. It fails if the URL is
// malformed; the error does not hold the URL.
func NewRedis(s Settings, salt []byte, bot string, log *slog.Logger) (*Redis, error) {
	pool, err := newPool(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		pool:   pool,
		memory: NewMemory(),
		log:    log,
		salt:   salt,
		bot:    bot,
		claims: map[string]string{},
		marks:  make(chan mark, maxMarks),
		stop:   stop,
	}
	pool.TestOnBorrow = r.usable
	r.up.Store(true)
	r.watching.Go(func() { r.watch(ctx) })
	r.watching.Go(func() { r.sendMarks(ctx) })
	return r, nil
}

// Close tells Redis what is done, and closes the connections. It blocks for the time of two calls at most.
func (r *Redis) Close() error {
	r.stop()
	r.watching.Wait()
	return r.pool.Close()
}

// Fallbacks returns the number of calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis answered the latest call. It is true before the first call.
func (r *Redis) Up() bool { return r.up.Load() }

// key returns a key of this bot in Redis. It is a hash, because id may name a user.
func (r *Redis) key(kind, id string) string {
	return r.keyWithoutBot(kind, r.bot+" "+id)
}

// keyWithoutBot returns a key that names no bot, as those of versions up to b7a8be84.
func (r *Redis) keyWithoutBot(kind, id string) string {
	return "herald:" + kind + ":" + r.hash(kind+" "+id)
}

// hash returns a hash of text that nobody without the salt can compute.
func (r *Redis) hash(text string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
