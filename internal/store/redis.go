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
// While Redis is unavailable, the memory of this process decides claims and rates, and values cannot be read. The
// memory knows the claims that this process made in Redis. Redis never learns what the memory decides. So an update
// that is delivered twice around the beginning of an outage may be answered by two replicas, and around its end twice
// even by one. Each replica has limits of its own during an outage.
type Redis struct {
	pool   *redis.Pool
	memory *Memory
	log    *slog.Logger
	salt   []byte
	bot    string

	up        atomic.Bool               // Redis answered the latest call
	dropped   atomic.Pointer[time.Time] // connections that were idle at this time are closed; nil: none are
	fallbacks atomic.Uint64             // calls that were decided without Redis

	mu sync.Mutex
	// tokens has the token of each claim that this process holds in Redis, by the claim's key.
	tokens map[string]string
	// marks are the claims whose work is done, and that Redis does not know as done yet.
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
		tokens: map[string]string{},
		marks:  make(chan mark, maxMarks),
		stop:   stop,
	}
	pool.TestOnBorrow = r.usable
	r.up.Store(true)
	r.watching.Go(func() { r.watch(ctx) })
	r.watching.Go(func() { r.sendMarks(ctx) })
	return r, nil
}

// Close sends the marks that wait, and closes the connections. It blocks for the time of two calls at most.
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

// keyWithoutBot returns a key that does not depend on the bot, like the keys of versions up to b7a8be84.
func (r *Redis) keyWithoutBot(kind, id string) string {
	return "herald:" + kind + ":" + r.hash(kind+" "+id)
}

// hash returns a hash of text that cannot be computed without the salt.
func (r *Redis) hash(text string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
