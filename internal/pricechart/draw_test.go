package pricechart

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/png"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/wcharczuk/go-chart/v2/drawing"
	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// TestTheFontIsLoadedByMany finds a race of the first two to need the font, so it
// must be the first test to need it: go test -race -run TheFontIsLoaded.
func TestTheFontIsLoadedByMany(t *testing.T) {
	var many sync.WaitGroup
	for range 2 {
		many.Go(func() {
			if !canDraw("0") {
				t.Error("the font has no digits")
			}
		})
		many.Go(func() {
			if _, err := ofADay(seen(10*time.Minute, "1"), seen(0, "2")).draw(); err != nil {
				t.Error(err)
			}
		})
	}
	many.Wait()
}

// ofADay is a picture of 24 hours.
func ofADay(points ...point) picture {
	return picture{symbol: "TKN", language: chat.English, from: now.Add(-day), to: now, points: points}
}

// every makes points of a wave, one in so many minutes, from so many minutes ago to
// so many.
func every(step, from, to int) []point {
	var points []point
	for m := from; m >= to; m -= step {
		price := 0.04 * (1 + 0.1*math.Sin(float64(m)/200))
		points = append(points, point{At: now.Add(-time.Duration(m) * time.Minute), Price: decimal.NewFromFloat(price)})
	}
	return points
}

func decoded(t *testing.T, p picture) image.Image {
	t.Helper()
	b, err := p.draw()
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	opaque, ok := drawn.(interface{ Opaque() bool })
	if drawn.Bounds() != image.Rect(0, 0, width, height) || !ok || !opaque.Opaque() {
		t.Errorf("something shines through, or the size is wrong: %v", drawn.Bounds())
	}
	return drawn
}

// runs are how many separate stretches of columns hold the colour, below the
// heading.
func runs(drawn image.Image, c drawing.Color) int {
	pixels := drawn.(*image.RGBA) // as png decodes what has no transparency
	count, before := 0, false
	for x := range width {
		here := false
		for y := 56; y < height && !here; y++ {
			p := pixels.RGBAAt(x, y)
			here = p.R == c.R && p.G == c.G && p.B == c.B
		}
		if here && !before {
			count++
		}
		before = here
	}
	return count
}

func TestOnlyPointsCloseTogetherAreJoined(t *testing.T) {
	gap := func(minutes int) []point { return append(every(5, 23*60, 11*60), every(5, 11*60-minutes, 0)...) }
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	for name, c := range map[string]struct {
		points          []point
		seen, estimates int // parts of the lines
		covered         float64
	}{
		"a whole day":           {every(5, 24*60, 0), 1, 0, 1},
		"half a day":            {every(5, 12*60, 0), 1, 0, 0.5},
		"a gap of 2 h":          {gap(120), 1, 0, 23. / 24},
		"a gap of 2 h 1 min":    {gap(121), 2, 0, 21. / 24},
		"points between gaps":   {[]point{seen(hours(20), "1"), seen(hours(10), "2"), seen(0, "1")}, 3, 0, 0},
		"of every size":         {[]point{seen(hours(4), "1e-29"), seen(hours(2), "9e29"), seen(0, "9e29")}, 1, 0, 4. / 24},
		"an estimate far away":  {[]point{estimate(day, "1"), seen(0, "2")}, 1, 1, 0},
		"a dashed line between": {[]point{seen(hours(2), "1"), estimate(0, "1")}, 1, 4, 0},
	} {
		p := ofADay(c.points...)
		drawn := decoded(t, p)
		// How many dashes a line has depends on its length.
		if s, e := runs(drawn, seenColor), runs(drawn, estimateColor); s != c.seen || e < c.estimates || e > c.estimates && c.estimates < 4 {
			t.Errorf("%s: %d parts in the one colour and %d in the other, want %d and %d", name, s, e, c.seen, c.estimates)
		}
		if covered := p.seen(); math.Abs(covered-c.covered) > 0.005 {
			t.Errorf("%s: %v is seen, want %v", name, covered, c.covered)
		}
	}
}

func TestAxesHoldTheirPointsAndTellLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest := math.Pow(10, rapid.Float64Range(-15, 12).Draw(t, "power"))
		highest := lowest * (1 + rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 0.02, 1, 1e9}).Draw(t, "spread"))
		p := ofADay(seen(5, fmt.Sprint(lowest)), seen(0, fmt.Sprint(highest)))
		ticks := p.priceTicks()
		if len(ticks) < 3 || len(ticks) > 8 {
			t.Errorf("%d prices at the axis from %g to %g", len(ticks), lowest, highest)
		}
		slack := 1e-9 * highest
		if ticks[0].Value > lowest+slack || ticks[len(ticks)-1].Value < highest-slack {
			t.Errorf("the axis ends at %v and %v, inside %g to %g", ticks[0], ticks[len(ticks)-1], lowest, highest)
		}
		labels := map[string]bool{}
		for _, tick := range ticks {
			labels[tick.Label] = true
		}
		if len(labels) != len(ticks) {
			t.Errorf("labels repeat: %v", ticks)
		}
	})
}

func TestTimesAtTheAxisAreRound(t *testing.T) {
	for period, step := range map[time.Duration]time.Duration{day: 4 * time.Hour, 7 * day: day, 30 * day: 5 * day} {
		p := ofADay()
		p.from = p.to.Add(-period)
		ticks := p.timeTicks()
		if n := len(ticks); n < 7 || n > 9 || ticks[0].Label != "" || ticks[n-1].Label != "" {
			t.Errorf("%v: %v", period, ticks)
		}
		for _, tick := range ticks[1 : len(ticks)-1] {
			at := time.Unix(int64(tick.Value), 0)
			if !at.Equal(at.Truncate(step)) || !at.After(p.from) || !at.Before(p.to) || period == day && tick.Label != at.UTC().Format("15:04") {
				t.Errorf("%v: a label at %v", period, at)
			}
		}
	}
}

func TestAPictureIsLabelledInItsLanguage(t *testing.T) {
	days := map[chat.Language]string{chat.English: "Nov 21", chat.Chinese: "11/21", chat.Russian: "21.11", chat.Turkish: "21.11"}
	for _, l := range chat.Languages() {
		p := ofADay(seen(time.Hour, "1234567.5"), seen(0, "2234567.5"))
		p.language = l
		for _, tick := range p.priceTicks() {
			if want := words.Say(l, chat.Price{Decimal: decimal.NewFromFloat(tick.Value)}); tick.Label != want || !canDraw(want) {
				t.Errorf("%s: the price is %q, want %q", l, tick.Label, want)
			}
		}
		p.from = p.to.Add(-7 * day)
		ticks := p.timeTicks()
		if got, want := ticks[len(ticks)-2].Label, cmp.Or(days[l], "21/11"); got != want || !canDraw(want) {
			t.Errorf("%s: the day is %q, want %q", l, got, want)
		}
		if l == chat.Chinese { // Its letters are not in the font.
			l = chat.English
		}
		for _, key := range []string{"chart.title", "chart.seen", "chart.estimated"} {
			if want := words.Say(l, chat.SayWith(key, chat.Values{"symbol": chat.Plain("TKN")})); p.say(key) != want {
				t.Errorf("%s: %q, want %q", l, p.say(key), want)
			}
		}
	}
}

// FuzzDraw draws pictures of whatever a store and a quote could hold.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(`[{"t":1795189632,"p":"1"},{"t":1795275000,"p":"2.5"}]`), "1.5", "10", uint8(1), "ETH")
	f.Add([]byte(`[{"t":1795189632,"p":"1e-29"},{"t":1795275000,"p":"1e29"}]`), "1e15", "-99.9", uint8(7), "价格")
	f.Add([]byte(`[{"t":99999999999999,"p":"1"}]`), "-1", "1e300", uint8(30), "\xff")
	f.Fuzz(func(t *testing.T, stored []byte, price, percent string, days uint8, symbol string) {
		points, err := decode(stored)
		quote := core.Quote{LastUpdated: now}
		quote.Price, _ = decimal.NewFromString(price)
		if change, err := decimal.NewFromString(percent); err == nil && change.Exponent() > -100 && change.Exponent() < 100 {
			quote.Change24h = decimal.NewNullDecimal(change)
		}
		p := picture{symbol: symbol, language: chat.Russian, from: now.Add(-time.Duration(days) * day), to: now}
		p.points = known(thinned(points), quote, p.from, p.to)
		if err != nil || days == 0 || len(p.points) < 2 {
			return
		}
		b, err := p.draw()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.DecodeConfig(bytes.NewReader(b)); err != nil {
			t.Error(err)
		}
	})
}
