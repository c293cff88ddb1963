package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/wcharczuk/go-chart/v2/drawing"
	"pgregory.net/rapid"
)

var to = time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)

// day is a picture of 24 hours with points that many minutes before its end.
func day(points ...Point) Picture {
	return Picture{
		Title: "ETH, 24 h", Seen: "seen", Estimated: "estimated",
		From: to.Add(-24 * time.Hour), To: to, Points: points,
		Money:  func(usd float64) string { return fmt.Sprintf("$%.4g", usd) },
		Moment: func(t time.Time) string { return t.Format("15:04") },
	}
}

func seen(minutes int, price float64) Point {
	return Point{At: to.Add(-time.Duration(minutes) * time.Minute), Price: price}
}

func estimated(minutes int, price float64) Point {
	p := seen(minutes, price)
	p.Estimated = true
	return p
}

// every makes points of a wave, one in so many minutes, between the two.
func every(step, from, to int) []Point {
	var points []Point
	for m := from; m >= to; m -= step {
		points = append(points, seen(m, 0.04*(1+0.1*math.Sin(float64(m)/200))))
	}
	return points
}

func draw(t testing.TB, p Picture) image.Image {
	t.Helper()
	b, err := Draw(p)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	opaque, ok := picture.(interface{ Opaque() bool })
	if picture.Bounds() != image.Rect(0, 0, Width, Height) || !ok || !opaque.Opaque() {
		t.Errorf("something shines through, or the size is wrong: %v", picture.Bounds())
	}
	return picture
}

// runs are how many separate stretches of columns hold the colour, below the
// heading.
func runs(picture image.Image, c drawing.Color) int {
	pixels := picture.(*image.RGBA) // as png decodes what has no transparency
	count, before := 0, false
	for x := range Width {
		here := false
		for y := 56; y < Height && !here; y++ {
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
	gap := func(minutes int) []Point { return append(every(5, 23*60, 11*60), every(5, 11*60-minutes, 0)...) }
	for name, c := range map[string]struct {
		points          []Point
		seen, estimates int // parts of the lines
	}{
		"a whole day":           {every(5, 24*60, 0), 1, 0},
		"a gap of 2 h":          {gap(120), 1, 0},
		"a gap of 2 h 1 min":    {gap(121), 2, 0},
		"points between gaps":   {[]Point{seen(1200, 1), seen(600, 2), seen(0, 1)}, 3, 0},
		"in any order":          {[]Point{seen(0, 1), seen(200, 2), seen(100, 1)}, 1, 0},
		"of every size":         {[]Point{seen(200, 1e-280), seen(100, 4e299), seen(0, 4e299)}, 1, 0},
		"an estimate far away":  {[]Point{estimated(24*60, 1), seen(0, 2)}, 1, 1},
		"a dashed line between": {[]Point{seen(100, 1), estimated(0, 1)}, 1, 4},
	} {
		picture := draw(t, day(c.points...))
		// How many dashes a line has depends on its length.
		if s, e := runs(picture, seenColor), runs(picture, estimateColor); s != c.seen || e < c.estimates || e > c.estimates && c.estimates < 4 {
			t.Errorf("%s: %d parts in the one colour and %d in the other, want %d and %d", name, s, e, c.seen, c.estimates)
		}
	}
}

func TestTooFewPointsAreRefused(t *testing.T) {
	for name, points := range map[string][]Point{
		"none":               nil,
		"one moment":         {seen(5, 1), seen(5, 2), estimated(5, 3)},
		"one in the period":  {seen(24*60+1, 1), seen(5, 2), seen(-1, 2)},
		"all of last summer": every(5, 200_000, 190_000),
	} {
		p := day(points...)
		if _, err := Draw(p); !errors.Is(err, ErrTooFewPoints) {
			t.Errorf("%s: %v", name, err)
		}
		if p.Covered() != 0 {
			t.Errorf("%s: covered", name)
		}
	}
}

func TestImpossiblePicturesAreRefused(t *testing.T) {
	for _, price := range []float64{0, -1, math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if _, err := Draw(day(seen(5, 1), seen(0, price))); err == nil || errors.Is(err, ErrTooFewPoints) {
			t.Errorf("a price of %v: %v", price, err)
		}
	}
	if _, err := Draw(day(make([]Point, mostPoints+1)...)); err == nil {
		t.Error("more points than allowed are drawn")
	}
	for _, from := range []time.Time{to, to.Add(time.Hour), to.Add(-59 * time.Second), to.Add(-1)} {
		p := day(Point{At: to.Add(-time.Second), Price: 1}, seen(0, 1))
		p.From = from
		if _, err := Draw(p); err == nil || p.Covered() != 0 {
			t.Errorf("a period from %v to %v is drawn", from, to)
		}
	}
}

func TestAxesHoldTheirPointsAndTellLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := math.Pow(10, rapid.Float64Range(-290, 290).Draw(t, "power"))
		most := least * (1 + rapid.SampledFrom([]float64{0, 1e-16, 1e-9, 1e-3, 0.02, 1, 1e9}).Draw(t, "spread"))
		p := day(seen(5, least), seen(0, most))
		axis := priceAxis(p.Points)
		ticks := p.priceTicks(axis)
		if len(ticks) < 3 || len(ticks) > 8 {
			t.Errorf("%d prices at the axis from %g to %g", len(ticks), least, most)
		}
		slack := 1e-9 * most / axis.unit
		if ticks[0].Value > least/axis.unit+slack || ticks[len(ticks)-1].Value < most/axis.unit-slack {
			t.Errorf("the axis ends at %v and %v, inside %g to %g", ticks[0], ticks[len(ticks)-1], least, most)
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
	for period, step := range map[time.Duration]time.Duration{
		time.Hour: 10 * time.Minute, 6 * time.Hour: time.Hour, 24 * time.Hour: 4 * time.Hour,
		7 * 24 * time.Hour: 24 * time.Hour, 30 * 24 * time.Hour: 5 * 24 * time.Hour, 90 * 24 * time.Hour: 15 * 24 * time.Hour,
		100 * 365 * 24 * time.Hour: 100 * 365 * 4 * time.Hour,
	} {
		p := day()
		p.From = p.To.Add(-period)
		ticks := p.timeTicks()
		if n := len(ticks); n < 6 || n > 11 || ticks[0].Label != "" || ticks[n-1].Label != "" {
			t.Errorf("%v: %v", period, ticks)
		}
		for _, tick := range ticks[1 : len(ticks)-1] {
			at := time.Unix(int64(tick.Value), 0)
			if period/6 != step && !at.Equal(at.Truncate(step)) || !at.After(p.From) || !at.Before(p.To) {
				t.Errorf("%v: a label at %v", period, at)
			}
		}
	}
}

func TestTextThatCannotBeDrawnIsLeftOut(t *testing.T) {
	plain := day(every(30, 24*60, 0)...)
	plain.Points[3].Estimated = true
	plain.Title, plain.Seen, plain.Estimated = "", "", ""
	want, err := Draw(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"价格", "\u202eETH", "zero\u200bwidth", "line\nbreak", "\xff", strings.Repeat("W", 10_000)} {
		p := plain
		p.Title, p.Seen, p.Estimated = text, text, text
		if got, err := Draw(p); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%.20q changes the picture (%v)", text, err)
		}
	}
	p := plain
	p.Title = "Цена, giá, fiyatı, niño"
	if got, err := Draw(p); err != nil || bytes.Equal(got, want) {
		t.Errorf("a title that can be drawn is left out (%v)", err)
	}
}

func TestLabelsThatCannotBeDrawnBecomeDigits(t *testing.T) {
	p := day(seen(60, 1e-12), seen(0, 2e-12))
	p.Money = func(float64) string { return "价格" }
	p.Moment = func(time.Time) string { return strings.Repeat("x", mostLabel+1) }
	if label := p.priceTicks(priceAxis(p.Points))[1].Label; label != "$1.5e-12" {
		t.Errorf("price %q", label)
	}
	if label := p.timeTicks()[1].Label; label != "11-20 20:00" {
		t.Errorf("time %q", label)
	}
}

func TestCoveredIsThePartThatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		points []Point
		want   float64
	}{
		"all":                  {every(5, 24*60, 0), 1},
		"half":                 {every(5, 12*60, 0), 0.5},
		"two quarters":         {append(every(5, 24*60, 18*60), every(5, 6*60, 0)...), 0.5},
		"estimates":            {[]Point{estimated(100, 1), seen(0, 1)}, 0},
		"points far apart":     {every(121, 24*60, 0), 0},
		"more than the period": {every(5, 48*60, -60), 1},
	} {
		if got := day(c.points...).Covered(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// FuzzDraw draws pictures of few points with any numbers and words.
func FuzzDraw(f *testing.F) {
	f.Add(1.0, 2.0, uint32(86400), int32(-3600), "ETH", true)
	f.Add(1e-12, 1e15, uint32(7*86400), int32(0), "价格", false)
	f.Add(math.NaN(), -1.0, uint32(math.MaxUint32), int32(math.MinInt32), "\xff", false)
	f.Fuzz(func(t *testing.T, a, b float64, period uint32, at int32, words string, estimated bool) {
		from := to.Add(-time.Duration(period) * time.Second)
		p := day(Point{to, a, false}, Point{from, b, estimated}, Point{to.Add(time.Duration(at) * time.Second), a, true})
		p.From, p.Title, p.Seen, p.Estimated = from, words, words, words
		p.Money = func(float64) string { return words }
		p.Moment = func(time.Time) string { return words }
		if b, err := Draw(p); err == nil {
			if _, err := png.DecodeConfig(bytes.NewReader(b)); err != nil {
				t.Error(err)
			}
		}
	})
}
