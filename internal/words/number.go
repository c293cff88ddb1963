package words

import (
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

const (
	// smallAmountDecimals is the number of decimals of an amount below one.
	smallAmountDecimals = 4
	// centDecimals is the number of decimals of a sum, of an amount of at least one, of a change, and
	// of a number with a unit. A price has at least as many.
	centDecimals = 2
	// shareDecimals is the number of decimals of a share in per cent.
	shareDecimals = 1
	// priceDigits is the number of significant digits of a price.
	priceDigits = 4
	// maxWithUnit is the digits of the largest number shown before the largest unit. Any larger number is an error of
	// the service that sent it.
	maxWithUnit = "999999"
)

var (
	// Amounts from largeAmount and sums from largeSum are shown with a unit.
	largeAmount = decimal.New(10_000_000, 0)
	largeSum    = decimal.New(1_000_000, 0)
	// Sums from wholeSum are shown without cents.
	wholeSum = decimal.New(1_000, 0)
	one      = decimal.New(1, 0)
	cent     = decimal.New(1, -centDecimals)
)

// Number formats plain digits such as "1234.5" for a language. It replaces the "#" of a layout
// such as "$#".
func Number(l chat.Language, digits, layout string) string {
	return catalogueOf(l).number(digits, layout)
}

// number formats plain digits such as "1234.5", and replaces the "#" of a layout such as "$#".
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

// large formats a number with the largest unit that it reaches, such as "1.23M" for 1234567. It omits the two decimals
// if both are zero. A number above 999,999T is shown as "> 999,999T". If units are four digits apart, as in Chinese,
// large does not group the digits before a unit.
func (c *catalogue) large(d decimal.Decimal, layout string) string {
	exponent := firstDigitExponent(d)
	largestUnit := slices.Max(slices.Collect(maps.Keys(c.Units)))
	// If the largest unit is 12, for 10^12, a number from 10^18 has at least seven digits before the unit.
	if exponent >= largestUnit+len(maxWithUnit) {
		return ">\u00a0" + c.number(maxWithUnit, strings.Replace(layout, "#", "#"+c.Units[largestUnit], 1))
	}
	for exponent > 0 && c.Units[exponent] == "" {
		exponent--
	}
	rounded := d.Shift(-int32(exponent)).Round(centDecimals)
	shown := rounded.Shift(int32(exponent))
	isRoundedUp := shown.GreaterThan(d)
	if isRoundedUp {
		// The number may now reach a larger unit: 999,999,999 becomes 1B, not 1,000M. It is not rounded up again.
		return c.large(shown, layout)
	}
	digits := strings.TrimSuffix(rounded.StringFixed(centDecimals), ".00")
	layout = strings.Replace(layout, "#", "#"+c.Units[exponent], 1)
	unitsAreFourApart := c.Units[exponent+4] != ""
	if unitsAreFourApart {
		return strings.Replace(layout, "#", strings.Replace(digits, ".", c.Point, 1), 1)
	}
	return c.number(digits, layout)
}

// firstDigitExponent returns the power of ten of d's first digit: 3 for 1234.5, -2 for 0.05.
func firstDigitExponent(d decimal.Decimal) int {
	return d.NumDigits() + int(d.Exponent()) - 1
}

// amount formats a number of tokens with its symbol.
func (c *catalogue) amount(a chat.Amount) string {
	layout := strings.TrimSuffix("#\u00a0"+chat.OneLine(a.Symbol), "\u00a0")
	switch a.Digits {
	case chat.Exact:
		return c.number(a.String(), layout)
	case chat.Whole:
		return c.number(a.Round(0).String(), layout)
	}
	return c.shortAmount(a, layout)
}

// shortAmount formats a number of tokens whose Digits are Short: with four decimals below one, with two decimals, or
// with a unit, depending on its size. An amount below 0.0001 is shown as "< 0.0001".
func (c *catalogue) shortAmount(a chat.Amount, layout string) string {
	smallest := decimal.New(1, -smallAmountDecimals)
	switch {
	case a.IsPositive() && a.LessThan(smallest):
		return "<\u00a0" + c.number(smallest.String(), layout)
	case a.LessThan(one):
		return c.number(a.Round(smallAmountDecimals).String(), layout)
	case a.LessThan(largeAmount):
		return c.number(a.Round(centDecimals).String(), layout)
	}
	return c.large(a.Decimal, layout)
}

// money formats a sum in USD: with a unit, in whole dollars, or with cents, depending on its size.
func (c *catalogue) money(m chat.Money) string {
	switch {
	case m.Exact:
		return c.number(m.String(), c.USD)
	case m.IsPositive() && m.LessThan(cent):
		return "<\u00a0" + c.number(cent.String(), c.USD)
	case m.LessThan(wholeSum):
		return c.number(m.StringFixed(centDecimals), c.USD)
	case m.LessThan(largeSum):
		return c.number(m.Round(0).String(), c.USD)
	}
	return c.large(m.Decimal, c.USD)
}

// price formats a price in USD with four significant digits, and at least two decimals.
func (c *catalogue) price(d decimal.Decimal) string {
	rounded := d.Round(priceDecimals(d))
	// Rounding may have moved the first digit: 0.99999 becomes 1.00, not 1.0000.
	return c.number(rounded.StringFixed(priceDecimals(rounded)), c.USD)
}

// priceDecimals returns the number of decimals of a price, which must be above 0: 2 for 1234.5, and 5 for 0.05.
func priceDecimals(d decimal.Decimal) int32 {
	return max(priceDigits-1-int32(firstDigitExponent(d)), centDecimals)
}

// share formats a share in per cent. Only exactly 0 is shown as 0%, and only exactly 100 as 100%.
func (c *catalogue) share(d decimal.Decimal) string {
	smallest := decimal.New(1, -shareDecimals)
	hundred := decimal.New(100, 0)
	rounded := d.Round(shareDecimals)
	switch {
	case d.IsPositive() && rounded.LessThan(smallest):
		return "<\u00a0" + c.number(smallest.String(), c.Percent)
	case d.LessThan(hundred) && rounded.Equal(hundred):
		return ">\u00a0" + c.number(hundred.Sub(smallest).String(), c.Percent)
	}
	return c.number(rounded.String(), c.Percent)
}

// change formats a change in per cent with an arrow, so that readers do not depend on the color.
func (c *catalogue) change(d chat.Change) string {
	sign := arrows[d.Tone()]
	if d.Dot {
		sign = dots[d.Tone()] + sign
	}
	return sign + c.number(d.Abs().StringFixed(centDecimals), c.Percent)
}
