package pricechart

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// now is the time at which a picture of the tests ends.
var now = time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// known returns a number that is not missing.
func known(s string) decimal.NullDecimal { return decimal.NewNullDecimal(number(s)) }

// quoteOf returns a quote of a price at a time.
func quoteOf(price string, at time.Time) core.Quote {
	return core.Quote{Price: number(price), LastUpdated: at}
}

// quoteWithChanges returns a quote with changes in per cent over 1 h, 24 h and 7 d. An empty change is unknown.
func quoteWithChanges(price string, at time.Time, percent1h, percent24h, percent7d string) core.Quote {
	q := quoteOf(price, at)
	q.Change1h = knownUnlessEmpty(percent1h)
	q.Change24h = knownUnlessEmpty(percent24h)
	q.Change7d = knownUnlessEmpty(percent7d)
	return q
}

func knownUnlessEmpty(s string) decimal.NullDecimal {
	if s == "" {
		return decimal.NullDecimal{}
	}
	return known(s)
}

// recordedAt returns a point that was recorded some time before now.
func recordedAt(ago time.Duration, price string) point {
	return point{At: now.Add(-ago), Price: number(price)}
}

// estimatedAt returns an estimate of the price some time before now.
func estimatedAt(ago time.Duration, price string) point {
	return point{At: now.Add(-ago), Price: number(price), Estimated: true}
}

// walk returns points of a price that wanders from one price to another in a period that ends now. They are every
// apart. Each call with the same arguments returns the same points.
func walk(period, every time.Duration, from, to float64) []point {
	random := rand.New(rand.NewPCG(1, 2))
	n := int(period / every)
	decimals := int32(8 - math.Log10(from))
	off := 0.0 // the distance of the price from the straight line
	var points []point
	for i := range n + 1 {
		off = off*.97 + (random.Float64()-.5)*.012*from
		part := float64(i) / float64(n)
		price := from + (to-from)*part + off*math.Sqrt(1-part)
		points = append(points, point{
			At:    now.Add(-period + time.Duration(i)*every),
			Price: decimal.NewFromFloat(price).Round(decimals),
		})
	}
	return points
}

// without returns points except those between two times before now: fromAgo, which is earlier, and toAgo.
func without(points []point, fromAgo, toAgo time.Duration) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool {
		return p.At.After(now.Add(-fromAgo)) && p.At.Before(now.Add(-toAgo))
	})
}

// withoutNights returns points except those before 7 o'clock.
func withoutNights(points []point) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.At.Hour() < 7 })
}

// pictureOf returns a picture of a period that ends with the last point. The quote's change of the period is that of
// the points, if there are two.
func pictureOf(period time.Duration, points ...point) picture {
	first := points[0].Price
	last := points[len(points)-1].Price
	quote := quoteWithChanges(last.String(), now, "-0.31", "2.72", "-12.5")
	quote.Source = "CoinMarketCap"
	quote.Change30d = known("48.25")
	quote.MarketCap = known("25550000")
	quote.Volume24h = known("1234567")
	if len(points) > 1 {
		percent := decimal.NewNullDecimal(last.Sub(first).Shift(2).DivRound(first, 2))
		switch period {
		case day:
			quote.Change24h = percent
		case 7 * day:
			quote.Change7d = percent
		case 30 * day:
			quote.Change30d = percent
		}
	}
	return picture{
		symbol:   "HRLD",
		name:     "Herald",
		handle:   "@herald_bot",
		language: chat.English,
		quote:    quote,
		from:     now.Add(-period),
		to:       now,
		points:   points,
	}
}

// pixels decodes a picture. It fails unless the picture is opaque, has a palette, and has the right size.
func pixels(t *testing.T, content []byte) *image.Paletted {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	drawn, hasPalette := decoded.(*image.Paletted)
	if !hasPalette || !drawn.Opaque() || drawn.Bounds() != image.Rect(0, 0, width, height) {
		t.Fatalf("no opaque picture of its size with a palette: %T, %v", decoded, decoded.Bounds())
	}
	return drawn
}
