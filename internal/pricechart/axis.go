package pricechart

import (
	"math"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// axis is the vertical axis of a plot. The plot has hairlines, at round prices.
type axis struct {
	low, high float64   // the prices at the bottom and at the top of the plot
	prices    []float64 // of the hairlines, from the lowest
	labels    []string  // of the hairlines, in the same order
	// last is the last price of the line as text. It has the decimals and the unit of the labels. If it would then be
	// shown as zero, it has its own.
	last string
}

const (
	// minSpan is the minimum difference between the prices at the top and at the bottom of a plot, as a part of the
	// highest price. If it were smaller, a steady price would look unsteady.
	minSpan = 0.004
	// spanPadding is how much is added above the highest and below the lowest price, as a part of their difference.
	spanPadding = 0.08
)

// newAxis returns the axis of a plot with prices between lowest and highest, which must be above zero. last is one of
// these prices. The axis has three or four hairlines at equal distances, and labels in the language l.
func newAxis(l chat.Language, lowest, highest, last decimal.Decimal) axis {
	low, high := lowest.InexactFloat64(), highest.InexactFloat64()
	minHeight := minSpan * high
	if high-low < minHeight {
		middle := (low + high) / 2
		low = middle - minHeight/2
		high = middle + minHeight/2
	}
	padding := (high - low) * spanPadding
	a := axis{low: low - padding, high: high + padding}
	step, firstFactor, lastFactor := niceStep(max(a.low, 0), a.high)
	unit := unitOf(l, highest)
	places := decimals(step.Shift(-unit), last.Shift(-unit))
	if unit == noUnit && places == 1 {
		places = 2 // cents
	}
	for n := firstFactor; n <= lastFactor; n++ {
		price := step.Mul(decimal.NewFromInt(n))
		a.prices = append(a.prices, price.InexactFloat64())
		a.labels = append(a.labels, formatInUnit(l, price, unit, places))
	}
	a.last = formatInUnit(l, last, unit, places)
	isShownAsZero := last.Shift(-unit).Round(places).IsZero()
	if isShownAsZero {
		a.last = formatPrice(l, last)
	}
	return a
}

// decimals returns the number of decimals of the labels, which are multiples of step, and of the last price. The last
// price should have three significant digits. But there are at least as many decimals as step has, and at most two
// more. For step 0.5 and last 1.234, decimals returns 2.
func decimals(step, last decimal.Decimal) int32 {
	stepDecimals := max(0, -step.Exponent())
	lastDecimals := 3 - wholeDigits(last)
	return min(max(stepDecimals, lastDecimals), stepDecimals+2)
}

// stepDigits are the digits of the steps that niceStep tries, the roundest first. 25 stands for 0.25, 2.5, 25 and so
// on. Every span between two prices has a step with these digits.
var stepDigits = []int64{1, 2, 5, 25, 4, 3, 6, 8, 15, 125}

// niceStep returns a round number that has three or four multiples between low and high, and the factors
// of the first and the last multiple. Between 0.93 and 1.27, it returns 0.1, 10 and 12: the multiples
// are 1.0, 1.1 and 1.2. low must be below high.
func niceStep(low, high float64) (step decimal.Decimal, firstFactor, lastFactor int64) {
	magnitude := int32(math.Floor(math.Log10(high - low)))
	for _, digits := range stepDigits {
		for exponent := magnitude - 3; exponent <= magnitude; exponent++ {
			step = decimal.New(digits, exponent)
			size := step.InexactFloat64()
			firstFactor = int64(math.Ceil(low / size))
			lastFactor = int64(math.Floor(high / size))
			if multiples := lastFactor - firstFactor + 1; multiples == 3 || multiples == 4 {
				return step, firstFactor, lastFactor
			}
		}
	}
	return step, firstFactor, lastFactor // This is not reached: see stepDigits.
}
