package pricechart

import (
	"math"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// axis describes the vertical axis of a plot. There is a hairline at each of prices, with the label
// of the same index.
type axis struct {
	low, high float64 // the prices at the bottom and at the top of the plot
	prices    []float64
	labels    []string
	last      string // the last price, with as many decimals as the labels
}

const (
	// minSpan is the minimum height of a plot, as a part of its highest price. A smaller height would
	// make a steady price look unsteady.
	minSpan = 0.004
	// spanPadding is the empty part above and below the line, as a part of the span of its prices.
	spanPadding = 0.08
)

// axis returns the axis of a plot with prices between lowest and highest. It has three or four hairlines at equal
// distances.
func (p picture) axis(lowest, highest, last decimal.Decimal) axis {
	low, high := lowest.InexactFloat64(), highest.InexactFloat64()
	if span := minSpan * high; high-low < span {
		low, high = (low+high-span)/2, (low+high+span)/2
	}
	padding := (high - low) * spanPadding
	a := axis{low: low - padding, high: high + padding}
	step, firstFactor, lastFactor := niceStep(max(a.low, 0), a.high)
	unit := p.unit(highest)
	places := decimals(step.Shift(-unit), last.Shift(-unit))
	if unit == noUnit && places == 1 {
		places = 2 // cents
	}
	for n := firstFactor; n <= lastFactor; n++ {
		price := step.Mul(decimal.NewFromInt(n))
		a.prices = append(a.prices, price.InexactFloat64())
		a.labels = append(a.labels, p.inUnit(price, unit, places))
	}
	a.last = p.inUnit(last, unit, places)
	if isShownAsZero := last.Shift(-unit).Round(places).IsZero(); isShownAsZero {
		a.last = p.price(last)
	}
	return a
}

// decimals returns the number of decimals for the multiples of step and the last price. It gives the
// last price three significant digits, unless that takes more than two decimals beyond those of step:
// for step 0.5 and last 1.234, it returns 2.
func decimals(step, last decimal.Decimal) int32 {
	stepDecimals := max(0, -step.Exponent())
	lastDecimals := 3 - wholeDigits(last)
	return min(max(stepDecimals, lastDecimals), stepDecimals+2)
}

// noUnit is the unit of a price that is written without one, such as $12.34. Other units are exponents of powers of
// ten: 6 in $1.2M.
const noUnit = 0

// inUnit formats a price in a unit with this number of decimals. Zero is formatted without decimals.
func (p picture) inUnit(price decimal.Decimal, unit, places int32) string {
	if price.IsZero() {
		return p.write("0", unit)
	}
	return p.write(price.Shift(-unit).StringFixed(places), unit)
}

// niceStep returns a round number that has three or four multiples between low and high, and the factors
// of the first and the last multiple. Between 0.93 and 1.27, it returns 0.1, 10 and 12: the multiples
// are 1.0, 1.1 and 1.2.
func niceStep(low, high float64) (step decimal.Decimal, firstFactor, lastFactor int64) {
	magnitude := int32(math.Floor(math.Log10(high - low)))
	for _, digits := range []int64{1, 2, 5, 25, 4, 3, 6, 8, 15, 125} {
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
	return step, firstFactor, lastFactor
}

// minCountedZeros is the minimum number of zeros after the point that are written as a count.
const minCountedZeros = 4

// million is the lowest price with a unit.
var million = decimal.New(1, 6)

// price formats a price with four significant digits or, from a million on, in a unit with two decimals.
func (p picture) price(price decimal.Decimal) string {
	if price.GreaterThanOrEqual(million) {
		return words.Say(p.language, chat.Money{Decimal: price})
	}
	rounded := price.Round(4 - wholeDigits(price))
	hasCountedZeros := rounded.LessThan(decimal.New(1, -minCountedZeros))
	if hasCountedZeros {
		return p.write(rounded.String(), noUnit)
	}
	return words.Say(p.language, chat.Price{Decimal: price})
}

// wholeDigits returns the number of digits before the point: 2 for 12.3. Below 0.1, it is the negative
// number of zeros after the point: -2 for 0.001.
func wholeDigits(d decimal.Decimal) int32 { return int32(d.NumDigits()) + d.Exponent() }

// unit returns the largest unit of the language that the price reaches: 9 for 2,000,000,000 in English. It returns
// noUnit if the price is below a million.
func (p picture) unit(price decimal.Decimal) int32 {
	largest := int32(noUnit)
	for exponent := range p.language.Info().Units {
		minPrice := decimal.Max(million, decimal.New(1, int32(exponent)))
		if !price.LessThan(minPrice) {
			largest = max(largest, int32(exponent))
		}
	}
	return largest
}

// write formats digits such as "1234.5" as USD in a unit. It writes four or more zeros after the point
// as a count: $0.0₅48 is $0.0000048.
func (p picture) write(digits string, unit int32) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	rest := strings.TrimLeft(fraction, "0")
	zeros := len(fraction) - len(rest)
	if whole == "0" && rest != "" && zeros >= minCountedZeros {
		subscript := strings.Map(func(r rune) rune { return r - '0' + '₀' }, decimal.NewFromInt(int64(zeros)).String())
		digits = "0.0" + subscript + rest
	}
	info := p.language.Info()
	layout := strings.Replace(info.USD, "#", "#"+info.Units[int(unit)], 1) // "$#M"
	return words.Number(p.language, digits, layout)
}
