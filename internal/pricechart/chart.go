package pricechart

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// The plot, in pixels. A wide label moves its right edge to the left.
const (
	plotLeft, plotRight, plotTop, plotBottom = margin, 1000.0, 262.0, 668.0

	tagEdge = width - 16 // where the tag ends at most
)

// chart draws the line of the price, with its first, highest, lowest and last.
func (s sheet) chart() {
	s.header()
	first, end := s.points[0].Price, s.points[len(s.points)-1]
	lowest, highest := bounds(s.points)
	ink, on := s.ink(s.change())
	a := s.axis(lowest.Price, highest.Price, end.Price)
	labels, tag := s.small(36), style{size: 36, bold: 1, color: on}
	wide := s.width(tag, a.now) + 40
	right := min(plotRight, tagEdge-14-wide)
	for _, label := range a.labels {
		right = min(right, tagEdge-24-s.width(labels, label))
	}
	at := s.plot(plotLeft, right, plotTop, a)
	now := at(end.At, end.Price.InexactFloat64())
	tagY := min(now.y, plotBottom-24)
	for i, price := range a.prices {
		y := math.Round(at(s.to, price).y)
		s.fill(s.grid, 1, box(plotLeft, y-1, right, y+1, 0))
		if math.Abs(y-tagY) > 60 {
			s.text(labels, right+18, y+13, 0, width, a.labels[i])
		}
	}
	period := s.to.Sub(s.from)
	apart, layout := (period / 4).Round(day), s.language.Info().Day
	if period <= day {
		apart, layout = period/4, "15:04"
	}
	for i := range 4 {
		when := s.from.UTC().Add((period-3*apart)/2 + time.Duration(i)*apart).Round(time.Hour)
		label := when.Format(layout)
		s.text(labels, max(at(when, 0).x, plotLeft+s.width(labels, label)/2), 720, .5, width, label)
	}
	y := at(s.from, first.InexactFloat64()).y
	s.dashes(s.quiet, 2, 1, 11, xy(plotLeft, y), xy(right, y))
	s.line(at)
	s.fill(ink, 1, box(right+14, tagY-30, right+14+wide, tagY+30, 10))
	s.text(tag, right+34, tagY+13, 0, width, a.now)
}

// header draws the title, the change over the period (or the time of an old price), and
// the highest and the lowest price where they are known.
func (s sheet) header() {
	edge, change := float64(width-margin), s.change()
	ink, _ := s.ink(change)
	lowest, highest := s.extremes()
	for i, price := range []decimal.Decimal{highest, lowest} {
		if price.IsPositive() {
			y, price, name := 112+52*float64(i), s.price(price), s.say(chat.Say([]string{"picture.high", "picture.low"}[i]))
			x := width - margin - s.width(s.big(36), price) - 12
			s.text(s.big(36), x+12, y, 0, width, price)
			s.text(s.small(36), x, y, 1, width, name)
			edge = min(edge, x-s.width(s.small(36), name))
		}
	}
	text := ""
	if s.quote.Old() {
		text = s.updated()
	} else if change.Valid {
		text = s.say(chat.Change{Decimal: change.Decimal})
	}
	look := style{size: 54, bold: 1, color: ink}
	wide := min(s.width(look, text), 400)
	pill := min(560, edge-32-wide-48)
	if text != "" {
		s.fill(ink, .16, box(pill, 96, pill+wide+48, 180, 16))
		s.text(look, pill+24, 157, 0, wide, text)
	}
	s.title(" · "+s.say(chat.Say("choice."+periods[s.to.Sub(s.from)])), pill-24-margin)
	if slices.ContainsFunc(s.points, func(p point) bool { return p.Estimated }) {
		s.dashes(ink, 6, 18, 16, xy(plotLeft, 222), xy(plotLeft+86, 222))
		s.text(s.small(30), plotLeft+102, 232, 0, width, s.say(chat.Say("picture.estimated")))
	}
}

// plot returns a function from a time and a price to their place between left and right,
// top and plotBottom.
func (s sheet) plot(left, right, top float64, a axis) func(time.Time, float64) spot {
	return func(when time.Time, price float64) spot {
		part := when.Sub(s.from).Seconds() / s.to.Sub(s.from).Seconds()
		return xy(left+part*(right-left), plotBottom-(price-a.low)/(a.high-a.low)*(plotBottom-top))
	}
}

// slots are the parts of a period in which a line has at most four points.
const slots = 60

// crisp returns the points through which the line is drawn: the first, the lowest, the
// highest and the last of each slot, so that no spike and no gap is lost.
func (p picture) crisp() (kept []point) {
	slot := func(i int) time.Duration { return p.points[i].At.Sub(p.from) * slots / p.to.Sub(p.from) }
	from := 0
	for i, last := range p.points {
		if to := i + 1; to == len(p.points) || slot(to) != slot(from) || p.estimated(to) {
			lowest, highest := bounds(p.points[from:to])
			kept = append(kept, p.points[from], lowest, highest, last)
			from = to
		}
	}
	slices.SortStableFunc(kept, byTime)
	return slices.CompactFunc(kept, func(a, b point) bool { return a.At.Equal(b.At) })
}

// line draws the line up to the dot of its last price, and fills the area under what was
// seen. A point without neighbors is a dot.
func (s sheet) line(at func(time.Time, float64) spot) {
	ink, _ := s.ink(s.change())
	_, highest := bounds(s.points)
	top := at(s.to, highest.Price.InexactFloat64()).y
	s.points = s.crisp()
	var before spot
	for i, p := range s.points {
		here := at(p.At, p.Price.InexactFloat64())
		switch {
		case !s.joined(i):
			s.stroke(ink, 6, here, here)
		case s.estimated(i):
			s.dashes(ink, 6, 18, 16, before, here)
		default:
			s.area(ink, top, before, here)
			s.stroke(ink, 6, before, here)
		}
		before = here
	}
	s.fill(s.background, 1, disc(before, 13))
	s.fill(ink, 1, disc(before, 9))
}

// area fills what is under the line from a to b, from 28 % at top to nothing at the
// bottom.
func (s sheet) area(ink color.RGBA, top float64, a, b spot) {
	for x := math.Ceil(a.x); x < b.x; x++ {
		for y := int(a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)); y < plotBottom; y++ {
			pixel := s.Pix[s.PixOffset(int(x), y):]
			part := .28 * (plotBottom - float64(y)) / (plotBottom - top)
			for k, full := range [3]byte{ink.R, ink.G, ink.B} {
				pixel[k] = byte(float64(pixel[k])*(1-part) + float64(full)*part + .5)
			}
		}
	}
}

// axis is the prices at the hairlines, and the last price written as they are.
type axis struct {
	low, high float64 // at the bottom and at the top
	prices    []float64
	labels    []string
	now       string
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
		a.prices, a.labels = append(a.prices, price.InexactFloat64()), append(a.labels, write(price))
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

// countedZeros are how many zeros after the point are counted and not written.
const countedZeros = 4

// From million on, a price has a unit.
var million = decimal.New(1, 6)

// price writes four significant digits of a price, or its unit and two decimals.
func (p picture) price(price decimal.Decimal) string {
	rounded := price.Round(4 - wholeDigits(price))
	switch {
	case !price.LessThan(million):
		return words.Say(p.language, chat.Money{Decimal: price})
	case rounded.LessThan(decimal.New(1, -countedZeros)):
		return p.write(rounded.String(), 0)
	}
	return words.Say(p.language, chat.Price{Decimal: price})
}

// wholeDigits is how many digits stand before the point; it is below zero for zeros
// after it.
func wholeDigits(d decimal.Decimal) int32 { return int32(d.NumDigits()) + d.Exponent() }

// unit is the power of ten of the unit that a price is written in; 0: none.
func (p picture) unit(price decimal.Decimal) (power int32) {
	for n := range p.language.Info().Units {
		if !price.LessThan(decimal.Max(million, decimal.New(1, int32(n)))) {
			power = max(power, int32(n))
		}
	}
	return power
}

// write writes the digits of a price in a unit. Zeros after the point are counted if
// they are many: $0.0₅48 is $0.0000048.
func (p picture) write(digits string, power int32) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	rest := strings.TrimLeft(fraction, "0")
	if zeros := len(fraction) - len(rest); whole == "0" && rest != "" && zeros >= countedZeros {
		subscript := strings.Map(func(r rune) rune { return r - '0' + '₀' }, decimal.NewFromInt(int64(zeros)).String())
		digits = "0.0" + subscript + rest
	}
	info := p.language.Info()
	return words.Number(p.language, digits, strings.Replace(info.USD, "#", "#"+info.Units[int(power)], 1))
}
