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

// maxAge is for how long points are kept.
const maxAge = 90 * 24 * time.Hour

// tiers say how finely points are kept: one in each step, up to an age. A picture
// of 24 hours, 7 or 30 days then has 288, 586 or 898 points, and room for about
// 700 side by side.
var tiers = []struct{ age, step time.Duration }{
	{25 * time.Hour, 5 * time.Minute},
	{8 * 24 * time.Hour, 30 * time.Minute},
	{maxAge, maxGap},
}

// maxGap is how much older than the next point a point counts as, at most. So one
// point with a time far ahead, from a wrong clock, does not make all others too
// old to keep.
const maxGap = 2 * time.Hour

// thinned sorts points by time and removes those that the tiers do not keep: the
// first of each step stays. Ages are counted from the newest point, because this
// machine's clock may be wrong.
func thinned(points []point) []point {
	slices.SortStableFunc(points, byTime)
	ages := make([]time.Duration, len(points))
	for i := len(points) - 2; i >= 0; i-- {
		ages[i] = ages[i+1] + min(points[i+1].At.Sub(points[i].At), maxGap)
	}
	kept := points[:0]
	for i, p := range points {
		for _, tier := range tiers {
			if ages[i] >= tier.age {
				continue
			}
			if n := len(kept); n == 0 || !kept[n-1].At.Truncate(tier.step).Equal(p.At.Truncate(tier.step)) {
				kept = append(kept, p)
			}
			break
		}
	}
	return kept
}

// known returns what is known of the time between from and to, sorted by time:
// the points seen, the quote's own price, and as estimates the prices that its
// changes imply for 1 hour, 24 hours and 7 days before. Where a point was seen
// within 1/24 of the period, there is no estimate. A quote without a time adds
// nothing.
func known(seen []point, quote core.Quote, from, to time.Time) []point {
	outside := func(p point) bool { return p.At.Before(from) || p.At.After(to) }
	now := pointOf(quote)
	if now.plausible() {
		seen = append(seen, now)
	}
	seen = slices.DeleteFunc(seen, outside)
	all := slices.Clone(seen)
	for _, change := range []struct {
		over    time.Duration
		percent decimal.NullDecimal
	}{
		{time.Hour, quote.Change1h}, {24 * time.Hour, quote.Change24h}, {7 * 24 * time.Hour, quote.Change7d},
	} {
		p := point{At: now.At.Add(-change.over), Price: before(quote.Price, change.percent), Estimated: true}
		near := slices.ContainsFunc(seen, func(s point) bool { return s.At.Sub(p.At).Abs() < to.Sub(from)/24 })
		if p.plausible() && !outside(p) && !near {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, byTime)
	return slices.CompactFunc(all, func(a, b point) bool { return a.At.Equal(b.At) })
}

// before returns the price from which it takes a change in per cent to get to
// price, or 0 if there is none.
func before(price decimal.Decimal, percent decimal.NullDecimal) decimal.Decimal {
	factor := percent.Decimal.Shift(-2).Add(decimal.New(1, 0))
	if !percent.Valid || !factor.IsPositive() {
		return decimal.Zero
	}
	// 18 more places than the price has: it may have grown ten million times.
	return price.DivRound(factor, 18+max(0, -price.Exponent()))
}
