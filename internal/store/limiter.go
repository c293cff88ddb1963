package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"herald/internal/chat"
)

const (
	window = time.Minute
	// mostKeys bounds the keys of one limiter, at some 200 bytes each.
	mostKeys = 100_000
)

// limiter gives each key a token bucket: perMinute events at once, and as many
// again in a minute. It implements chat.Limiter.
//
// A key that rests for a minute has a full bucket, so that it can be forgotten.
// When there are mostKeys others it may be forgotten earlier, and exceed its
// limit.
type limiter struct {
	perMinute int

	mu      sync.Mutex
	buckets *recent[*rate.Limiter]
}

// newLimiter makes a limiter of perMinute events; 0 is no limit.
func newLimiter(perMinute int) *limiter {
	return &limiter{perMinute: perMinute, buckets: newRecent[*rate.Limiter](window, mostKeys)}
}

// Allow implements chat.Limiter.
func (l *limiter) Allow(_ context.Context, key string) time.Duration {
	if l.perMinute == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	bucket, known := l.buckets.get(key)
	if !known {
		bucket = rate.NewLimiter(rate.Limit(float64(l.perMinute)/window.Seconds()), l.perMinute)
	}
	l.buckets.set(key, bucket)
	event := bucket.ReserveN(now, 1)
	wait := event.DelayFrom(now)
	if wait > 0 {
		event.CancelAt(now)
	}
	return wait
}

// allow keeps a list of the times, newest first, of the last ARGV[1] allowed
// events, in milliseconds of the server's clock, which all replicas share. It
// answers the milliseconds to wait.
var allow = redis.NewScript(`
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call("TIME")
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local oldest = redis.call("LINDEX", KEYS[1], limit - 1)
if oldest and now - oldest < window then return window - (now - oldest) end
redis.call("LPUSH", KEYS[1], string.format("%.0f", now))
redis.call("LTRIM", KEYS[1], 0, limit - 1)
redis.call("PEXPIRE", KEYS[1], window)
return 0`)

// Limiter makes a limiter that allows perMinute events of a key in any minute,
// in all replicas together; 0 is no limit. The window is counted in a script,
// because x/time/rate keeps its state in the process.
func (r *Redis) Limiter(perMinute int) chat.KeyLimiter {
	if perMinute == 0 {
		return newLimiter(0)
	}
	return &sharedLimiter{redis: r, perMinute: perMinute, alone: newLimiter(perMinute)}
}

type sharedLimiter struct {
	redis     *Redis
	perMinute int
	// alone decides while Redis cannot be asked. It takes note of what Redis
	// allows, so that losing Redis gives nobody as much again.
	alone *limiter
}

// Allow implements chat.Limiter.
func (l *sharedLimiter) Allow(ctx context.Context, key string) time.Duration {
	var wait int64
	id := fmt.Sprintf("%d %s", l.perMinute, key)
	reached := l.redis.ask(ctx, func(ctx context.Context) (err error) {
		wait, err = allow.Run(ctx, l.redis.client, []string{l.redis.key("limit", id)}, l.perMinute, window.Milliseconds()).Int64()
		return err
	})
	if !reached {
		return l.alone.Allow(ctx, key)
	}
	if wait == 0 {
		l.alone.Allow(ctx, key)
	}
	return time.Duration(wait) * time.Millisecond
}
