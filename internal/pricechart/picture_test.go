package pricechart

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/image/font"
	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/core"
)

var update = flag.Bool("update", false, "draw the pictures in testdata anew")

// walk is a price that wanders, every so often of a period: the same one every time.
func walk(period, every time.Duration, from, to float64) []point {
	r := rand.New(rand.NewPCG(1, 2))
	n := int(period / every)
	var points []point
	for i, off := 0, 0.0; i <= n; i++ {
		off = off*.97 + (r.Float64()-.5)*.012*from
		part := float64(i) / float64(n)
		price := decimal.NewFromFloat(from + (to-from)*part + off*math.Sqrt(1-part)).Round(int32(8 - math.Log10(from)))
		points = append(points, point{At: now.Add(-period + time.Duration(i)*every), Price: price})
	}
	return points
}

// ofPeriod is a picture of the period that ends with the last point.
func ofPeriod(period time.Duration, points ...point) picture {
	quote := changed(points[len(points)-1].Price.String(), now, "-0.31", "2.72", "-12.5")
	quote.Source = "CoinMarketCap"
	quote.Change30d = decimal.NewNullDecimal(number("48.25"))
	first, last := points[0].Price, points[len(points)-1].Price
	if len(points) > 1 {
		percent := last.Sub(first).Shift(2).DivRound(first, 2)
		*map[time.Duration]*decimal.NullDecimal{day: &quote.Change24h, 7 * day: &quote.Change7d, 30 * day: &quote.Change30d}[period] = decimal.NewNullDecimal(percent)
	}
	quote.MarketCap, quote.Volume24h = decimal.NewNullDecimal(number("25550000")), decimal.NewNullDecimal(number("1234567"))
	return picture{
		symbol: "HRLD", name: "Herald", handle: "@herald_bot", language: chat.English, quote: quote,
		from: now.Add(-period), to: now, points: points,
	}
}

// without returns points without the points of some time.
func without(points []point, from, to time.Duration) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.At.After(now.Add(-from)) && p.At.Before(now.Add(-to)) })
}

// nights returns points without 7 hours of each day.
func nights(points []point) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.At.Hour() < 7 })
}

// scenes are pictures by the names of their files.
func scenes() map[string]picture {
	week := func() []point { return walk(7*day, step, .04769, .04173) }
	with := func(p picture, change func(*picture)) picture {
		change(&p)
		return p
	}
	logo, _ := readLogo("testdata/logo.png")
	spike := week()
	spike[300].Price = spike[300].Price.Shift(3)
	month := pointsBetween(walk(17*day, step, .031, .04173), ofPeriod(30*day, week()...).quote, now.Add(-30*day), now)
	return map[string]picture{
		"plain": ofPeriod(7*day, week()...),
		"tiny":  ofPeriod(day, walk(day, step, 4.1e-6, 4.8e-6)...),
		"huge":  ofPeriod(30*day, walk(30*day, step, 1.21e12, 1.34e12)...),
		"flat": with(ofPeriod(7*day, week()...), func(p *picture) {
			p.quote.Price = number("1")
			for i := range p.points {
				p.points[i].Price = p.quote.Price
			}
			p.quote.Change7d.Decimal = decimal.Zero
		}),
		"point":     with(ofPeriod(7*day, seen(0, "0.04173")), func(p *picture) { p.points = pointsBetween(nil, p.quote, p.from, p.to) }),
		"gap":       ofPeriod(7*day, without(without(week(), 5*day, 4*day), 2*day, 20*time.Hour)...),
		"spike":     ofPeriod(7*day, spike...),
		"zh":        with(ofPeriod(7*day, walk(7*day, step, 1.1e12, 1.34e12)...), func(p *picture) { p.language = chat.Chinese }),
		"ru":        with(ofPeriod(day, walk(day, step, 61_234, 64_123)...), func(p *picture) { p.language, p.name = chat.Russian, "Пример Паспорт" }),
		"estimated": with(ofPeriod(30*day, month...), func(p *picture) { p.Logo = logo }),
		"old":       with(ofPeriod(7*day, week()...), func(p *picture) { p.quote.CurrentUntil = now }),
		"nights":    with(ofPeriod(7*day, nights(week())...), func(p *picture) { p.name = "社区" }),
		"fresh": with(ofPeriod(30*day, week()...), func(p *picture) {
			p.points = pointsBetween(walk(3*day, step, .0401, .04173), p.quote, p.from, p.to)
		}),
		"vi": with(ofPeriod(30*day, seen(0, "0.00000000000048")), func(p *picture) {
			p.language, p.name, p.symbol = chat.Vietnamese, strings.Repeat("Tên ", 10), "💎ABCDEFGHIJK"
			p.quote.Change24h.Decimal, p.quote.Change7d.Decimal = number("250000"), decimal.Zero
		}),
	}
}

// TestPictures compares pictures with those in testdata, which -update draws anew:
// look at each, also at 330 pixels of width, as on a phone.
func TestPictures(t *testing.T) {
	for name, p := range scenes() {
		drawn, err := p.draw()
		if err != nil {
			t.Fatal(err)
		}
		if len(drawn) > 60_000 {
			t.Errorf("%s has %d bytes", name, len(drawn))
		}
		file := filepath.Join("testdata", name+".png")
		if *update {
			if err := os.WriteFile(file, drawn, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if part := differing(pixels(t, drawn), pixels(t, golden)); part > .005 {
			t.Errorf("%s: %.2f %% of the pixels differ; -update, and look at it", file, 100*part)
		}
	}
}

// pixels decodes a picture, and checks its form.
func pixels(t *testing.T, content []byte) *image.Paletted {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	drawn, ok := decoded.(*image.Paletted)
	if !ok || !drawn.Opaque() || drawn.Bounds() != image.Rect(0, 0, width, height) {
		t.Fatalf("no opaque picture of its size with a palette: %T, %v", decoded, decoded.Bounds())
	}
	return drawn
}

// differing is the part of the pixels that differ by more than 24 of 255.
func differing(a, b *image.Paletted) float64 {
	n := 0
	for i := range a.Pix {
		p, q := a.Palette[a.Pix[i]].(color.RGBA), b.Palette[b.Pix[i]].(color.RGBA)
		if differ := func(a, b uint8) bool { return max(a, b)-min(a, b) > 24 }; differ(p.R, q.R) || differ(p.G, q.G) || differ(p.B, q.B) {
			n++
		}
	}
	return float64(n) / float64(width*height)
}

func TestLogoKeepsItsColor(t *testing.T) {
	p, purple := scenes()["plain"], color.RGBA{R: 139, G: 92, B: 246, A: 255}
	logo := image.NewRGBA(image.Rect(0, 0, logoHeight, logoHeight))
	draw.Draw(logo, logo.Bounds(), image.NewUniform(purple), image.Point{}, draw.Src)
	p.Logo = logo
	drawn, err := p.draw()
	if err != nil {
		t.Fatal(err)
	}
	if got := pixels(t, drawn).At(margin+logoHeight/2, titleY); got != purple {
		t.Errorf("the logo is %v, want %v", got, purple)
	}
}

func TestPicturesDrawnAtOnceDoNotMix(t *testing.T) {
	plain, point := scenes()["plain"], scenes()["point"]
	var want [2][]byte
	var all sync.WaitGroup
	for i, p := range []picture{plain, point} {
		want[i], _ = p.draw()
		for range 2 {
			all.Go(func() {
				if drawn, err := p.draw(); err != nil || !bytes.Equal(drawn, want[i]) {
					t.Errorf("picture %d is not what it is alone, %v", i, err)
				}
			})
		}
	}
	all.Wait()
}

// TestEveryLetterOnPicturesIsInAFont fails after a translation with a new letter:
// fonts/README.md says how to add it.
func TestEveryLetterOnPicturesIsInAFont(t *testing.T) {
	for _, l := range chat.Languages() {
		content, err := os.ReadFile("../words/locales/" + string(l) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var messages map[string]any
		if err := json.Unmarshal(content, &messages); err != nil {
			t.Fatal(err)
		}
		drawn := map[string]string{"of numbers": fmt.Sprint(l.Info().Units, l.Info().USD, l.Info().Percent, l.Info().Day)}
		for key, message := range messages {
			label := slices.Contains([]string{"price.1h", "price.24h", "price.7d", "price.30d", "price.cap", "price.volume", "chart.none"}, key)
			if label || strings.HasPrefix(key, "choice.") || strings.HasPrefix(key, "picture.") {
				drawn[key] = strings.ReplaceAll(fmt.Sprint(message), "{from}", "15:04 UTC")
			}
		}
		if len(drawn) < 13 {
			t.Errorf("%s: only %d messages", l, len(drawn))
		}
		c := newCanvas()
		for key, text := range drawn {
			for _, r := range text {
				for _, bold := range []bool{false, key == "of numbers"} {
					found := false
					c.letters(style{size: minText, bold: bold}, string(r), func(font.Face, rune) { found = true })
					if !found {
						t.Errorf("%s: %c of %s is in no font (bold: %v)", l, r, key, bold)
					}
				}
			}
		}
		for name, want := range map[string]string{"Ω₿\u00a0é\u202fW": "Ω₿\u00a0é\u202fW", "贷币社区将": "", "Moon 💎": "", "مال": "", "": ""} {
			if got := c.supported(name); got != want {
				t.Errorf("%q is drawn as %q, want %q", name, got, want)
			}
		}
	}
}

func TestPricesAreShort(t *testing.T) {
	for _, test := range []struct {
		language    chat.Language
		price, want string
	}{
		{chat.English, "0.04173", "$0.04173"}, {chat.English, "0.0001234", "$0.0001234"}, {chat.English, "0.00001234567", "$0.0₄1235"},
		{chat.English, "0.0000048", "$0.0₅48"}, {chat.English, "1e-18", "$0.0₁₇1"}, {chat.English, "0.000099999", "$0.0001000"},
		{chat.English, "64123.456", "$64,123.46"}, {chat.English, "999999.4", "$999,999.40"}, {chat.English, "1234567", "$1.23M"}, {chat.English, "1e12", "$1T"},
		{chat.Chinese, "1e12", "$1万亿"}, {chat.Chinese, "1234567", "$123.46万"}, {chat.Russian, "0.0000048", "0,0₅48\u00a0$"}, {chat.Vietnamese, "2e9", "2\u00a0tỷ\u00a0$"},
	} {
		p := picture{language: test.language}
		if got := p.price(number(test.price)); got != test.want {
			t.Errorf("%s: %s is %q, want %q", test.language, test.price, got, test.want)
		}
	}
}

func TestOnlyPointsCloseTogetherAreJoined(t *testing.T) {
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	whole := func() []point { return walk(day, 5*time.Minute, 1, 1) }
	for name, c := range map[string]struct {
		points  []point
		lines   string // how each point is joined with the one before it
		covered float64
	}{
		"a whole day":          {whole(), "", 1},
		"half a day":           {without(whole(), 2*day, hours(12)), "", 0.5},
		"a gap of 2 h":         {[]point{seen(hours(3), "1"), seen(hours(1), "1")}, " -", 2. / 24},
		"a gap of 2 h 1 min":   {[]point{seen(hours(3)+time.Minute, "1"), seen(hours(1), "1")}, "  ", 0},
		"points between gaps":  {[]point{seen(hours(20), "1"), seen(hours(10), "2"), seen(0, "1")}, "   ", 0},
		"an estimate far away": {[]point{estimate(day, "1"), seen(hours(1), "2"), seen(0, "1")}, " ~-", 1. / 24},
	} {
		p := ofPeriod(day, c.points...)
		var lines []byte
		for i := range p.points {
			switch {
			case !p.joined(i):
				lines = append(lines, ' ')
			case p.estimated(i):
				lines = append(lines, '~')
			default:
				lines = append(lines, '-')
			}
		}
		if covered := p.seen(); math.Abs(covered-c.covered) > 0.005 || c.lines != "" && string(lines) != c.lines {
			t.Errorf("%s: %v is seen, want %v; the lines are %q", name, covered, c.covered, lines)
		}
	}
}

func TestAxisHoldsPointsAndDifferentLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest := math.Pow(10, rapid.Float64Range(-18, 15).Draw(t, "power"))
		highest := lowest * (1 + rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 0.02, 1, 1e9}).Draw(t, "spread"))
		p := picture{language: rapid.SampledFrom(chat.Languages()).Draw(t, "language")}
		a := p.axis(decimal.NewFromFloat(lowest), decimal.NewFromFloat(highest), decimal.NewFromFloat(highest))
		if n := len(a.labels); n < 3 || n > 4 {
			t.Errorf("%g to %g: got %d labels, want 3 or 4", lowest, highest, n)
		}
		if a.low >= lowest || a.high <= highest {
			t.Errorf("got an axis from %g to %g, want more than %g to %g", a.low, a.high, lowest, highest)
		}
		labels := map[string]bool{}
		for i, price := range a.prices {
			labels[a.labels[i]] = true
			if price < max(a.low, 0) || price > a.high {
				t.Errorf("%g is outside %g to %g", price, a.low, a.high)
			}
		}
		if len(labels) != len(a.labels) {
			t.Errorf("%q has %d labels that differ, want %d", a.labels, len(labels), len(a.labels))
		}
		if !strings.ContainsAny(a.last, "123456789") {
			t.Errorf("the last price is %s, want a digit above 0", a.last)
		}
	})
}

func TestLabelsOfAnAxisHaveTheSameDecimals(t *testing.T) {
	for _, test := range []struct {
		lowest, highest, last string
		want                  []string
	}{
		{"0.0416", "0.0491", "0.04173", []string{"$0.0417", "$0.0420", "$0.0440", "$0.0460", "$0.0480"}},
		{"61234", "64123", "64123", []string{"$64,123", "$62,000", "$63,000", "$64,000"}},
		{"4.1e-6", "4.8e-6", "4.8e-6", []string{"$0.0₅480", "$0.0₅420", "$0.0₅440", "$0.0₅460", "$0.0₅480"}},
		{"12.3", "15.7", "15.7", []string{"$15.70", "$13.00", "$14.00", "$15.00"}},
		{"0.04", "40", "0.04", []string{"$0.04", "$0", "$20.00", "$40.00"}},
		{"1", "1e9", "1", []string{"$1.000", "$0B", "$0.500B", "$1.000B"}},
	} {
		a := picture{}.axis(number(test.lowest), number(test.highest), number(test.last))
		if got := append([]string{a.last}, a.labels...); !slices.Equal(got, test.want) {
			t.Errorf("%s to %s: %q, want %q", test.lowest, test.highest, got, test.want)
		}
	}
}

func TestAPictureNeedsLittleMemory(t *testing.T) {
	p, before, after := scenes()["huge"], runtime.MemStats{}, runtime.MemStats{}
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 4
	for range n {
		if _, err := p.draw(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 8<<20 {
		t.Errorf("a picture takes %d bytes", each)
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
		p := picture{symbol: symbol, language: chat.Russian, quote: quote, from: now.Add(-time.Duration(days) * day), to: now}
		p.points = pointsBetween(thinned(points), quote, p.from, p.to)
		if err != nil || periods[p.to.Sub(p.from)] == "" || !pointOf(quote).plausible() {
			return
		}
		b, err := p.draw()
		if err != nil {
			t.Fatal(err)
		}
		pixels(t, b)
	})
}
