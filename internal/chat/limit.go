package chat

import (
	"context"
	"time"
)

// Limit is how often something may happen.
type Limit struct {
	// Key names what is limited, such as a chat. Limits with the same Key are
	// equal otherwise.
	Key string
	// Count, at least 1, is how many events any Window may have.
	Count  int
	Window time.Duration
	// Refill makes the limit a token bucket instead: it holds Count events, and
	// one comes back with every Window/Count that passes. So a Window may have
	// more than Count events, and the next one never waits longer than Window/Count
	// for it.
	Refill bool
}

// Limiter gives out slots: moments at which something may happen.
type Limiter interface {
	// Reserve takes the first slot from now on that keeps all of these limits,
	// and returns how long to wait for it. If that is longer than within, it takes
	// none, and ok is false. Slots of one Key are given out in order. It does not
	// wait for the slot itself, and never fails: an implementation that cannot
	// reach its store decides by what it knows itself.
	Reserve(ctx context.Context, within time.Duration, limits ...Limit) (wait time.Duration, ok bool)
}
