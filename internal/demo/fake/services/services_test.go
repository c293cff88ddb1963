package services

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestThePriceWalksAndItsChangesAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, again := New(), New()
		start, startChanges := constantPrices(s.World.Quote)(time.Now())
		past := s.Walk()
		again.Walk()
		at, otherAt := s.Price.Handler.(market).prices, again.Price.Handler.(market).prices
		first, firstChanges := at(time.Now())
		if !first.Price.Equal(start.Price) || !first.LastUpdated.Equal(start.LastUpdated) {
			t.Errorf("the walk begins with %v, want %v", first, start)
		}
		for name, want := range startChanges {
			if !firstChanges[name].Equal(want) {
				t.Errorf("the walk begins with a change of %v in %s, want %v", firstChanges[name], name, want)
			}
		}
		prices := map[int64]float64{} // by minute
		for _, q := range past {
			prices[q.LastUpdated.Unix()/60] = q.Price.InexactFloat64()
		}
		for range 3 * 60 {
			q, changes := at(time.Now())
			if other, _ := otherAt(time.Now()); !q.Price.Equal(other.Price) {
				t.Fatalf("two walks differ: %v, %v", q.Price, other.Price)
			}
			if age := time.Since(q.LastUpdated); age < QuoteAge || age >= QuoteAge+time.Minute {
				t.Fatalf("a quote is %v old", age)
			}
			price, minute := q.Price.InexactFloat64(), q.LastUpdated.Unix()/60
			for name, minutes := range map[string]int64{"1h": 60, "24h": 1440, "7d": 7 * 1440} {
				before, known := prices[minute-minutes]
				if got, want := changes[name].InexactFloat64(), 100*(price/before-1); known && math.Abs(got-want) > 1e-4 {
					t.Fatalf("the change of %s is %v, want %v", name, got, want)
				}
			}
			if before, known := prices[minute-1]; known && before == price {
				t.Fatalf("the price stands still at %v", price)
			}
			prices[minute] = price
			time.Sleep(time.Minute)
		}
	})
}
