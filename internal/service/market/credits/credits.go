// Package credits spreads the calls that a plan allows in a month over the month.
//
// It is a token bucket that is kept as one time: when all credits will be back (GCRA,
// https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm). A credit moves that time
// ahead. It is never moved back, so a clock that is set ahead and back gives the credits
// of the time between once, and none until it is there again. What a full bucket holds
// and what comes back in 31 days are together less than the plan allows, whatever day a
// plan's month begins on.
//
// This package knows no provider and no store.
package credits

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"
)

const (
	// month is the longest there is.
	month = 31 * 24 * time.Hour

	// share of a plan is spent in a month. The rest is for `bot check`, for starts that
	// know nothing (of 10,000, one an hour takes 1,488), and for clocks that
	// are two days apart (532).
	share = 0.85
	// burstShare of what is spent can be saved up.
	burstShare = 0.03
	// startCredits are there where nothing is known of earlier ones, if the bucket holds so
	// many: for one call, and for another if that does not arrive.
	startCredits = 2
	// maxClockGap is how far apart the clocks of a writer and a reader may be: a day ahead
	// and a day behind. A time that needs more counts as unknown.
	maxClockGap = 49 * time.Hour

	// recheck is how soon to ask again where replicas share the credits: another may
	// have learned meanwhile what the credit was for.
	recheck = 5 * time.Second
	// maxRaces is how often a spend is tried when other replicas spend at the same time.
	maxRaces = 5
)

// Store keeps a value for later processes, and for other replicas.
type Store interface {
	// Load returns what is saved under key, or nil. It fails if that cannot be read.
	Load(ctx context.Context, key string) ([]byte, error)
	// Swap saves value under key for ttl if old is saved there; an empty old stands for
	// nothing. It returns false if something else is saved, or if other replicas may not
	// learn of value.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) bool
}

// Config is what a Budget works with.
type Config struct {
	// PerMonth is how many calls the plan allows, above 0.
	PerMonth int
	// Plan tells the plan from others in Store.
	Plan string
	// Store keeps the time at which all credits are back; nil: the process forgets it.
	Store Store
	// Shared means that replicas spend from Store together.
	Shared bool
}

// Budget is the calls that may be made. It implements core.Budget and is safe for
// concurrent use.
type Budget struct {
	Config
	every  time.Duration // until a credit is back
	window time.Duration // until an empty bucket is full
	now    func() time.Time

	mu sync.Mutex
	// known is the last time seen at which all credits are back. It counts also after
	// Store has lost it.
	known time.Time
}

// New makes a Budget. It does no I/O.
func New(c Config) *Budget {
	spent := float64(c.PerMonth) * share
	// A plan of which share is less than a credit has one a month.
	burst := max(1, math.Floor(spent*burstShare))
	every := time.Duration(math.Ceil(float64(month) / max(1, spent-burst)))
	// The monotonic clock is no part of a time that another process reads.
	now := func() time.Time { return time.Now().Round(0) }
	return &Budget{Config: c, every: every, window: every * time.Duration(burst), now: now}
}

// Every returns how long a credit takes to come back.
func (b *Budget) Every() time.Duration { return b.every }

// Available returns how many credits can be taken now. It returns NaN where replicas
// share them.
func (b *Budget) Available() float64 {
	if b.Shared {
		return math.NaN()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	_, full := b.load(context.Background(), now)
	return float64(max(0, now.Add(b.window).Sub(full)/b.every))
}

// Take implements core.Budget. The wait is at most Every, and at most 5 seconds where
// replicas share the credits. While their Store is away Take spends nothing: another
// replica may have spent what this one knew to be left. It blocks for Store.
func (b *Budget) Take(ctx context.Context) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range maxRaces {
		now := b.now()
		saved, full := b.load(ctx, now)
		full = full.Add(b.every)
		if wait := full.Sub(now) - b.window; wait > 0 {
			if b.Shared {
				return min(wait, recheck)
			}
			return min(wait, b.every) // longer only while the clock is set back
		}
		if b.save(ctx, saved, full) {
			b.known = full
			return 0
		}
	}
	return recheck
}

// load returns what is saved and when all credits are back, which is not before now. mu
// is held.
func (b *Budget) load(ctx context.Context, now time.Time) (saved []byte, full time.Time) {
	times := []time.Time{b.known}
	if b.Store != nil {
		saved, _ = b.Store.Load(ctx, b.key())
		if nanos, err := strconv.ParseInt(string(saved), 10, 64); err == nil {
			times = append(times, time.Unix(0, nanos))
		}
	}
	for _, t := range times {
		possible := t.After(now.Add(-month)) && !t.After(now.Add(b.window+maxClockGap))
		if possible && t.After(full) {
			full = t
		}
	}
	if full.IsZero() {
		return saved, now.Add(max(0, b.window-startCredits*b.every))
	}
	b.known = full
	if full.Before(now) {
		return saved, now
	}
	return saved, full
}

// save reports whether the next Take of every replica knows full. mu is held.
func (b *Budget) save(ctx context.Context, saved []byte, full time.Time) bool {
	return b.Store == nil || b.Store.Swap(ctx, b.key(), saved, strconv.AppendInt(nil, full.UnixNano(), 10), 2*month)
}

func (b *Budget) key() string { return "credits " + b.Plan }
