package words

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// numbers is how a language writes numbers, by the Unicode CLDR:
// https://www.unicode.org/cldr/charts/latest/summary/root.html
type numbers struct {
	point, group string
	// grouped is how many digits a whole number must have for its thousands to
	// be kept apart.
	grouped int
	// units are short names of large numbers, the largest first.
	units []unit
	// percent and usd hold their number at {}.
	percent, usd string
	// moment is a layout of package time, in UTC.
	moment string
}

type unit struct {
	power int32 // of ten
	name  string
}

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

var numbersOf = map[chat.Language]numbers{
	chat.English: {".", ",", 4, []unit{{12, "T"}, {9, "B"}, {6, "M"}},
		"{}%", "${}", "2006-01-02 15:04 UTC"},
	chat.Spanish: {",", ".", 5, []unit{{12, nbsp + "B"}, {6, nbsp + "M"}},
		"{}" + nbsp + "%", "{}" + nbsp + "$", "2/1/2006 15:04 UTC"},
	chat.Chinese: {".", ",", 4, []unit{{12, "万亿"}, {8, "亿"}, {4, "万"}},
		"{}%", "${}", "2006年1月2日 15:04 UTC"},
	chat.Russian: {",", nbsp, 5, []unit{{12, nbsp + "трлн"}, {9, nbsp + "млрд"}, {6, nbsp + "млн"}},
		"{}" + nbsp + "%", "{}" + nbsp + "$", "02.01.2006 15:04 UTC"},
	chat.Turkish: {",", ".", 4, []unit{{12, nbsp + "Tn"}, {9, nbsp + "Mr"}, {6, nbsp + "Mn"}},
		"%{}", "${}", "02.01.2006 15:04 UTC"},
	chat.Vietnamese: {",", ".", 4, []unit{{9, nbsp + "T"}, {6, nbsp + "Tr"}},
		"{}%", "{}" + nbsp + "US$", "02/01/2006 15:04 UTC"},
}

const (
	// amountDecimals of an amount are shown, the rest truncated.
	amountDecimals = 4
	// shortDecimals of a number with a unit are shown.
	shortDecimals = 2
	// shortAmount and shortMoney are the powers of ten from which on amounts and
	// sums are shown with a unit.
	shortAmount = 7
	shortMoney  = 6
	// priceDigits of a price are significant.
	priceDigits = 4
	// tinyZeros is how many zeros after the point are counted rather than
	// written.
	tinyZeros = 4
)

// exact is d with all of its digits.
func (n numbers) exact(d decimal.Decimal) string { return n.localize(d.String()) }

// localize brings plain digits, as in "-1234.5", into the language's form.
func (n numbers) localize(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	var b strings.Builder
	b.Grow(len(s) + len(s)/2)
	b.WriteString(sign)
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
	return b.String()
}

// amount is d shown short: with a unit, or with few decimals. What is too small
// for those is "< 0.0001".
func (n numbers) amount(d decimal.Decimal) string {
	return n.short(d, shortAmount, amountDecimals, func(s string) string { return s })
}

// money is a sum of USD shown short: with a unit, or in cents.
func (n numbers) money(d decimal.Decimal) string {
	s := n.short(d, shortMoney, shortDecimals, n.dollars)
	return s
}

func (n numbers) dollars(s string) string { return strings.Replace(n.usd, "{}", s, 1) }

// short is never more than d: digits are truncated.
func (n numbers) short(d decimal.Decimal, from, decimals int32, wrap func(string) string) string {
	if power := magnitude(d); power >= from {
		for _, u := range n.units {
			if power >= u.power {
				return wrap(n.localize(d.Shift(-u.power).Truncate(shortDecimals).String()) + u.name)
			}
		}
	}
	shown := d.Truncate(decimals)
	if shown.IsZero() && d.IsPositive() {
		return "< " + wrap(n.localize(decimal.New(1, -decimals).String()))
	}
	if decimals == shortDecimals {
		return wrap(n.localize(shown.StringFixed(shortDecimals)))
	}
	return wrap(n.localize(shown.String()))
}

// magnitude is the power of ten of d's first digit; 0 has none and gets -1.
func magnitude(d decimal.Decimal) int32 {
	if d.IsZero() {
		return -1
	}
	return int32(d.NumDigits()) + d.Exponent() - 1
}

// price is d to four significant digits, and in cents at least. The zeros of a
// tiny one are counted in subscript, as in "$0.0₇1235", and tiny is true.
func (n numbers) price(d decimal.Decimal) (shown string, tiny bool) {
	first := magnitude(d)
	if d.IsZero() || first >= priceDigits-1 {
		return n.dollars(n.localize(d.StringFixed(shortDecimals))), false
	}
	d = d.Round(max(priceDigits-1-first, shortDecimals))
	// Rounding may have made another digit.
	zeros := -magnitude(d) - 1
	if zeros >= tinyZeros {
		digits := strings.TrimRight(d.Coefficient().String(), "0")
		return n.dollars("0" + n.point + "0" + subscript(int(zeros)) + digits), true
	}
	s := d.String()
	if whole, fraction, _ := strings.Cut(s, "."); len(fraction) < shortDecimals {
		s = whole + "." + (fraction + "00")[:shortDecimals]
	}
	return n.dollars(n.localize(s)), false
}

// subscript writes a number in small digits.
func subscript(n int) string {
	return strings.Map(func(digit rune) rune { return digit - '0' + '₀' }, strconv.Itoa(n))
}

// change is a change in per cent with a sign and an arrow, so that it never
// shows by colour alone.
func (n numbers) change(d decimal.Decimal) string {
	d = d.Round(2)
	shown := n.localize(d.StringFixed(2))
	switch d.Sign() {
	case 1:
		return "▲ " + n.percentage("+"+shown)
	case -1:
		return "▼ " + n.percentage(shown)
	}
	return n.percentage(shown)
}

// barCells is the length of the bar of a share.
const barCells = 10

// share is a part of a whole with a bar.
func (n numbers) share(d decimal.Decimal) string {
	filled := int(d.Shift(-1).Round(0).IntPart())
	filled = min(max(filled, 0), barCells)
	bar := strings.Repeat("▰", filled) + strings.Repeat("▱", barCells-filled)
	return bar + " " + n.percentage(n.localize(d.StringFixed(2)))
}

func (n numbers) percentage(s string) string { return strings.Replace(n.percent, "{}", s, 1) }
