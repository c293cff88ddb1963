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
	// Estimated marks a price that nobody saw: a later price and its change in per
	// cent imply it.
	Estimated bool
}

func pointOf(q core.Quote) point {
	return point{At: q.LastUpdated.UTC().Truncate(time.Second), Price: q.Price}
}

// plausible reports whether the point can be drawn: see core.PricedAt.IsPossible.
func (p point) plausible() bool { return core.PricedAt{At: p.At, Price: p.Price}.IsPossible() }

func byTime(a, b point) int { return a.At.Compare(b.At) }

const (
	// step is the least distance of points in Quotes.
	step = 15 * time.Minute
	// maxAge is how long a store keeps points: the longest period and a day.
	maxAge = 31 * 24 * time.Hour
	// maxPoints bounds the points in Quotes by number, because a clock may be wrong: one
	// point far ahead must not make all others too old to keep.
	maxPoints = int(maxAge / step)
)

// thinned sorts points by time. It returns the first of each step, at most the newest
// maxPoints.
func thinned(points []point) []point {
	slices.SortStableFunc(points, byTime)
	points = slices.CompactFunc(points, func(a, b point) bool { return a.At.Truncate(step).Equal(b.At.Truncate(step)) })
	return points[max(0, len(points)-maxPoints):]
}

// pointsBetween returns the points between from and to, sorted by time: those seen, the
// quote's own, and estimates that its changes imply. No estimate is closer than 1/24 of
// the period to a point seen. A quote without a time adds nothing.
func pointsBetween(seen []point, quote core.Quote, from, to time.Time) []point {
	last := pointOf(quote)
	if last.plausible() {
		seen = append(seen, last)
	}
	all := slices.Clone(seen)
	for over, percent := range quote.Changes() {
		estimate := point{At: last.At.Add(-over), Price: before(quote.Price, percent), Estimated: true}
		tooClose := slices.ContainsFunc(seen, func(s point) bool {
			return !s.At.Before(from) && s.At.Sub(estimate.At).Abs() < to.Sub(from)/24
		})
		if estimate.plausible() && !tooClose {
			all = append(all, estimate)
		}
	}
	slices.SortStableFunc(all, byTime)
	all = slices.CompactFunc(all, func(a, b point) bool { return a.At.Equal(b.At) })
	return slices.DeleteFunc(all, func(p point) bool { return p.At.Before(from) || p.At.After(to) })
}

// before returns the price before a change in per cent led to price, or 0 if the change is
// unknown or at most -100.
func before(price decimal.Decimal, percent decimal.NullDecimal) decimal.Decimal {
	factor := percent.Decimal.Shift(-2).Add(decimal.New(1, 0))
	if !percent.Valid || !factor.IsPositive() {
		return decimal.Zero
	}
	// 18 more places than price has, because it may have grown ten million times.
	return price.DivRound(factor, 18+max(0, -price.Exponent()))
}
