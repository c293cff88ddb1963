package history

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// Joined adds to the points seen what a quote says about the time between from
// and to: its price and, as estimates, the prices that its changes in per cent
// imply for 1 hour, 24 hours and 7 days before. An estimate stands only where
// no point was seen within 1/24 of the period. The result is sorted by time and
// holds no point outside the period. A quote without a time adds nothing.
func Joined(seen []Point, quote core.Quote, from, to time.Time) []Point {
	var joined series
	add := func(p Point) {
		if i, known := joined.find(p.At); !known && !p.At.Before(from) && !p.At.After(to) {
			joined = slices.Insert(joined, i, p)
		}
	}
	for _, p := range seen {
		add(p)
	}
	if quote.LastUpdated.IsZero() || !quote.Price.IsPositive() {
		return joined
	}
	at := quote.LastUpdated.UTC().Truncate(time.Second)
	add(Point{At: at, Price: quote.Price})
	near := to.Sub(from) / 24
	for _, change := range []struct {
		over    time.Duration
		percent decimal.NullDecimal
	}{
		{time.Hour, quote.Change1h},
		{24 * time.Hour, quote.Change24h},
		{7 * 24 * time.Hour, quote.Change7d},
	} {
		price, ok := before(quote.Price, change.percent)
		if p := (Point{At: at.Add(-change.over), Price: price, Estimated: true}); ok && !joined.near(p.At, near) {
			add(p)
		}
	}
	return joined
}

// near reports whether a point was seen less than so far from t.
func (s series) near(t time.Time, far time.Duration) bool {
	return slices.ContainsFunc(s, func(p Point) bool {
		return !p.Estimated && p.At.Sub(t).Abs() < far
	})
}

// before is the price from which price is so many per cent away; ok only if
// there is one.
func before(price decimal.Decimal, percent decimal.NullDecimal) (_ decimal.Decimal, ok bool) {
	factor := percent.Decimal.Shift(-2).Add(decimal.New(1, 0))
	if !percent.Valid || !factor.IsPositive() {
		return decimal.Decimal{}, false
	}
	// 18 more places than the price has, since it may have grown ten million
	// times.
	places := 18 + max(0, -price.Exponent())
	earlier := price.DivRound(factor, places)
	return earlier, earlier.IsPositive()
}
