package words

import (
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

const (
	// amountDecimals of an amount are shown, and the rest is truncated.
	amountDecimals = 4
	// cents are the decimals of a sum, and of a number with a unit.
	cents = 2
	// priceDigits of a price are significant.
	priceDigits = 4
	// barCells is the length of a share's bar.
	barCells = 10
)

var (
	// Amounts and sums from here on have a unit.
	largeAmount = decimal.New(1, 7)
	largeSum    = decimal.New(1, 6)
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

// large writes a large number with its unit and at most two decimals.
func (c *catalogue) large(d decimal.Decimal, layout string) string {
	power := len(d.Truncate(0).String()) - 1
	for power > 0 && c.Units[power] == "" {
		power--
	}
	digits := d.Shift(-int32(power)).Truncate(cents).String()
	return c.number(digits, strings.Replace(layout, "#", "#"+c.Units[power], 1))
}

// amount writes d in short, with a unit or few decimals, and with all of its
// digits. What is too small for the decimals is "< 0.0001". The short form is
// never more than d.
func (c *catalogue) amount(d decimal.Decimal, layout string) (short, exact string) {
	exact = c.number(d.String(), layout)
	truncated := d.Truncate(amountDecimals)
	switch {
	case truncated.IsZero() && !d.IsZero():
		return "< " + c.number("0.0001", layout), exact
	case d.GreaterThanOrEqual(largeAmount):
		return c.large(d, layout), exact
	}
	return c.number(truncated.String(), layout), exact
}

// money writes a sum in USD in short, with a unit or in cents, and in full: in
// cents, or with all of its digits if it is less than one. The short form is never
// more than d.
func (c *catalogue) money(d decimal.Decimal) (short, exact string) {
	truncated := d.Truncate(cents)
	exact = c.number(truncated.StringFixed(cents), c.USD)
	switch {
	case truncated.IsZero() && !d.IsZero():
		return "< " + c.number("0.01", c.USD), c.number(d.String(), c.USD)
	case d.GreaterThanOrEqual(largeSum):
		return c.large(d, c.USD), exact
	}
	return exact, exact
}

// price writes d to four significant digits, and in cents at least.
func (c *catalogue) price(d decimal.Decimal) string {
	rounded := d.Round(priceDecimals(d))
	return c.number(rounded.StringFixed(priceDecimals(rounded)), c.USD)
}

// priceDecimals is how many decimals of a price are shown.
func priceDecimals(d decimal.Decimal) int32 {
	if d.IsZero() {
		return cents
	}
	first := int32(d.NumDigits()) + d.Exponent() - 1 // the power of ten of the first digit
	return max(priceDigits-1-first, cents)
}

// change writes a change in per cent with a sign and an arrow, so that it never
// shows by colour alone.
func (c *catalogue) change(d decimal.Decimal) string {
	digits, negative := strings.CutPrefix(d.StringFixed(cents), "-")
	percent := c.number(digits, c.Percent)
	switch {
	case negative:
		return "▼ -" + percent
	case digits != "0.00":
		return "▲ +" + percent
	}
	return percent
}

// share writes a part of a whole, from 0 to 100 per cent, with a bar.
func (c *catalogue) share(d decimal.Decimal) string {
	filled := min(max(int(d.Shift(-1).Round(0).IntPart()), 0), barCells)
	bar := strings.Repeat("▰", filled) + strings.Repeat("▱", barCells-filled)
	return bar + " " + c.number(d.StringFixed(cents), c.Percent)
}
