// Package credits spreads the calls that a plan allows in a month over the month.
//
// It is a token bucket by the generic cell rate algorithm
// (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm): a credit comes back
// after a fixed time, and a quiet time saves some up for a busy one. What a full
// bucket holds and what comes back in 31 days are together less than the plan
// allows, so no month is overspent, whatever day a plan's month begins on, and
// none ends without credits.
//
// Replicas share one bucket in Redis; a process alone keeps its own in a Store.
// Without either, every start has a new bucket, and more of the plan is left
// unspent for that.
package credits

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

const (
	// month is the longest there is.
	month = 31 * 24 * time.Hour

	// share of a plan is spent. The rest is for `bot check`, for a clock that runs
	// fast, for a Store that is lost (of 10,000, once a day), and for what replicas
	// spend while Redis is away.
	share = 0.95
	// unkeptShare is spent where the bucket is not kept, and each start may take
	// startCredits more: of 10,000, that is enough for 125 starts a month.
	unkeptShare = 0.75
	// burstShare of what is spent can be saved up.
	burstShare = 0.03
	// startCredits are there when the bucket of a process is new, if it can hold so
	// many: for fresh prices while an operator tries the bot, also where the
	// provider fails at first.
	startCredits = 20
	// awayShare is what each replica may spend while Redis is away, one credit at a
	// time; where that is less than one a month it spends none. Ten replicas take
	// half of what share leaves, and those that start meanwhile one credit each.
	awayShare = 0.0025
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
	// Turns is shared between replicas; nil is one process alone.
	Turns chat.Turns
	// Store keeps the bucket of a process alone; nil is not at all.
	Store core.Store
}

// Budget is the calls that may be made. It implements core.Budget.
type Budget struct {
	Config
	spread chat.Rate // the plan, over the month
	own    chat.Rate // of this process: spread, or what it may take while Redis is away
	taken  atomic.Uint64

	mu   sync.Mutex
	full time.Time // when own will be full again
	kept bool      // full is at least what the Store has
}

var _ core.Budget = (*Budget)(nil)

// New makes a Budget. It does no I/O.
func New(c Config) *Budget {
	plan := float64(c.PerMonth)
	key := "credits " + c.Plan
	if c.Turns != nil {
		c.Store = nil
		return &Budget{Config: c, spread: spread(key, plan*share), own: chat.Rate{Every: perMonth(plan * awayShare), Burst: 1}}
	}
	own := spread(key, plan*share)
	if c.Store == nil {
		own = spread(key, plan*unkeptShare)
	}
	missing := max(0, own.Burst-startCredits)
	return &Budget{Config: c, spread: own, own: own, full: time.Now().Add(own.Every * time.Duration(missing))}
}

// spread is the rate of so many credits a month. In any month they are not
// exceeded, unless they are less than one: that one is spent.
func spread(key string, credits float64) chat.Rate {
	burst := max(1, int(credits*burstShare))
	return chat.Rate{Key: key, Every: perMonth(max(1, credits-float64(burst))), Burst: burst}
}

// perMonth is the time between two of so many credits a month.
func perMonth(credits float64) time.Duration {
	return time.Duration(math.Ceil(float64(month) / credits))
}

// Every is how long it takes for a credit to come back.
func (b *Budget) Every() time.Duration { return b.spread.Every }

// Taken counts the credits that this process has taken.
func (b *Budget) Taken() uint64 { return b.taken.Load() }

// Left is how many credits could be taken at once. It is not known where
// replicas share them.
func (b *Budget) Left() (left int, known bool) {
	if b.Turns != nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	missing := math.Ceil(float64(time.Until(b.full)) / float64(b.own.Every))
	return b.own.Burst - int(max(0, missing)), true
}

// Take implements core.Budget. Where replicas share the credits, the wait is
// at most 5 seconds.
func (b *Budget) Take(ctx context.Context) (wait time.Duration) {
	known := false
	if b.Turns != nil {
		wait, known = b.Turns.Take(ctx, 0, b.spread)
	}
	if !known {
		wait = b.takeOwn(ctx)
	}
	if wait <= 0 {
		b.taken.Add(1)
		return 0
	}
	if b.Turns != nil {
		wait = min(wait, recheck)
	}
	return wait
}

// takeOwn takes a credit of this process.
func (b *Budget) takeOwn(ctx context.Context) (wait time.Duration) {
	if b.own.Every > month {
		return recheck
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load(ctx)
	now := time.Now()
	// No bucket is emptier than empty: a clock may have been set back.
	empty := now.Add(b.own.Every * time.Duration(b.own.Burst))
	if b.full.After(empty) {
		b.full = empty
		b.save(ctx)
	}
	if wait := b.full.Add(b.own.Every).Sub(empty); wait > 0 {
		return wait
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.own.Every)
	b.save(ctx)
	return 0
}

// load brings full up to what the Store has: each process that uses it takes from
// the same bucket. The caller holds mu.
func (b *Budget) load(ctx context.Context) {
	if b.Store == nil {
		return
	}
	text, found := b.Store.Load(ctx, b.spread.Key)
	nanos, err := strconv.ParseInt(string(text), 10, 64)
	if stored := time.Unix(0, nanos); found && err == nil && (!b.kept || stored.After(b.full)) {
		b.full = stored
	}
	b.kept = true
}

func (b *Budget) save(ctx context.Context) {
	if b.Store != nil {
		b.Store.Save(ctx, b.spread.Key, strconv.AppendInt(nil, b.full.UnixNano(), 10), month)
	}
}
