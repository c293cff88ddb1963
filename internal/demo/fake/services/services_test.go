package services

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// startWalk makes the price of new fakes move. It returns the quotes before the start, and the prices afterwards.
func startWalk() (s *Fakes, past []core.Quote, at prices) {
	s = New()
	past = s.Walk()
	return s, past, s.Price.Handler.(market).prices
}

// eachMinute calls check with the quote and its changes in each of 180 minutes.
func eachMinute(at prices, check func(core.Quote, map[string]decimal.Decimal)) {
	for range 3 * 60 {
		check(at(time.Now()))
		time.Sleep(time.Minute)
	}
}

func TestTheWalkBeginsWithTheWorldsQuote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, at := startWalk()
		want, wantChanges := constantPrices(s.World.Quote)(time.Now())
		got, gotChanges := at(time.Now())
		if !got.Price.Equal(want.Price) || !got.LastUpdated.Equal(want.LastUpdated) {
			t.Errorf("got %v, want %v", got, want)
		}
		for period, change := range wantChanges {
			if !gotChanges[period].Equal(change) {
				t.Errorf("got a change of %v in %s, want %v", gotChanges[period], period, change)
			}
		}
	})
}

func TestEveryWalkIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, at := startWalk()
		_, _, otherAt := startWalk()
		eachMinute(at, func(q core.Quote, _ map[string]decimal.Decimal) {
			if other, _ := otherAt(time.Now()); !q.Price.Equal(other.Price) {
				t.Fatalf("two walks differ: %v, %v", q.Price, other.Price)
			}
		})
	})
}

func TestAQuoteHasTheAgeOfARealQuote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, at := startWalk()
		eachMinute(at, func(q core.Quote, _ map[string]decimal.Decimal) {
			if age := time.Since(q.LastUpdated); age < QuoteAge || age >= QuoteAge+time.Minute {
				t.Fatalf("a quote is %v old", age)
			}
		})
	})
}

func TestThePriceMovesEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, at := startWalk()
		var previous decimal.Decimal
		eachMinute(at, func(q core.Quote, _ map[string]decimal.Decimal) {
			if q.Price.Equal(previous) {
				t.Fatalf("the price has not moved from %v", q.Price)
			}
			previous = q.Price
		})
	})
}

func TestTheChangesOfAQuoteAgreeWithEarlierQuotes(t *testing.T) {
	minutesOf := map[string]int64{"1h": 60, "24h": 24 * 60, "7d": 7 * 24 * 60}
	synctest.Test(t, func(t *testing.T) {
		_, past, at := startWalk()
		priceAt := map[int64]float64{} // by Unix time in minutes
		minuteOf := func(q core.Quote) int64 { return q.LastUpdated.Unix() / 60 }
		for _, q := range past {
			priceAt[minuteOf(q)] = q.Price.InexactFloat64()
		}
		compared := 0
		eachMinute(at, func(q core.Quote, changes map[string]decimal.Decimal) {
			price := q.Price.InexactFloat64()
			priceAt[minuteOf(q)] = price
			for period, minutes := range minutesOf {
				before, known := priceAt[minuteOf(q)-minutes]
				if !known {
					continue
				}
				compared++
				got, want := changes[period].InexactFloat64(), 100*(price/before-1)
				if math.Abs(got-want) > 1e-4 {
					t.Fatalf("the change in %s is %v, want %v", period, got, want)
				}
			}
		})
		if compared < 120 {
			t.Errorf("only %d changes could be compared", compared)
		}
	})
}
