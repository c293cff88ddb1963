// Package credits spreads the calls that a plan allows in a month over the month.
//
// It is a token bucket by the generic cell rate algorithm
// (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm): a credit comes back
// after a fixed time, and a quiet time saves some up for a busy one. What a full
// bucket holds and what comes back in 31 days are together less than the plan
// allows, so no month is overspent, whatever day a plan's month begins on, and
// none ends without credits.
//
// Replicas share one bucket in Redis. While Redis is away each has a small one of
// its own, out of credits kept back for that. A bucket of a process is kept in a
// Store, where there is one. Without either, each start of the process has a few
// credits at once, out of those kept back for twenty starts a month.
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

	// What is spent of a plan: the rest is for `bot check`, and a clock that
	// runs fast.
	share = 0.95
	// The same where replicas share a bucket, and for each of them while they
	// cannot: with ten replicas that is share in all.
	sharedShare  = 0.85
	replicaShare = 0.01

	// The same for a process without a Store, whose credits come back sooner than
	// they should with each start.
	forgetfulShare = 0.75

	// burstShare of the credits can be saved up.
	burstShare = 0.03
	// startShare of the plan is there when the bucket of a process is new, but
	// leastAtStart at least: a first price, and one more.
	startShare   = 0.01
	leastAtStart = 2
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
	// Store keeps the bucket of this process when it ends; nil is not at all.
	Store core.Store
}

// Budget is the calls that may be made. It implements core.Budget.
type Budget struct {
	Config
	shared, own bucket
	taken       atomic.Uint64

	mu   sync.Mutex
	full time.Time // when own will be full again
	kept bool      // full is at least what the Store has
}

var _ core.Budget = (*Budget)(nil)

// New makes a Budget. It does no I/O.
func New(c Config) *Budget {
	b := &Budget{Config: c, own: newBucket(float64(c.PerMonth) * share)}
	if c.Store == nil {
		b.own = newBucket(float64(c.PerMonth) * forgetfulShare)
	}
	atStart := max(leastAtStart, int(float64(c.PerMonth)*startShare))
	b.full = time.Now().Add(b.own.every * time.Duration(max(0, b.own.burst-atStart)))
	if c.Turns != nil {
		b.shared = newBucket(float64(c.PerMonth) * sharedShare)
		b.own = bucket{burst: 1, every: perMonth(math.Floor(float64(c.PerMonth) * replicaShare))}
		b.full = time.Time{}
	}
	return b
}

// bucket holds at most burst credits, and gets one back after every.
type bucket struct {
	burst int
	every time.Duration // 0 is never
}

// newBucket spreads so many credits. In any month they are not exceeded, unless
// they are less than one: that one is spent.
func newBucket(credits float64) bucket {
	burst := max(1, int(credits*burstShare))
	return bucket{burst, perMonth(max(1, credits-float64(burst)))}
}

// perMonth is the time between two of so many credits a month; 0 for none.
func perMonth(credits float64) time.Duration {
	if credits == 0 {
		return 0
	}
	return time.Duration(math.Ceil(float64(month) / credits))
}

// Every is how long it takes for a credit to come back.
func (b *Budget) Every() time.Duration {
	if b.Turns != nil {
		return b.shared.every
	}
	return b.own.every
}

// Taken counts the credits that this process has taken.
func (b *Budget) Taken() uint64 { return b.taken.Load() }

// Left is how many credits could be taken at once. It is not known of those that
// replicas share.
func (b *Budget) Left() (left int, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	missing := math.Ceil(float64(time.Until(b.full)) / float64(b.own.every))
	return b.own.burst - int(max(0, missing)), b.Turns == nil
}

// Take implements core.Budget. Where replicas share the credits, the wait is
// at most 5 seconds.
func (b *Budget) Take(ctx context.Context) (wait time.Duration) {
	known := false
	if b.Turns != nil {
		wait, known = b.Turns.Take(ctx, 0, chat.Rate{Key: b.key(), Every: b.shared.every, Burst: b.shared.burst})
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
	if b.own.every == 0 {
		return recheck
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.load(ctx)
	// No bucket is emptier than empty: a clock may have been set back.
	if empty := now.Add(b.own.every * time.Duration(b.own.burst)); b.full.After(empty) {
		b.full = empty
		b.save(ctx)
	}
	if turn := b.full.Add(-b.own.every * time.Duration(b.own.burst-1)); turn.After(now) {
		return turn.Sub(now)
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.own.every)
	b.save(ctx)
	return 0
}

func (b *Budget) key() string { return "credits " + b.Plan }

// load brings full up to what the Store has: each process that uses it takes from
// the same bucket. The caller holds mu.
func (b *Budget) load(ctx context.Context) {
	if b.Store == nil {
		return
	}
	text, found := b.Store.Load(ctx, b.key())
	nanos, err := strconv.ParseInt(string(text), 10, 64)
	if stored := time.Unix(0, nanos); found && err == nil && (!b.kept || stored.After(b.full)) {
		b.full = stored
	}
	b.kept = true
}

func (b *Budget) save(ctx context.Context) {
	if b.Store != nil {
		b.Store.Save(ctx, b.key(), strconv.AppendInt(nil, b.full.UnixNano(), 10), month)
	}
}
