package pricechart

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

const day = 24 * time.Hour

// picture is what a picture shows.
type picture struct {
	Settings
	symbol, name string
	language     chat.Language
	quote        core.Quote
	from, to     time.Time
	points       []point // of the period, sorted by time
}

// joined reports whether a line joins points[i] with the one before it. If they are
// further apart than a twelfth of the period, the price between them is not known.
// An estimate is joined however far it is.
func (p picture) joined(i int) bool {
	return i > 0 && (p.estimated(i) || p.points[i].At.Sub(p.points[i-1].At) <= p.to.Sub(p.from)/12)
}

// estimated reports whether the line to points[i] begins or ends at an estimate.
func (p picture) estimated(i int) bool {
	return p.points[i].Estimated || i > 0 && p.points[i-1].Estimated
}

// seen returns the part of the period, from 0 to 1, with a line between points that
// were seen.
func (p picture) seen() float64 {
	var covered time.Duration
	for i, next := range p.points {
		if p.joined(i) && !p.estimated(i) {
			covered += next.At.Sub(p.points[i-1].At)
		}
	}
	return covered.Seconds() / p.to.Sub(p.from).Seconds()
}

const (
	// minSeen is the part of a period that must be seen for a line.
	minSeen = 0.25
	// wholeSeen is the part that must be seen for the lowest and the highest price.
	wholeSeen = 0.95
)

func (p picture) hasLine() bool { return p.seen() >= minSeen }

// recorded returns the points that were seen.
func (p picture) recorded() []point {
	return slices.DeleteFunc(slices.Clone(p.points), func(p point) bool { return p.Estimated })
}

// extremes returns the lowest and the highest price seen, or zeros if less than wholeSeen
// of the period was.
func (p picture) extremes() (lowest, highest decimal.Decimal) {
	if p.seen() < wholeSeen {
		return lowest, highest
	}
	low, high := bounds(p.recorded())
	return low.Price, high.Price
}

// change returns the provider's change over the period. If the provider tells none, it
// is the change from the first to the last price seen, where the line begins with the
// period.
func (p picture) change() decimal.NullDecimal {
	told, seen := p.quote.Changes()[p.to.Sub(p.from)], p.recorded()
	if told.Valid || !p.hasLine() || seen[0].At.Sub(p.from) > p.to.Sub(p.from)/24 {
		return told
	}
	first, last := seen[0].Price, seen[len(seen)-1].Price
	return decimal.NewNullDecimal(last.Sub(first).Shift(2).DivRound(first, 2))
}

// bounds returns the points, one at least, with the lowest and the highest price.
func bounds(points []point) (lowest, highest point) {
	byPrice := func(a, b point) int { return a.Price.Cmp(b.Price) }
	return slices.MinFunc(points, byPrice), slices.MaxFunc(points, byPrice)
}

// periods are the names of periods in keys of messages.
var periods = map[time.Duration]string{time.Hour: "1h", day: "24h", 7 * day: "7d", 30 * day: "30d"}

// theme is the colors of a picture.
type theme struct{ background, grid, quiet, strong, up, down, warning color.RGBA }

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: byte(hex >> 16), G: byte(hex >> 8), B: byte(hex), A: 255}
}

var (
	white  = rgb(0xFFFFFF)
	themes = map[bool]theme{ // by Settings.Light
		false: {background: rgb(0x0F1720), grid: rgb(0x1F2B38), quiet: rgb(0x9AA8B7), strong: rgb(0xF4F7FA), up: rgb(0x16C784), down: rgb(0xEA3943), warning: rgb(0xF5A524)},
		true:  {background: white, grid: rgb(0xE7ECF2), quiet: rgb(0x5B6776), strong: rgb(0x101828), up: rgb(0x0B9F65), down: rgb(0xD92D3A), warning: rgb(0xB54708)},
	}
)

// sheet is a picture on its canvas.
type sheet struct {
	picture
	theme
	*canvas
}

// ink is the color of a change in per cent, and the color of text on it.
func (s sheet) ink(percent decimal.NullDecimal) (ink, on color.RGBA) {
	drift := percent.Decimal.Round(2).Sign()
	switch {
	case s.quote.Old():
		return s.warning, s.background
	case drift > 0:
		return s.up, s.background
	case drift < 0:
		return s.down, white
	}
	return s.quiet, s.background
}

func (s sheet) small(size float64) style { return style{size: size, color: s.quiet} }
func (s sheet) big(size float64) style   { return style{size: size, bold: 1, color: s.strong} }

func (s sheet) say(v chat.Value) string { return words.Say(s.language, v) }

// draw returns the picture as a PNG without transparency: a chart, or where too
// little of the period was seen a card of what is known.
func (p picture) draw() ([]byte, error) {
	t := themes[p.Light]
	c := newCanvas(t.background)
	s := sheet{picture: p, theme: t, canvas: c}
	if p.hasLine() {
		s.chart()
	} else {
		s.card()
	}
	source := p.quote.Source
	if !p.quote.LastUpdated.IsZero() && !p.quote.Old() {
		source = strings.TrimPrefix(source+" · "+p.updated(), " · ")
	}
	s.text(s.small(30), margin, 776, 0, width, source)
	name := c.drawable(cmp.Or(p.name, "Herald"))
	s.text(s.small(30), width-margin, 776, 1, width-3*margin-s.width(s.small(30), source), name)
	return c.png()
}

// updated is when the provider updated the quote.
func (p picture) updated() string {
	return p.quote.LastUpdated.UTC().Format(p.language.Info().Day + ", 15:04 UTC")
}

// title draws the logo, what the picture is about, and the price, at most so wide.
func (s sheet) title(period string, limit float64) {
	x := float64(margin)
	if s.Logo != nil {
		at := s.Logo.Bounds().Add(image.Pt(margin, 52-s.Logo.Bounds().Dy()/2))
		draw.Draw(s.RGBA, at, s.Logo, image.Point{}, draw.Over)
		x = float64(at.Max.X + 16)
	}
	title := strings.TrimPrefix(s.drawable(s.symbol)+" / USD", " / ") + period
	s.text(s.small(40), x, 66, 0, width-margin-x, title)
	s.text(s.big(104), margin-4, 175, 0, limit, s.price(s.quote.Price))
}

// card draws the price, two more changes unless it is old, how much of the period was
// recorded, and the line of that part.
func (s sheet) card() {
	s.header()
	q, x, period := s.quote, float64(margin), periods[s.to.Sub(s.from)]
	for _, over := range []time.Duration{time.Hour, day, 7 * day} {
		percent := q.Changes()[over]
		if !percent.Valid || q.Old() || periods[over] == period || x > 424 {
			continue
		}
		ink, _ := s.ink(percent)
		s.fill(ink, .14, box(x, 260, x+352, 450, 20))
		s.text(s.small(40), x+32, 322, 0, 288, s.say(chat.Say("price."+periods[over])))
		s.text(style{size: 56, bold: 1, color: ink}, x+32, 406, 0, 288, s.say(chat.Change{Decimal: percent.Decimal}))
		x += 376
	}
	x = margin
	for i, sum := range []decimal.NullDecimal{q.MarketCap, q.Volume24h} {
		if sum.Valid {
			s.text(s.small(38), x, 530, 0, 352, s.say(chat.Say([]string{"price.cap", "price.volume"}[i])))
			s.text(s.big(54), x, 592, 0, 352, s.say(chat.Money{Decimal: sum.Decimal}))
			x += 376
		}
	}
	if len(s.points) > 0 {
		n := s.seen() * map[string]float64{"24h": 24, "7d": 7, "30d": 30}[period]
		text := chat.SayWith("picture.soon", chat.Values{"n": chat.Count(n), "period": chat.Say("choice." + period)})
		s.text(s.small(34), margin, 690, 0, 728, s.say(text))
		lowest, highest := bounds(s.points)
		a := s.axis(lowest.Price, highest.Price, q.Price)
		s.line(s.plot(800, width-margin-9, 280, a))
	}
}
