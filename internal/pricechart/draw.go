package pricechart

import (
	"image"
	"image/color"
	"image/draw"
	"math"
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

// bounds returns the lowest and the highest price of the points and one more.
func (p picture) bounds(one decimal.Decimal) (lowest, highest decimal.Decimal) {
	lowest, highest = one, one
	for _, p := range p.points {
		lowest, highest = decimal.Min(lowest, p.Price), decimal.Max(highest, p.Price)
	}
	return lowest, highest
}

// minSeen is the part of a period that must be seen for a line.
const minSeen = 0.25

func (p picture) hasLine() bool { return p.seen() >= minSeen }

// theme is the colors of a picture.
type theme struct{ background, grid, quiet, strong, up, down color.RGBA }

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: byte(hex >> 16), G: byte(hex >> 8), B: byte(hex), A: 255}
}

var (
	white  = rgb(0xFFFFFF)
	themes = map[bool]theme{
		false: {background: rgb(0x0F1720), grid: rgb(0x1F2B38), quiet: rgb(0x9AA8B7), strong: rgb(0xF4F7FA), up: rgb(0x16C784), down: rgb(0xEA3943)},
		true:  {background: white, grid: rgb(0xE7ECF2), quiet: rgb(0x5B6776), strong: rgb(0x101828), up: rgb(0x0B9F65), down: rgb(0xD92D3A)},
	}
)

// ink is the color of a change, and the color of text on it.
func (t theme) ink(way int) (ink, on color.RGBA) {
	switch {
	case way > 0:
		return t.up, t.background
	case way < 0:
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

// draw returns the picture as a PNG without transparency: a chart, or where too
// little of the period was seen a card of what is known.
func (p picture) draw() ([]byte, error) {
	t := themes[p.Light]
	c := newCanvas(t.background)
	defer canvases.Put(c)
	s := sheet{picture: p, theme: t, canvas: c}
	if p.hasLine() {
		s.chart()
	} else {
		s.card()
	}
	source := []string{p.quote.Source}
	if at := p.quote.LastUpdated; !at.IsZero() {
		source = append(source, at.UTC().Format(p.language.Info().Day+", 15:04 UTC"))
	}
	left := strings.Join(slices.DeleteFunc(source, func(s string) bool { return s == "" }), " · ")
	s.text(s.small(30), margin, 776, 0, left)
	style, name := s.fit(s.small(30), p.name, width-3*margin-s.width(s.small(30), left))
	s.text(style, width-margin, 776, 1, name)
	return c.png()
}

// title draws the logo, what the picture is about, and the price.
func (s sheet) title(period string, limit float64) {
	x := float64(margin)
	if s.Logo != nil {
		at := s.Logo.Bounds().Add(image.Pt(margin, 52-s.Logo.Bounds().Dy()/2))
		draw.Draw(s.RGBA, at, s.Logo, image.Point{}, draw.Over)
		x = float64(at.Max.X + 16)
	}
	symbol := s.known(s.symbol)
	if symbol != "" {
		symbol += " / "
	}
	style, title := s.fit(s.small(40), symbol+"USD"+period, width-margin-x)
	s.text(style, x, 66, 0, title)
	style, price := s.fit(s.big(104), s.price(s.quote.Price), limit)
	s.text(style, margin-style.size/26, 175, 0, price)
}

// change draws a change with its triangle from x on, at most so wide, in the color
// of its way.
func (s sheet) change(x, y float64, look style, limit float64, text string, way int) {
	if wide := s.changeWidth(look, text, way); wide > limit {
		look.size = max(minText, math.Floor(look.size*limit/wide))
	}
	if side := look.size * .6; way != 0 {
		base, tip := y-look.size*.06, y-look.size*.64
		if way < 0 {
			base, tip = tip, base
		}
		s.fill(look.color, 1, []spot{xy(x, base), xy(x+side/2, tip), xy(x+side, base)})
	}
	s.text(look, x+s.changeWidth(look, "", way), y, 0, text)
}

func (s sheet) changeWidth(look style, text string, way int) float64 {
	return s.width(look, text) + .85*look.size*math.Abs(float64(way))
}

// card draws the price, its changes, and that there is no line yet.
func (s sheet) card() {
	s.title("", width-2*margin)
	type tile struct {
		name    string
		percent decimal.NullDecimal
	}
	q := s.quote
	tiles := []tile{{"price.1h", q.Change1h}, {"price.24h", q.Change24h}, {"price.7d", q.Change7d}, {"price.30d", q.Change30d}}
	if s.periodName() == "30d" {
		tiles = tiles[1:]
	}
	tiles = slices.DeleteFunc(tiles[:3], func(t tile) bool { return !t.percent.Valid })
	column := func(i int) float64 { return margin + 376*float64(i) }
	for i, t := range tiles {
		x := column(i)
		text, way := s.move(t.percent.Decimal)
		ink, _ := s.ink(way)
		s.fill(ink, .14, box(x, 250, x+352, 440, 20))
		look, name := s.fit(s.small(40), s.say(t.name, nil), 288)
		s.text(look, x+32, 312, 0, name)
		s.change(x+32, 396, style{size: 64, bold: 1, color: ink}, 288, text, way)
	}
	i := 0
	for _, sum := range []tile{{"price.cap", q.MarketCap}, {"price.volume", q.Volume24h}} {
		if sum.percent.Valid {
			style, name := s.fit(s.small(38), s.say(sum.name, nil), 352)
			s.text(style, column(i), 530, 0, name)
			style, value := s.fit(s.big(54), words.Say(s.language, chat.Money{Decimal: sum.percent.Decimal}), 352)
			s.text(style, column(i), 592, 0, value)
			i++
		}
	}
	if !q.LastUpdated.IsZero() {
		s.paragraph(s.say("picture.soon", chat.Values{"name": chat.Plain(s.name), "known": chat.Plain(s.recorded())}))
	}
}

// paragraph draws a sentence on one or two lines.
func (s sheet) paragraph(text string) {
	style, y := s.small(34), 690.0
	if s.width(style, text) > width-2*margin {
		style.size, y = 32, 672
	}
	var line string
	for _, word := range strings.SplitAfter(text, " ") {
		if s.width(style, line+word) > width-2*margin {
			s.text(style, margin, y, 0, line)
			line, y = "", y+44
		}
		line += word
	}
	style, line = s.fit(style, line, width-2*margin)
	s.text(style, margin, y, 0, line)
}

// The plot, in pixels. A wide label moves its right edge to the left.
const (
	plotLeft, plotRight, plotTop, plotBottom = margin, 1000.0, 262.0, 668.0

	tagEdge = width - 16 // the right edge of the tag and of labels
)

// chart draws the line of the price, with its first, highest, lowest and last.
func (s sheet) chart() {
	first, last := s.points[0].Price, s.points[len(s.points)-1].Price
	lowest, highest := s.bounds(first)
	percent := last.Sub(first).Mul(decimal.New(100, 0)).DivRound(first, 2)
	text, way := s.move(percent)
	ink, on := s.ink(way)

	edge := float64(width - margin)
	for i, row := range []struct {
		key   string
		price decimal.Decimal
	}{{"picture.high", highest}, {"picture.low", lowest}} {
		y, value, name := 112+52*float64(i), s.price(row.price), s.say(row.key, nil)
		x := width - margin - s.width(s.big(36), value)
		s.text(s.big(36), x, y, 0, value)
		s.text(s.small(36), x-12, y, 1, name)
		edge = min(edge, x-12-s.width(s.small(36), name))
	}
	look := style{size: 54, bold: 1, color: ink}
	wide := min(s.changeWidth(look, text, way), 400)
	pill := min(560, edge-32-wide-48)
	s.fill(ink, .16, box(pill, 96, pill+wide+48, 180, 16))
	s.change(pill+24, 157, look, wide, text, way)
	s.title(" · "+s.say("choice."+s.periodName(), nil), pill-24-margin)
	if slices.ContainsFunc(s.points, func(p point) bool { return p.Estimated }) {
		s.dashes(ink, []spot{xy(plotLeft, 222), xy(plotLeft+86, 222)})
		s.text(s.small(30), plotLeft+102, 232, 0, s.say("picture.estimated", nil))
	}

	a := s.axis(lowest, highest, last)
	right, labels := plotRight, s.small(36)
	tag := style{size: 36, bold: 1, color: on}
	tagWide := s.width(tag, a.now) + 40
	right = min(right, tagEdge-14-tagWide)
	for _, t := range a.ticks {
		right = min(right, tagEdge-24-s.width(labels, t.label))
	}
	at := func(when time.Time, price float64) spot {
		return spot{
			x: plotLeft + when.Sub(s.from).Seconds()/s.to.Sub(s.from).Seconds()*(right-plotLeft),
			y: plotBottom - (price-a.low)/(a.high-a.low)*(plotBottom-plotTop),
		}
	}
	end := s.points[len(s.points)-1]
	now := at(end.At, end.Price.InexactFloat64())
	tagY := min(max(now.y, plotTop), plotBottom-24)
	for _, t := range a.ticks {
		y := math.Round(at(s.to, t.price).y)
		s.fill(s.grid, 1, []spot{xy(plotLeft, y-1), xy(right, y-1), xy(right, y+1), xy(plotLeft, y+1)})
		if math.Abs(y-tagY) > 60 {
			s.text(labels, right+18, y+13, 0, t.label)
		}
	}
	moments, layout := s.dates()
	for _, when := range moments {
		label := when.Format(layout)
		half := s.width(labels, label) / 2
		s.text(labels, max(at(when, 0).x, plotLeft+half), 720, .5, label)
	}
	y := at(s.from, first.InexactFloat64()).y
	for x := float64(plotLeft); x < right; x += 13 {
		s.fill(s.quiet, .7, []spot{xy(x, y-1), xy(x+3, y-1), xy(x+3, y+1), xy(x, y+1)})
	}
	s.line(ink, at)
	s.fill(s.background, 1, disc(now, 13))
	s.fill(ink, 1, disc(now, 9))
	s.fill(ink, 1, box(right+14, tagY-30, right+14+tagWide, tagY+30, 10))
	s.text(tag, right+34, tagY+13, 0, a.now)
}

// line draws the line, the area under what was seen of it, and as dots what stands
// alone.
func (s sheet) line(ink color.RGBA, at func(time.Time, float64) spot) {
	var runs, guesses [][]spot
	top := plotBottom
	for i, p := range s.points {
		here := at(p.At, p.Price.InexactFloat64())
		top = min(top, here.y)
		switch {
		case s.joined(i) && s.estimated(i):
			before := s.points[i-1]
			guesses = append(guesses, []spot{at(before.At, before.Price.InexactFloat64()), here})
			runs = append(runs, []spot{here})
		case s.joined(i):
			runs[len(runs)-1] = append(runs[len(runs)-1], here)
		default:
			runs = append(runs, []spot{here})
		}
	}
	for _, run := range runs {
		s.area(ink, top, run)
	}
	for _, run := range runs {
		for i := 0; i < len(run); i += 63 { // in parts, so that the rasterizer needs little memory
			s.fill(ink, 1, stroke(run[i:min(i+64, len(run))], 6)...)
		}
	}
	for _, guess := range guesses {
		s.dashes(ink, guess)
	}
}

// area fills what is under a line, from 28 % at top to nothing at the bottom.
func (s sheet) area(ink color.RGBA, top float64, line []spot) {
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		for x := math.Ceil(a.x); x < b.x; x++ {
			y := a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
			for y := int(y); y < plotBottom; y++ {
				pixel := s.Pix[s.PixOffset(int(x), y):]
				part := .28 * (plotBottom - float64(y)) / (plotBottom - top)
				for k, full := range [3]byte{ink.R, ink.G, ink.B} {
					pixel[k] = byte(float64(pixel[k])*(1-part) + float64(full)*part + .5)
				}
			}
		}
	}
}

// dashes draws a dashed line between two spots.
func (s sheet) dashes(ink color.RGBA, ends []spot) {
	a, b := ends[0], ends[1]
	length := math.Hypot(b.x-a.x, b.y-a.y)
	for from := 0.0; from < length; from += 34 {
		to := min(from+18, length)
		on := func(d float64) spot { return xy(a.x+(b.x-a.x)*d/length, a.y+(b.y-a.y)*d/length) }
		s.fill(ink, 1, stroke([]spot{on(from), on(to)}, 6)...)
	}
}

// axis is the prices at the hairlines.
type axis struct {
	low, high float64 // at the bottom and at the top
	ticks     []tick
	now       string // the last price
}

type tick struct {
	price float64
	label string
}

// axis returns three or four prices at equal distances. All are written with the
// same decimals.
func (p picture) axis(lowest, highest, last decimal.Decimal) axis {
	low, high := lowest.InexactFloat64(), highest.InexactFloat64()
	// At least 0.4 % of the price: a price that stands still looks like it.
	if span := .004 * high; high-low < span {
		low, high = (low+high-span)/2, (low+high+span)/2
	}
	pad := (high - low) * .08
	a := axis{low: low - pad, high: high + pad}
	step, from, to := niceStep(max(a.low, 0), a.high)
	power := p.unit(highest)
	places := max(0, power-step.Exponent())
	// The last price has three digits, if that is at most two decimals more.
	places = min(max(places, 3-wholeDigits(last.Shift(-power))), places+2)
	if power == 0 && places == 1 {
		places = 2 // cents
	}
	write := func(price decimal.Decimal) string {
		if price = price.Shift(-power); price.IsZero() {
			return p.write("0", power)
		}
		return p.write(price.StringFixed(places), power)
	}
	for n := from; n <= to; n++ {
		price := step.Mul(decimal.NewFromInt(n))
		a.ticks = append(a.ticks, tick{price: price.InexactFloat64(), label: write(price)})
	}
	a.now = write(last)
	if last.Shift(-power).Round(places).IsZero() {
		a.now = p.price(last)
	}
	return a
}

// niceStep returns a round number with three or four multiples between low and high,
// and the first and the last of them.
func niceStep(low, high float64) (step decimal.Decimal, from, to int64) {
	power := int32(math.Floor(math.Log10(high - low)))
	for _, digits := range []int64{1, 2, 5, 25, 4, 3, 6, 8, 15, 125} {
		for exponent := power - 3; exponent <= power; exponent++ {
			step = decimal.New(digits, exponent)
			size := step.InexactFloat64()
			from, to = int64(math.Ceil(low/size)), int64(math.Floor(high/size))
			if n := to - from + 1; n == 3 || n == 4 {
				return step, from, to
			}
		}
	}
	return step, from, to
}
