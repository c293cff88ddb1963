package app

import (
	"log/slog"
	"sync"

	"herald/internal/chat"
)

// arrivals log which platform has connected, and once that all have.
type arrivals struct {
	log *slog.Logger

	mu      sync.Mutex
	awaited map[chat.Platform]bool // those that have not connected yet
}

func newArrivals(log *slog.Logger) *arrivals {
	return &arrivals{log: log, awaited: map[chat.Platform]bool{}}
}

// of awaits a platform, and returns what to call with the bot's name there
// whenever it has connected. It must be called for all platforms before any of
// them connects.
func (a *arrivals) of(p chat.Platform) (connected func(name string)) {
	a.awaited[p] = true
	return func(name string) {
		a.log.Info("platform connected", "platform", p, "name", name)
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.awaited[p] {
			return
		}
		if delete(a.awaited, p); len(a.awaited) == 0 {
			a.log.Info("ready")
		}
	}
}
