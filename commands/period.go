package commands

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/chat"
)

// period is a length of time until now. Its change is shown as text, as a picture, or as both.
type period struct {
	name     string // as it is typed; "price."+name is its message
	length   time.Duration
	isListed bool // its change is shown as text
	isDrawn  bool // there is a picture of it
}

var (
	lastHour  = period{name: "1h", length: time.Hour, isListed: true}
	lastDay   = period{name: "24h", length: 24 * time.Hour, isListed: true, isDrawn: true}
	lastWeek  = period{name: "7d", length: 7 * 24 * time.Hour, isListed: true, isDrawn: true}
	lastMonth = period{name: "30d", length: 30 * 24 * time.Hour, isDrawn: true}
)

// periods are all periods, the shortest first.
var periods = []period{lastHour, lastDay, lastWeek, lastMonth}

// drawnNames are the names of the periods that are drawn.
var drawnNames = namesOfDrawn()

func namesOfDrawn() (names []string) {
	for _, p := range periods {
		if p.isDrawn {
			names = append(names, p.name)
		}
	}
	return names
}

// periodNamed returns the period with a name, which must be one of periods.
func periodNamed(name string) period {
	return periods[slices.IndexFunc(periods, func(p period) bool { return p.name == name })]
}

// label returns the period's name in the reader's language.
func (p period) label() chat.Text { return chat.Say("price." + p.name) }

// notDrawn is the word for every period that cannot be drawn, such as "90d".
const notDrawn = "0h"

// unitHours has the hours in each unit of time, by the unit's names in all languages, in lower case.
// A month has 30 days, and a year 365.
var unitHours = map[string]int{
	"h": 1, "hr": 1, "hrs": 1, "hour": 1, "hours": 1, "hora": 1, "horas": 1, "小时": 1, "ч": 1, "час": 1, "часа": 1,
	"часов": 1, "sa": 1, "saat": 1, "giờ": 1,

	"d": 24, "day": 24, "days": 24, "dia": 24, "dias": 24, "día": 24, "días": 24, "天": 24, "日": 24, "д": 24,
	"день": 24, "дня": 24, "дней": 24, "g": 24, "gün": 24, "ngày": 24,

	"w": 168, "wk": 168, "week": 168, "weeks": 168, "semana": 168, "semanas": 168, "周": 168, "星期": 168, "н": 168,
	"нед": 168, "неделя": 168, "недели": 168, "недель": 168, "hafta": 168, "tuần": 168,

	"mo": 720, "month": 720, "months": 720, "mes": 720, "meses": 720, "月": 720, "个月": 720, "мес": 720, "месяц": 720,
	"месяца": 720, "месяцев": 720, "ay": 720, "tháng": 720,

	"y": 8760, "yr": 8760, "year": 8760, "years": 8760, "año": 8760, "años": 8760, "年": 8760, "г": 8760, "год": 8760,
	"года": 8760, "лет": 8760, "yıl": 8760, "năm": 8760,
}

// The words around a period or an amount, in lower case.
var (
	// fillers do not change the answer.
	fillers = []string{"now", "today", "pls", "plz", "please", "ahora", "hoy", "сейчас", "şimdi", "现在"}
	// chartWords ask for a picture.
	chartWords = []string{"chart", "graph", "gráfico", "график", "grafik", "图表"}
	// intoWords stand between an amount and the currency into which it is converted.
	intoWords = []string{"in", "to", "en", "a", "в", "="}
	// notSymbols look like the symbol of a token, but are other words.
	notSymbols = []string{"all", "ath", "atl", "help", "high", "info", "list", "live", "low", "max"}
)

// anotherSymbol matches a word that is the symbol of a token in any sentence.
const anotherSymbol = `\$[a-z]\w*|btc|bitcoin|eth|ethereum|bnb|sol|xrp|ton|trx|ada|avax|doge|shib|pepe|usdt|usdc`

var (
	// onlyDollar matches a word for the dollar.
	onlyDollar = regexp.MustCompile(`(?i)^` + dollar + `$`)
	// namesToken matches what people type about another token: a short word, alone or after a
	// number, or anotherSymbol among other words.
	namesToken = regexp.MustCompile(`(?i)^([\W\d]* )?[a-z]{2,5}$|(^| )(` + anotherSymbol + `)( |$)`)
)

// maxPeriodDigits is the maximum length of the number in a period.
const maxPeriodDigits = 5

// parsePeriod reads a word such as "7d", "week" or "30дней". It returns the name of a period that is
// drawn, or notDrawn for any other period. ok is false if the word is not a period: a unit of one or
// two bytes needs a number.
func parsePeriod(word string) (name string, ok bool) {
	unit := strings.TrimLeft(word, "0123456789")
	digits := strings.TrimSuffix(word, unit)
	unitLength, known := unitHours[strings.ToLower(unit)]
	isBareLetter := digits == "" && len(unit) < 3
	if !known || isBareLetter || len(digits) > maxPeriodDigits {
		return "", false
	}
	n := 1
	if digits != "" {
		n, _ = strconv.Atoi(digits) // It has only digits.
	}
	for _, p := range periods {
		if p.isDrawn && int(p.length/time.Hour) == n*unitLength {
			return p.name, true
		}
	}
	return notDrawn, true
}

// isPeriod reports whether parsePeriod can read a word.
func isPeriod(word string) bool {
	_, ok := parsePeriod(word)
	return ok
}

// joinUnits joins each unit of time with the number before it: "7" and "days" become "7days".
func joinUnits(words []string) (joined []string) {
	for _, word := range words {
		last := len(joined) - 1
		_, isUnit := unitHours[strings.ToLower(word)]
		if isUnit && last >= 0 && endsWithDigit(joined[last]) {
			joined[last] += word
		} else {
			joined = append(joined, word)
		}
	}
	return joined
}

func endsWithDigit(word string) bool { return strings.ContainsAny(word[len(word)-1:], "0123456789") }

// tidy returns the typed words in the form that the parameters of /price accept. It writes each
// period as parsePeriod does. It leaves out the words that do not change the answer: fillers, the
// token's own symbol, and the dollar as the currency into which tokens are converted, as in "100 TKN
// in USD". If nothing but a word for "chart" is left, it returns the name of lastDay.
func (c *priceCommand) tidy(typed []string) (words []string) {
	text := strings.Join(typed, " ")
	isAmount := strings.ContainsAny(text, "0123456789")
	isConverted := !isAmount // The next dollar is the target of a conversion, and not the unit of an amount.
	wantsChart := false
	for _, word := range joinUnits(strings.Fields(text)) {
		lower := strings.ToLower(word)
		switch {
		case c.isOwnSymbol(word):
			// "100 TKN USD" is converted into dollars, and "TKN $100" into tokens.
			isConverted = isConverted || len(words) > 0
		case slices.Contains(intoWords, lower):
			isConverted = true
		case isConverted && onlyDollar.MatchString(word):
		case slices.Contains(fillers, lower):
		case slices.Contains(chartWords, lower):
			wantsChart = true
		default:
			if name, ok := parsePeriod(word); ok {
				word = name
			}
			words = append(words, word)
		}
	}
	if words == nil && wantsChart {
		return []string{lastDay.name}
	}
	return words
}

// isOwnSymbol reports whether a word is the token's symbol, such as TKN, $TKN or TKN/USD.
func (c *priceCommand) isOwnSymbol(word string) bool {
	name, currency, _ := strings.Cut(word, "/")
	return strings.EqualFold(strings.Trim(name, "$"), c.Symbol) && (currency == "" || onlyDollar.MatchString(currency))
}

// wrongArgument says why an argument of /price is neither a period that is drawn nor an amount.
func (c *priceCommand) wrongArgument(typed string) chat.Text {
	isOtherWord := slices.Contains(notSymbols, strings.ToLower(typed))
	if namesToken.MatchString(typed) && !isOtherWord {
		return chat.SayWith("price.symbol", c.symbol())
	}
	typedPeriods := 0
	for _, word := range strings.Fields(typed) {
		if isPeriod(word) {
			typedPeriods++
		}
	}
	switch typedPeriods {
	case 0:
		return chat.SayWith("price.choose", chat.Values{"periods": chat.Plain(strings.Join(drawnNames, ", "))})
	case 1:
		last := len(drawnNames) - 1
		return chat.SayWith("price.drawn", chat.Values{
			"periods": chat.Plain(strings.Join(drawnNames[:last], ", ")),
			"last":    chat.Plain(drawnNames[last]),
		})
	}
	return chat.Say("price.one_period")
}
