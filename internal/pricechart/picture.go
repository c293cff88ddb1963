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

// periods maps the length of a period to its name in the keys of messages, such as "price.7d".
var periods = map[time.Duration]string{time.Hour: "1h", day: "24h", 7 * day: "7d", 30 * day: "30d"}

// picture is the content of a picture: the price of a token from one time to another.
type picture struct {
	Settings
	symbol   string // of the token, or ""
	name     string // of the community or the bot that shows the picture, or ""
	handle   string // of the bot, such as "@herald_bot", or ""
	language chat.Language
	quote    core.Quote
	from, to time.Time
	points   []point // between from and to, sorted by time
	// now is when the picture is made. It may be later than to, because the quote may be older.
	now time.Time
}

func (p picture) period() time.Duration { return p.to.Sub(p.from) }

// isLong reports whether the period is longer than a week. Its line is thinner and has fewer points.
func (p picture) isLong() bool { return p.period() > 7*day }

// isJoined reports whether a line joins points[i] and the previous point. It joins them if one of them is an estimate,
// or if they are at most a twelfth of the period apart.
func (p picture) isJoined(i int) bool {
	if i == 0 {
		return false
	}
	if p.touchesEstimate(i) {
		return true
	}
	gap := p.points[i].At.Sub(p.points[i-1].At)
	return gap <= p.period()/12
}

// touchesEstimate reports whether points[i] or the previous point is an estimate. A line between the two is then
// dashed.
func (p picture) touchesEstimate(i int) bool {
	if p.points[i].Estimated {
		return true
	}
	return i > 0 && p.points[i-1].Estimated
}

// seenPart returns the part of the period that is seen, from 0 to 1. The time between two points is seen if they are
// joined and both are recorded.
func (p picture) seenPart() float64 { return p.seenSince(p.from).Seconds() / p.period().Seconds() }

// seenSince returns how much of the time since start is seen.
func (p picture) seenSince(start time.Time) (sum time.Duration) {
	for i, next := range p.points {
		if p.isJoined(i) && !p.touchesEstimate(i) {
			sum += max(0, next.At.Sub(core.Later(p.points[i-1].At, start)))
		}
	}
	return sum
}

const (
	// minSeen is the minimum part of the period that must be seen, so that a line is drawn.
	minSeen = 0.25
	// minSeenForExtremes is the minimum part of the period that must be seen, so that the extremes are shown.
	minSeenForExtremes = 0.95
)

func (p picture) hasLine() bool { return p.seenPart() >= minSeen }

// lineFrom returns when there will be a line, rounded up to a minute or, for a period above a day, to a day. It returns
// zero if there is a line already, or if the quote is old or has no time.
//
// There is a line when a quarter of the period is seen. lineFrom assumes that from now on all time is seen, so the line
// comes within a quarter of the period. By then, the period may begin a quarter later, so what was seen in its first
// quarter does not count. A step is added, because the latest quote may be a step old.
//
// For example, if the period is 24 hours and the last 2 hours are seen, there will be a line in 4 hours and a step.
func (p picture) lineFrom() time.Time {
	if p.hasLine() || p.quote.Old() || p.quote.LastUpdated.IsZero() {
		return time.Time{}
	}
	quarter := p.period() / 4 // minSeen of the period
	from := core.Later(p.now, p.to).Add(quarter - p.seenSince(p.from.Add(quarter)) + step)
	precision := time.Minute
	if p.period() > day {
		precision = day
	}
	return from.Add(precision - 1).Truncate(precision)
}

// recorded returns the points that are not estimates.
func (p picture) recorded() []point {
	return slices.DeleteFunc(slices.Clone(p.points), func(p point) bool { return p.Estimated })
}

// extremes returns the lowest and the highest recorded price. It returns zeros if less than
// minSeenForExtremes of the period is seen.
func (p picture) extremes() (lowest, highest decimal.Decimal) {
	if p.seenPart() < minSeenForExtremes {
		return decimal.Zero, decimal.Zero
	}
	low, high := bounds(p.recorded())
	return low.Price, high.Price
}

// change returns the change over the period in per cent, or an invalid number if it is unknown. It is the provider's
// change if the provider sent one. Otherwise it is the change from the first to the last recorded price. It is then
// unknown if there is no line, or if the first price was recorded more than a 24th of the period after the beginning.
func (p picture) change() decimal.NullDecimal {
	provided := p.quote.Changes()[p.period()]
	if provided.Valid || !p.hasLine() {
		return provided
	}
	recorded := p.recorded()
	first, last := recorded[0], recorded[len(recorded)-1]
	maxDelay := p.period() / 24
	if first.At.Sub(p.from) > maxDelay {
		return decimal.NullDecimal{}
	}
	percent := last.Price.Sub(first.Price).Shift(2).DivRound(first.Price, 2)
	return decimal.NewNullDecimal(percent)
}

// chart returns a Chart with the PNG file of this picture and the numbers that it shows.
func (p picture) chart(png []byte) core.Chart {
	c := core.Chart{
		PNG:      png,
		HasLine:  p.hasLine(),
		LineFrom: p.lineFrom(),
		Seen:     p.seenPart(),
		Change:   p.change(),
		Since:    p.to,
		First:    p.quote.Price,
		Last:     p.quote.Price,
	}
	if recorded := p.recorded(); len(recorded) > 0 {
		c.Since = recorded[0].At
		c.First = recorded[0].Price
		c.Last = recorded[len(recorded)-1].Price
	}
	c.Lowest, c.Highest = p.extremes()
	return c
}

// bounds returns the points with the lowest and the highest price. It panics if there are no points.
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

// inkOf returns the color of a change in per cent. An invalid change has the color of a change of 0.
func inkOf(percent decimal.NullDecimal) color.RGBA {
	switch percent.Decimal.Round(2).Sign() {
	case 1:
		return upInk
	case -1:
		return downInk
	}
	return quietInk
}

// sheet is a picture and the canvas on which it is drawn.
type sheet struct {
	picture
	*canvas
	ink color.RGBA // of the line, the tag and the pill
}

// palette returns the colors in which png encodes the sheet. They are blends of any two colors that touch each other,
// most of them close to the first color, and samples of the logo, which must have been drawn.
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

// small returns the style of names and labels, in a size in pixels.
func (s sheet) small(size float64) style { return style{size: size, color: quietInk} }

// big returns the style of values, in a size in pixels.
func (s sheet) big(size float64) style { return style{size: size, bold: true, color: strongInk} }

// say returns a value in the language of the picture.
func (s sheet) say(v chat.Value) string { return words.Say(s.language, v) }

// draw paints the picture, and returns it as a PNG without transparency.
func (p picture) draw() ([]byte, error) {
	s := p.paint()
	return s.png(s.palette())
}

// paint draws the picture on a new sheet: a chart, or a card if too little of the period is seen.
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

// drawFooter draws the provider and the time of the quote at the left, and the name and the handle at the right. It
// leaves out the name if the handle is "@" and the name, or if there is no room for it.
func (s sheet) drawFooter() {
	source := s.quote.Source
	if !s.quote.LastUpdated.IsZero() && !s.quote.Old() {
		source = strings.TrimPrefix(source+" · "+s.updated(), " · ")
	}
	place := row(margin, width-margin, footerY)
	place.left = s.text(s.small(sourceSize), place, source).right + margin
	nameLook := s.big(nameSize).aligned(alignRight)
	nameLook.minSize = nameSize
	name := s.supported(cmp.Or(s.name, "Herald"))
	handle := s.supported(s.handle)
	if handle == "@"+name {
		name = handle
		handle = ""
	}
	if handle != "" {
		place.right = s.text(s.small(handleSize).aligned(alignRight), place, handle).left - handleGap
	}
	if place.right-place.left >= minName {
		s.text(nameLook, place, name)
	}
}

// updated returns when the provider updated the quote, as text.
func (p picture) updated() string {
	return p.quote.LastUpdated.UTC().Format(p.language.Info().Day + ", 15:04 UTC")
}

// tile returns the place of tile i of n tiles that are side by side on a card.
func tile(i, n int) rect {
	const gap = 24
	tileWidth := (width - 2*margin - gap*float64(n-1)) / float64(n)
	left := margin + (tileWidth+gap)*float64(i)
	return rect{left: left, top: tileTop, right: left + tileWidth, bottom: tileBottom}
}

// drawCard draws tiles with the changes that are known, below them the market's sums, and when there will be a line.
// The change over the picture's own period has no tile, because the pill shows it. If the price is old, there are no
// tiles, and the sums are in their place.
func (s sheet) drawCard() {
	var shown []time.Duration
	for _, period := range []time.Duration{time.Hour, day, 7 * day} {
		isKnown := s.quote.Changes()[period].Valid && !s.quote.Old()
		isOther := period != s.period()
		if isKnown && isOther {
			shown = append(shown, period)
		}
	}
	for i, period := range shown {
		s.drawTile(tile(i, len(shown)), period, s.quote.Changes()[period])
	}
	y := float64(sumsY)
	if len(shown) == 0 {
		y = tileNameY
	}
	s.drawSums(y, max(len(shown), 2))
	if from := s.lineFrom(); !from.IsZero() {
		s.text(s.small(labelSize), row(margin, width-margin, datesY), s.say(chat.LineFrom(from)))
	}
}

// drawSums draws the market capitalization and the trading volume, if they are known: their names at y, and the sums
// below. They have the left edges of the first of this many tiles.
func (s sheet) drawSums(y float64, tiles int) {
	drawn := 0
	for _, sum := range []struct {
		nameKey string
		value   decimal.NullDecimal
	}{
		{"price.cap", s.quote.MarketCap},
		{"price.volume", s.quote.Volume24h},
	} {
		if !sum.value.Valid {
			continue
		}
		place := tile(drawn, tiles)
		s.text(s.small(38), row(place.left, place.right, y), s.say(chat.Say(sum.nameKey)))
		s.text(s.big(54), row(place.left, place.right, y+59), s.say(chat.Money{Decimal: sum.value.Decimal}))
		drawn++
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
