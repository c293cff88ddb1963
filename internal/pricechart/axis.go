package pricechart

import (
	"math"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// axis holds the prices at the hairlines and their labels.
type axis struct {
	low, high float64 // the prices at the bottom and at the top
	prices    []float64
	labels    []string
	last      string // the last price, with as many decimals as the labels
}

// axis returns three or four prices at equal distances, for a plot of prices from lowest
// to highest.
func (p picture) axis(lowest, highest, last decimal.Decimal) axis {
	low, high := lowest.InexactFloat64(), highest.InexactFloat64()
	// At least 0.4 % of the price, so that a steady price looks steady.
	if span := 0.004 * high; high-low < span {
		low, high = (low+high-span)/2, (low+high+span)/2
	}
	pad := (high - low) * 0.08
	a := axis{low: low - pad, high: high + pad}
	step, from, to := niceStep(max(a.low, 0), a.high)
	power := p.unit(highest)
	places := decimals(step.Shift(-power), last.Shift(-power))
	if power == 0 && places == 1 {
		places = 2 // cents
	}
	for n := from; n <= to; n++ {
		price := step.Mul(decimal.NewFromInt(n))
		a.prices = append(a.prices, price.InexactFloat64())
		a.labels = append(a.labels, p.inUnit(price, power, places))
	}
	a.last = p.inUnit(last, power, places)
	if last.Shift(-power).Round(places).IsZero() {
		a.last = p.price(last)
	}
	return a
}

// decimals returns how many decimals the multiples of step need. The last price gets three
// digits, if that takes at most two decimals more.
func decimals(step, last decimal.Decimal) int32 {
	needed := max(0, -step.Exponent())
	return min(max(needed, 3-wholeDigits(last)), needed+2)
}

// inUnit writes a price in the unit of a power of ten. Zero has no decimals.
func (p picture) inUnit(price decimal.Decimal, power, places int32) string {
	if price.IsZero() {
		return p.write("0", power)
	}
	return p.write(price.Shift(-power).StringFixed(places), power)
}

// niceStep returns a round number that has three or four multiples between low and high:
// from and to are the factors of the first and the last one.
func niceStep(low, high float64) (step decimal.Decimal, from, to int64) {
	power := int32(math.Floor(math.Log10(high - low)))
	for _, digits := range []int64{1, 2, 5, 25, 4, 3, 6, 8, 15, 125} {
		for exponent := power - 3; exponent <= power; exponent++ {
			step = decimal.New(digits, exponent)
			size := step.InexactFloat64()
			from, to = int64(math.Ceil(low/size)), int64(math.Floor(high/size))
			if n := to - from + 1; n == 3 || n == 4 {
				return step, from, to
			}
		}
	}
	return step, from, to
}

// countedZeros is how many zeros after the point are written as a count.
const countedZeros = 4

// million is the lowest price with a unit.
var million = decimal.New(1, 6)

// price writes a price with four significant digits, or in a unit with two decimals.
func (p picture) price(price decimal.Decimal) string {
	rounded := price.Round(4 - wholeDigits(price))
	switch {
	case !price.LessThan(million):
		return words.Say(p.language, chat.Money{Decimal: price})
	case rounded.LessThan(decimal.New(1, -countedZeros)):
		return p.write(rounded.String(), 0)
	}
	return words.Say(p.language, chat.Price{Decimal: price})
}

// wholeDigits counts the digits before the point. It is negative for zeros after the
// point.
func wholeDigits(d decimal.Decimal) int32 { return int32(d.NumDigits()) + d.Exponent() }

// unit returns the power of ten of the price's unit, or 0.
func (p picture) unit(price decimal.Decimal) (power int32) {
	for n := range p.language.Info().Units {
		if !price.LessThan(decimal.Max(million, decimal.New(1, int32(n)))) {
			power = max(power, int32(n))
		}
	}
	return power
}

// write writes digits as USD in the unit of a power of ten. Many zeros after the point are
// written as a count: $0.0₅48 is $0.0000048.
func (p picture) write(digits string, power int32) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	rest := strings.TrimLeft(fraction, "0")
	if zeros := len(fraction) - len(rest); whole == "0" && rest != "" && zeros >= countedZeros {
		subscript := strings.Map(func(r rune) rune { return r - '0' + '₀' }, decimal.NewFromInt(int64(zeros)).String())
		digits = "0.0" + subscript + rest
	}
	info := p.language.Info()
	return words.Number(p.language, digits, strings.Replace(info.USD, "#", "#"+info.Units[int(power)], 1))
}
