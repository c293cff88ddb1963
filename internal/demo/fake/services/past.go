package services

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// Past are quotes of the 30 days before the Quote, oldest first, for charts: one
// in ten minutes of the last day and one an hour before that. They agree with the
// Quote's changes.
func (w World) Past() []core.Quote {
	now := w.Quote.Price.InexactFloat64()
	before := func(change decimal.NullDecimal) float64 { return now / (1 + change.Decimal.InexactFloat64()/100) }
	turns := []struct {
		age   time.Duration
		price float64
	}{
		{30 * 24 * time.Hour, 1.07 * now},
		{18 * 24 * time.Hour, 0.91 * now},
		{7 * 24 * time.Hour, before(w.Quote.Change7d)},
		{24 * time.Hour, before(w.Quote.Change24h)},
		{time.Hour, before(w.Quote.Change1h)},
		{0, now},
	}
	var past []core.Quote
	for i, to := range turns[1:] {
		from := turns[i]
		step := time.Hour
		if from.age <= 24*time.Hour {
			step = 10 * time.Minute
		}
		for age := from.age; age > to.age; age -= step {
			way := float64(from.age-age) / float64(from.age-to.age)
			price := from.price + (to.price-from.price)*way + waver(way)*0.02*now
			past = append(past, core.Quote{
				Price:       decimal.NewFromFloat(price).Round(8),
				LastUpdated: w.Quote.LastUpdated.Add(-age),
			})
		}
	}
	return past
}

// waver is 0 at both ends of the way from 0 to 1, and between them within 1 of 0.
func waver(way float64) float64 {
	return math.Sin(math.Pi*way) * (math.Sin(23*way) + math.Sin(61*way)) / 2
}
