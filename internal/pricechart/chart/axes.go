package chart

import (
	"math"
	"strconv"
	"time"

	"github.com/wcharczuk/go-chart/v2"
)

// priceScale is what the price axis shows: from the bottom-th to the top-th
// multiple of step. Steps are counted in unit, a power of ten near the prices,
// so that neither tiny nor huge prices leave the range of exact arithmetic.
type priceScale struct {
	unit        float64 // USD
	step        float64 // in units
	bottom, top int     // in steps
}

// leastSpan is the part of the highest price that the axis covers at least: four
// significant digits then tell its labels apart, and a price that stands still
// looks like it.
const leastSpan = 0.004

func priceAxis(points []Point) priceScale {
	lowest, highest := math.Inf(1), 0.0
	for _, p := range points {
		lowest, highest = min(lowest, p.Price), max(highest, p.Price)
	}
	unit := math.Pow(10, math.Floor(math.Log10(highest)))
	lowest, highest = lowest/unit, highest/unit
	if span := leastSpan * highest; highest-lowest < span {
		middle := (lowest + highest) / 2
		lowest, highest = middle-span/2, middle+span/2
	}
	step := niceStep((highest - lowest) / 4)
	return priceScale{unit: unit, step: step, bottom: int(math.Floor(lowest / step)), top: int(math.Ceil(highest / step))}
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below
// least.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, nice := range []float64{1, 2, 5} {
		if nice*power >= least {
			return nice * power
		}
	}
	return 10 * power
}

func (p Picture) priceTicks(axis priceScale) []chart.Tick {
	var ticks []chart.Tick
	for n := axis.bottom; n <= axis.top; n++ {
		value := float64(n) * axis.step
		label := p.Money(value * axis.unit)
		if !fits(label, mostLabel) {
			label = "$" + strconv.FormatFloat(value*axis.unit, 'g', 4, 64)
		}
		ticks = append(ticks, chart.Tick{Value: value, Label: label})
	}
	return ticks
}

// timeTicks are at round times in UTC, at most eight, and unlabelled at both
// ends of the period, which go-chart takes for the ends of the axis.
func (p Picture) timeTicks() []chart.Tick {
	const (
		most = 8
		day  = 24 * time.Hour
	)
	period := p.To.Sub(p.From)
	step := period / 6
	for _, round := range []time.Duration{10 * time.Minute, time.Hour, 4 * time.Hour, day, 5 * day, 15 * day} {
		if period/round <= most {
			step = round
			break
		}
	}
	ticks := []chart.Tick{{Value: float64(p.From.Unix())}}
	// A label close to an end would leave the picture, or run into the prices.
	margin := period / 24
	for at := p.From.UTC().Add(margin).Truncate(step).Add(step); at.Before(p.To.Add(-margin)); at = at.Add(step) {
		label := p.Moment(at)
		if !fits(label, mostLabel) {
			label = at.Format("01-02 15:04")
		}
		ticks = append(ticks, chart.Tick{Value: float64(at.Unix()), Label: label})
	}
	return append(ticks, chart.Tick{Value: float64(p.To.Unix())})
}
