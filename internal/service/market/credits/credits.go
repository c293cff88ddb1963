// Package credits paces the calls that a provider's plan counts, so that they last until the
// plan's month ends.
//
// It is a token bucket (https://en.wikipedia.org/wiki/Token_bucket). What is left of the month
// is spread over the rest of it, and a part of that can be saved up for busy times. The
// provider says what is left, so nothing has to outlive the process: after a restart, beside
// replicas and beside other programs with the same key, the next Reading has the truth. The
// bucket alone bounds the calls where the provider says nothing.
//
// This package knows no provider and no store, and does no I/O.
package credits

import (
	"cmp"
	"math"
	"sync"
	"time"
)

// Month is the longest month of a plan.
const Month = 31 * 24 * time.Hour

const (
	// defaultPlan is the number of credits a month where neither the operator nor the
	// provider names one: CoinMarketCap's smallest plan has so many.
	// https://coinmarketcap.com/api/pricing/
	defaultPlan = 10_000
	// countedShare is the part of a plan that is spread over a month where the provider does
	// not say what is left. The rest is for `bot check` and for a start each day.
	countedShare = 0.85
	// burstShare is the part of what is left that can be saved up.
	burstShare = 0.03
	// startShare is the part of what is left that a new process may spend at once.
	startShare = 0.0024
	// othersMemory is the time over which the spending of others is averaged.
	othersMemory = 6 * time.Hour
	// maxOthers is the largest part of what is left of the plan that is left to others with the
	// same key.
	maxOthers = 0.75
)

// Reading is what the provider says about the plan.
type Reading struct {
	// Left is how many credits are left of the month, at least 0.
	Left int
	// Resets is how long until the next month begins. It is above 0.
	Resets time.Duration
}

// Budget is the credits that may be spent. It is safe for concurrent use.
type Budget struct {
	perMonth float64 // the operator's bound; 0: none
	now      func() time.Time

	mu    sync.Mutex
	level float64   // credits that may be spent at once
	at    time.Time // of level
	// left is the last Reading's, less what was spent since. It counts until resets, which is
	// zero without a Reading.
	left   float64
	resets time.Time
	read   time.Time // the time of the last Reading
	// unsure is how many credits were spent since then on calls that the provider may not have
	// counted.
	unsure float64
	// others is how many credits others with the same key spend in a nanosecond, as averaged
	// over othersMemory.
	others float64
	// usedUpUntil is the time before which the provider takes no call.
	usedUpUntil time.Time
}

// New returns a Budget of perMonth credits a month. 0 stands for as many as the provider says
// are left or, if it does not say, 10,000 a month.
func New(perMonth int) *Budget { return newBudget(perMonth, time.Now) }

func newBudget(perMonth int, now func() time.Time) *Budget {
	b := &Budget{perMonth: float64(perMonth), now: now, at: now()}
	b.level = b.part(startShare)
	return b
}

// pace returns how many credits a nanosecond are spent so that they last for the rest of the
// month, and how long that is. mu is held.
func (b *Budget) pace() (pace float64, rest time.Duration) {
	counted := cmp.Or(b.perMonth, defaultPlan) * countedShare / float64(Month)
	if b.resets.IsZero() {
		return counted, Month
	}
	rest = b.resets.Sub(b.at)
	whole := max(b.left, 1) / float64(rest)
	pace = whole - min(b.others, maxOthers*whole)
	if b.perMonth > 0 {
		pace = min(pace, counted) // Others spend what an operator's bound leaves them.
	}
	return pace, rest
}

// part returns a part of what may be spent in the rest of the month, at least one credit. mu is
// held.
func (b *Budget) part(share float64) float64 {
	pace, rest := b.pace()
	return max(share*pace*float64(rest), 1)
}

// advance adds the credits that have come back since at. mu is held.
func (b *Budget) advance() {
	now := b.now()
	passed := now.Sub(b.at)
	b.at = now
	if !b.resets.IsZero() && !b.at.Before(b.resets) {
		b.resets = time.Time{} // A new month has begun, of which nothing is known yet.
	}
	pace, _ := b.pace()
	b.level = min(b.level+float64(passed)*pace, b.part(burstShare))
}

// Spend spends a credit and returns 0. Without a credit it returns how long to wait for the
// next one. usedUp is true if the plan has none before a new month or day begins.
func (b *Budget) Spend() (wait time.Duration, usedUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	switch {
	case !b.resets.IsZero() && b.left < 1:
		return b.resets.Sub(b.at), true
	case b.at.Before(b.usedUpUntil):
		return b.usedUpUntil.Sub(b.at), true
	case b.level < 1:
		// Never 0, so that rounding grants nothing.
		pace, _ := b.pace()
		return max(time.Duration((1-b.level)/pace), time.Millisecond), false
	}
	b.level, b.left = b.level-1, b.left-1
	return 0, false
}

// Refund gives back a credit that Spend has spent on a call that the provider cannot have counted.
func (b *Budget) Refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level, b.left = b.level+1, b.left+1
}

// MarkUnsure says that the provider may not have counted a call for which Spend has spent a credit.
// The next Reading gives the credit back if more credits are left than expected.
func (b *Budget) MarkUnsure() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsure++
}

// Note counts a credit that another replica spent. However often Note is called, there is a
// credit again after at most twice Every.
func (b *Budget) Note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	b.level, b.left = max(b.level-1, -1), b.left-1
}

// Learn replaces what is known by what the provider says. No call may be in flight: it is
// unknown whether the provider has counted it yet.
func (b *Budget) Learn(r Reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	known, expected := !b.resets.IsZero(), b.left
	b.left, b.resets = float64(r.Left), b.at.Add(r.Resets)
	switch {
	case !known:
		b.level = min(b.level, b.part(startShare))
	case b.left > 1.1*(expected+b.unsure)+10: // an upgrade
		b.level = max(b.level, b.part(startShare))
	default:
		uncounted := min(max(b.left-expected, 0), b.unsure)
		b.level += uncounted
		spentByOthers := max(expected-b.left, 0)
		passed := float64(max(b.at.Sub(b.read), time.Second))
		weight := 1 - math.Exp(-passed/float64(othersMemory))
		b.others += weight * (spentByOthers/passed - b.others)
	}
	b.read, b.unsure, b.usedUpUntil = b.at, 0, time.Time{}
}

// UseUp makes Spend refuse for so long, or until the next Reading.
func (b *Budget) UseUp(lasts time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usedUpUntil = b.now().Add(lasts)
}

// Every returns how long a credit takes to come back.
func (b *Budget) Every() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	pace, _ := b.pace()
	return time.Duration(1 / pace)
}

// Left returns how many credits are left of the month, or NaN if the provider has not said.
func (b *Budget) Left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	if b.resets.IsZero() {
		return math.NaN()
	}
	return max(b.left, 0)
}

// Available returns how many credits can be spent now.
func (b *Budget) Available() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	if b.at.Before(b.usedUpUntil) || !b.resets.IsZero() && b.left < 1 {
		return 0
	}
	return max(math.Floor(b.level), 0)
}
