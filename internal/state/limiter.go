package state

import (
	"context"
	"fmt"
	"sync"
	"time"

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

// Limiter makes a limiter that allows perMinute events of a key at once, and as
// many again in each minute, in all replicas together; 0 is no limit.
func (r *Redis) Limiter(perMinute int) chat.Limiter {
	alone := newLimiter(perMinute)
	if perMinute == 0 {
		return alone
	}
	return &sharedLimiter{redis: r, alone: alone}
}

type sharedLimiter struct {
	redis *Redis
	// alone decides while Redis cannot be asked. It takes note of what Redis
	// allows, so that losing Redis gives nobody as much again.
	alone *limiter
}

// Allow implements chat.Limiter. An event is a turn that comes now or not at all.
func (l *sharedLimiter) Allow(ctx context.Context, key string) time.Duration {
	limit := l.alone.perMinute
	wait, known := l.redis.Take(ctx, 0, chat.Rate{
		Key: fmt.Sprintf("limit %d %s", limit, key), Every: max(window/time.Duration(limit), time.Microsecond), Burst: limit,
	})
	if !known {
		return l.alone.Allow(ctx, key)
	}
	if wait == 0 {
		l.alone.Allow(ctx, key)
	}
	return wait
}
