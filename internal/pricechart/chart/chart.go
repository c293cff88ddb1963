// Package chart draws prices as a picture.
//
// It knows times and numbers, not tokens, languages or platforms: every word and
// number in the picture is worded by the caller.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

// The size of every picture, in pixels.
const (
	Width  = 800
	Height = 400
)

// ErrTooFewPoints is the error for a picture of less than two moments.
var ErrTooFewPoints = errors.New("too few points to draw")

const (
	// mostPoints bounds the time that a picture takes. There is room for some
	// 700 side by side.
	mostPoints = 10_000
	// Two points further apart than this part of the period are not joined: the
	// price between them is not known.
	joinedWithin = 12
	// The texts in a picture are bounded, in runes.
	mostLabel, mostTitle, mostLegend = 16, 60, 40
)

// Picture is what a picture shows. A text that the font cannot draw, or for
// which there is no room, is left out, or replaced by digits where it labels an
// axis: whether one can be drawn, CanDraw reports.
type Picture struct {
	Title string
	// Seen and Estimated explain the two kinds of line.
	Seen, Estimated string
	// From and To bound the period. Points outside it are not drawn.
	From, To time.Time
	Points   []Point
	// Money and Moment word what stands at the axes, in at most 16 characters.
	Money  func(usd float64) string
	Moment func(time.Time) string
}

// Point is a price above zero, in USD.
type Point struct {
	At    time.Time
	Price float64
	// Estimated marks a price that was worked out, not seen. It is a ring, and a
	// line to it is dashed.
	Estimated bool
}

// Draw returns the picture as a PNG without transparency, 800 pixels wide and
// 400 high. Neighbouring points are joined by a line only if they are no further
// apart than a twelfth of the period. It fails with ErrTooFewPoints, or if a
// price is not a number above zero.
func Draw(p Picture) ([]byte, error) {
	points, err := p.inPeriod()
	if err != nil {
		return nil, err
	}
	if _, err := loadFont(); err != nil {
		return nil, fmt.Errorf("load the font: %w", err)
	}
	axis := priceAxis(points)
	picture := chart.Chart{
		Width: Width, Height: Height,
		Background: chart.Style{FillColor: background, StrokeColor: background,
			Padding: chart.Box{Top: 56, Left: 24, Right: 12, Bottom: 12}},
		Canvas:   chart.Style{FillColor: background, StrokeColor: background},
		XAxis:    chart.XAxis{Ticks: p.timeTicks(), Style: axisStyle, GridMajorStyle: gridStyle, GridMinorStyle: gridStyle},
		YAxis:    chart.YAxis{Ticks: p.priceTicks(axis), Style: axisStyle, GridMajorStyle: gridStyle, GridMinorStyle: gridStyle},
		Series:   series(points, p.To.Sub(p.From)/joinedWithin, axis.unit),
		Elements: []chart.Renderable{func(r chart.Renderer, _ chart.Box, font chart.Style) { p.heading(r, font, points) }},
	}
	var png bytes.Buffer
	if err := picture.Render(chart.PNG, &png); err != nil {
		return nil, fmt.Errorf("draw the picture: %w", err)
	}
	return png.Bytes(), nil
}

// Covered is the part of the period, from 0 to 1, for which the picture has a
// line between points that were seen.
func (p Picture) Covered() float64 {
	points, err := p.inPeriod()
	if err != nil {
		return 0
	}
	var covered time.Duration
	for i, next := range points[1:] {
		if gap := next.At.Sub(points[i].At); gap <= p.To.Sub(p.From)/joinedWithin && !points[i].Estimated && !next.Estimated {
			covered += gap
		}
	}
	return covered.Seconds() / p.To.Sub(p.From).Seconds()
}

// inPeriod returns the points of the period, sorted by time.
func (p Picture) inPeriod() ([]Point, error) {
	if p.To.Sub(p.From) < time.Minute {
		return nil, errors.New("a period of less than a minute")
	}
	if len(p.Points) > mostPoints {
		return nil, fmt.Errorf("more than %d points to draw", mostPoints)
	}
	var points []Point
	for _, point := range p.Points {
		// The bounds keep ten times or a tenth of a price a number.
		if !(point.Price > 1e-300 && point.Price < 1e300) {
			return nil, errors.New("a price that is not a number above zero")
		}
		if !point.At.Before(p.From) && !point.At.After(p.To) {
			points = append(points, point)
		}
	}
	slices.SortStableFunc(points, func(a, b Point) int { return a.At.Compare(b.At) })
	if len(points) < 2 || points[0].At.Unix() == points[len(points)-1].At.Unix() {
		return nil, ErrTooFewPoints
	}
	return points, nil
}

// loadFont must come before anything of the library that needs the font: the
// library checks without its lock whether it has loaded it.
var loadFont = sync.OnceValues(chart.GetDefaultFont)

// CanDraw reports whether the font of the pictures has all of the text.
func CanDraw(text string) bool {
	font, err := loadFont()
	if err != nil {
		return false
	}
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) || font.Index(r) == 0 {
			return false
		}
	}
	return true
}

// A white page reads on a dark background too. Lines and rings differ in form;
// the colours only help.
var (
	background    = drawing.ColorWhite
	textColor     = drawing.Color{R: 31, G: 41, B: 51, A: 255}
	gridColor     = drawing.Color{R: 221, G: 226, B: 233, A: 255}
	seenColor     = drawing.Color{R: 29, G: 78, B: 216, A: 255}
	estimateColor = drawing.Color{R: 154, G: 69, B: 6, A: 255}

	axisStyle      = chart.Style{FontColor: textColor, FontSize: 10, StrokeColor: textColor, StrokeWidth: 1}
	gridStyle      = chart.Style{StrokeColor: gridColor, StrokeWidth: 1}
	seenStyle      = chart.Style{StrokeColor: seenColor, StrokeWidth: 2.5}
	estimateStyle  = chart.Style{StrokeColor: estimateColor, StrokeWidth: 2, StrokeDashArray: []float64{6, 5}}
	dotStyle       = chart.Style{StrokeWidth: chart.Disabled, DotColor: seenColor, DotWidth: 3.5}
	ringStyle      = chart.Style{StrokeWidth: chart.Disabled, DotColor: estimateColor, DotWidth: 5}
	ringInnerStyle = chart.Style{StrokeWidth: chart.Disabled, DotColor: background, DotWidth: 2.5}
)

// series are the lines and marks of the points: a line through each run of
// points that were seen, a dashed one to each estimate, a dot where a line
// would have no length and at the newest point, a ring at each estimate.
func series(points []Point, within time.Duration, unit float64) []chart.Series {
	var lines []chart.Series
	draw := func(style chart.Style, points []Point) {
		if len(points) == 0 {
			return
		}
		line := chart.ContinuousSeries{Style: style}
		for _, p := range points {
			line.XValues = append(line.XValues, float64(p.At.Unix()))
			line.YValues = append(line.YValues, p.Price/unit)
		}
		lines = append(lines, line)
	}
	joined := func(i int) bool { return i > 0 && i < len(points) && points[i].At.Sub(points[i-1].At) <= within }

	var dots, rings []Point
	begin := 0 // of the run of points that were seen
	for i, p := range points {
		if i > begin && (!joined(i) || p.Estimated || points[i-1].Estimated) {
			begin = i
		}
		if joined(i) && (p.Estimated || points[i-1].Estimated) {
			draw(estimateStyle, points[i-1:i+1])
		}
		if p.Estimated {
			rings = append(rings, p)
			continue
		}
		ends := !joined(i+1) || points[i+1].Estimated
		if ends && i > begin {
			draw(seenStyle, points[begin:i+1])
		}
		if ends && i == begin || i == len(points)-1 {
			dots = append(dots, p)
		}
	}
	draw(dotStyle, dots)
	draw(ringStyle, rings)
	draw(ringInnerStyle, rings)
	return lines
}

// heading draws the title, and below it what those kinds of points mean that
// are in the picture.
func (p Picture) heading(r chart.Renderer, font chart.Style, points []Point) {
	const left, titleLine, legendLine, sample = 24, 24, 46, 32
	text := func(words string, x, y int, size float64) (right int) {
		style := chart.Style{FontColor: textColor, FontSize: size}.InheritFrom(font)
		chart.Draw.Text(r, words, x, y, style)
		return x + chart.Draw.MeasureText(r, words, style).Width()
	}
	if fits(p.Title, mostTitle) {
		text(p.Title, left, titleLine, 13)
	}
	x := left
	for _, kind := range []struct {
		words     string
		estimated bool
		line      chart.Style
		marks     []chart.Style
	}{
		{p.Seen, false, seenStyle, nil},
		{p.Estimated, true, estimateStyle, []chart.Style{ringStyle, ringInnerStyle}},
	} {
		none := !slices.ContainsFunc(points, func(p Point) bool { return p.Estimated == kind.estimated })
		if none || kind.words == "" || !fits(kind.words, mostLegend) {
			continue
		}
		middle := legendLine - 4
		kind.line.GetStrokeOptions().WriteToRenderer(r)
		r.MoveTo(x, middle)
		r.LineTo(x+sample, middle)
		r.Stroke()
		for _, mark := range kind.marks {
			mark.GetDotOptions().WriteDrawingOptionsToRenderer(r)
			r.Circle(mark.DotWidth, x+sample/2, middle)
			r.FillStroke()
		}
		x = text(kind.words, x+sample+8, legendLine, 10) + 24
	}
}

// fits reports whether the text can be drawn and is not longer than that.
func fits(text string, runes int) bool {
	return len([]rune(text)) <= runes && CanDraw(text)
}
