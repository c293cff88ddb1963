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

// Where things are drawn, in pixels from the top. A name that ends in Y is the middle of a row of text.
const (
	titleY  = 62
	highY   = 130 // the highest price
	lowY    = 182 // the lowest price
	datesY  = 707
	footerY = 759

	pillTop    = 114
	pillBottom = 198

	// A chart has a plot.
	plotTop    = 262
	plotBottom = 668

	// A card has tiles instead.
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

// drawHeader draws the logo and the title. Below them, it draws the price, the pill and, at the right, the extremes.
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

// drawPrice draws the price and the pill between left and right. If both together are too wide, it draws them smaller.
func (s sheet) drawPrice(left, right float64) {
	price := formatPrice(s.language, s.quote.Price)
	text := s.pillText()
	look := style{size: pillSize, bold: true, color: s.ink}
	room := right - left - pillGap - 2*pillPadding // of both texts
	textWidth := pillTextWidth(s.textWidth(look, text), s.textWidth(s.big(priceSize), price), room)

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

// pillText returns the change over the period, or "" if it is unknown. If the price is old, it returns the time of the
// price instead.
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

// pillTextWidth returns the width in which to draw the pill's text, so that the text and the price together fit into
// room. textWidth and priceWidth are their full widths, at pillSize and priceSize. Both shrink by the same factor, but
// the text does not become smaller than labelSize.
//
// For example, texts of 200 and 500 pixels need 700. If there is room for 630, both shrink by a tenth, and
// pillTextWidth returns 180.
func pillTextWidth(textWidth, priceWidth, room float64) float64 {
	wanted := min(textWidth, maxPill)
	minWidth := textWidth * labelSize / pillSize
	factor := min(1, room/(wanted+priceWidth))
	return max(minWidth, wanted*factor)
}

// drawExtremes draws the highest and the lowest price at the right, if they are known. It returns their left edge. If
// it draws nothing, it returns the left edge of the right margin.
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

// drawExtreme draws a price and, at its left, the message with the key nameKey. It returns the left edge of the
// message.
func (s sheet) drawExtreme(nameKey string, price decimal.Decimal, y float64) (left float64) {
	const gap = 12
	value := s.text(s.big(labelSize).aligned(alignRight), row(margin, width-margin, y), formatPrice(s.language, price))
	name := s.text(s.small(labelSize).aligned(alignRight), row(margin, value.left-gap, y), s.say(chat.Say(nameKey)))
	return name.left
}

// drawChart draws the plot, and beside it the labels of the axis, the dates, and the tag with the last price. In the
// plot are hairlines, a dotted line at the first price, and the line of the price.
func (s sheet) drawChart() {
	first, last := s.points[0], s.points[len(s.points)-1]
	lowest, highest := bounds(s.points)
	a := newAxis(s.language, lowest.Price, highest.Price, last.Price)
	plot, tag := s.layout(a, last)
	s.drawHairlines(a, plot, tag)
	s.drawDates(plot)
	start := plot.at(s.from, first.Price.InexactFloat64())
	dotted := pen{ink: quietInk, thickness: 2, dash: 1, gap: 11}
	s.stroke(dotted, start, xy(plot.right, start.y))
	s.drawLine(plot)
	s.drawTag(tag, a.last)
}

// drawHairlines draws the hairlines of an axis and their labels. It leaves out a label that is too close to the tag.
func (s sheet) drawHairlines(a axis, in plot, tag rect) {
	const minDistance = 60 // of a label from the tag
	for i, price := range a.prices {
		y := math.Round(in.at(s.to, price).y)
		s.stroke(pen{ink: gridInk, thickness: 2}, xy(in.left, y), xy(in.right, y))
		if math.Abs(y-tag.middle()) > minDistance {
			s.text(s.small(labelSize), row(in.right+labelGap, width, y), a.labels[i])
		}
	}
}

// drawTag draws the tag with the last price.
func (s sheet) drawTag(tag rect, price string) {
	textInk := background
	if s.ink == downInk {
		textInk = whiteInk // The background is too dark to be read on red.
	}
	s.fill(s.ink, 1, tag.outline(10))
	s.text(style{size: labelSize, bold: true, color: textInk}, tag.inset(tagPadding), price)
}

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

// layout returns the places of the plot and of the tag with the last price. The plot takes the width that the tag and
// the labels leave.
func (s sheet) layout(a axis, last point) (p plot, tag rect) {
	const halfHeight = 30 // of the tag
	tagWidth := s.textWidth(s.big(labelSize), a.last) + 2*tagPadding
	// The texts of the labels and of the tag have the same left edge.
	widest := tagWidth - tagPadding
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
	tag = rect{left: right + tagGap, top: y - halfHeight, right: right + tagGap + tagWidth, bottom: y + halfHeight}
	return p, tag
}

// drawDates draws four dates below a plot, or four times of the day if the period is at most a day.
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

// drawLine draws the line of the price, with a dot at its end. Where it begins or ends at an estimate, the line is
// dashed, and has a label. Below its other parts, the area is filled. After a gap, the line begins with a small dot, so
// that a point between two gaps is visible.
func (s sheet) drawLine(in plot) {
	_, highest := bounds(s.points)
	top := in.at(s.to, highest.Price.InexactFloat64()).y
	s.points = s.shownPoints()
	solid := pen{ink: s.ink, thickness: 6}
	if s.isLong() {
		solid.thickness = 5
	}
	dashed := pen{ink: s.ink, thickness: solid.thickness, dash: 18, gap: 16}
	var previous position
	var dashedMiddles []position // the middles of dashed parts
	for i, p := range s.points {
		here := in.at(p.At, p.Price.InexactFloat64())
		switch {
		case !s.isJoined(i):
			s.stroke(solid, here, here)
		case s.touchesEstimate(i):
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

// placeBeside returns a place in the plot for a label that is textWidth pixels wide. The place is above or below one of
// the positions, as close to it as possible, and no stroke crosses it. If there is no such place, placeBeside returns
// one above the plot.
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

// slotOf returns the slot of points[i], from 0 for the first slot.
func (p picture) slotOf(i int) int64 { return int64(p.points[i].At.Sub(p.from) * slots / p.period()) }

// shownPoints returns the points to draw. In each slot, they are the first, the lowest, the highest and the last point,
// so that every spike and every gap is shown. In a long period, they are the first point of each slot, the points
// beside a gap, and the lowest and the highest point of the period.
//
// A gap is a slot without points, or a dashed part of the line. A slot that is divided by a gap counts as two.
func (p picture) shownPoints() (shown []point) {
	lowest, highest := bounds(p.points)
	if p.isLong() {
		shown = append(shown, lowest, highest)
	}
	for start := 0; start < len(p.points); {
		end := p.slotEnd(start)
		slot := p.points[start:end]
		first, last := slot[0], slot[len(slot)-1]
		shown = append(shown, first)
		if !p.isLong() {
			lowest, highest = bounds(slot)
			shown = append(shown, lowest, highest, last)
		} else if p.isBeforeGap(end - 1) {
			shown = append(shown, last)
		}
		start = end
	}
	slices.SortStableFunc(shown, byTime)
	return slices.CompactFunc(shown, func(a, b point) bool { return a.At.Equal(b.At) })
}

// slotEnd returns the index after the last point in the slot of points[start].
func (p picture) slotEnd(start int) int {
	end := start + 1
	for end < len(p.points) && !p.touchesEstimate(end) && p.slotOf(end) == p.slotOf(start) {
		end++
	}
	return end
}

// isBeforeGap reports whether points[i], the last point of its slot, is followed by a gap, or by no point.
func (p picture) isBeforeGap(i int) bool {
	next := i + 1
	if next == len(p.points) || p.touchesEstimate(next) {
		return true
	}
	return p.slotOf(next)-p.slotOf(i) > 1
}
