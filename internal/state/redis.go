package state

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"herald/internal/chat"
)

const (
	// callTimeout bounds one call to Redis unless the URL says otherwise: a
	// command makes a handful of them and has seconds in all.
	callTimeout = 300 * time.Millisecond
	// downFor is how long Redis is not asked after a call that failed.
	downFor = time.Second
)

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup. A call that Redis does not answer within 300 ms, or within the
// read_timeout of its URL, is decided by the memory of this process, and so is
// every call of the following second: limits then hold for each replica by
// itself, and an update that is delivered to two replicas may be answered by
// both.
//
// An update in hand is claimed, and the claim is renewed for as long as the
// update is in hand, however long its answer waits. What a dead process held is
// free again once its claims have lapsed.
type Redis struct {
	client *redis.Client
	memory *Memory
	salt   []byte
	timings
	log *slog.Logger
	// owner marks the claims of this process.
	owner string

	mu   sync.Mutex
	held map[string]bool // the keys of the updates in hand here

	stopRenewing context.CancelFunc
	renewing     sync.WaitGroup

	downUntil atomic.Int64 // Unix nanoseconds
	down      atomic.Bool
	fallbacks atomic.Uint64
}

// timings are the waits, which tests change.
type timings struct {
	claim       time.Duration // how long a claim lasts
	callTimeout time.Duration
	downFor     time.Duration
}

var _ chat.Dedup = (*Redis)(nil)

// NewRedis makes a Redis, and connects on first use. salt is what every replica
// of one deployment has and nobody else knows; keys are hashed with it. claim,
// of at least a second, is how long the updates of a dead process stay claimed.
// NewRedis fails on a malformed URL, which the error does not repeat.
func NewRedis(s Settings, salt []byte, claim time.Duration, log *slog.Logger) (*Redis, error) {
	return newRedis(s, salt, timings{claim, callTimeout, downFor}, log)
}

func newRedis(s Settings, salt []byte, waits timings, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	if options.ReadTimeout > 0 {
		waits.callTimeout = options.ReadTimeout
	}
	// Every call has a deadline of its own; these are for one that allows more.
	longest := max(waits.callTimeout, probeTimeout)
	options.DialTimeout, options.ReadTimeout = longest, longest
	options.WriteTimeout, options.PoolTimeout = longest, longest
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The client would write to standard error by itself. It has one logger
	// for the process.
	redis.SetLogger(silent{})
	ctx, stop := context.WithCancel(context.Background())
	r := &Redis{
		client: redis.NewClient(options), memory: NewMemory(), salt: salt, timings: waits, log: log,
		owner: rand.Text(), held: map[string]bool{}, stopRenewing: stop,
	}
	r.renewing.Go(func() { r.renewUntil(ctx) })
	return r, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close stops renewing claims and closes the connections.
func (r *Redis) Close() error {
	r.stopRenewing()
	r.renewing.Wait()
	return r.client.Close()
}

// Fallbacks counts the calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// ask makes a call and reports whether Redis answered it. The call goes on when
// ctx is cancelled: what a command did must be written down also when its
// time is up.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	if time.Now().UnixNano() < r.downUntil.Load() {
		r.fallbacks.Add(1)
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.callTimeout)
	defer cancel()
	if err := call(ctx); err != nil {
		r.fallbacks.Add(1)
		r.downUntil.Store(time.Now().Add(r.downFor).UnixNano())
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

// maxAnswer bounds the bytes of a value that Load returns: an answer has a few
// hundred.
const maxAnswer = 16 << 10

// Load is the value that some replica saved under key, and whether there is
// one of at most 16 KiB to be had.
func (r *Redis) Load(ctx context.Context, key string) ([]byte, bool) {
	var value []byte
	reached := r.ask(ctx, func(ctx context.Context) (err error) {
		value, err = r.client.GetRange(ctx, r.key("answer", key), 0, maxAnswer).Bytes()
		return err
	})
	return value, reached && len(value) > 0 && len(value) <= maxAnswer
}

// Save keeps value for all replicas for ttl, of at least 1 ms, if Redis can be
// reached. value must not be empty, and must hold nothing personal.
func (r *Redis) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	r.ask(ctx, func(ctx context.Context) error {
		return r.client.Set(ctx, r.key("answer", key), value, ttl).Err()
	})
}
