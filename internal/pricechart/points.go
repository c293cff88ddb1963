package pricechart

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// point is what the token cost at a moment.
type point struct {
	At    time.Time // UTC, whole seconds
	Price decimal.Decimal
	// Estimated marks a price that nobody saw: it is what a later price and its
	// change in per cent imply.
	Estimated bool
}

func pointOf(q core.Quote) point {
	return point{At: q.LastUpdated.UTC().Truncate(time.Second), Price: q.Price}
}

// plausible reports whether the point can be a price and be drawn. The clock has
// no say in it.
func (p point) plausible() bool {
	price := p.Price.InexactFloat64()
	return p.At.Unix() > 0 && price > 1e-30 && price < 1e30
}

func byTime(a, b point) int { return a.At.Compare(b.At) }

const (
	// step is how far apart points are kept.
	step = 15 * time.Minute
	// maxAge is for how long a store keeps points: the longest period and a day.
	maxAge = 31 * 24 * time.Hour
	// maxPoints are kept, the newest ones. Their number counts and not their age,
	// because a clock may be wrong: one point with a time far ahead must not make
	// all others too old to keep.
	maxPoints = int(maxAge / step)
)

// thinned sorts points by time and keeps the first of each step.
func thinned(points []point) []point {
	slices.SortStableFunc(points, byTime)
	points = slices.CompactFunc(points, func(a, b point) bool { return a.At.Truncate(step).Equal(b.At.Truncate(step)) })
	return points[max(0, len(points)-maxPoints):]
}

// known returns what is known of the time between from and to, sorted by time: the
// points seen, the quote's own price, and as estimates the prices that its changes
// imply. Where a point was seen within 1/24 of the period, there is no estimate. A quote
// without a time adds nothing.
func known(seen []point, quote core.Quote, from, to time.Time) []point {
	now := pointOf(quote)
	if now.plausible() {
		seen = append(seen, now)
	}
	all := slices.Clone(seen)
	for over, percent := range quote.Changes() {
		p := point{At: now.At.Add(-over), Price: before(quote.Price, percent), Estimated: true}
		near := slices.ContainsFunc(seen, func(s point) bool {
			return !s.At.Before(from) && s.At.Sub(p.At).Abs() < to.Sub(from)/24
		})
		if p.plausible() && !near {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, byTime)
	all = slices.CompactFunc(all, func(a, b point) bool { return a.At.Equal(b.At) })
	return slices.DeleteFunc(all, func(p point) bool { return p.At.Before(from) || p.At.After(to) })
}

// before returns the price from which it takes a change in per cent to get to
// price, or 0 if that cannot be told.
func before(price decimal.Decimal, percent decimal.NullDecimal) decimal.Decimal {
	factor := percent.Decimal.Shift(-2).Add(decimal.New(1, 0))
	if !percent.Valid || !factor.IsPositive() {
		return decimal.Zero
	}
	// 18 more places than the price has: it may have grown ten million times.
	return price.DivRound(factor, 18+max(0, -price.Exponent()))
}
