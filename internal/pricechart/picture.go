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

// minSeen is the part of a period that must be seen for a line.
const minSeen = 0.25

func (p picture) hasLine() bool { return p.seen() >= minSeen }

// bounds returns the lowest and the highest of the prices and one more.
func bounds(points []point, one decimal.Decimal) (lowest, highest decimal.Decimal) {
	lowest, highest = one, one
	for _, p := range points {
		lowest, highest = decimal.Min(lowest, p.Price), decimal.Max(highest, p.Price)
	}
	return lowest, highest
}

// periods are the names of periods in keys of messages.
var periods = map[time.Duration]string{day: "24h", 7 * day: "7d", 30 * day: "30d"}

// theme is the colors of a picture.
type theme struct{ background, grid, quiet, strong, up, down color.RGBA }

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: byte(hex >> 16), G: byte(hex >> 8), B: byte(hex), A: 255}
}

var (
	white  = rgb(0xFFFFFF)
	themes = map[bool]theme{ // by Settings.Light
		false: {background: rgb(0x0F1720), grid: rgb(0x1F2B38), quiet: rgb(0x9AA8B7), strong: rgb(0xF4F7FA), up: rgb(0x16C784), down: rgb(0xEA3943)},
		true:  {background: white, grid: rgb(0xE7ECF2), quiet: rgb(0x5B6776), strong: rgb(0x101828), up: rgb(0x0B9F65), down: rgb(0xD92D3A)},
	}
)

// ink is the color of a change in per cent, and the color of text on it.
func (t theme) ink(percent decimal.Decimal) (ink, on color.RGBA) {
	switch percent.Round(2).Sign() {
	case 1:
		return t.up, t.background
	case -1:
		return t.down, white
	}
	return t.quiet, t.background
}

// sheet is a picture on its canvas.
type sheet struct {
	picture
	theme
	*canvas
}

func (s sheet) small(size float64) style { return style{size: size, color: s.quiet} }
func (s sheet) big(size float64) style   { return style{size: size, bold: 1, color: s.strong} }

func (s sheet) say(v chat.Value) string { return words.Say(s.language, v) }

// draw returns the picture as a PNG without transparency: a chart, or where too
// little of the period was seen a card of what is known.
func (p picture) draw() ([]byte, error) {
	t := themes[p.Light]
	c := newCanvas(t.background)
	p.name = cmp.Or(c.known(p.name), "Herald")
	s := sheet{picture: p, theme: t, canvas: c}
	if p.hasLine() {
		s.chart()
	} else {
		s.card()
	}
	source := p.quote.Source
	if at := p.quote.LastUpdated; !at.IsZero() {
		source = strings.TrimPrefix(source+" · "+at.UTC().Format(p.language.Info().Day+", 15:04 UTC"), " · ")
	}
	s.text(s.small(30), margin, 776, 0, width, source)
	s.text(s.small(30), width-margin, 776, 1, width-3*margin-s.width(s.small(30), source), p.name)
	return c.png()
}

// title draws the logo, what the picture is about, and the price, at most so wide.
func (s sheet) title(period string, limit float64) {
	x := float64(margin)
	if s.Logo != nil {
		at := s.Logo.Bounds().Add(image.Pt(margin, 52-s.Logo.Bounds().Dy()/2))
		draw.Draw(s.RGBA, at, s.Logo, image.Point{}, draw.Over)
		x = float64(at.Max.X + 16)
	}
	title := strings.TrimPrefix(s.known(s.symbol)+" / USD", " / ") + period
	s.text(s.small(40), x, 66, 0, width-margin-x, title)
	s.text(s.big(104), margin-4, 175, 0, limit, s.price(s.quote.Price))
}

// figure is a number that may be missing, and the key of its name.
type figure struct {
	key    string
	number decimal.NullDecimal
}

// card draws the price, its changes, and that there is no line yet.
func (s sheet) card() {
	s.title("", width-2*margin)
	q := s.quote
	changes := []figure{
		{key: "price.1h", number: q.Change1h}, {key: "price.24h", number: q.Change24h},
		{key: "price.7d", number: q.Change7d}, {key: "price.30d", number: q.Change30d},
	}
	if s.to.Sub(s.from) == 30*day {
		changes = changes[1:]
	}
	missing := func(f figure) bool { return !f.number.Valid }
	x := float64(margin)
	for _, f := range slices.DeleteFunc(changes[:3], missing) {
		ink, _ := s.ink(f.number.Decimal)
		s.fill(ink, .14, box(x, 250, x+352, 440, 20))
		s.text(s.small(40), x+32, 312, 0, 288, s.say(chat.Say(f.key)))
		s.text(style{size: 56, bold: 1, color: ink}, x+32, 396, 0, 288, s.say(chat.Change{Decimal: f.number.Decimal}))
		x += 376
	}
	x = margin
	for _, f := range slices.DeleteFunc([]figure{{key: "price.cap", number: q.MarketCap}, {key: "price.volume", number: q.Volume24h}}, missing) {
		s.text(s.small(38), x, 530, 0, 352, s.say(chat.Say(f.key)))
		s.text(s.big(54), x, 592, 0, 352, s.say(chat.Money{Decimal: f.number.Decimal}))
		x += 376
	}
	if !q.LastUpdated.IsZero() {
		hours := chat.Count(s.seen() * s.to.Sub(s.from).Hours())
		text := chat.SayWith("picture.soon", chat.Values{"name": chat.Plain(s.name), "n": hours})
		s.text(s.small(34), margin, 690, 0, width-2*margin, s.say(text))
	}
}
