// Package credits spreads the calls that a plan allows in a month over the month.
//
// It is a token bucket: a credit comes back after a fixed time, and a quiet time
// saves some up for a busy one. What a full bucket holds and what comes back in 31
// days are together less than the plan allows, so no month is overspent, whatever
// day a plan's month begins on, and none ends without credits.
//
// Where the bucket is, the chat.Limiter decides: in a Redis that replicas share, in
// a folder, or in the process alone. This package does no I/O and knows no provider.
package credits

import (
	"context"
	"crypto/rand"
	"math"
	"sync/atomic"
	"time"

	"herald/internal/chat"
)

const (
	// month is the longest there is.
	month = 31 * 24 * time.Hour

	// share of a plan is spent. The rest is for `bot check`, for a clock that runs
	// fast, for a bucket that is lost (of 10,000, once a day), and for replicas' own
	// credits.
	share = 0.95
	// unkeptShare is spent where the bucket is not kept, and each start may take
	// startCredits more: of 10,000, that is enough for 125 starts a month.
	unkeptShare = 0.75
	// burstShare of what is spent can be saved up.
	burstShare = 0.03
	// startCredits are in a new bucket, if it can hold so many: for fresh prices
	// while an operator tries the bot, also where the provider fails at first.
	startCredits = 20
	// ownShare is what each replica may spend beside the shared bucket, one credit
	// at a time. While Redis is away it has no other. Less than one a month is not
	// spent. Ten replicas take half of what share leaves, and each that starts
	// meanwhile takes one credit.
	ownShare = 0.0025
	// recheck is how soon to ask again where replicas share a bucket: another may
	// have learned meanwhile what the credit was for.
	recheck = 5 * time.Second
)

// Config is what a Budget works with.
type Config struct {
	// PerMonth is how many calls the plan allows, above 0.
	PerMonth int
	// Plan tells the plan from others in what is shared and kept.
	Plan string
	// Limiter has the bucket. Shared means that all replicas have it together, Kept
	// that it outlives the process.
	Limiter      chat.Limiter
	Shared, Kept bool
}

// Budget is the calls that may be made. It implements core.Budget.
type Budget struct {
	Config
	// limits are the plan's and, where it is shared, this replica's own.
	limits []chat.Limit
	taken  atomic.Uint64
}

// New makes a Budget. It does no I/O.
func New(c Config) *Budget {
	spent := float64(c.PerMonth) * share
	if !c.Shared && !c.Kept {
		spent = float64(c.PerMonth) * unkeptShare
	}
	// In any month a plan is not exceeded, unless it is less than one credit: that
	// one is spent.
	burst := max(1, int(spent*burstShare))
	plan := bucket("credits "+c.Plan, burst, spent-float64(burst))
	plan.Start = min(burst, startCredits)
	b := &Budget{Config: c, limits: []chat.Limit{plan}}
	if own := float64(c.PerMonth) * ownShare; c.Shared && own >= 1 {
		b.limits = append(b.limits, bucket("credits of "+rand.Text(), 1, own))
	}
	return b
}

// bucket holds count credits, and gets so many a month back.
func bucket(key string, count int, perMonth float64) chat.Limit {
	every := time.Duration(math.Ceil(float64(month) / max(1, perMonth)))
	return chat.Limit{Key: key, Count: count, Window: every * time.Duration(count), Refill: true}
}

// Limit is the plan's bucket.
func (b *Budget) Limit() chat.Limit { return b.limits[0] }

// Taken counts the credits that this process has taken.
func (b *Budget) Taken() uint64 { return b.taken.Load() }

// Take implements core.Budget. Where replicas share the credits, the wait is at
// most 5 seconds.
func (b *Budget) Take(ctx context.Context) (wait time.Duration) {
	for _, l := range b.limits {
		var ok bool
		if wait, ok = b.Limiter.Reserve(ctx, 0, l); ok {
			b.taken.Add(1)
			return 0
		}
	}
	if b.Shared {
		return min(wait, recheck)
	}
	return wait
}
