package state

import (
	"context"
	"sync"
	"time"
)

const (
	window = time.Minute
	// mostKeys bounds the keys of one limiter, at 8 bytes an event allowed in
	// the last minute and some 100 bytes a key.
	mostKeys = 100_000
)

// windows allows a number of events of a key in any minute. It implements
// chat.Limiter. Keys without an event in the last minute are forgotten once
// there are mostKeys; when all of those are busy, one of them is forgotten for
// each new one, and may exceed its limit.
type windows struct {
	limit int
	most  int
	start time.Time

	mu sync.Mutex
	// events are the last limit allowed events of a key, oldest first, as
	// time since start.
	events map[string][]time.Duration
	swept  time.Duration
}

func newWindows(limit int) *windows {
	return &windows{limit: limit, most: mostKeys, start: time.Now(), events: map[string][]time.Duration{}}
}

// Allow implements chat.Limiter.
func (w *windows) Allow(_ context.Context, key string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.start)
	events := w.events[key]
	if len(events) == w.limit {
		if age := now - events[0]; age < window {
			return window - age
		}
		events = append(events[:0], events[1:]...)
	}
	if events == nil {
		w.makeRoom(now)
	}
	w.events[key] = append(events, now)
	return 0
}

func (w *windows) makeRoom(now time.Duration) {
	if len(w.events) < w.most {
		return
	}
	// Sweeping more often than once a second would make a flood of keys dear.
	if now-w.swept >= time.Second {
		w.swept = now
		for key, events := range w.events {
			if now-events[len(events)-1] >= window {
				delete(w.events, key)
			}
		}
	}
	for key := range w.events {
		if len(w.events) < w.most {
			return
		}
		delete(w.events, key)
	}
}
