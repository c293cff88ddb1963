package state

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"herald/internal/chat"
)

const (
	// callTimeout bounds one call to Redis: a command makes a handful of them
	// and has seconds in all.
	callTimeout = 300 * time.Millisecond
	// downFor is how long Redis is not asked after a call that failed.
	downFor = time.Second
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup. A call that Redis does not answer within 300 ms is decided by
// the memory of this process, and so is every call of the following second:
// limits then hold for each replica by itself, and an update that is delivered
// to two replicas may be answered by both.
type Redis struct {
	client *redis.Client
	memory *Memory
	salt   []byte
	claim  time.Duration
	log    *slog.Logger
	// owner marks the claims of this process.
	owner     string
	downUntil atomic.Int64 // Unix nanoseconds
	down      atomic.Bool
	fallbacks atomic.Uint64
}

var _ chat.Dedup = (*Redis)(nil)

// NewRedis makes a Redis, and connects on first use. salt is what every replica
// of one deployment has and nobody else knows; keys are hashed with it. claim
// is as for NewMemory; a dead replica's updates can be taken over after it.
// NewRedis fails on a malformed URL, which the error does not repeat. Close
// frees its connections.
func NewRedis(s Settings, salt []byte, claim time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = callTimeout, callTimeout, callTimeout, callTimeout
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would write to standard error by itself. It has one logger
	// for the process.
	redis.SetLogger(silent{})
	return &Redis{client: redis.NewClient(options), memory: NewMemory(claim), salt: salt, claim: claim, log: log, owner: rand.Text()}, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close closes the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Fallbacks counts the calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Ping asks Redis whether it is there, whatever came of earlier calls, within
// 300 ms. Its error says what is wrong and nothing of the URL or of what the
// server wrote.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %s", reason(err))
	}
	return nil
}

// ask makes a call and reports whether Redis answered it. The call goes on when
// ctx is cancelled: what a command did must be written down also when its
// time is up.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	if time.Now().UnixNano() < r.downUntil.Load() {
		r.fallbacks.Add(1)
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := call(ctx); err != nil {
		r.fallbacks.Add(1)
		r.downUntil.Store(time.Now().Add(downFor).UnixNano())
		if !r.down.Swap(true) {
			r.log.WarnContext(ctx, "redis does not answer, this process decides alone", slog.String("reason", reason(err)))
		}
		return false
	}
	if r.down.Swap(false) {
		r.log.InfoContext(ctx, "redis answers again")
	}
	return true
}

var errorCode = regexp.MustCompile(`^[A-Z]{2,20}$`)

// reason words err without the server's text, of which it keeps the code.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		if code, _, _ := strings.Cut(reply.Error(), " "); errorCode.MatchString(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}

// key hides what is personal in id.
func (r *Redis) key(kind, id string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(kind + " " + id))
	return "herald:" + kind + ":" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// answered is the value of an answered update; of one in hand it is the owner.
const answered = "answered"

var (
	claimUpdate = redis.NewScript(`
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return "" end
return redis.call("GET", KEYS[1])`)
	giveUp = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`)
)

// Begin implements chat.Dedup. What this process knows by itself counts first:
// it may have answered while Redis was away.
func (r *Redis) Begin(ctx context.Context, key string) chat.Delivery {
	if known := r.memory.Begin(ctx, key); known != chat.Fresh {
		return known
	}
	var holder string
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		holder, err = claimUpdate.Run(ctx, r.client, []string{r.key("update", key)}, r.owner, r.claim.Milliseconds()).Text()
		return err
	})
	switch {
	case !reached, holder == "":
		return chat.Fresh
	case holder == answered:
		r.memory.End(ctx, key, true)
		return chat.Answered
	}
	r.memory.End(ctx, key, false)
	return chat.InHand
}

// End implements chat.Dedup.
func (r *Redis) End(ctx context.Context, key string, isAnswered bool) {
	r.memory.End(ctx, key, isAnswered)
	r.ask(ctx, func(ctx context.Context) error {
		if isAnswered {
			return r.client.Set(ctx, r.key("update", key), answered, remembered).Err()
		}
		// Not if another process took it over meanwhile.
		return giveUp.Run(ctx, r.client, []string{r.key("update", key)}, r.owner).Err()
	})
}

// Load is the value that some replica saved under key, and whether there is
// one to be had.
func (r *Redis) Load(ctx context.Context, key string) ([]byte, bool) {
	var value []byte
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		value, err = r.client.Get(ctx, r.key("answer", key)).Bytes()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	return value, reached && len(value) > 0
}

// Save keeps value for all replicas for ttl, of at least 1 ms, if Redis can be
// reached. value must not be empty, and must hold nothing personal.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	r.ask(ctx, func(ctx context.Context) error {
		return r.client.Set(ctx, r.key("answer", key), value, ttl).Err()
	})
}
