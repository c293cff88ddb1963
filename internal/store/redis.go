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
// While Redis is unavailable, a Memory of this process decides claims and rates, and values cannot be read. The Memory
// knows the claims that this process made in Redis, but Redis never learns what the Memory decides. Therefore an update
// that is delivered twice may be answered twice: by two replicas around the beginning of an outage, and even by one
// replica around its end. During an outage, each replica has limits of its own.
type Redis struct {
	pool   *redis.Pool
	memory *Memory
	log    *slog.Logger
	salt   []byte // of hash
	bot    string // the bot's ID, such as "telegram-7000000001"

	up        atomic.Bool               // whether Redis answered the latest call
	dropped   atomic.Pointer[time.Time] // when dropIdle was last called, or nil
	fallbacks atomic.Uint64             // the number of calls that were decided without Redis

	mu sync.Mutex
	// tokens has the token of each claim that this process holds in Redis, by the claim's key.
	tokens map[string]string
	// marks has the finished work that sendMarks has not marked as done in Redis yet.
	marks chan mark

	stop     context.CancelFunc
	watching sync.WaitGroup
}

// NewRedis returns a Redis, which connects at its first calls. salt is a secret that all replicas of one deployment
// share. Keys are hashed with salt and with the ID of the bot, so that two bots on one Redis share nothing. NewRedis
// fails if the URL is malformed. The error does not contain the URL.
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

// Close marks finished work as done in Redis, and closes the connections. It blocks for at most the time of two calls.
func (r *Redis) Close() error {
	r.stop()
	r.watching.Wait()
	return r.pool.Close()
}

// Fallbacks returns the number of calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis answered the latest call. It is true before the first call.
func (r *Redis) Up() bool { return r.up.Load() }

// key returns a key of this bot in Redis, such as "herald:limit:98e8…". It contains only a hash of id, because id may
// name a user.
func (r *Redis) key(kind, id string) string {
	return r.keyWithoutBot(kind, r.bot+" "+id)
}

// keyWithoutBot returns a key that does not depend on the bot, like the keys of versions up to commit b7a8be84.
func (r *Redis) keyWithoutBot(kind, id string) string {
	return "herald:" + kind + ":" + r.hash(kind+" "+id)
}

// hash returns a hash of text that cannot be computed without the salt.
func (r *Redis) hash(text string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
