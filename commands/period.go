package commands

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"herald/internal/chat"
)

const (
	// units has a group for each unit of time, with its names in every language: hours, days,
	// weeks, months and years.
	units = `(h|hrs?|hours?|horas?|小时|ч|час|часа|часов|sa|saat|giờ)|(d|days?|d[ií]as?|天|日|д|день|дня|дней|g|gün|ngày)|` +
		`(w|wk|weeks?|semanas?|周|星期|н|нед|неделя|недели|недель|hafta|tuần)|` +
		`(mo|months?|mes|meses|个?月|мес|месяц|месяца|месяцев|ay|tháng)|(y|yr|years?|años?|年|г|год|года|лет|yıl|năm)`
	// notDrawn stands for every period that is none of chartPeriods.
	notDrawn = "0h"
	// anotherSymbol matches what is a token's symbol in any sentence.
	anotherSymbol = `\$[a-z]\w*|btc|bitcoin|eth|ethereum|bnb|sol|xrp|ton|trx|ada|avax|doge|shib|pepe|usdt|usdc`
)

var (
	// countedUnit matches a unit with its number, which may be left out; unitApart matches a
	// space between the two.
	countedUnit = regexp.MustCompile(`(?i)^([0-9]{0,5})(?:` + units + `)$`)
	unitApart   = regexp.MustCompile(`(?i)([0-9]) ((?:` + units + `)(?: |$))`)
	filler      = regexp.MustCompile(`(?i)^(now|today|pls|plz|please|ahora|hoy|сейчас|şimdi|现在)$`)
	asChart     = regexp.MustCompile(`(?i)^(chart|graph|gráfico|график|grafik|图表)$`)
	dollars     = regexp.MustCompile(`(?i)^` + dollar + `$`)
	// into matches what stands between a sum and what it is converted into.
	into = regexp.MustCompile(`(?i)^(in|to|en|a|в|=)$`)
	// aSymbol matches what is typed of another token: a short word, alone or after a number, or
	// anotherSymbol among other words. notSymbol matches short words that are no tokens.
	aSymbol   = regexp.MustCompile(`(?i)^([\W\d]* )?[a-z]{2,5}$|(^| )(` + anotherSymbol + `)( |$)`)
	notSymbol = regexp.MustCompile(`(?i)^(all|ath|atl|help|high|info|list|live|low|max)$`)
)

// periodOf returns the period that a word says: one of chartPeriods, or notDrawn. It returns "" for
// another word, and for a unit of one or two bytes without its number.
func periodOf(word string) string {
	parts := countedUnit.FindStringSubmatch(word)
	if parts == nil || parts[1] == "" && len(word) < 3 {
		return ""
	}
	n, _ := strconv.Atoi(cmp.Or(parts[1], "1")) // has five digits at most
	unit := slices.IndexFunc(parts[2:], func(name string) bool { return name != "" })
	hours := n * []int{1, 24, 7 * 24, 30 * 24, 365 * 24}[unit]
	return cmp.Or(map[int]string{24: "24h", 7 * 24: "7d", 30 * 24: "30d"}[hours], notDrawn)
}

// tidy returns what was typed without the token's own symbol, fillers and the USD into which
// tokens are converted. It returns each period as periodOf does.
func (c *priceCommand) tidy(typed []string) (words []string) {
	text := unitApart.ReplaceAllString(strings.Join(typed, " "), "$1$2")
	converted := !strings.ContainsAny(text, "0123456789") // a token, if no sum is named
	var charted []string
	for _, word := range strings.Fields(text) {
		name, in, _ := strings.Cut(word, "/") // as TKN/USD
		switch {
		case strings.EqualFold(strings.Trim(name, "$"), c.Symbol) && (in == "" || dollars.MatchString(in)):
			converted = converted || len(words) > 0
		case into.MatchString(word):
			converted = true
		case converted && dollars.MatchString(word), filler.MatchString(word):
		case asChart.MatchString(word):
			charted = []string{"24h"}
		default:
			words = append(words, cmp.Or(periodOf(word), word))
		}
	}
	if words == nil {
		return charted
	}
	return words
}

// wrongArgument says what is wrong with what was typed after /price, which is no period and
// no amount.
func (c *priceCommand) wrongArgument(typed string) chat.Text {
	said := slices.DeleteFunc(strings.Fields(typed), func(word string) bool { return periodOf(word) == "" })
	last := len(chartPeriods) - 1
	switch {
	case aSymbol.MatchString(typed) && !notSymbol.MatchString(typed):
		return chat.SayWith("price.symbol", c.symbol())
	case len(said) > 1:
		return chat.Say("price.one_period")
	case len(said) == 1:
		return chat.SayWith("price.drawn", chat.Values{
			"periods": chat.Plain(strings.Join(chartPeriods[:last], ", ")),
			"last":    chat.Plain(chartPeriods[last]),
		})
	}
	return chat.SayWith("price.choose", chat.Values{"periods": chat.Plain(strings.Join(chartPeriods, ", "))})
}
