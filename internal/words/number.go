package words

import (
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

const (
	// amountDecimals is the number of decimals of an amount below one.
	amountDecimals = 4
	// cents is the number of decimals of a sum, of a larger amount, and of a number with a
	// unit.
	cents = 2
	// shareDecimals is the number of decimals of a share in per cent.
	shareDecimals = 1
	// priceDigits is the number of significant digits of a price.
	priceDigits = 4
	// most is the largest number that stands before the largest unit. Anything above is a mistake.
	most = "999999"
)

var (
	// Amounts and sums of at least so much have a unit.
	largeAmount = decimal.New(1, 7)
	largeSum    = decimal.New(1, 6)
	// Sums of at least so much have no cents.
	wholeSum = decimal.New(1, 3)
)

// number writes plain digits such as "1234.5" in a layout such as "$#".
func (c *catalogue) number(digits, layout string) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	var b strings.Builder
	for i := range len(whole) {
		if i > 0 && len(whole) >= c.GroupFrom && (len(whole)-i)%3 == 0 {
			b.WriteString(c.Group)
		}
		b.WriteByte(whole[i])
	}
	if fraction != "" {
		b.WriteString(c.Point + fraction)
	}
	return strings.Replace(layout, "#", b.String(), 1)
}

// Number writes plain digits such as "1234.5" in a layout such as "$#".
func Number(l chat.Language, digits, layout string) string {
	return catalogueOf(l).number(digits, layout)
}

// large writes a large number with its unit, and two decimals unless both are zero. Where units are
// four digits apart, as in Chinese, the digits before a unit are not grouped. A number above 999,999T is
// "> 999,999T".
func (c *catalogue) large(d decimal.Decimal, layout string) string {
	power := d.NumDigits() + int(d.Exponent()) - 1 // of the first digit
	largest := slices.Max(slices.Collect(maps.Keys(c.Units)))
	if power >= largest+len(most) {
		return ">\u00a0" + c.number(most, strings.Replace(layout, "#", "#"+c.Units[largest], 1))
	}
	for power > 0 && c.Units[power] == "" {
		power--
	}
	rounded := d.Shift(-int32(power)).Round(cents)
	if up := rounded.Shift(int32(power)); up.GreaterThan(d) {
		return c.large(up, layout) // Rounded up, it may have the next unit.
	}
	digits := strings.TrimSuffix(rounded.StringFixed(cents), ".00")
	layout = strings.Replace(layout, "#", "#"+c.Units[power], 1)
	if c.Units[power+4] != "" {
		return strings.Replace(layout, "#", strings.Replace(digits, ".", c.Point, 1), 1)
	}
	return c.number(digits, layout)
}

// amount writes a number of tokens. A Short one below 0.0001 is "< 0.0001".
func (c *catalogue) amount(a chat.Amount) string {
	layout := strings.TrimSuffix("#\u00a0"+chat.OneLine(a.Symbol), "\u00a0")
	decimals := int32(cents)
	if a.LessThan(decimal.New(1, 0)) {
		decimals = amountDecimals
	}
	switch {
	case a.Digits == chat.Exact:
		return c.number(a.String(), layout)
	case a.Digits == chat.Whole:
		return c.number(a.Round(0).String(), layout)
	case a.IsPositive() && a.LessThan(decimal.New(1, -amountDecimals)):
		return "<\u00a0" + c.number("0.0001", layout)
	case a.GreaterThanOrEqual(largeAmount):
		return c.large(a.Decimal, layout)
	}
	return c.number(a.Round(decimals).String(), layout)
}

// money writes a sum in USD: with a unit, in whole dollars, or in cents, by its size.
func (c *catalogue) money(d chat.Money) string {
	switch {
	case d.Exact:
		return c.number(d.String(), c.USD)
	case d.IsPositive() && d.LessThan(decimal.New(1, -cents)):
		return "<\u00a0" + c.number("0.01", c.USD)
	case d.GreaterThanOrEqual(largeSum):
		return c.large(d.Decimal, c.USD)
	case d.GreaterThanOrEqual(wholeSum):
		return c.number(d.Round(0).String(), c.USD)
	}
	return c.number(d.StringFixed(cents), c.USD)
}

// price writes d in USD with four significant digits, and at least two decimals.
func (c *catalogue) price(d decimal.Decimal) string {
	rounded := d.Round(priceDecimals(d))
	return c.number(rounded.StringFixed(priceDecimals(rounded)), c.USD)
}

// priceDecimals returns the number of decimals of a price, which must be above 0.
func priceDecimals(d decimal.Decimal) int32 {
	first := int32(d.NumDigits()) + d.Exponent() - 1 // the power of ten of the first digit
	return max(priceDigits-1-first, cents)
}

// share writes a part in per cent. What is not quite 0 or 100 is not written as that.
func (c *catalogue) share(d decimal.Decimal) string {
	least, most := decimal.New(1, -shareDecimals), decimal.New(100, 0)
	switch rounded := d.Round(shareDecimals); {
	case d.IsPositive() && rounded.LessThan(least):
		return "<\u00a0" + c.number(least.String(), c.Percent)
	case d.LessThan(most) && rounded.Equal(most):
		return ">\u00a0" + c.number(most.Sub(least).String(), c.Percent)
	default:
		return c.number(rounded.String(), c.Percent)
	}
}

// change writes a change in per cent with an arrow, so that nobody needs to see a colour.
func (c *catalogue) change(d chat.Change) string {
	arrow := arrows[d.Tone()]
	if d.Dot {
		arrow = dots[d.Tone()] + arrow
	}
	return arrow + c.number(d.Abs().StringFixed(cents), c.Percent)
}
