package chat

import (
	"context"
	"time"
)

// Limit is how often something may happen: at most Count times in any Window.
type Limit struct {
	// Key names what is limited, such as a chat. Limits with one Key are equal.
	Key string
	// Count is at least 1.
	Count  int
	Window time.Duration
	// Refill makes the limit a token bucket. The bucket begins with Count events and
	// gets one back every Window/Count, so a Window may have up to 2*Count-1 events.
	Refill bool
}

// Every returns how long a bucket takes to get an event back.
func (l Limit) Every() time.Duration { return l.Window / time.Duration(l.Count) }

// Limiter reserves slots: moments at which something may happen. It guarantees that the
// slots that it gives out keep their limits. It does not guarantee that across a restart,
// nor across replicas while their shared store is away, and it does not wait for a slot.
//
// Slots of one Key are given out in order. So a limit with many users is reserved by
// itself, after the wait for narrower ones: one slot far ahead would delay everybody.
type Limiter interface {
	// Reserve reserves the first slot that keeps all limits, and returns the wait for it.
	// If the wait is longer than within, Reserve returns false and reserves nothing: a
	// negative within only asks. It blocks for one call to a shared store at most, and
	// never fails: without the store it decides by what this process knows.
	Reserve(ctx context.Context, within time.Duration, limits ...Limit) (wait time.Duration, ok bool)
}
