package pricechart

import (
	"cmp"
	"image"
	"image/color"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

const day = 24 * time.Hour

// periods maps the length of a period to its name in keys of messages.
var periods = map[time.Duration]string{time.Hour: "1h", day: "24h", 7 * day: "7d", 30 * day: "30d"}

// picture is the content of a picture.
type picture struct {
	Settings
	symbol       string
	name, handle string // of whom to ask
	language     chat.Language
	quote        core.Quote
	from, to     time.Time
	points       []point   // between from and to, sorted by time
	now          time.Time // when the picture is made; zero: at to
}

func (p picture) period() time.Duration { return p.to.Sub(p.from) }

// long reports whether the period is longer than a week. Its line is thinner and has fewer points.
func (p picture) long() bool { return p.period() > 7*day }

// joined reports whether a line joins points[i] with the point before. Points further
// apart than a twelfth of the period are not joined, unless one is an estimate.
func (p picture) joined(i int) bool {
	return i > 0 && (p.estimated(i) || p.points[i].At.Sub(p.points[i-1].At) <= p.period()/12)
}

// estimated reports whether the line to points[i] begins or ends at an estimate.
func (p picture) estimated(i int) bool {
	return p.points[i].Estimated || i > 0 && p.points[i-1].Estimated
}

// seen returns the part of the period, from 0 to 1, with a line between points that
// were seen.
func (p picture) seen() float64 { return p.seenSince(p.from).Seconds() / p.period().Seconds() }

// seenSince returns how long after start there is a line between points that were seen.
func (p picture) seenSince(start time.Time) (sum time.Duration) {
	for i, next := range p.points {
		if p.joined(i) && !p.estimated(i) {
			sum += max(0, next.At.Sub(core.Later(p.points[i-1].At, start)))
		}
	}
	return sum
}

const (
	// minSeen is the part of a period that must be seen for a line.
	minSeen = 0.25
	// wholeSeen is the part that must be seen for the lowest and the highest price.
	wholeSeen = 0.95
)

func (p picture) hasLine() bool { return p.seen() >= minSeen }

// lineFrom returns when a quarter of the period will be seen, if nothing is missed from now on. By then
// the period has moved on by a quarter at most, so only what was seen in its first quarter is lost. A
// step is added because the newest quote may be that old. lineFrom returns zero if there is a line, or
// if the provider's quotes are old or have no time.
func (p picture) lineFrom() time.Time {
	if p.hasLine() || p.quote.Old() || p.quote.LastUpdated.IsZero() {
		return time.Time{}
	}
	quarter := p.period() / 4
	from := core.Later(p.now, p.to).Add(quarter - p.seenSince(p.from.Add(quarter)) + step)
	unit := time.Minute
	if p.period() > day {
		unit = day
	}
	return from.Add(unit - 1).Truncate(unit)
}

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

// change returns the provider's change over the period in per cent. If the provider has
// none, change compares the first and the last price seen. It is invalid if the line does
// not begin with the period.
func (p picture) change() decimal.NullDecimal {
	provided, seen := p.quote.Changes()[p.period()], p.recorded()
	if provided.Valid || !p.hasLine() || seen[0].At.Sub(p.from) > p.period()/24 {
		return provided
	}
	first, last := seen[0].Price, seen[len(seen)-1].Price
	return decimal.NewNullDecimal(last.Sub(first).Shift(2).DivRound(first, 2))
}

// chart returns what png shows, in numbers.
func (p picture) chart(png []byte) core.Chart {
	c := core.Chart{
		PNG:      png,
		HasLine:  p.hasLine(),
		LineFrom: p.lineFrom(),
		Seen:     p.seen(),
		Change:   p.change(),
		Since:    p.to,
		First:    p.quote.Price,
		Last:     p.quote.Price,
	}
	if seen := p.recorded(); len(seen) > 0 {
		c.Since = seen[0].At
		c.First = seen[0].Price
		c.Last = seen[len(seen)-1].Price
	}
	c.Lowest, c.Highest = p.extremes()
	return c
}

// bounds returns the points with the lowest and the highest price. There must be one point.
func bounds(points []point) (lowest, highest point) {
	byPrice := func(a, b point) int { return a.Price.Cmp(b.Price) }
	return slices.MinFunc(points, byPrice), slices.MaxFunc(points, byPrice)
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: byte(hex >> 16), G: byte(hex >> 8), B: byte(hex), A: 255}
}

// The colors of a picture.
var (
	background = rgb(0x0F1720)
	gridInk    = rgb(0x1F2B38)
	quietInk   = rgb(0x9AA8B7)
	strongInk  = rgb(0xF4F7FA)
	upInk      = rgb(0x16C784)
	downInk    = rgb(0xEA3943)
	whiteInk   = rgb(0xFFFFFF)
	warningInk = rgb(0xF5A524)
)

// inkOf returns the color of a change in per cent.
func inkOf(percent decimal.NullDecimal) color.RGBA {
	return []color.RGBA{downInk, quietInk, upInk}[percent.Decimal.Round(2).Sign()+1]
}

// sheet is a picture on its canvas.
type sheet struct {
	picture
	*canvas
	ink color.RGBA // of the line
}

// palette returns the colors in which a drawn picture is encoded: blends of all pairs of
// colors that touch each other, more of them near the first one, and samples of the logo.
func (s sheet) palette() color.Palette {
	const blends, samples = 32, 7
	colors := color.Palette{background, gridInk}
	for _, pair := range [][2]color.RGBA{
		{background, quietInk},
		{background, strongInk},
		{background, upInk},
		{background, downInk},
		{background, warningInk},
		{downInk, whiteInk},
	} {
		for i := range blends {
			part := float64(i+1) / blends
			colors = append(colors, blend(pair[0], pair[1], part*part))
		}
	}
	if s.Logo == nil {
		return colors
	}
	place := s.logoPlace()
	for i := range samples * samples {
		column, row := i%samples, i/samples
		colors = append(colors, s.RGBAAt(place.Min.X+column*place.Dx()/samples, place.Min.Y+row*place.Dy()/samples))
	}
	return colors
}

// logoPlace returns where the logo is drawn, at the left of the title.
func (s sheet) logoPlace() image.Rectangle {
	return s.Logo.Bounds().Add(image.Pt(margin, titleY-s.Logo.Bounds().Dy()/2))
}

func (s sheet) small(size float64) style { return style{size: size, color: quietInk} }
func (s sheet) big(size float64) style   { return style{size: size, bold: true, color: strongInk} }

func (s sheet) say(v chat.Value) string { return words.Say(s.language, v) }

// draw returns the picture as a PNG without transparency.
func (p picture) draw() ([]byte, error) {
	s := p.paint()
	return s.png(s.palette())
}

// paint returns the picture on its canvas: a chart, or a card if too little of the period was
// seen.
func (p picture) paint() sheet {
	s := sheet{picture: p, canvas: newCanvas(), ink: inkOf(p.change())}
	if p.quote.Old() {
		s.ink = warningInk
	}
	s.drawHeader()
	if p.hasLine() {
		s.drawChart()
	} else {
		s.drawCard()
	}
	s.drawFooter()
	return s
}

// drawFooter draws the provider and the time of the quote at the left, and the name of the
// community or the bot and the bot's handle at the right. If one is the other, or there is no room
// for a name, it draws the handle alone.
func (s sheet) drawFooter() {
	source := s.quote.Source
	if !s.quote.LastUpdated.IsZero() && !s.quote.Old() {
		source = strings.TrimPrefix(source+" · "+s.updated(), " · ")
	}
	place := row(margin, width-margin, footerY)
	place.left = s.text(s.small(sourceSize), place, source).right + margin
	look := s.big(nameSize).rightAligned()
	look.least = nameSize
	name, handle := s.supported(cmp.Or(s.name, "Herald")), s.supported(s.handle)
	if handle == "@"+name {
		name, handle = handle, ""
	}
	if handle != "" {
		place.right = s.text(s.small(handleSize).rightAligned(), place, handle).left - handleGap
	}
	if place.right-place.left >= minName {
		s.text(look, place, name)
	}
}

// updated returns when the provider updated the quote.
func (p picture) updated() string {
	return p.quote.LastUpdated.UTC().Format(p.language.Info().Day + ", 15:04 UTC")
}

// tile returns the place of one of n tiles that stand side by side on a card.
func tile(i, n int) rect {
	const gap = 24
	wide := (width - 2*margin - gap*float64(n-1)) / float64(n)
	left := margin + (wide+gap)*float64(i)
	return rect{left: left, top: tileTop, right: left + wide, bottom: tileBottom}
}

// drawCard draws the changes over the other periods unless the price is old, the market, and from
// when on there will be a line.
func (s sheet) drawCard() {
	var known []time.Duration
	for _, period := range []time.Duration{time.Hour, day, 7 * day} {
		if s.quote.Changes()[period].Valid && !s.quote.Old() && period != s.period() {
			known = append(known, period)
		}
	}
	for i, period := range known {
		s.drawTile(tile(i, len(known)), period, s.quote.Changes()[period])
	}
	y := float64(sumsY)
	if known == nil {
		y = tileNameY
	}
	sums := 0
	for i, sum := range []decimal.NullDecimal{s.quote.MarketCap, s.quote.Volume24h} {
		if sum.Valid {
			place := tile(sums, max(len(known), 2))
			s.text(s.small(38), row(place.left, place.right, y), s.say(chat.Say([]string{"price.cap", "price.volume"}[i])))
			s.text(s.big(54), row(place.left, place.right, y+59), s.say(chat.Money{Decimal: sum.Decimal}))
			sums++
		}
	}
	if from := s.lineFrom(); !from.IsZero() {
		s.text(s.small(labelSize), row(margin, width-margin, datesY), s.say(chat.LineFrom(from)))
	}
}

// drawTile draws the change over a period.
func (s sheet) drawTile(place rect, period time.Duration, percent decimal.NullDecimal) {
	ink := inkOf(percent)
	s.fill(ink, 0.14, place.outline(20))
	text := place.inset(32)
	s.text(s.small(40), row(text.left, text.right, tileNameY), s.say(chat.Say("price."+periods[period])))
	large := style{size: 56, bold: true, color: ink}
	s.text(large, row(text.left, text.right, tileChangeY), s.say(chat.Change{Decimal: percent.Decimal}))
}
