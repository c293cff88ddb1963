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
	// one comes back every Window/Count. A Window may then have more than Count
	// events, but the next one never waits longer than Window/Count for its own.
	Refill bool
	// Start, from 1 to Count, is for a bucket that must outlive the process. It is
	// kept where the Limiter can keep it, and where nothing is known of it, it
	// begins with Start events. A Limiter whose shared store is away gives none of
	// it. 0: the bucket begins full, and is forgotten once it is full again.
	Start int
}

// Every is how long a bucket takes to get an event back.
func (l Limit) Every() time.Duration { return l.Window / time.Duration(l.Count) }

// Limiter gives out slots: moments at which something may happen.
type Limiter interface {
	// Reserve takes the first slot from now on that keeps all of these limits,
	// and returns how long to wait for it. If that is longer than within, it takes
	// none, and ok is false. It does not wait for the slot itself, and never
	// fails: an implementation that cannot reach its store decides by what it
	// knows itself.
	//
	// Slots of one Key are given out in order. So a limit that many share is
	// reserved by itself, once the wait for narrower ones is over: otherwise one
	// slot far ahead would hold up everybody.
	Reserve(ctx context.Context, within time.Duration, limits ...Limit) (wait time.Duration, ok bool)
}
