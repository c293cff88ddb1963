package chat

import (
	"context"
	"time"
)

// Rate is how often something may happen: Burst times at once, and once more
// with every Every that passes.
type Rate struct {
	// Key names what the rate is of, which may be a chat.
	Key   string
	Every time.Duration
	Burst int // at least 1
}

// Turns gives out turns that all replicas share.
type Turns interface {
	// Take takes the next turn that keeps to all of these rates, and returns
	// how long to wait for it. If that is longer than within, it takes none.
	// If the turns of others cannot be known, known is false and the caller
	// decides alone.
	Take(ctx context.Context, within time.Duration, rates ...Rate) (wait time.Duration, known bool)
}
