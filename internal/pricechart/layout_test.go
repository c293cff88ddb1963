package pricechart

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/internal/chat"
)

// Texts stand apart and on no line, the pill beside the price, and the margin at the right is
// free.
func TestTextsDoNotOverlap(t *testing.T) {
	logo, _ := readLogo("testdata/logo.png")
	prices := []float64{0.000000001234, 1.234e-18, 1, 0.04173, 999999.4, 123456789.12, 9.99e14}
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.SampledFrom(prices).Draw(t, "price")
		period := rapid.SampledFrom([]time.Duration{day, 7 * day, 30 * day}).Draw(t, "period")
		points := walk(period, period/200, price*rapid.SampledFrom([]float64{0.5, 1.01, 20}).Draw(t, "first"), price)
		p := ofPeriod(period, points[rapid.SampledFrom([]int{0, 100, 180}).Draw(t, "unseen"):]...)
		p.language = rapid.SampledFrom(chat.Languages()).Draw(t, "language")
		p.name = rapid.SampledFrom([]string{"Herald", "Example Passport", strings.Repeat("Name ", 12)}).Draw(t, "name")
		p.handle = rapid.SampledFrom([]string{"", "@herald_bot", "@Herald", "@" + strings.Repeat("w", 32)}).Draw(t, "handle")
		p.symbol = rapid.SampledFrom([]string{"HRLD", "HERALDMOON12"}).Draw(t, "symbol")
		if rapid.Bool().Draw(t, "logo") {
			p.Logo = logo
		}
		if rapid.Bool().Draw(t, "old") {
			p.quote.CurrentUntil = now
		}
		p.quote.Change7d.Decimal = number(rapid.SampledFrom([]string{"0", "-12.5", "250000"}).Draw(t, "change"))
		if rapid.Bool().Draw(t, "estimated") {
			p.points = pointsBetween(p.points, p.quote, p.from, p.to)
		}
		s := p.paint()
		for i, a := range s.texts {
			for _, b := range s.texts[:i] {
				if a.left < b.right+8 && b.left < a.right+8 && a.top < b.bottom+8 && b.top < a.bottom+8 {
					t.Errorf("texts are at %v and at %v", a, b)
				}
			}
			if a.left < margin-5 || a.right > width-margin+1 || slices.ContainsFunc(s.strokes, a.contains) {
				t.Errorf("a text is at %v, in the margin or on a line", a)
			}
		}
		first := 1 // after the title
		if lowest, _ := p.extremes(); !lowest.IsZero() {
			first += 4
		}
		if gap := s.texts[first+1].left - s.texts[first].right; math.Abs(gap-pillGap-pillPadding) > 1 {
			t.Errorf("the pill's text begins %v after the price, want %d", gap, pillGap+pillPadding)
		}
	})
}

// A picture has a margin of 12 pixels, and its own at the right, whatever is on it.
func TestNothingLeavesThePicture(t *testing.T) {
	languages := []chat.Language{chat.Chinese, chat.Russian, chat.Vietnamese}
	for symbol, prices := range map[string][]string{
		"WWWWWWWWWWWWWWWWWWWW": {"1e-18", "2.5e-15"}, "💎": {"1e12", "9.99e14"}, "مال": {"123456.78", "0.0123"}, "X": {"0.000012345", "999999.994"},
		"LOSS": {"1", "1e-9"}, "Ω🚀": {"0.0099999", "0.0099998"},
	} {
		for _, l := range languages {
			p := ofPeriod(7*day, seen(0, "1"))
			p.points = nil
			for i := range 20 {
				p.points = append(p.points, seen(7*day/20*time.Duration(19-i), prices[i/10]))
			}
			p.symbol, p.language, p.name, p.handle = symbol, l, strings.Repeat("M", 40), "@"+strings.Repeat("M", 32)
			p.quote.Price, p.quote.Change24h.Decimal, p.quote.Change7d.Decimal = number(prices[1]), number("-100"), number("250000")
			p.quote.MarketCap.Decimal = number("999999999999999")
			for _, p.points = range [][]point{p.points, nil} {
				drawn, err := p.draw()
				if err != nil {
					t.Fatal(err)
				}
				pic := pixels(t, drawn)
				for i, c := range pic.Pix {
					if x, y := i%width, i/width; c != pic.Pix[0] && (min(x, y, height-1-y) < 12 || x > width-margin) {
						t.Fatalf("%s %s, %d points: something is at %d, %d", symbol, l, len(p.points), x, y)
					}
				}
			}
		}
	}
}
