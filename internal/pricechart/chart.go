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
	titleY, legendY, recordedY, datesY, footerY = 52, 222, 678, 707, 765
	highY, lowY                                 = 99, 151
	tileNameY, tileChangeY                      = 308, 386
	sumNameY, sumValueY                         = 516, 573 // below the tiles

	pillTop, pillBottom   = 96, 180
	plotBottom            = 668 // of every plot
	labelSize, pillSize   = 36, 54
	legendSize, titleSize = 30, 40

	tagPadding, pillPadding = 20, 24
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

// layout returns the places of the plot and of the last price's tag. Wide labels move the
// right edge of the plot to the left.
func (s sheet) layout(a axis, last point) (plot, rect) {
	const maxRight, labelsRight, tagRight, tagGap = 1000, width - 40, width - 16, 14
	tagWidth := s.textWidth(s.big(labelSize), a.last) + 2*tagPadding
	right := min(maxRight, tagRight-tagGap-tagWidth)
	for _, label := range a.labels {
		right = min(right, labelsRight-s.textWidth(s.small(labelSize), label))
	}
	p := plot{rect: rect{left: margin, top: 262, right: right, bottom: plotBottom}, from: s.from, to: s.to, low: a.low, high: a.high}
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
		s.fill(s.grid, 1, rect{left: plot.left, top: y - 1, right: plot.right, bottom: y + 1}.outline(0))
		if math.Abs(y-tag.middle()) > 60 {
			s.text(s.small(labelSize), row(plot.right+18, width, y), a.labels[i])
		}
	}
	s.drawDates(plot)
	start := plot.at(s.from, first.Price.InexactFloat64())
	s.stroke(pen{ink: s.quiet, thickness: 2, dash: 1, gap: 11}, start, xy(plot.right, start.y))
	s.line(plot)
	textOnInk := s.background
	if s.ink == s.down {
		textOnInk = white
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

// drawHeader draws the logo and the title, the price, the pill, the extremes, and what a
// dashed line means.
func (s sheet) drawHeader() {
	left := float64(margin)
	if s.Logo != nil {
		draw.Draw(s.RGBA, s.logoPlace(), s.Logo, image.Point{}, draw.Over)
		left = float64(s.logoPlace().Max.X + 16)
	}
	pair := strings.TrimPrefix(s.supported(s.symbol)+" / USD", " / ")
	s.text(s.small(titleSize), row(left, width-margin, titleY), pair+" · "+s.say(chat.Say("choice."+periods[s.period()])))
	pill := s.drawPill(s.drawExtremes())
	s.text(s.big(104), rect{left: margin - 4, top: pill.top, right: pill.left - 28, bottom: pill.bottom}, s.price(s.quote.Price))
	if slices.ContainsFunc(s.points, func(p point) bool { return p.Estimated }) {
		s.stroke(s.dashed(), xy(margin, legendY), xy(margin+86, legendY))
		s.text(s.small(legendSize), row(margin+102, width, legendY), s.say(chat.Say("picture.estimated")))
	}
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

// drawPill draws the time of an old price, or else the change over the period if it is
// known. It returns the place, which ends at the left of the extremes.
func (s sheet) drawPill(extremesLeft float64) rect {
	text, change := "", s.change()
	if s.quote.Old() {
		text = s.updated()
	} else if change.Valid {
		text = s.say(chat.Change{Decimal: change.Decimal})
	}
	const maxText, maxLeft = 400, 560
	look := style{size: pillSize, bold: true, color: s.ink}
	pillWidth := min(s.textWidth(look, text), maxText) + 2*pillPadding
	left := min(maxLeft, extremesLeft-32-pillWidth)
	pill := rect{left: left, top: pillTop, right: left + pillWidth, bottom: pillBottom}
	if text != "" {
		s.fill(s.ink, 0.16, pill.outline(16))
		s.text(look, pill.inset(pillPadding), text)
	}
	return pill
}

// solid returns the pen of the line, and dashed that of parts that begin or end at an
// estimate.
func (s sheet) solid() pen  { return pen{ink: s.ink, thickness: 6} }
func (s sheet) dashed() pen { return pen{ink: s.ink, thickness: 6, dash: 18, gap: 16} }

// line draws the line up to the dot of its last price, and fills the area under what was
// seen. A point without neighbors is a dot.
func (s sheet) line(to plot) {
	_, highest := bounds(s.points)
	top := to.at(s.to, highest.Price.InexactFloat64()).y
	s.points = s.shownPoints()
	var before position
	for i, p := range s.points {
		here := to.at(p.At, p.Price.InexactFloat64())
		switch {
		case !s.joined(i):
			s.stroke(s.solid(), here, here)
		case s.estimated(i):
			s.stroke(s.dashed(), before, here)
		default:
			s.area(top, before, here)
			s.stroke(s.solid(), before, here)
		}
		before = here
	}
	s.fill(s.background, 1, disc(before, 13))
	s.fill(s.ink, 1, disc(before, 9))
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
// the highest and the last of each slot, so that no spike and no gap is lost.
func (p picture) shownPoints() (shown []point) {
	slot := func(i int) time.Duration { return p.points[i].At.Sub(p.from) * slots / p.period() }
	from := 0
	for i, last := range p.points {
		if to := i + 1; to == len(p.points) || slot(to) != slot(from) || p.estimated(to) {
			lowest, highest := bounds(p.points[from:to])
			shown = append(shown, p.points[from], lowest, highest, last)
			from = to
		}
	}
	slices.SortStableFunc(shown, byTime)
	return slices.CompactFunc(shown, func(a, b point) bool { return a.At.Equal(b.At) })
}
