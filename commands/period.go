package commands

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/chat"
)

// period is a length of time that ends now. A reply to /price shows by how much the price has changed over it.
type period struct {
	name     string // as it is typed; "price."+name is the message with its name
	length   time.Duration
	isListed bool // every reply lists its change
	isDrawn  bool // users can ask for a chart of it
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

// notDrawn stands for every typed period that is not drawn, such as "90d". No period has this name.
const notDrawn = "0h"

const (
	// maxPeriodDigits is the maximum length of the number in a period.
	maxPeriodDigits = 5
	// minUnitAlone is the minimum length of a unit that is a period without a number, in bytes. "day" and "天" have
	// three bytes and mean one day; "d" alone is not a period.
	minUnitAlone = 3
)

// parsePeriod reads a word such as "7d", "week" or "30дней". It returns the name of the period: "7d", "7d" and "30d".
// If the period is not drawn, it returns notDrawn. ok is false if the word is not a period.
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

// unitOfTime is a unit of time, and what people call it.
type unitOfTime struct {
	hours int
	names []string
}

// unitHours has the number of hours in each unit of time, by the unit's names in all languages, in lower case. A month
// has 30 days, and a year 365.
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
