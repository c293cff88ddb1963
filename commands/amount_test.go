package commands_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/router"
	"herald/internal/words"
)

// Languages, by how they write the number that is 1,000.5 in English.
var (
	everyLanguage = chat.Languages()
	withPoint     = []chat.Language{chat.English, chat.Chinese}                  // 1,000.5
	withComma     = []chat.Language{chat.Spanish, chat.Turkish, chat.Vietnamese} // 1.000,5
	russian       = []chat.Language{chat.Russian}                                // 1 000,5
)

// checkAmounts asks for amounts in languages, by each way to ask. want has what an English reply repeats of each amount
// that is typed: "$100" for a sum of money, and "100" for a number of tokens. The price is a dollar, so that both are
// worth the same.
func checkAmounts(t *testing.T, languages []chat.Language, want map[string]string) {
	t.Helper()
	w := commandstest.Healthy()
	w.Price.Value.Price = decimal.NewFromInt(1)
	r := w.Router(t)
	for typed, amount := range want {
		for _, language := range languages {
			for way, reply := range amountReplies(t, r, language, typed) {
				reply.Language = chat.English
				title := words.Print(reply).Title.String()
				got, worth, _ := strings.Cut(strings.ReplaceAll(title, "\u00a0TKN", ""), " ≈ ")
				isConverted := strings.Contains(got, "$") != strings.Contains(worth, "$")
				if got != amount || !isConverted {
					t.Errorf("%q in %s, %s, is %q, want %q", typed, language, way, title, amount)
				}
			}
		}
	}
}

// amountReplies returns the replies to an amount in a language, by the way to ask: it is typed, it is given as an
// option, and the [Refresh] button of the first reply is pressed by users of each language.
func amountReplies(t *testing.T, r *router.Router, l chat.Language, amount string) map[string]*chat.Reply {
	t.Helper()
	typed := inPrivate(t, r, l, "price", chat.Typed(strings.Fields(amount)...))
	typed.Language = l
	replies := map[string]*chat.Reply{
		"typed":     typed,
		"an option": inPrivate(t, r, l, "price", chat.Named(map[string]string{"amount": amount})),
	}
	refresh := words.Say(l, chat.Say("button.refresh"))
	press, err := chat.ParseState(buttons(t, typed)[refresh])
	if err != nil {
		t.Errorf("%q in %s: %v", amount, l, err)
	}
	for _, presser := range everyLanguage {
		replies["pressed in "+string(presser)] = inPrivate(t, r, presser, press.Command, chat.Typed(press.Args...))
	}
	return replies
}

func TestAPlainAmountIsReadInEveryLanguage(t *testing.T) {
	checkAmounts(t, everyLanguage, map[string]string{
		"1500":                         "1,500",
		"007":                          "7",
		"1_500":                        "1,500",
		"1 500":                        "1,500",
		"1500 TKN":                     "1,500",
		"TKN 5":                        "5",
		"5 $TKN":                       "5",
		"0.25":                         "0.25",
		"0,25":                         "0.25",
		".5":                           "0.5",
		"1.25":                         "1.25",
		"0.125":                        "0.125",
		"0,125":                        "0.125",
		"1.1250":                       "1.125",
		strings.Repeat("9", 30):        "999,999,999,999,999,999,999,999,999,999",
		"0." + strings.Repeat("9", 29): "0." + strings.Repeat("9", 29),
	})
}

// The language decides whether the separator in 1,500 divides thousands or begins decimals. If only one of these is
// possible, as in 1234.567, all languages agree.
func TestASeparatorIsReadInTheLanguageOfTheAnswer(t *testing.T) {
	checkAmounts(t, withPoint, map[string]string{
		"1,500":  "1,500",
		"1.500":  "1.5",
		"1.125":  "1.125",
		"1,500k": "1,500,000",
	})
	checkAmounts(t, withComma, map[string]string{
		"1,500":  "1.5",
		"1.500":  "1,500",
		"1,125":  "1.125",
		"1.500k": "1,500,000",
	})
	checkAmounts(t, russian, map[string]string{
		"1,500": "1.5",
		"1.500": "1.5",
	})
	checkAmounts(t, everyLanguage, map[string]string{
		"1,500.250":              "1,500.25",
		"1.500,250":              "1,500.25",
		"1\u00a0500,25\u00a0TKN": "1,500.25",
		"1234.567":               "1,234.567",
		"1 234.567":              "1,234.567",
		"1.234,5":                "1,234.5",
		"1,234,567":              "1,234,567",
		"1.234.567":              "1,234,567",
	})
}

func TestAnAmountMayHaveAUnitOrAnExponent(t *testing.T) {
	checkAmounts(t, everyLanguage, map[string]string{
		"1.5k":        "1,500",
		"1,5K":        "1,500",
		"1.5 k":       "1,500",
		"2m":          "2,000,000",
		"2M tkn":      "2,000,000",
		"1b":          "1,000,000,000",
		"2bn":         "2,000,000,000",
		"2 BN":        "2,000,000,000",
		"1.5b TKN":    "1,500,000,000",
		"1e9":         "1,000,000,000",
		"1.5E+3":      "1,500",
		"1e-3":        "0.001",
		"25e0":        "25",
		"1e000000003": "1,000",
	})
	checkAmounts(t, withPoint, map[string]string{
		"1,500e3": "1,500,000",
	})
	checkAmounts(t, withComma, map[string]string{
		"1.500e3": "1,500,000",
	})
}

func TestASumOfMoneyIsReadWhereverTheDollarIs(t *testing.T) {
	checkAmounts(t, everyLanguage, map[string]string{
		"$100":           "$100",
		"$ 100":          "$100",
		"100$":           "$100",
		"100 $":          "$100",
		"100 usd":        "$100",
		"USD 100":        "$100",
		"usd100":         "$100",
		"US$100":         "$100",
		"$100 usd":       "$100",
		"$100 TKN":       "$100",
		"TKN $100":       "$100",
		"100 usd in TKN": "$100",
		"100 dollars":    "$100",
		"100 dólares":    "$100",
		"100 долларов":   "$100",
		"100美元":          "$100",
		"100 dolar":      "$100",
		"100 đô la":      "$100",
	})
}

func TestTokensInDollarsAreNoSumOfMoney(t *testing.T) {
	checkAmounts(t, everyLanguage, map[string]string{
		"100 in usd":     "100",
		"100 to dollars": "100",
		"100 TKN in USD": "100",
		"100 tkn usd":    "100",
		"100 tkn = $":    "100",
	})
}

func TestASumOfMoneyIsWrittenLikeAnAmount(t *testing.T) {
	checkAmounts(t, everyLanguage, map[string]string{
		"$1.5k":                "$1,500",
		"1,5k$":                "$1,500",
		"$2bn":                 "$2,000,000,000",
		"1e3 usd":              "$1,000",
		"$.5":                  "$0.5",
		"$0,25":                "$0.25",
		"1 500 $":              "$1,500",
		"$1_500":               "$1,500",
		"1\u00a0500,25\u00a0$": "$1,500.25",
		"1.500,25 usd":         "$1,500.25",
		"$1,234,567.89":        "$1,234,567.89",
	})
	checkAmounts(t, withPoint, map[string]string{
		"$1.125": "$1.125",
		"$1,500": "$1,500",
	})
	checkAmounts(t, withComma, map[string]string{
		"$1,500":  "$1.5",
		"$1.500":  "$1,500",
		"1.500 $": "$1,500",
	})
}

// checkRefused types each line after /price, and gives it as an option. Each reply must have the hint and an example
// that begins with example. The bot must not ask for the price: that would fail, and the reply would say so.
func checkRefused(t *testing.T, hint, example string, lines ...string) {
	t.Helper()
	w := commandstest.Healthy()
	w.PriceErr = errInner
	r := w.Router(t)
	for _, line := range lines {
		ways := map[string]chat.Args{
			"typed":     chat.Typed(strings.Fields(line)...),
			"an option": chat.Named(map[string]string{"amount": line}),
		}
		for way, args := range ways {
			reply := inPrivate(t, r, chat.English, "price", args)
			said := texts(reply)
			if !strings.Contains(said, hint) || !strings.Contains(said, "Example | `"+example) {
				t.Errorf("%.40q, %s: want %q with the example %q in\n%s", line, way, hint, example, said)
			}
			if !reply.ForSender() || reply.Image != nil {
				t.Errorf("%.40q, %s: for the sender %t, in\n%s", line, way, reply.ForSender(), said)
			}
		}
	}
}

// What the example in a reply to a refused amount begins with.
const (
	anyExample    = "/price "
	periodExample = "/price 7d`"
)

func TestAnAmountMustBePositive(t *testing.T) {
	checkRefused(t, "more than 0", anyExample,
		"0", "0.000", "-5", "-0", "0k", "$0", "-$5", "$-5", "0e999999999")
}

func TestAnAmountHasAtMost30Digits(t *testing.T) {
	checkRefused(t, "at most 30 digits", anyExample,
		strings.Repeat("9", 31),
		strings.Repeat("9", 28)+"k",
		strings.Repeat("9", 22)+"b",
		"$"+strings.Repeat("9", 31),
		"0."+strings.Repeat("0", 29)+"1",
		strings.Repeat("9", 4000),
		"1e30",
		"1e-30",
		"1e999999999",
		"1e-999999999",
		"$1e99999999",
		"1e"+strings.Repeat("9", 4000))
}

func TestAnotherPeriodIsRefused(t *testing.T) {
	checkRefused(t, "I draw 24h, 7d and 30d.", periodExample,
		"90d", "1y", "1Y", "48h", "0d", "99999y",
		"3 months", "1 year please", "last 2 weeks",
		"3 месяца", "2 semanas", "365天", "6 ay", "1 năm")
}

func TestTwoPeriodsAreRefused(t *testing.T) {
	checkRefused(t, "One period at a time.", periodExample, "7d 30d", "24h 90d", "7 days or 30 days")
}

func TestAnotherTokenIsRefused(t *testing.T) {
	checkRefused(t, "I only know TKN.", anyExample,
		"btc", "ETH", "PEPE", "abc", "bonk", "bitcoin", "$pepe",
		"btc 7d", "$PEPE 7d",
		"1 btc", "1500 eth", "100 eur", "100 USDT")
}

func TestOtherWordsAreAskedForAPeriodOrAnAmount(t *testing.T) {
	checkRefused(t, "a period (24h, 7d, 30d) or an amount (1500, 1.5k or $100)", anyExample,
		"max", "list", "k", "d", "hello there", "whatever please", "TKN/BTC", "7d30d", "123456d",
		"1,23,456", "1,234,5", "1.5.2", "5.", "1__5", "12 34", "1.5kk", "1.2_3",
		"0x10", "٣", "+5", "2 million", "1e", "1e5k", "1e5.5", "100 €")
}

func TestAPeriodInThePlaceOfAnAmountIsRefused(t *testing.T) {
	r := answersTo(func(w *commandstest.Answers) { w.PriceErr = errInner }).Router(t)
	week := chat.Named(map[string]string{"amount": "7 days"})
	if reply := inPrivate(t, r, chat.English, "price", week); reply.Title.Key != "unchecked.title" {
		t.Errorf("a period in the place of an amount: %s", texts(reply))
	}
}

func TestAPeriodAndAnAmountDoNotGoTogether(t *testing.T) {
	r := answersTo(func(w *commandstest.Answers) { w.PriceErr = errInner }).Router(t)
	both := chat.Named(map[string]string{"period": "7d", "amount": "1500"})
	said := texts(inPrivate(t, r, chat.English, "price", both))
	if !strings.Contains(said, "Those don't go together. Use one of these:") {
		t.Errorf("a period and an amount: %s", said)
	}
}

// checkTitles types amounts after /price. want has the title of the reply to each of them, when a token has this price.
func checkTitles(t *testing.T, price string, want map[string]string) {
	t.Helper()
	w := commandstest.Healthy()
	w.Price.Value.Price = number(price)
	r := w.Router(t)
	for typed, title := range want {
		card := words.Print(commandstest.Ask(t, r, "/price "+typed))
		if got := spaced(card.Title.String()); got != title {
			t.Errorf("%s at %s: %q, want %q", typed, price, got, title)
		}
	}
}

func TestTheWorthOfAnAmountIsShownInDigits(t *testing.T) {
	checkTitles(t, "0.0417352", map[string]string{
		"1500": "1,500 TKN ≈ $62.60",
		"24":   "24 TKN ≈ $1.00",
		"23":   "23 TKN ≈ $0.9599",
		"0.25": "0.25 TKN ≈ $0.01043",
		"2m":   "2,000,000 TKN ≈ $83,470",
	})
	checkTitles(t, "0.00000001234567", map[string]string{
		"1":         "1 TKN ≈ $0.00000001235",
		"0.0000001": "0.0000001 TKN ≈ $0.000000000000001235",
	})
	checkTitles(t, "64123.456", map[string]string{
		strings.Repeat("9", 30): "999,999,999,999,999,999,999,999,999,999 TKN ≈ > $999,999T",
	})
}

// The number of tokens has four digits or is whole, and is never 0.
func TestASumIsTurnedIntoTokens(t *testing.T) {
	checkTitles(t, "0.0417352", map[string]string{
		"$100":    "$100 ≈ 2,396 TKN",
		"$1":      "$1 ≈ 23.96 TKN",
		"$41.73":  "$41.73 ≈ 999.9 TKN",
		"$41.735": "$41.735 ≈ 1,000 TKN",
		"$0.001":  "$0.001 ≈ 0.02396 TKN",
		"$1m":     "$1,000,000 ≈ 23,960,590 TKN",
	})
	checkTitles(t, "0.00000001234567", map[string]string{
		"$1": "$1 ≈ 81,000,059 TKN",
	})
	checkTitles(t, "64123.456", map[string]string{
		"$1":                          "$1 ≈ 0.00001559 TKN",
		"$1e-29":                      "$0.00000000000000000000000000001 ≈ 0.0000000000000000000000000000000001559 TKN",
		"$" + strings.Repeat("9", 30): "$999,999,999,999,999,999,999,999,999,999 ≈ 15,594,917,404,327,053,114,542,048 TKN",
	})
}

// checkPeriod types each line after /price. The reply must be the price with the picture of this name or, if the name
// is empty, without a picture.
func checkPeriod(t *testing.T, picture string, lines ...string) {
	t.Helper()
	r := commandstest.Healthy().Router(t)
	for _, line := range lines {
		reply := inPrivate(t, r, chat.English, "price", chat.Typed(strings.Fields(line)...))
		drawn := ""
		if reply.Image != nil {
			drawn = reply.Image.Name
		}
		if drawn != picture || reply.Title.Key != "price.title" {
			t.Errorf("%q: picture %q, want %q, in\n%s", line, drawn, picture, texts(reply))
		}
	}
}

func TestAPeriodIsReadAsItIsSaid(t *testing.T) {
	checkPeriod(t, "price-24h.png",
		"24h", "24 h", "24 hours", "1d", "day", "1 day", "last 24 hours please",
		"1 día", "24 часа", "24小时", "24 saat", "24 giờ")
	checkPeriod(t, "price-7d.png",
		"7d", "7D", "7 d", "7days", "7 days", "168h", "1w", "week", "1 week", "for the last 7 days please",
		"7 días", "1 semana", "7 дней", "7天", "1周", "7 gün", "1 hafta", "7 ngày",
		"TKN 7d", "7 days tkn", "$TKN 7 days")
	checkPeriod(t, "price-30d.png",
		"30d", "30 days", "30 day", "month", "1 month", "1mo",
		"1 mes", "30 дней", "месяц", "1个月", "1 ay", "1 tháng")
}

func TestTheTokensOwnSymbolChangesNothing(t *testing.T) {
	const noPicture = ""
	checkPeriod(t, noPicture,
		"", "tkn", "TKN", "$tkn", "$TKN tkn", "tkn now pls", "now", "please", "usd", "in USD", "$", "сейчас")
}
