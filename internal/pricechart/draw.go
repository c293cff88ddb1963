package pricechart

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"
	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"

	"herald/internal/chat"
	"herald/internal/words"
)

// The size of every picture, in pixels.
const (
	width  = 800
	height = 400
)

// picture is what a picture shows.
type picture struct {
	symbol   string
	language chat.Language
	from, to time.Time
	points   []point // of the period, sorted by time, at least two
}

const day = 24 * time.Hour

// joined reports whether a line joins points[i] with the one before it. If they are
// further apart than a twelfth of the period, the price between them is not known.
func (p picture) joined(i int) bool {
	return i > 0 && p.points[i].At.Sub(p.points[i-1].At) <= p.to.Sub(p.from)/12
}

// seen returns the part of the period, from 0 to 1, with a line between points that
// were seen.
func (p picture) seen() float64 {
	var covered time.Duration
	for i, next := range p.points {
		if p.joined(i) && !next.Estimated && !p.points[i-1].Estimated {
			covered += next.At.Sub(p.points[i-1].At)
		}
	}
	return covered.Seconds() / p.to.Sub(p.from).Seconds()
}

// say returns a text of the picture in its language; in English where the font
// lacks that language's letters, and empty if it lacks the symbol's too.
func (p picture) say(key string) string {
	text := chat.SayWith(key, chat.Values{"symbol": chat.Plain(p.symbol)})
	for _, l := range []chat.Language{p.language, chat.English} {
		if said := words.Say(l, text); canDraw(said) {
			return said
		}
	}
	return ""
}

// font must be loaded before go-chart needs it: go-chart checks without its lock
// whether it has loaded it.
var font = sync.OnceValues(chart.GetDefaultFont)

// canDraw reports whether the font has every letter of the text.
func canDraw(text string) bool {
	letters, err := font()
	return err == nil && !slices.ContainsFunc([]rune(text), func(r rune) bool { return letters.Index(r) == 0 })
}

// A white background is readable in dark apps too. Lines and dots differ in form,
// so that nobody depends on the colours.
var (
	background    = drawing.ColorWhite
	textColor     = drawing.Color{R: 31, G: 41, B: 51, A: 255}
	gridColor     = drawing.Color{R: 221, G: 226, B: 233, A: 255}
	seenColor     = drawing.Color{R: 29, G: 78, B: 216, A: 255}
	estimateColor = drawing.Color{R: 154, G: 69, B: 6, A: 255}

	filled        = chart.Style{FillColor: background, StrokeColor: background}
	axisStyle     = chart.Style{FontColor: textColor, FontSize: 10, StrokeColor: textColor, StrokeWidth: 1}
	gridStyle     = chart.Style{StrokeColor: gridColor, StrokeWidth: 1}
	seenStyle     = chart.Style{StrokeColor: seenColor, StrokeWidth: 2.5}
	estimateStyle = chart.Style{StrokeColor: estimateColor, StrokeWidth: 2, StrokeDashArray: []float64{6, 5}}
	dotStyle      = chart.Style{StrokeWidth: chart.Disabled, DotColor: seenColor, DotWidth: 3.5}
	guessStyle    = chart.Style{StrokeWidth: chart.Disabled, DotColor: estimateColor, DotWidth: 5}
)

// draw returns the picture as a PNG without transparency.
func (p picture) draw() ([]byte, error) {
	if _, err := font(); err != nil {
		return nil, fmt.Errorf("load the font: %w", err)
	}
	margins := filled
	margins.Padding = chart.Box{Top: 56, Left: 24, Right: 12, Bottom: 12}
	c := chart.Chart{
		Width: width, Height: height, Background: margins, Canvas: filled,
		XAxis:    chart.XAxis{Ticks: p.timeTicks(), Style: axisStyle, GridMajorStyle: gridStyle, GridMinorStyle: gridStyle},
		YAxis:    chart.YAxis{Ticks: p.priceTicks(), Style: axisStyle, GridMajorStyle: gridStyle, GridMinorStyle: gridStyle},
		Series:   p.series(),
		Elements: []chart.Renderable{p.heading},
	}
	var png bytes.Buffer
	if err := c.Render(chart.PNG, &png); err != nil {
		return nil, fmt.Errorf("render the picture: %w", err)
	}
	return png.Bytes(), nil
}

// priceTicks returns the labels of the price axis, at multiples of 1, 2 or 5 times
// a power of ten. The first and the last are the ends of the axis.
func (p picture) priceTicks() []chart.Tick {
	lowest, highest := math.Inf(1), 0.0
	for _, point := range p.points {
		price := point.Price.InexactFloat64()
		lowest, highest = min(lowest, price), max(highest, price)
	}
	// At least 0.4 % of the price: four significant digits then tell the labels
	// apart, and a price that stands still looks like it.
	if span := 0.004 * highest; highest-lowest < span {
		middle := (lowest + highest) / 2
		lowest, highest = middle-span/2, middle+span/2
	}
	step := niceStep((highest - lowest) / 4)
	var ticks []chart.Tick
	for n := math.Floor(lowest / step); n <= math.Ceil(highest/step); n++ {
		label := words.Say(p.language, chat.Price{Decimal: decimal.NewFromFloat(n * step)})
		ticks = append(ticks, chart.Tick{Value: n * step, Label: label})
	}
	return ticks
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not
// below step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, nice := range []float64{1, 2, 5} {
		if nice*power >= step {
			return nice * power
		}
	}
	return 10 * power
}

// timeTicks returns the labels of the time axis, at round times in UTC. Both ends
// of the axis have a tick without a label.
func (p picture) timeTicks() []chart.Tick {
	period, step, layout := p.to.Sub(p.from), 5*day, p.language.Info().Day
	switch {
	case period <= day:
		step, layout = 4*time.Hour, "15:04"
	case period <= 7*day:
		step = day
	}
	ticks := []chart.Tick{{Value: float64(p.from.Unix())}}
	// A label close to an end would leave the picture, or run into the prices.
	margin := period / 24
	for at := p.from.UTC().Add(margin).Truncate(step).Add(step); at.Before(p.to.Add(-margin)); at = at.Add(step) {
		ticks = append(ticks, chart.Tick{Value: float64(at.Unix()), Label: at.Format(layout)})
	}
	return append(ticks, chart.Tick{Value: float64(p.to.Unix())})
}

// series returns the lines and marks: a line through each run of points that were
// seen, a dashed one to each estimate, a large dot at each estimate, and a dot at
// the newest point and wherever a run is a single point.
func (p picture) series() []chart.Series {
	var lines []chart.Series
	add := func(style chart.Style, points []point) {
		line := chart.ContinuousSeries{Style: style}
		for _, point := range points {
			line.XValues = append(line.XValues, float64(point.At.Unix()))
			line.YValues = append(line.YValues, point.Price.InexactFloat64())
		}
		if len(points) > 0 {
			lines = append(lines, line)
		}
	}
	var run, dots, guesses []point
	endRun := func() {
		if len(run) == 1 {
			dots = append(dots, run...)
		} else {
			add(seenStyle, run)
		}
		run = nil
	}
	for i, point := range p.points {
		dashed := p.joined(i) && (point.Estimated || p.points[i-1].Estimated)
		if dashed {
			add(estimateStyle, p.points[i-1:i+1])
		}
		if dashed || !p.joined(i) {
			endRun()
		}
		if point.Estimated {
			guesses = append(guesses, point)
		} else {
			run = append(run, point)
		}
	}
	if len(run) > 1 {
		dots = append(dots, run[len(run)-1])
	}
	endRun()
	add(dotStyle, dots)
	add(guessStyle, guesses)
	return lines
}

// heading draws the title, and below it what the lines in the picture mean, each in
// the colour of its line.
func (p picture) heading(r chart.Renderer, _ chart.Box, font chart.Style) {
	const left, titleLine, legendLine = 24, 24, 46
	text := func(words string, x, y int, style chart.Style) (right int) {
		style = style.InheritFrom(font)
		chart.Draw.Text(r, words, x, y, style)
		return x + chart.Draw.MeasureText(r, words, style).Width()
	}
	text(p.say("chart.title"), left, titleLine, chart.Style{FontColor: textColor, FontSize: 13})
	x := left
	for _, kind := range []struct {
		line, key string
		estimated bool
		color     drawing.Color
	}{
		{line: "—— ", key: "chart.seen", color: seenColor},
		{line: "– – – ", key: "chart.estimated", estimated: true, color: estimateColor},
	} {
		if slices.ContainsFunc(p.points, func(p point) bool { return p.Estimated == kind.estimated }) {
			x = text(kind.line+p.say(kind.key), x, legendLine, chart.Style{FontColor: kind.color, FontSize: 10}) + 24
		}
	}
}
