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
// chat.Limiter. Keys without an event in the last minute are forgotten with
// the first event of another minute; when there are mostKeys busy ones, one of them is forgotten for
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
	w.sweep(now)
	events := w.events[key]
	if len(events) == w.limit {
		if age := now - events[0]; age < window {
			return window - age
		}
		events = append(events[:0], events[1:]...)
	}
	if events == nil {
		w.makeRoom()
	}
	w.events[key] = append(events, now)
	return 0
}

// sweep forgets idle keys, once a minute and, while there is no room, once a
// second: to do so for every key of a flood would be dear.
func (w *windows) sweep(now time.Duration) {
	every := window
	if len(w.events) >= w.most {
		every = time.Second
	}
	if now-w.swept < every {
		return
	}
	w.swept = now
	for key, events := range w.events {
		if now-events[len(events)-1] >= window {
			delete(w.events, key)
		}
	}
}

func (w *windows) makeRoom() {
	for key := range w.events {
		if len(w.events) < w.most {
			return
		}
		delete(w.events, key)
	}
}
