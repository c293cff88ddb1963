package commands

import (
	"regexp"
	"slices"
	"strings"

	"herald/internal/chat"
)

// tidy rewrites the words after /price so that its parameters accept them. It replaces each period by the name that
// parsePeriod returns, and leaves out words that do not change the answer. For example:
//
//	typed            returned
//
//	7 days please    7d        please is a filler
//	TKN                        the bot's own token is meant anyway
//	100 TKN in USD   100       tokens are converted into dollars anyway
//	100 USD          100 USD   the dollar is the unit of the amount
//	chart            24h       a chart is of the last day if no period is typed
func (c *priceCommand) tidy(typed []string) (words []string) {
	text := strings.Join(typed, " ")
	hasAmount := strings.ContainsAny(text, "0123456789")
	// leaveOutDollar says that the next dollar is the currency to convert into, and not the unit of the amount.
	leaveOutDollar := !hasAmount
	wantsChart := false
	for _, word := range joinUnits(strings.Fields(text)) {
		lower := strings.ToLower(word)
		switch {
		case c.isOwnSymbol(word):
			// "100 TKN USD" is converted into dollars, and "TKN 100 USD" into tokens.
			if len(words) > 0 {
				leaveOutDollar = true
			}
		case slices.Contains(intoWords, lower):
			leaveOutDollar = true
		case leaveOutDollar && onlyDollar.MatchString(word): // It is left out.
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

// wrongArgument explains what is wrong with an argument of /price. For example:
//
//	btc      the bot knows only its own token
//	90d      only these periods are drawn
//	7d 30d   only one period can be drawn
//	hello    a period or an amount is expected
func (c *priceCommand) wrongArgument(typed string) chat.Text {
	isOrdinaryWord := slices.Contains(notSymbols, strings.ToLower(typed))
	if namesToken.MatchString(typed) && !isOrdinaryWord {
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

// Words around a period or an amount, in lower case.
var (
	// fillers do not change the answer.
	fillers = []string{"now", "today", "pls", "plz", "please", "ahora", "hoy", "сейчас", "şimdi", "现在"}
	// chartWords ask for a picture.
	chartWords = []string{"chart", "graph", "gráfico", "график", "grafik", "图表"}
	// intoWords stand between an amount and the currency into which it is converted.
	intoWords = []string{"in", "to", "en", "a", "в", "="}
	// notSymbols are ordinary words that look like the symbol of a token.
	notSymbols = []string{"all", "ath", "atl", "help", "high", "info", "list", "live", "low", "max"}
)

// anotherSymbol matches a word that names another token whatever stands around it.
const anotherSymbol = `\$[a-z]\w*|btc|bitcoin|eth|ethereum|bnb|sol|xrp|ton|trx|ada|avax|doge|shib|pepe|usdt|usdc`

var (
	// onlyDollar matches a word for the dollar.
	onlyDollar = regexp.MustCompile(`(?i)^` + dollar + `$`)
	// namesToken matches an argument about another token: a word of two to five letters, alone or after a number, such
	// as "abc" or "1500 abc", or anotherSymbol among other words, such as "$pepe 7d".
	namesToken = regexp.MustCompile(`(?i)^([\W\d]* )?[a-z]{2,5}$|(^| )(` + anotherSymbol + `)( |$)`)
)
