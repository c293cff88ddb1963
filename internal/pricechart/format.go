package pricechart

import (
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// A unit is the exponent of a power of ten: 6 in $1.2M. noUnit is the unit of a price without a unit, such as $12.34.
const noUnit = 0

// minCountedZeros is the minimum number of zeros after the point that are written as a count.
const minCountedZeros = 4

// million is the lowest price that is written with a unit, even if the language has a smaller unit, such as 万 for 10⁴.
var million = decimal.New(1, 6)

// formatPrice returns a price in USD with four significant digits or, from a million on, in a unit with two decimals.
func formatPrice(l chat.Language, price decimal.Decimal) string {
	if price.GreaterThanOrEqual(million) {
		return words.Say(l, chat.Money{Decimal: price})
	}
	rounded := price.Round(4 - wholeDigits(price))
	hasCountedZeros := rounded.LessThan(decimal.New(1, -minCountedZeros))
	if hasCountedZeros {
		return formatUSD(l, rounded.String(), noUnit)
	}
	return words.Say(l, chat.Price{Decimal: price})
}

// unitOf returns the largest unit of the language that the price reaches: 9 for 2,000,000,000 in English. It returns
// noUnit if the price is below a million.
func unitOf(l chat.Language, price decimal.Decimal) int32 {
	largest := int32(noUnit)
	for exponent := range l.Info().Units {
		minPrice := decimal.Max(million, decimal.New(1, int32(exponent)))
		if !price.LessThan(minPrice) {
			largest = max(largest, int32(exponent))
		}
	}
	return largest
}

// formatInUnit returns a price in USD, in a unit, with this number of decimals. Zero has no decimals.
func formatInUnit(l chat.Language, price decimal.Decimal, unit, places int32) string {
	if price.IsZero() {
		return formatUSD(l, "0", unit)
	}
	return formatUSD(l, price.Shift(-unit).StringFixed(places), unit)
}

// formatUSD returns digits such as "1234.5" as USD in a unit. It writes minCountedZeros or more zeros after the point
// as a count: $0.0₅48 is $0.0000048.
func formatUSD(l chat.Language, digits string, unit int32) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	rest := strings.TrimLeft(fraction, "0")
	zeros := len(fraction) - len(rest)
	if whole == "0" && rest != "" && zeros >= minCountedZeros {
		subscript := strings.Map(func(r rune) rune { return r - '0' + '₀' }, decimal.NewFromInt(int64(zeros)).String())
		digits = "0.0" + subscript + rest
	}
	info := l.Info()
	layout := strings.Replace(info.USD, "#", "#"+info.Units[int(unit)], 1) // "$#M"
	return words.Number(l, digits, layout)
}

// wholeDigits returns the number of digits before the point: 2 for 12.3. Below 0.1, it is the negative
// number of zeros after the point: -2 for 0.001.
func wholeDigits(d decimal.Decimal) int32 { return int32(d.NumDigits()) + d.Exponent() }
