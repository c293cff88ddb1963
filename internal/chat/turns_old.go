package chat

import (
	"context"
	"time"
)

// Rate and Turns are what platform/telegram/pace still uses. Delete this file once
// it uses Limiter.

// Rate is Burst events at once, and one more every Every.
type Rate struct {
	Key   string
	Every time.Duration
	Burst int // at least 1
}

// Turns gives out turns that all replicas share.
type Turns interface {
	// Take takes the next turn that keeps these rates, unless its wait is longer
	// than within. known is false if the turns of others cannot be known.
	Take(ctx context.Context, within time.Duration, rates ...Rate) (wait time.Duration, known bool)
}
