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

// notDrawn stands for every period that cannot be drawn, such as "90d". periodParam accepts it as a word for a period,
// but it is not one of its Choices, so that wrongArgument answers it.
const notDrawn = "0h"

// unitOfTime is a unit of time, and what people call it.
type unitOfTime struct {
	hours int
	names []string
}

// unitHours maps the names of units of time, in all languages and in lower case, to the hours in the unit. A month has
// 30 days, and a year 365.
var unitHours = hoursByName([]unitOfTime{
	{hours: 1, names: []string{
		"h", "hr", "hrs", "hour", "hours",
		"hora", "horas",
		"小时",
		"ч", "час", "часа", "часов",
		"sa", "saat",
		"giờ",
	}},
	{hours: 24, names: []string{
		"d", "day", "days",
		"día", "días", "dia", "dias",
		"天", "日",
		"д", "день", "дня", "дней",
		"g", "gün",
		"ngày",
	}},
	{hours: 7 * 24, names: []string{
		"w", "wk", "week", "weeks",
		"semana", "semanas",
		"周", "星期",
		"н", "нед", "неделя", "недели", "недель",
		"hafta",
		"tuần",
	}},
	{hours: 30 * 24, names: []string{
		"mo", "month", "months",
		"mes", "meses",
		"月", "个月",
		"мес", "месяц", "месяца", "месяцев",
		"ay",
		"tháng",
	}},
	{hours: 365 * 24, names: []string{
		"y", "yr", "year", "years",
		"año", "años",
		"年",
		"г", "год", "года", "лет",
		"yıl",
		"năm",
	}},
})

func hoursByName(units []unitOfTime) map[string]int {
	hours := map[string]int{}
	for _, u := range units {
		for _, name := range u.names {
			hours[name] = u.hours
		}
	}
	return hours
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
	// namesToken matches what people type about another token: a word of two to five letters, alone or after a number,
	// or anotherSymbol among other words.
	namesToken = regexp.MustCompile(`(?i)^([\W\d]* )?[a-z]{2,5}$|(^| )(` + anotherSymbol + `)( |$)`)
)

const (
	// maxPeriodDigits is the maximum length of the number in a period.
	maxPeriodDigits = 5
	// minUnitAlone is the minimum length of a unit without a number, in bytes: "day" and "天" are periods, "d" is not.
	minUnitAlone = 3
)

// parsePeriod reads a word such as "7d", "week" or "30дней". It returns the name of a period that is drawn, or notDrawn
// for any other period. ok is false if the word is not a period.
func parsePeriod(word string) (name string, ok bool) {
	unit := strings.TrimLeft(word, "0123456789")
	digits := strings.TrimSuffix(word, unit)
	hoursPerUnit, isUnit := unitHours[strings.ToLower(unit)]
	lacksNumber := digits == "" && len(unit) < minUnitAlone
	if !isUnit || lacksNumber || len(digits) > maxPeriodDigits {
		return "", false
	}
	n := 1
	if digits != "" {
		n, _ = strconv.Atoi(digits) // It has only digits.
	}
	for _, p := range periods {
		if p.isDrawn && int(p.length/time.Hour) == n*hoursPerUnit {
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

// tidy returns the typed words in the form that the parameters of /price accept. It replaces each period by the name
// that parsePeriod returns. It leaves out the words that do not change the answer: fillers, the token's own symbol, and
// the dollar as the currency into which tokens are converted, as in "100 TKN in USD". It keeps the dollar as the unit
// of an amount, as in "100 USD". If nothing but a word for "chart" is left, it returns the name of lastDay.
func (c *priceCommand) tidy(typed []string) (words []string) {
	text := strings.Join(typed, " ")
	hasAmount := strings.ContainsAny(text, "0123456789")
	// isDollarTarget says that a further dollar is the currency of a conversion, and not the unit of the amount.
	isDollarTarget := !hasAmount
	wantsChart := false
	for _, word := range joinUnits(strings.Fields(text)) {
		lower := strings.ToLower(word)
		switch {
		case c.isOwnSymbol(word):
			// "100 TKN USD" is converted into dollars, and "TKN 100 USD" into tokens.
			if len(words) > 0 {
				isDollarTarget = true
			}
		case slices.Contains(intoWords, lower):
			isDollarTarget = true
		case isDollarTarget && onlyDollar.MatchString(word): // It is left out.
		case slices.Contains(fillers, lower): // It is left out.
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

// wrongArgument says why an argument of /price is neither a period that is drawn nor an amount:
//
//	it names another token    the bot knows only one
//	it is one period          which periods are drawn
//	it has several periods    only one can be drawn
//	anything else             what can be chosen
func (c *priceCommand) wrongArgument(typed string) chat.Text {
	isNoSymbol := slices.Contains(notSymbols, strings.ToLower(typed))
	if namesToken.MatchString(typed) && !isNoSymbol {
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
