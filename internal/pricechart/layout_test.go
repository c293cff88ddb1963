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

// anyPicture returns a random picture. Its texts may have any length that is possible, and its prices any size.
func anyPicture(t *rapid.T) picture {
	logo, _ := readLogo("testdata/logo.png")
	price := rapid.SampledFrom([]float64{
		0.000000001234, 1.234e-18, 1, 0.04173, 999999.4, 123456789.12, 9.99e14,
	}).Draw(t, "price")
	period := rapid.SampledFrom([]time.Duration{day, 7 * day, 30 * day}).Draw(t, "period")
	first := price * rapid.SampledFrom([]float64{0.5, 1.01, 20}).Draw(t, "first")
	unseen := rapid.SampledFrom([]int{0, 100, 180}).Draw(t, "unseen")
	p := pictureOf(period, walk(period, period/200, first, price)[unseen:]...)
	p.language = rapid.SampledFrom(chat.Languages()).Draw(t, "language")
	p.name = rapid.SampledFrom([]string{"Herald", "Example Passport", strings.Repeat("Name ", 12)}).Draw(t, "name")
	p.handle = rapid.SampledFrom([]string{
		"", "@herald_bot", "@Herald", "@" + strings.Repeat("w", 32),
	}).Draw(t, "handle")
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
	return p
}

// overlap reports whether two texts are closer than 8 pixels.
func overlap(a, b rect) bool {
	const apart = 8
	return a.left < b.right+apart && b.left < a.right+apart && a.top < b.bottom+apart && b.top < a.bottom+apart
}

// TestTextsAreInTheirPlaces makes all checks of a picture at once, because drawing takes long.
func TestTextsAreInTheirPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPicture(t)
		s := p.paint()
		checkTextsDoNotOverlap(t, s)
		checkTextsAreInNoMarginAndOnNoLine(t, s)
		checkChangeIsBesidePrice(t, p, s)
	})
}

func checkTextsDoNotOverlap(t *rapid.T, s sheet) {
	for i, a := range s.texts {
		for _, b := range s.texts[:i] {
			if overlap(a, b) {
				t.Errorf("texts are at %v and at %v", a, b)
			}
		}
	}
}

func checkTextsAreInNoMarginAndOnNoLine(t *rapid.T, s sheet) {
	for _, text := range s.texts {
		inMargin := text.left < margin-5 || text.right > width-margin+1
		if inMargin || slices.ContainsFunc(s.strokes, text.contains) {
			t.Errorf("a text is at %v, in the margin or on a line", text)
		}
	}
}

func checkChangeIsBesidePrice(t *rapid.T, p picture, s sheet) {
	price := 1 // the index of the price in s.texts: the title was drawn before it
	lowest, _ := p.extremes()
	if !lowest.IsZero() {
		price += 4 // The names and values of the lowest and the highest price were also drawn before it.
	}
	change := price + 1
	gap := s.texts[change].left - s.texts[price].right
	if math.Abs(gap-pillGap-pillPadding) > 1 {
		t.Errorf("the change begins %v after the price, want %d", gap, pillGap+pillPadding)
	}
}

// widePicture returns a picture with very wide texts. Its line jumps from one price to another in the middle.
func widePicture(symbol, before, after string, l chat.Language) picture {
	p := pictureOf(7*day, recordedAt(0, "1"))
	p.points = nil
	for i := range 20 {
		price := before
		if i >= 10 {
			price = after
		}
		p.points = append(p.points, recordedAt(7*day/20*time.Duration(19-i), price))
	}
	p.symbol = symbol
	p.language = l
	p.name = strings.Repeat("M", 40)
	p.handle = "@" + strings.Repeat("M", 32)
	p.quote.Price = number(after)
	p.quote.Change24h.Decimal = number("-100")
	p.quote.Change7d.Decimal = number("250000")
	p.quote.MarketCap.Decimal = number("999999999999999")
	return p
}

// checkMargins checks that the outermost 12 pixels of a picture are empty, and so is the margin at its right.
func checkMargins(t *testing.T, p picture) {
	t.Helper()
	const outer = 12
	drawn, err := p.draw()
	if err != nil {
		t.Fatal(err)
	}
	pic := pixels(t, drawn)
	background := pic.Pix[0]
	for i, c := range pic.Pix {
		x, y := i%width, i/width
		inMargin := min(x, y, height-1-y) < outer || x > width-margin
		if inMargin && c != background {
			t.Fatalf("%s %s, %d points: something is at %d, %d", p.symbol, p.language, len(p.points), x, y)
		}
	}
}

func TestNothingLeavesThePicture(t *testing.T) {
	for _, test := range []struct {
		symbol string
		before string
		after  string
	}{
		{"WWWWWWWWWWWWWWWWWWWW", "1e-18", "2.5e-15"},
		{"💎", "1e12", "9.99e14"},
		{"مال", "123456.78", "0.0123"},
		{"X", "0.000012345", "999999.994"},
		{"LOSS", "1", "1e-9"},
		{"Ω🚀", "0.0099999", "0.0099998"},
	} {
		for _, l := range []chat.Language{chat.Chinese, chat.Russian, chat.Vietnamese} {
			withLine := widePicture(test.symbol, test.before, test.after, l)
			checkMargins(t, withLine)
			withoutLine := withLine
			withoutLine.points = nil
			checkMargins(t, withoutLine)
		}
	}
}
