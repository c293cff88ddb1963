package pricechart

import (
	"image"
	"image/draw"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// Places and sizes of text, in pixels. A name that ends in Y is the middle of a row.
const (
	titleY, datesY, footerY = 62, 707, 759
	highY, lowY             = 130, 182
	tileTop, tileBottom     = 262, 466
	tileNameY, tileChangeY  = 318, 396
	sumsY                   = 545 // below the tiles

	pillTop, pillBottom           = 114, 198
	plotTop, plotBottom           = 262, 668 // of every plot
	priceSize, pillSize           = 104, 54
	titleSize, nameSize           = 40, 42
	labelSize, sourceSize         = 36, minText
	handleSize, handleGap         = minText, 20
	minName                       = 3 * nameSize // the room without which there is no name
	tagPadding, tagGap            = 16, 14
	labelPadding, labelGap        = 10, tagGap + tagPadding
	pillPadding, pillGap, maxPill = 24, 28, 320 // of its text
	extremesGap                   = 32
)

// plot is where a line is drawn: times from left to right, prices from bottom to top.
type plot struct {
	rect
	from, to  time.Time
	low, high float64 // the prices at the bottom and at the top
}

func (p plot) at(t time.Time, price float64) position {
	part := t.Sub(p.from).Seconds() / p.to.Sub(p.from).Seconds()
	return xy(p.left+part*(p.right-p.left), p.bottom-(price-p.low)/(p.high-p.low)*(p.bottom-p.top))
}

// layout returns the places of the plot and of the last price's tag. The widest of the tag
// and the labels ends at the margin.
func (s sheet) layout(a axis, last point) (plot, rect) {
	tagWidth := s.textWidth(s.big(labelSize), a.last) + 2*tagPadding
	widest := tagWidth - tagPadding
	for _, label := range a.labels {
		widest = max(widest, s.textWidth(s.small(labelSize), label))
	}
	right := width - margin - widest - labelGap
	p := plot{
		rect: rect{left: margin, top: plotTop, right: right, bottom: plotBottom},
		from: s.from,
		to:   s.to,
		low:  a.low,
		high: a.high,
	}
	y := min(p.at(last.At, last.Price.InexactFloat64()).y, plotBottom-24)
	return p, rect{left: right + tagGap, top: y - 30, right: right + tagGap + tagWidth, bottom: y + 30}
}

// drawChart draws the line of the price between hairlines, with its first price dotted and
// its last one in a tag.
func (s sheet) drawChart() {
	first, last := s.points[0], s.points[len(s.points)-1]
	lowest, highest := bounds(s.points)
	a := s.axis(lowest.Price, highest.Price, last.Price)
	plot, tag := s.layout(a, last)
	for i, price := range a.prices {
		y := math.Round(plot.at(s.to, price).y)
		s.stroke(pen{ink: gridInk, thickness: 2}, xy(plot.left, y), xy(plot.right, y))
		if math.Abs(y-tag.middle()) > 60 {
			s.text(s.small(labelSize), row(plot.right+labelGap, width, y), a.labels[i])
		}
	}
	s.drawDates(plot)
	start := plot.at(s.from, first.Price.InexactFloat64())
	s.stroke(pen{ink: quietInk, thickness: 2, dash: 1, gap: 11}, start, xy(plot.right, start.y))
	s.line(plot)
	textOnInk := background
	if s.ink == downInk {
		textOnInk = whiteInk
	}
	s.fill(s.ink, 1, tag.outline(10))
	s.text(style{size: labelSize, bold: true, color: textOnInk}, tag.inset(tagPadding), a.last)
}

// drawDates draws four dates below a plot, or times of a day.
func (s sheet) drawDates(p plot) {
	apart, format := (s.period() / 4).Round(day), s.language.Info().Day
	if s.period() <= day {
		apart, format = s.period()/4, "15:04"
	}
	for i := range 4 {
		t := s.from.UTC().Add((s.period()-3*apart)/2 + time.Duration(i)*apart).Round(time.Hour)
		text, look := t.Format(format), s.small(labelSize)
		x := max(p.at(t, p.low).x-s.textWidth(look, text)/2, margin)
		s.text(look, row(x, width, datesY), text)
	}
}

// drawHeader draws the logo and the title, the extremes at the right, the price, and beside it
// a pill: the time of an old price, or else the change over the period if it is known. Price
// and pill are smaller where both are wide.
func (s sheet) drawHeader() {
	left := float64(margin)
	if s.Logo != nil {
		draw.Draw(s.RGBA, s.logoPlace(), s.Logo, image.Point{}, draw.Over)
		left = float64(s.logoPlace().Max.X + 20)
	}
	pair := strings.TrimPrefix(s.supported(s.symbol)+" / USD", " / ")
	s.text(s.small(titleSize), row(left, width-margin, titleY), pair+" · "+s.say(chat.Say("choice."+periods[s.period()])))
	price, text, look := s.price(s.quote.Price), "", style{size: pillSize, bold: true, color: s.ink}
	change := s.change()
	if s.quote.Old() {
		text = s.updated()
	} else if change.Valid {
		text = s.say(chat.Change{Decimal: change.Decimal})
	}
	room := s.drawExtremes() - extremesGap - margin - pillGap - 2*pillPadding
	taken := pillWidth(s.textWidth(look, text), s.textWidth(s.big(priceSize), price), room)
	pill := rect{top: pillTop, bottom: pillBottom}
	pill.left = s.text(s.big(priceSize), row(margin-4, margin+room-taken, pill.middle()), price).right + pillGap
	pill.right = pill.left + taken + 2*pillPadding
	if text != "" {
		s.fill(s.ink, 0.16, pill.outline(16))
		s.text(look, pill.inset(pillPadding), text)
	}
}

// pillWidth returns the width of the pill's text, which is full at pillSize. If the room is too
// narrow for the price and the text, both shrink alike, but the text no further than to
// labelSize.
func pillWidth(full, price, room float64) float64 {
	most, least := min(full, maxPill), full*labelSize/pillSize
	return max(least, most*min(1, room/(most+price)))
}

// drawExtremes draws the highest and the lowest price at the right if they are known, and
// returns their left edge.
func (s sheet) drawExtremes() (left float64) {
	left = width - margin
	lowest, highest := s.extremes()
	for i, price := range []decimal.Decimal{highest, lowest} {
		if price.IsZero() {
			continue
		}
		y := []float64{highY, lowY}[i]
		value := s.text(s.big(labelSize).rightAligned(), row(margin, width-margin, y), s.price(price))
		name := s.say(chat.Say([]string{"picture.high", "picture.low"}[i]))
		left = min(left, s.text(s.small(labelSize).rightAligned(), row(margin, value.left-12, y), name).left)
	}
	return left
}

// line draws the line up to the dot of its last price, and fills the area under what was
// seen. A point without neighbors is a dot. A label stands beside what begins or ends at an
// estimate, which is dashed.
func (s sheet) line(to plot) {
	_, highest := bounds(s.points)
	top := to.at(s.to, highest.Price.InexactFloat64()).y
	s.points = s.shownPoints()
	solid := pen{ink: s.ink, thickness: 6}
	if s.long() {
		solid.thickness = 5
	}
	dashed := pen{ink: s.ink, thickness: solid.thickness, dash: 18, gap: 16}
	var before position
	var estimated []position // the middles of dashed parts
	for i, p := range s.points {
		here := to.at(p.At, p.Price.InexactFloat64())
		switch {
		case !s.joined(i):
			s.stroke(solid, here, here)
		case s.estimated(i):
			s.stroke(dashed, before, here)
			estimated = append(estimated, xy((before.x+here.x)/2, (before.y+here.y)/2))
		default:
			s.area(top, before, here)
			s.stroke(solid, before, here)
		}
		before = here
	}
	s.fill(background, 1, disc(before, 13))
	s.fill(s.ink, 1, disc(before, 9))
	if len(estimated) > 0 {
		look, text := s.small(labelSize), s.say(chat.Say("picture.estimated"))
		look.align = 0.5
		s.text(look, s.beside(to, estimated, s.textWidth(look, text)), text)
	}
}

// beside returns a place in the plot for a text of a width, below or above one of the
// positions: the nearest that no stroke crosses, or one above the plot if there is none.
func (s sheet) beside(in plot, positions []position, width float64) rect {
	halfWidth, halfHeight := width/2+labelPadding, float64(labelSize)/2+labelPadding
	for away := halfHeight + 4; away < 300; away += 10 {
		for _, at := range positions {
			for _, y := range []float64{at.y + away, at.y - away} {
				place := rect{left: at.x - halfWidth, top: y - halfHeight, right: at.x + halfWidth, bottom: y + halfHeight}
				inPlot := in.contains(xy(place.left, place.top)) && in.contains(xy(place.right, place.bottom))
				if inPlot && !slices.ContainsFunc(s.strokes, place.contains) {
					return place
				}
			}
		}
	}
	return row(in.left, in.left+width, in.top-labelSize)
}

// area fills what is under the line from a to b. Its opacity is 28 % at top, and falls to
// 0 at plotBottom.
func (s sheet) area(top float64, a, b position) {
	for x := math.Ceil(a.x); x < b.x; x++ {
		for y := int(a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)); y < plotBottom; y++ {
			opacity := 0.28 * (plotBottom - float64(y)) / (plotBottom - top)
			s.SetRGBA(int(x), y, blend(s.RGBAAt(int(x), y), s.ink, opacity))
		}
	}
}

// slots are the parts of a period in which a line has at most four points.
const slots = 60

// shownPoints returns the points through which the line is drawn: the first, the lowest,
// the highest and the last of each slot, so that no spike and no gap is lost. A long period
// shows the first of each slot, the points beside a gap, and the lowest and the highest of all.
func (p picture) shownPoints() (shown []point) {
	slot := func(i int) time.Duration { return p.points[i].At.Sub(p.from) * slots / p.period() }
	from := 0
	lowest, highest := bounds(p.points)
	for i, last := range p.points {
		to := i + 1
		ended := to == len(p.points) || p.estimated(to)
		if !ended && slot(to) == slot(from) {
			continue
		}
		if !p.long() {
			lowest, highest = bounds(p.points[from:to])
		}
		shown = append(shown, p.points[from], lowest, highest)
		if ended || !p.long() || slot(to)-slot(from) > 1 {
			shown = append(shown, last)
		}
		from = to
	}
	slices.SortStableFunc(shown, byTime)
	return slices.CompactFunc(shown, func(a, b point) bool { return a.At.Equal(b.At) })
}
