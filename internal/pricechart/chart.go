package pricechart

import (
	"image"
	"image/draw"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// Where things are drawn, in pixels. A name that ends in Y is the middle of a row of text.
const (
	titleY  = 62
	highY   = 130
	lowY    = 182
	datesY  = 707
	footerY = 759

	pillTop    = 114
	pillBottom = 198

	// Of every plot.
	plotTop    = 262
	plotBottom = 668

	// Of a card, which has no plot.
	tileTop     = 262
	tileBottom  = 466
	tileNameY   = 318
	tileChangeY = 396
	sumsY       = 545 // below the tiles
)

// Sizes of texts, in pixels.
const (
	titleSize  = 40
	priceSize  = 104
	pillSize   = 54
	labelSize  = 36
	nameSize   = 42
	handleSize = minText
	sourceSize = minText
)

// Distances and widths, in pixels.
const (
	extremesGap  = 32 // left of the extremes
	pillGap      = 28 // left of the pill
	pillPadding  = 24
	maxPill      = 320 // the maximum width of the pill's text
	tagGap       = 14  // between the plot and the tag
	tagPadding   = 16
	labelGap     = tagGap + tagPadding // between the plot and the labels
	labelPadding = 10
	handleGap    = 20           // left of the handle
	minName      = 3 * nameSize // the minimum width in which the name is drawn
)

// plot is where a line is drawn: times from left to right, prices from bottom to top.
type plot struct {
	rect
	from, to  time.Time // at the left and at the right
	low, high float64   // the prices at the bottom and at the top
}

// at returns the position of a price at a time.
func (p plot) at(t time.Time, price float64) position {
	elapsed := t.Sub(p.from).Seconds() / p.to.Sub(p.from).Seconds()
	rise := (price - p.low) / (p.high - p.low)
	return xy(p.left+elapsed*(p.right-p.left), p.bottom-rise*(p.bottom-p.top))
}

// layout returns the places of the plot and of the tag with the last price. The plot is as wide as the
// widest of the tag and the labels beside it permits.
func (s sheet) layout(a axis, last point) (p plot, tag rect) {
	const halfTag = 30 // the half of its height
	tagWidth := s.textWidth(s.big(labelSize), a.last) + 2*tagPadding
	widest := tagWidth - tagPadding // from the left edge of the texts, which tag and labels have in common
	for _, label := range a.labels {
		widest = max(widest, s.textWidth(s.small(labelSize), label))
	}
	right := width - margin - widest - labelGap
	p = plot{
		rect: rect{left: margin, top: plotTop, right: right, bottom: plotBottom},
		from: s.from,
		to:   s.to,
		low:  a.low,
		high: a.high,
	}
	const maxTagY = plotBottom - 24 // so that the tag stays above the dates
	y := min(p.at(last.At, last.Price.InexactFloat64()).y, maxTagY)
	tag = rect{left: right + tagGap, top: y - halfTag, right: right + tagGap + tagWidth, bottom: y + halfTag}
	return p, tag
}

// drawChart draws the line of the price between hairlines, a dotted line at its first price, and a tag
// with its last price.
func (s sheet) drawChart() {
	first, last := s.points[0], s.points[len(s.points)-1]
	lowest, highest := bounds(s.points)
	a := newAxis(s.language, lowest.Price, highest.Price, last.Price)
	plot, tag := s.layout(a, last)
	const tagMargin = 60 // A label that is closer to the tag is left out.
	for i, price := range a.prices {
		y := math.Round(plot.at(s.to, price).y)
		s.stroke(pen{ink: gridInk, thickness: 2}, xy(plot.left, y), xy(plot.right, y))
		if math.Abs(y-tag.middle()) > tagMargin {
			s.text(s.small(labelSize), row(plot.right+labelGap, width, y), a.labels[i])
		}
	}
	s.drawDates(plot)
	start := plot.at(s.from, first.Price.InexactFloat64())
	s.stroke(pen{ink: quietInk, thickness: 2, dash: 1, gap: 11}, start, xy(plot.right, start.y))
	s.drawLine(plot)
	textOnInk := background
	if s.ink == downInk {
		textOnInk = whiteInk // The background is too dark to be read on red.
	}
	s.fill(s.ink, 1, tag.outline(10))
	s.text(style{size: labelSize, bold: true, color: textOnInk}, tag.inset(tagPadding), a.last)
}

// drawDates draws four dates below a plot. If the period is at most a day, it draws times of the day
// instead.
func (s sheet) drawDates(p plot) {
	const count = 4
	interval := s.period() / count
	format := "15:04"
	if s.period() > day {
		interval = interval.Round(day)
		format = s.language.Info().Day
	}
	outside := s.period() - (count-1)*interval // the part of the period before the first and after the last date
	first := s.from.UTC().Add(outside / 2)
	look := s.small(labelSize)
	for i := range count {
		t := first.Add(time.Duration(i) * interval).Round(time.Hour)
		text := t.Format(format)
		x := max(p.at(t, p.low).x-s.textWidth(look, text)/2, margin)
		s.text(look, row(x, width, datesY), text)
	}
}

// drawHeader draws the logo and the title, and below them the price, the pill and, at the right, the
// extremes.
func (s sheet) drawHeader() {
	left := float64(margin)
	if s.Logo != nil {
		draw.Draw(s.RGBA, s.logoPlace(), s.Logo, image.Point{}, draw.Over)
		left = float64(s.logoPlace().Max.X + 20)
	}
	pair := "USD"
	if symbol := s.supported(s.symbol); symbol != "" {
		pair = symbol + " / USD"
	}
	period := s.say(chat.Say("choice." + periods[s.period()]))
	s.text(s.small(titleSize), row(left, width-margin, titleY), pair+" · "+period)

	extremesLeft := s.drawExtremes()
	s.drawPrice(margin, extremesLeft-extremesGap)
}

// drawPrice draws the price and the pill between left and right. If both are too wide, it draws them
// smaller.
func (s sheet) drawPrice(left, right float64) {
	price := formatPrice(s.language, s.quote.Price)
	text := s.pillText()
	look := style{size: pillSize, bold: true, color: s.ink}
	room := right - left - pillGap - 2*pillPadding
	textWidth := pillWidth(s.textWidth(look, text), s.textWidth(s.big(priceSize), price), room)

	const bearing = 4 // the empty part of a digit of the price, at its left
	pill := rect{top: pillTop, bottom: pillBottom}
	priceRow := row(left-bearing, left+room-textWidth, pill.middle())
	pill.left = s.text(s.big(priceSize), priceRow, price).right + pillGap
	pill.right = pill.left + textWidth + 2*pillPadding
	if text != "" {
		s.fill(s.ink, 0.16, pill.outline(16))
		s.text(look, pill.inset(pillPadding), text)
	}
}

// pillText returns the text beside the price. If the price is old, it is the time of the price,
// otherwise the change over the period, or "" if the change is unknown.
func (s sheet) pillText() string {
	if s.quote.Old() {
		return s.updated()
	}
	change := s.change()
	if !change.Valid {
		return ""
	}
	return s.say(chat.Change{Decimal: change.Decimal})
}

// pillWidth returns the width in which to draw the pill's text, if the text is full pixels wide at
// pillSize, the price is price pixels wide at priceSize, and both must fit into room pixels. Both shrink
// by the same factor, but the text not below labelSize. With 200, 500 and 630, it returns 180.
func pillWidth(full, price, room float64) float64 {
	wanted := min(full, maxPill)
	minWidth := full * labelSize / pillSize
	factor := min(1, room/(wanted+price))
	return max(minWidth, wanted*factor)
}

// drawExtremes draws the highest and the lowest price at the right, if they are known. It returns the
// left edge of the wider one, or of the right margin if it draws nothing.
func (s sheet) drawExtremes() (left float64) {
	left = width - margin
	lowest, highest := s.extremes()
	if !highest.IsZero() {
		left = min(left, s.drawExtreme("picture.high", highest, highY))
	}
	if !lowest.IsZero() {
		left = min(left, s.drawExtreme("picture.low", lowest, lowY))
	}
	return left
}

// drawExtreme draws a price and at its left its name, the message with this key. It returns the left
// edge of the name.
func (s sheet) drawExtreme(nameKey string, price decimal.Decimal, y float64) (left float64) {
	const gap = 12
	value := s.text(s.big(labelSize).aligned(alignRight), row(margin, width-margin, y), formatPrice(s.language, price))
	name := s.text(s.small(labelSize).aligned(alignRight), row(margin, value.left-gap, y), s.say(chat.Say(nameKey)))
	return name.left
}

// drawLine draws the line and a dot at its last price, and fills the area under its recorded parts. Each part begins
// with a dot, so that a point without a joined neighbor is visible. Parts that begin or end at an estimate are dashed,
// and have a label.
func (s sheet) drawLine(in plot) {
	_, highest := bounds(s.points)
	top := in.at(s.to, highest.Price.InexactFloat64()).y
	s.points = s.shownPoints()
	solid := pen{ink: s.ink, thickness: 6}
	if s.long() {
		solid.thickness = 5
	}
	dashed := pen{ink: s.ink, thickness: solid.thickness, dash: 18, gap: 16}
	var previous position
	var dashedMiddles []position // the middles of dashed parts
	for i, p := range s.points {
		here := in.at(p.At, p.Price.InexactFloat64())
		switch {
		case !s.joined(i):
			s.stroke(solid, here, here)
		case s.estimated(i):
			s.stroke(dashed, previous, here)
			dashedMiddles = append(dashedMiddles, xy((previous.x+here.x)/2, (previous.y+here.y)/2))
		default:
			s.fillBelow(previous, here, top)
			s.stroke(solid, previous, here)
		}
		previous = here
	}
	s.fill(background, 1, disc(previous, 13))
	s.fill(s.ink, 1, disc(previous, 9))
	if len(dashedMiddles) > 0 {
		look := s.small(labelSize).aligned(alignCenter)
		text := s.say(chat.Say("picture.estimated"))
		s.text(look, s.placeBeside(dashedMiddles, s.textWidth(look, text), in), text)
	}
}

// placeBeside returns a free place in the plot for a label that is textWidth pixels wide. It is the place
// closest to one of the positions, above or below it, that no stroke crosses. If there is none,
// placeBeside returns a place above the plot.
func (s sheet) placeBeside(positions []position, textWidth float64, in plot) rect {
	halfWidth := textWidth/2 + labelPadding
	halfHeight := float64(labelSize)/2 + labelPadding
	const maxDistance = 300
	const minGap = 4
	const step = 10
	for distance := halfHeight + minGap; distance < maxDistance; distance += step {
		for _, p := range positions {
			for _, y := range []float64{p.y + distance, p.y - distance} {
				place := rect{left: p.x - halfWidth, top: y - halfHeight, right: p.x + halfWidth, bottom: y + halfHeight}
				isInPlot := in.contains(xy(place.left, place.top)) && in.contains(xy(place.right, place.bottom))
				isCrossed := slices.ContainsFunc(s.strokes, place.contains)
				if isInPlot && !isCrossed {
					return place
				}
			}
		}
	}
	return row(in.left, in.left+textWidth, in.top-labelSize)
}

// fillBelow fills the area between the line from a to b and the bottom of the plot. The opacity is 28 % at
// the height top, and falls to 0 at the bottom.
func (s sheet) fillBelow(a, b position, top float64) {
	for x := math.Ceil(a.x); x < b.x; x++ {
		lineY := a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
		for y := int(lineY); y < plotBottom; y++ {
			opacity := 0.28 * (plotBottom - float64(y)) / (plotBottom - top)
			s.SetRGBA(int(x), y, blend(s.RGBAAt(int(x), y), s.ink, opacity))
		}
	}
}

// slots is the number of equal parts of a period for which shownPoints chooses points.
const slots = 60

// shownPoints returns the points to draw. In each slot, they are the first, the lowest, the highest and the last point,
// so that every spike and every gap is shown. In a long period, they are the first point of each slot, the points
// beside a gap, and the lowest and the highest point of the period.
//
// A gap is a slot without points, or a dashed part of the line. A slot that a gap divides counts as two.
func (p picture) shownPoints() (shown []point) {
	slotOf := func(i int) time.Duration { return p.points[i].At.Sub(p.from) * slots / p.period() }
	start := 0 // the index of the first point in the current slot
	lowest, highest := bounds(p.points)
	for i, last := range p.points {
		next := i + 1
		isSolidEnd := next == len(p.points) || p.estimated(next)
		if !isSolidEnd && slotOf(next) == slotOf(start) {
			continue
		}
		// last is the last point of the slot.
		if !p.long() {
			lowest, highest = bounds(p.points[start:next])
		}
		shown = append(shown, p.points[start], lowest, highest)
		isBesideGap := isSolidEnd || slotOf(next)-slotOf(start) > 1
		if isBesideGap || !p.long() {
			shown = append(shown, last)
		}
		start = next
	}
	slices.SortStableFunc(shown, byTime)
	return slices.CompactFunc(shown, func(a, b point) bool { return a.At.Equal(b.At) })
}
