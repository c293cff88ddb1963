package pricechart

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
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

	"herald/internal/chat"
	"herald/internal/core"
)

var update = flag.Bool("update", false, "draw the pictures in testdata anew")

// week returns points of a week.
func week() []point { return walk(7*day, step, .04769, .04173) }

// scenes returns pictures by the names of their files.
func scenes() map[string]picture {
	return map[string]picture{
		"plain":     pictureOf(7*day, week()...),
		"tiny":      pictureOf(day, walk(day, step, 4.1e-6, 4.8e-6)...),
		"huge":      pictureOf(30*day, walk(30*day, step, 1.21e12, 1.34e12)...),
		"flat":      flat(),
		"point":     onePoint(),
		"gap":       pictureOf(7*day, without(without(week(), 5*day, 4*day), 2*day, 20*time.Hour)...),
		"spike":     spike(),
		"zh":        inChinese(),
		"ru":        inRussian(),
		"vi":        inVietnamese(),
		"estimated": estimatedWithLogo(),
		"old":       oldQuote(),
		"nights":    nightsMissing(),
		"fresh":     newBot(),
	}
}

// flat has the same price all week.
func flat() picture {
	p := pictureOf(7*day, week()...)
	p.quote.Price = number("1")
	p.quote.Change7d.Decimal = decimal.Zero
	for i := range p.points {
		p.points[i].Price = p.quote.Price
	}
	return p
}

// onePoint has only the current price, and so no line.
func onePoint() picture {
	p := pictureOf(7*day, recordedAt(0, "0.04173"))
	p.points = pointsBetween(nil, p.quote, p.from, p.to)
	return p
}

// spike has one price that is a thousand times higher.
func spike() picture {
	points := week()
	points[300].Price = points[300].Price.Shift(3)
	return pictureOf(7*day, points...)
}

func inChinese() picture {
	p := pictureOf(7*day, walk(7*day, step, 1.1e12, 1.34e12)...)
	p.language = chat.Chinese
	return p
}

func inRussian() picture {
	p := pictureOf(day, walk(day, step, 61_234, 64_123)...)
	p.language = chat.Russian
	p.name = "Пример Паспорт"
	return p
}

// inVietnamese has no line, and a long name and symbol.
func inVietnamese() picture {
	p := pictureOf(30*day, recordedAt(0, "0.00000000000048"))
	p.language = chat.Vietnamese
	p.name = strings.Repeat("Tên ", 10)
	p.symbol = "💎ABCDEFGHIJK"
	p.quote.Change24h.Decimal = number("250000")
	p.quote.Change7d.Decimal = decimal.Zero
	return p
}

// estimatedWithLogo has 17 days of a month, and an estimate before them.
func estimatedWithLogo() picture {
	quote := pictureOf(30*day, week()...).quote
	month := pointsBetween(walk(17*day, step, .031, .04173), quote, now.Add(-30*day), now)
	p := pictureOf(30*day, month...)
	p.Logo, _ = readLogo("testdata/logo.png")
	return p
}

func oldQuote() picture {
	p := pictureOf(7*day, week()...)
	p.quote.CurrentUntil = now
	return p
}

func nightsMissing() picture {
	p := pictureOf(7*day, withoutNights(week())...)
	p.name = "社区"
	return p
}

// newBot has three days of a month, and estimates before them.
func newBot() picture {
	p := pictureOf(30*day, week()...)
	p.points = pointsBetween(walk(3*day, step, .0401, .04173), p.quote, p.from, p.to)
	return p
}

// TestPictures compares pictures with those in testdata, which -update draws again. After -update, look at each
// picture, and look at it at a width of 330 pixels, as on a phone.
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

// differing returns the part of the pixels, from 0 to 1, whose red, green or blue differs by more than 24 of 255.
func differing(a, b *image.Paletted) float64 {
	differ := func(a, b uint8) bool { return max(a, b)-min(a, b) > 24 }
	n := 0
	for i := range a.Pix {
		p := a.Palette[a.Pix[i]].(color.RGBA)
		q := b.Palette[b.Pix[i]].(color.RGBA)
		if differ(p.R, q.R) || differ(p.G, q.G) || differ(p.B, q.B) {
			n++
		}
	}
	return float64(n) / float64(width*height)
}

func TestLogoKeepsItsColor(t *testing.T) {
	purple := color.RGBA{R: 139, G: 92, B: 246, A: 255}
	logo := image.NewRGBA(image.Rect(0, 0, logoHeight, logoHeight))
	draw.Draw(logo, logo.Bounds(), image.NewUniform(purple), image.Point{}, draw.Src)
	p := scenes()["plain"]
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
	var all sync.WaitGroup
	for _, name := range []string{"plain", "point"} {
		p := scenes()[name]
		alone, _ := p.draw()
		for range 2 {
			all.Go(func() {
				if drawn, err := p.draw(); err != nil || !bytes.Equal(drawn, alone) {
					t.Errorf("%s differs from the picture that is drawn alone, %v", name, err)
				}
			})
		}
	}
	all.Wait()
}

// drawnTexts returns the texts that pictures may have in a language, by the keys of messages. Under ofNumbers, it
// returns the letters of numbers and dates.
func drawnTexts(t *testing.T, l chat.Language) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../words/locales/" + string(l) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]any
	if err := json.Unmarshal(content, &messages); err != nil {
		t.Fatal(err)
	}
	labels := []string{
		"price.1h", "price.24h", "price.7d", "price.30d", "price.cap", "price.volume", "chart.none",
	}
	info := l.Info()
	texts := map[string]string{ofNumbers: fmt.Sprint(info.Units, info.USD, info.Percent, info.Day)}
	for key, message := range messages {
		isDrawn := strings.HasPrefix(key, "choice.") || strings.HasPrefix(key, "picture.")
		if isDrawn || slices.Contains(labels, key) {
			texts[key] = strings.ReplaceAll(fmt.Sprint(message), "{from}", "15:04 UTC")
		}
	}
	return texts
}

const ofNumbers = "of numbers"

// TestEveryLetterOnPicturesIsInAFont fails after a translation with a new letter. fonts/README.md says how to add it.
func TestEveryLetterOnPicturesIsInAFont(t *testing.T) {
	c := newCanvas()
	hasLetter := func(r rune, bold bool) bool {
		found := false
		c.letters(style{size: minText, bold: bold}, string(r), func(font.Face, rune) { found = true })
		return found
	}
	for _, l := range chat.Languages() {
		texts := drawnTexts(t, l)
		if len(texts) < 13 {
			t.Errorf("%s: only %d messages", l, len(texts))
		}
		for key, text := range texts {
			for _, r := range text {
				if !hasLetter(r, false) || key == ofNumbers && !hasLetter(r, true) {
					t.Errorf("%s: %c of %s is in no font", l, r, key)
				}
			}
		}
	}
}

func TestANameWithALetterInNoFontIsNotDrawn(t *testing.T) {
	c := newCanvas()
	for name, want := range map[string]string{
		"Ω₿\u00a0é\u202fW": "Ω₿\u00a0é\u202fW",
		"贷币社区将":            "",
		"Moon 💎":           "",
		"مال":              "",
		"":                 "",
	} {
		if got := c.supported(name); got != want {
			t.Errorf("%q is drawn as %q, want %q", name, got, want)
		}
	}
}

func TestAPictureNeedsLittleMemory(t *testing.T) {
	const pictures = 4
	const maxBytes = 8 << 20
	p := scenes()["huge"]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range pictures {
		if _, err := p.draw(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / pictures; each > maxBytes {
		t.Errorf("a picture takes %d bytes", each)
	}
}

// FuzzDraw draws pictures of everything that a store and a quote could hold.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(`[{"t":1795189632,"p":"1"},{"t":1795275000,"p":"2.5"}]`), "1.5", "10", uint8(1), "ETH")
	f.Add([]byte(`[{"t":1795189632,"p":"1e-29"},{"t":1795275000,"p":"1e29"}]`), "1e15", "-99.9", uint8(7), "价格")
	f.Add([]byte(`[{"t":99999999999999,"p":"1"}]`), "-1", "1e300", uint8(30), "\xff")
	f.Fuzz(func(t *testing.T, stored []byte, price, percent string, days uint8, symbol string) {
		points, err := decode(stored)
		quote := core.Quote{LastUpdated: now}
		quote.Price, _ = decimal.NewFromString(price)
		change, changeErr := decimal.NewFromString(percent)
		if changeErr == nil && change.Exponent() > -100 && change.Exponent() < 100 {
			quote.Change24h = decimal.NewNullDecimal(change)
		}
		p := picture{
			symbol:   symbol,
			language: chat.Russian,
			quote:    quote,
			from:     now.Add(-time.Duration(days) * day),
			to:       now,
		}
		p.points = pointsBetween(thinned(points), quote, p.from, p.to)
		isPeriod := periods[p.to.Sub(p.from)] != ""
		if err != nil || !isPeriod || !pointOf(quote).isPossible() {
			return
		}
		b, err := p.draw()
		if err != nil {
			t.Fatal(err)
		}
		pixels(t, b)
	})
}
