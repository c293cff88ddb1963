package commands

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// significantDigits of a price below one dollar.
const significantDigits = 6

// usd is a price: six significant digits below a dollar, four decimals above,
// two from a thousand on. Never in exponent form.
func usd(d decimal.Decimal) string {
	decimals := int32(4)
	// The first digit that is not 0 stands at 10^(first-1).
	switch first := int32(d.NumDigits()) + d.Exponent(); {
	case first > 3:
		decimals = 2
	case first <= 0 && !d.IsZero():
		decimals = significantDigits - first
	}
	return "$" + grouped(d.StringFixed(decimals))
}

// money is a sum of USD, in cents.
func money(d decimal.Decimal) string { return "$" + grouped(d.StringFixed(2)) }

// amount is a number of tokens, exactly.
func amount(d decimal.Decimal, token Token) string { return grouped(d.String()) + " " + token.Symbol }

// change is a change in per cent, with its sign.
func change(d decimal.Decimal) string {
	d = d.Round(2)
	s := grouped(d.StringFixed(2)) + " %"
	if d.IsPositive() {
		return "+" + s
	}
	return s
}

// grouped puts a comma between thousands.
func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}

// moment is a time as every reader understands it, whatever their zone.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// ago says how long ago something was, in the largest unit that fits into it.
// What a slow clock puts in the future was 0 s ago.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d ago", d/day)
	case d >= time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	}
	return fmt.Sprintf("%d s ago", max(0, d)/time.Second)
}

// markOld notes that an answer is the last good one of a service that fails.
func markOld(r chat.Reply, service string, stale bool, at time.Time) chat.Reply {
	if stale {
		r.Tone = chat.Warning
		r.Notes = append(r.Notes, "Old: the "+service+" cannot be asked now; this is from "+moment(at)+".")
	}
	return r
}
