package words

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// numbers is how a language writes numbers, by the Unicode CLDR; Vietnamese has
// its long names of large numbers, since the short ones of thousand millions and
// of English trillions are the same letter:
// https://www.unicode.org/cldr/charts/latest/summary/root.html
type numbers struct {
	point, group string
	// grouped is how many digits a whole number must have for its thousands to
	// be kept apart.
	grouped int
	// units are short names of large numbers, the largest first.
	units        []unit
	percent, usd around
	// moment is a layout of package time, in UTC.
	moment string
}

// unit is a power of ten with its name.
type unit struct {
	power int
	name  string
}

// around is what stands before and after a number.
type around struct{ before, after string }

// bare is a number by itself.
var bare around

// withUnit and withSign are a with something next to the number or before all.
func (a around) withUnit(name string) around { return around{a.before, name + a.after} }

func (a around) withSign(sign string) around { return around{sign + a.before, a.after} }

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

var numbersOf = map[chat.Language]numbers{
	chat.English: {".", ",", 4, []unit{{12, "T"}, {9, "B"}, {6, "M"}},
		around{"", "%"}, around{"$", ""}, "2006-01-02 15:04 UTC"},
	chat.Spanish: {",", ".", 5, []unit{{12, nbsp + "B"}, {6, nbsp + "M"}},
		around{"", nbsp + "%"}, around{"", nbsp + "$"}, "2/1/2006 15:04 UTC"},
	chat.Chinese: {".", ",", 4, []unit{{12, "万亿"}, {8, "亿"}, {4, "万"}},
		around{"", "%"}, around{"$", ""}, "2006年1月2日 15:04 UTC"},
	chat.Russian: {",", nbsp, 4, []unit{{12, nbsp + "трлн"}, {9, nbsp + "млрд"}, {6, nbsp + "млн"}},
		around{"", nbsp + "%"}, around{"", nbsp + "$"}, "02.01.2006 15:04 UTC"},
	chat.Turkish: {",", ".", 4, []unit{{12, nbsp + "Tn"}, {9, nbsp + "Mr"}, {6, nbsp + "Mn"}},
		around{"%", ""}, around{"$", ""}, "02.01.2006 15:04 UTC"},
	chat.Vietnamese: {",", ".", 4, []unit{{12, nbsp + "nghìn" + nbsp + "tỷ"}, {9, nbsp + "tỷ"}, {6, nbsp + "triệu"}},
		around{"", "%"}, around{"", nbsp + "$"}, "15:04 02/01/2006 UTC"},
}

const (
	// amountDecimals of an amount are shown, the rest truncated.
	amountDecimals = 4
	// cents are the decimals of a sum, and those of a number with a unit.
	cents = 2
	// shortAmount and shortMoney are how many digits before the point are shown
	// at most; a larger number gets a unit.
	shortAmount = 7
	shortMoney  = 6
	// priceDigits of a price are significant.
	priceDigits = 4
	// tinyZeros is how many zeros after the point are counted rather than
	// written.
	tinyZeros = 4
)

// join writes a number whose digits before and after the point are these.
func (n numbers) join(whole, fraction string, in around) string {
	var b strings.Builder
	b.WriteString(in.before)
	for i := range len(whole) {
		if i > 0 && len(whole) >= n.grouped && (len(whole)-i)%3 == 0 {
			b.WriteString(n.group)
		}
		b.WriteByte(whole[i])
	}
	if fraction != "" {
		b.WriteString(n.point)
		b.WriteString(fraction)
	}
	b.WriteString(in.after)
	return b.String()
}

// localize brings a plain number, as in "-1234.5", into the language's form.
func (n numbers) localize(s string, in around) string {
	if digits, negative := strings.CutPrefix(s, "-"); negative {
		return n.localize(digits, in.withSign("-"))
	}
	whole, fraction, _ := strings.Cut(s, ".")
	return n.join(whole, fraction, in)
}

// amount is d in short, with a unit or with few decimals, and with all of its
// digits. What is too small for the decimals is "< 0.0001". What is short is
// never more than d.
func (n numbers) amount(d decimal.Decimal, in around) (short, exact string) {
	whole, fraction, _ := strings.Cut(d.String(), ".")
	exact = n.join(whole, fraction, in)
	switch {
	case len(whole) > shortAmount:
		return n.large(whole, in), exact
	case len(fraction) <= amountDecimals:
		return exact, exact
	}
	fraction = strings.TrimRight(fraction[:amountDecimals], "0")
	if whole+fraction == "0" {
		return n.localize("0.0001", in.withSign("< ")), exact
	}
	return n.join(whole, fraction, in), exact
}

// money is a sum of USD in short, with a unit or in cents, and in full: in cents,
// or with all of its digits if it is less than one. What is short is never more
// than d.
func (n numbers) money(d decimal.Decimal) (short, exact string) {
	whole, fraction, _ := strings.Cut(d.String(), ".")
	inCents := (fraction + "00")[:cents]
	if whole == "0" && inCents == "00" && fraction != "" {
		return n.localize("0.01", n.usd.withSign("< ")), n.join(whole, fraction, n.usd)
	}
	exact = n.join(whole, inCents, n.usd)
	if len(whole) > shortMoney {
		return n.large(whole, n.usd), exact
	}
	return exact, exact
}

// large is a large number with its unit and at most two decimals.
func (n numbers) large(whole string, in around) string {
	for _, u := range n.units {
		if point := len(whole) - u.power; point > 0 {
			return n.join(whole[:point], strings.TrimRight(whole[point:][:cents], "0"), in.withUnit(u.name))
		}
	}
	return n.join(whole, "", in)
}

// price is d to four significant digits, and in cents at least; the zeros at the
// end are kept if it is less than one. The zeros of a tiny one are counted in
// subscript, as in "$0.0₇1235"; exact then has all of its digits, and is the same
// as short otherwise.
func (n numbers) price(d decimal.Decimal) (short, exact string) {
	rounded := d.Round(priceDecimals(d))
	digits := rounded.String()
	if rounded.LessThan(one) {
		digits = rounded.StringFixed(priceDecimals(rounded))
	}
	short, tiny := n.dollars(digits)
	if tiny {
		return short, n.localize(d.String(), n.usd)
	}
	return short, short
}

// axisPrice is a price without zeros at the end.
func (n numbers) axisPrice(d decimal.Decimal) string {
	short, _ := n.dollars(d.Round(priceDecimals(d)).String())
	return short
}

var one = decimal.NewFromInt(1)

// dollars writes a price of these digits, in cents at least. The zeros of a tiny
// one are counted.
func (n numbers) dollars(digits string) (s string, tiny bool) {
	whole, fraction, _ := strings.Cut(digits, ".")
	significant := strings.TrimLeft(fraction, "0")
	if zeros := len(fraction) - len(significant); whole == "0" && significant != "" && zeros >= tinyZeros {
		return n.join("0", "0"+subscript(zeros)+significant, n.usd), true
	}
	if len(fraction) < cents {
		fraction = (fraction + "00")[:cents]
	}
	return n.join(whole, fraction, n.usd), false
}

// priceDecimals is how many decimals of a price are shown.
func priceDecimals(d decimal.Decimal) int32 {
	if d.IsZero() {
		return cents
	}
	first := int32(d.NumDigits()) + d.Exponent() - 1 // the power of ten of the first digit
	return max(priceDigits-1-first, cents)
}

// subscript writes a number in small digits.
func subscript(n int) string {
	return strings.Map(func(digit rune) rune { return digit - '0' + '₀' }, strconv.Itoa(n))
}

// change is a change in per cent with a sign and an arrow, so that it never
// shows by colour alone.
func (n numbers) change(d decimal.Decimal) string {
	digits, negative := strings.CutPrefix(d.StringFixed(2), "-")
	in := n.percent
	switch {
	case negative:
		in = in.withSign("▼ -")
	case digits != "0.00":
		in = in.withSign("▲ +")
	}
	return n.localize(digits, in)
}

// barCells is the length of the bar of a share.
const barCells = 10

// share is a part of a whole, from 0 to 100 per cent, with a bar.
func (n numbers) share(d decimal.Decimal) string {
	filled := min(max(int(d.Shift(-1).Round(0).IntPart()), 0), barCells)
	return strings.Repeat("▰", filled) + strings.Repeat("▱", barCells-filled) + " " + n.localize(d.StringFixed(2), n.percent)
}
