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
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup, chat.Limiter and core.Store. A call that fails, or that Redis does not
// answer within 10 ms or the read_timeout of its URL, is decided by the memory of
// this process, and so are all others until Redis answers again: limits then hold
// for each replica by itself, and an update that is delivered to two replicas may
// be answered by both.
//
// An update in flight is claimed, and the claim is renewed for as long as the
// update is in flight, however long its answer waits. What a dead process held is
// free again once its claims have lapsed.
type Redis struct {
	client *redis.Client
	memory *Memory
	log    *slog.Logger
	salt   []byte
	// owner marks the claims of this process. Each lasts for claim.
	owner   string
	claim   time.Duration
	timeout time.Duration // of a call
	up      atomic.Bool   // the last call was answered in time

	mu sync.Mutex
	// updates are what Redis should hold of updates, by key: the owner of those in
	// flight here, and answered of those that were answered while it was away.
	updates map[string]string

	stop        context.CancelFunc
	maintaining sync.WaitGroup
	fallbacks   atomic.Uint64
}

const (
	// connections is how many are made unless the URL says otherwise. All of them
	// are kept.
	connections = 20
	// maxValue bounds the bytes of a value that Load returns. The largest is the
	// history of quotes: 1,621 points of some 40 bytes, or 80 where prices have many
	// digits.
	maxValue = 256 << 10
)

// NewRedis makes a Redis. It contacts nothing before Connect or the first call.
// salt is what every replica of one deployment has and nobody else knows; keys
// are hashed with it. claim, of at least a second, is how long the updates of a
// dead process stay claimed. NewRedis fails on a malformed URL, which the error
// does not repeat.
func NewRedis(s Settings, salt []byte, claim time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	timeout := cmp.Or(options.ReadTimeout, callTimeout)
	options.PoolSize = cmp.Or(options.PoolSize, connections)
	// Each connection is used in turn, so that a server that closes idle ones closes
	// none: a new one takes longer than a call may, with TLS.
	options.PoolFIFO = true
	options.ConnMaxIdleTime = -1
	// Every call has a deadline of its own; this is for those that allow more.
	options.ReadTimeout = max(timeout, connectTimeout)
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would write to standard error by itself. It has one logger
	// for the process.
	redis.SetLogger(&logging.VoidLogger{})
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: redis.NewClient(options), memory: NewMemory(), log: log, salt: salt,
		owner: rand.Text(), claim: claim, timeout: timeout,
		updates: map[string]string{}, stop: stop,
	}
	r.up.Store(true)
	r.maintaining.Go(func() { r.maintain(ctx) })
	return r, nil
}

// Close stops renewing claims and closes the connections.
func (r *Redis) Close() error {
	r.stop()
	err := r.client.Close()
	r.maintaining.Wait()
	return err
}

// Fallbacks counts the calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis answered the last call in time; true before the first.
func (r *Redis) Up() bool { return r.up.Load() }

// key hides what is personal in id.
func (r *Redis) key(kind, id string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(kind + " " + id))
	return "herald:" + kind + ":" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Load returns the value that some replica saved under key, and whether there is
// one of at most 256 KiB to be had.
func (r *Redis) Load(ctx context.Context, key string) ([]byte, bool) {
	var value []byte
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		value, err = r.client.GetRange(ctx, r.key("answer", key), 0, maxValue).Bytes()
		if redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil // It is not the bot's. The next Save replaces it.
		}
		return err
	})
	return value, reached && len(value) > 0 && len(value) <= maxValue
}

// Save keeps value for all replicas for ttl, of at least 1 ms, if Redis can be
// reached. value must not be empty, and must hold nothing personal.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	r.ask(ctx, func(ctx context.Context) error {
		return r.client.Set(ctx, r.key("answer", key), value, ttl).Err()
	})
}
