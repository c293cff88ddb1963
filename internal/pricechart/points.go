package pricechart

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// point is the price of the token in USD at a point in time.
type point struct {
	At    time.Time // UTC, whole seconds
	Price decimal.Decimal
	// Estimated marks a price that no quote had. It is computed from a later quote's price and change.
	Estimated bool
}

// pointOf returns the recorded point of a quote. If the quote lacks a price or a time, the point is not possible.
func pointOf(q core.Quote) point {
	return point{At: q.LastUpdated.UTC().Truncate(time.Second), Price: q.Price}
}

// isPossible reports whether the point has a time, and a price that can be drawn. See core.PricedAt.IsPlausible.
func (p point) isPossible() bool { return core.PricedAt{At: p.At, Price: p.Price}.IsPlausible() }

// byTime orders points by their times.
func byTime(a, b point) int { return a.At.Compare(b.At) }

const (
	// step is an interval of time, such as the one from 12:15 to 12:30. Quotes keeps at most one point in each.
	step = 15 * time.Minute
	// maxAge is how long a store keeps points: the longest period and a day.
	maxAge = 31 * 24 * time.Hour
	// maxPoints is the maximum number of points in Quotes: one for each step of maxAge. Quotes does not discard points by
	// their age, because a clock may be wrong: one point far in the future would make all others too old.
	maxPoints = int(maxAge / step)
)

// thinned returns the first point of each step, sorted by time. If there are more than maxPoints, it returns the latest
// of them. It reorders the given slice.
func thinned(points []point) []point {
	slices.SortStableFunc(points, byTime)
	points = slices.CompactFunc(points, func(a, b point) bool { return a.At.Truncate(step).Equal(b.At.Truncate(step)) })
	return points[max(0, len(points)-maxPoints):]
}

// pointsBetween returns the points between from and to, sorted by time: the recorded points, the point of the quote,
// and estimates, which are computed from the quote's changes. There is no estimate within 1/24 of the period of a
// recorded point. A quote without a time adds no points.
func pointsBetween(recorded []point, quote core.Quote, from, to time.Time) []point {
	last := pointOf(quote)
	if last.isPossible() {
		recorded = append(recorded, last)
	}
	minDistance := to.Sub(from) / 24
	all := slices.Clone(recorded)
	for period, percent := range quote.Changes() {
		estimate := point{At: last.At.Add(-period), Price: priceBefore(quote.Price, percent), Estimated: true}
		isTooClose := slices.ContainsFunc(recorded, func(p point) bool {
			isInPeriod := !p.At.Before(from)
			return isInPeriod && p.At.Sub(estimate.At).Abs() < minDistance
		})
		if estimate.isPossible() && !isTooClose {
			all = append(all, estimate)
		}
	}
	slices.SortStableFunc(all, byTime)
	all = slices.CompactFunc(all, func(a, b point) bool { return a.At.Equal(b.At) })
	return slices.DeleteFunc(all, func(p point) bool { return p.At.Before(from) || p.At.After(to) })
}

// priceBefore returns the price before a change in per cent: 80 for price 100 and a change of 25. It returns 0
// if the change is unknown, or at most -100.
func priceBefore(price decimal.Decimal, percent decimal.NullDecimal) decimal.Decimal {
	factor := percent.Decimal.Shift(-2).Add(decimal.New(1, 0))
	if !percent.Valid || !factor.IsPositive() {
		return decimal.Zero
	}
	// 18 more places than price has, because it may have grown ten million times.
	return price.DivRound(factor, 18+max(0, -price.Exponent()))
}
