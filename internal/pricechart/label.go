package pricechart

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

func (p picture) say(key string, args chat.Values) string {
	return words.Say(p.language, chat.SayWith(key, args))
}

// periodName is the period in keys of messages.
func (p picture) periodName() string {
	switch period := p.to.Sub(p.from); {
	case period <= day:
		return "24h"
	case period <= 7*day:
		return "7d"
	}
	return "30d"
}

// recorded says for how long of the period the price was seen.
func (p picture) recorded() string {
	seen := time.Duration(p.seen() * float64(p.to.Sub(p.from)))
	key, n := "picture.minutes", seen.Minutes()
	switch {
	case seen >= 2*day:
		key, n = "picture.days", seen.Hours()/24
	case seen >= time.Hour:
		key, n = "picture.hours", seen.Hours()
	}
	return p.say(key, chat.Values{"n": chat.Count(n)})
}

// move is a change in per cent: its size, and whether it is up (1), down (-1) or
// neither (0).
func (p picture) move(percent decimal.Decimal) (text string, way int) {
	text = words.Say(p.language, chat.Change{Decimal: percent})
	return strings.TrimLeft(text, "▲▼ +-"), percent.Round(2).Sign()
}

// countedZeros are how many zeros after the point are counted and not written.
const countedZeros = 4

// From million on, a price has a unit.
var million = decimal.New(1, 6)

// price writes four significant digits of a price.
func (p picture) price(price decimal.Decimal) string {
	rounded := price.Round(4 - wholeDigits(price))
	switch {
	case !price.LessThan(million):
		power := p.unit(rounded)
		return p.write(rounded.Shift(-power).String(), power)
	case rounded.LessThan(decimal.New(1, -countedZeros)):
		return p.write(rounded.String(), 0)
	}
	return words.Say(p.language, chat.Price{Decimal: price})
}

// wholeDigits is how many digits stand before the point; it is below zero for zeros
// after it.
func wholeDigits(d decimal.Decimal) int32 { return int32(d.NumDigits()) + d.Exponent() }

// unit is the power of ten of the unit that a price is written in; 0: none.
func (p picture) unit(price decimal.Decimal) (power int32) {
	for n := range p.language.Info().Units {
		if !price.LessThan(million) && !price.LessThan(decimal.New(1, int32(n))) {
			power = max(power, int32(n))
		}
	}
	return power
}

// write writes the digits of a price in a unit. Zeros after the point are counted if
// they are many: $0.0₅48 is $0.0000048.
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

// dates returns four moments at the time axis and the layout of their labels: times
// of day, or days.
func (p picture) dates() (at []time.Time, layout string) {
	period, step, unit, layout := p.to.Sub(p.from), 8*day, day, p.language.Info().Day
	switch {
	case period <= day:
		step, unit, layout = 6*time.Hour, time.Hour, "15:04"
	case period <= 7*day:
		step, unit = 2*day, day/2
	}
	first := p.from.UTC().Add((period - 3*step) / 2).Round(unit)
	for i := range 4 {
		at = append(at, first.Add(time.Duration(i)*step))
	}
	return at, layout
}
