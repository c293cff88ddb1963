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

// Redis is state shared between replicas, on Redis 5 or later. It implements
// chat.Dedup. A call that Redis does not answer within 10 ms, or within the
// read_timeout of its URL, is decided by the memory of this process. So are all
// others until Redis has answered quickly again, for which a goroutine of its
// own looks: limits then hold for each replica by itself, and an update that is
// delivered to two replicas may be answered by both.
//
// An update in hand is claimed, and the claim is renewed for as long as the
// update is in hand, however long its answer waits. What a dead process held is
// free again once its claims have lapsed.
type Redis struct {
	client *redis.Client
	memory *Memory
	salt   []byte
	// owner marks the claims of this process, each of which lasts for claim.
	owner   string
	claim   time.Duration
	breaker *breaker

	mu sync.Mutex
	// held are the keys of the updates in hand here, and answered those that
	// Redis could not be told of.
	held, answered map[string]bool

	stopTending context.CancelFunc
	tending     sync.WaitGroup

	fallbacks atomic.Uint64
}

var _ chat.Dedup = (*Redis)(nil)

// NewRedis makes a Redis, and connects on first use. salt is what every replica
// of one deployment has and nobody else knows; keys are hashed with it. claim,
// of at least a second, is how long the updates of a dead process stay claimed.
// NewRedis fails on a malformed URL, which the error does not repeat.
func NewRedis(s Settings, salt []byte, claim time.Duration, log *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(s.RedisURL.Reveal())
	if err != nil {
		return nil, errors.New("the Redis URL is malformed")
	}
	timeout := callTimeout
	if options.ReadTimeout > 0 {
		timeout = options.ReadTimeout
	}
	// Every call has a deadline of its own; these are for one that allows more.
	longest := max(timeout, probeTimeout)
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
		client: redis.NewClient(options), memory: NewMemory(), salt: salt, owner: rand.Text(), claim: claim,
		held: map[string]bool{}, answered: map[string]bool{}, stopTending: stop,
	}
	r.breaker = newBreaker(timeout, r.write, log)
	r.tending.Go(func() { r.tendUntil(ctx) })
	return r, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close stops renewing claims and closes the connections.
func (r *Redis) Close() error {
	r.stopTending()
	r.tending.Wait()
	return r.client.Close()
}

// Fallbacks counts the calls so far that were decided without Redis.
func (r *Redis) Fallbacks() uint64 { return r.fallbacks.Load() }

// Up reports whether Redis is asked: it answers, and soon enough.
func (r *Redis) Up() bool { return !r.breaker.open.Load() }

// tendUntil looks after the connection and the claims until ctx is done.
func (r *Redis) tendUntil(ctx context.Context) {
	tick := time.NewTicker(r.claim / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.renew(ctx)
		case err := <-r.breaker.opened:
			if r.breaker.awaitClosed(ctx, err) {
				r.renew(ctx)
			}
		}
	}
}

// write does what calls do, so that it fails where they would: it writes, by a
// script, a key that lapses.
func (r *Redis) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(r.breaker.timeout, probeCallTimeout))
	defer cancel()
	return setClaims.Run(ctx, r.client, []string{r.key("probe", r.owner)}, r.owner, r.owner, probeTTL.Milliseconds()).Err()
}

// ask makes a call and reports whether Redis answered it. The call goes on when
// ctx is cancelled: what a command did must be written down also when its
// time is up.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	if r.breaker.open.Load() {
		r.fallbacks.Add(1)
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.breaker.timeout)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	r.breaker.record(time.Since(start), err)
	if err != nil {
		r.fallbacks.Add(1)
	}
	return err == nil
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
