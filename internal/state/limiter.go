package state

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	window = time.Minute
	// mostKeys bounds the keys of one limiter, at some 200 bytes each.
	mostKeys = 100_000
)

// limiter gives each key a token bucket: perMinute events at once, and as many
// again in a minute. It implements chat.Limiter.
//
// A key whose bucket is full is forgotten, which changes nothing for it. When
// there are mostKeys others, one of them is forgotten for each new one, and may
// exceed its limit.
type limiter struct {
	perMinute int
	most      int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	swept   time.Time
}

// unlimited allows everything.
type unlimited struct{}

// Allow implements chat.Limiter.
func (unlimited) Allow(context.Context, string) time.Duration { return 0 }

// newLimiter makes a limiter of perMinute events, at least 1.
func newLimiter(perMinute int) *limiter {
	return &limiter{perMinute: perMinute, most: mostKeys, buckets: map[string]*rate.Limiter{}, swept: time.Now()}
}

// Allow implements chat.Limiter.
func (l *limiter) Allow(_ context.Context, key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.sweep(now)
	bucket, known := l.buckets[key]
	if !known {
		l.makeRoom()
		bucket = rate.NewLimiter(rate.Limit(float64(l.perMinute)/window.Seconds()), l.perMinute)
		l.buckets[key] = bucket
	}
	event := bucket.ReserveN(now, 1)
	wait := event.DelayFrom(now)
	if wait > 0 {
		event.CancelAt(now)
	}
	return wait
}

// sweep forgets full buckets, once a minute and, while there is no room, once a
// second: to do so for every key of a flood would be dear.
func (l *limiter) sweep(now time.Time) {
	every := window
	if len(l.buckets) >= l.most {
		every = time.Second
	}
	if now.Sub(l.swept) < every {
		return
	}
	l.swept = now
	for key, bucket := range l.buckets {
		if bucket.TokensAt(now) >= float64(l.perMinute) {
			delete(l.buckets, key)
		}
	}
}

func (l *limiter) makeRoom() {
	for key := range l.buckets {
		if len(l.buckets) < l.most {
			return
		}
		delete(l.buckets, key)
	}
}
