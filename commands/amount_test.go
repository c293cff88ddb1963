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

// askIn asks in a private chat in a language.
func askIn(t *testing.T, r *router.Router, l chat.Language, command string, args chat.Args) *chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), &chat.Request{
		Command: command, Args: args, From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Locale: string(l), Direct: true,
	})
}

// Each amount is given typed and as an option. Its button is then pressed in every
// language, and must say the same. At a price of a dollar, the tokens for a sum are as many.
func TestAnAmountIsReadInTheLanguageOfTheAnswer(t *testing.T) {
	point, comma := []chat.Language{chat.English, chat.Chinese}, []chat.Language{chat.Spanish, chat.Turkish, chat.Vietnamese}
	all := chat.Languages()
	w := commandstest.Healthy()
	w.Price.Value.Price = decimal.NewFromInt(1)
	r := w.Router(t)
	for _, test := range []struct {
		typed string
		in    []chat.Language
		want  string
	}{
		{"1500", all, "1,500"}, {"0.25", all, "0.25"}, {"0,25", all, "0.25"}, {".5", all, "0.5"}, {"007", all, "7"},
		{"1.5k", all, "1,500"}, {"1,5K", all, "1,500"}, {"2m", all, "2,000,000"}, {"2M tkn", all, "2,000,000"}, {"1.5 k", all, "1,500"},
		{"1500 TKN", all, "1,500"}, {"1_500", all, "1,500"}, {"1 500", all, "1,500"}, {"1\u00a0500,25\u00a0TKN", all, "1,500.25"},
		{"1,500", point, "1,500"}, {"1.500", point, "1.5"}, {"1,500.250", all, "1,500.25"}, {"1,500k", point, "1,500,000"},
		{"1,500", comma, "1.5"}, {"1.500", comma, "1,500"}, {"1.500,250", all, "1,500.25"}, {"1.500k", comma, "1,500,000"},
		// Russian divides thousands by a space.
		{"1,500", []chat.Language{chat.Russian}, "1.5"}, {"1.500", []chat.Language{chat.Russian}, "1.5"},
		{"1.1250", all, "1.125"}, {"1,125", comma, "1.125"}, {"1.125", point, "1.125"}, {"0.125", all, "0.125"}, {"0,125", all, "0.125"}, {"1.25", all, "1.25"}, {"1234.567", all, "1,234.567"},
		{"1,234,567", all, "1,234,567"}, {"1.234.567", all, "1,234,567"}, {"1.234,5", all, "1,234.5"}, {"1 234.567", all, "1,234.567"},
		{"1b", all, "1,000,000,000"}, {"2bn", all, "2,000,000,000"}, {"2 BN", all, "2,000,000,000"}, {"1.5b TKN", all, "1,500,000,000"},
		{"1e9", all, "1,000,000,000"}, {"1.5E+3", all, "1,500"}, {"1e-3", all, "0.001"}, {"25e0", all, "25"}, {"1e000000003", all, "1,000"}, {"1,500e3", point, "1,500,000"}, {"1.500e3", comma, "1,500,000"},
		{"TKN 5", all, "5"}, {"5 $TKN", all, "5"},
		{"$100", all, "$100"}, {"100$", all, "$100"}, {"100 usd", all, "$100"}, {"USD 100", all, "$100"}, {"usd100", all, "$100"}, {"$ 100", all, "$100"},
		{"100 $", all, "$100"}, {"US$100", all, "$100"}, {"100 dollars", all, "$100"}, {"100 dólares", all, "$100"}, {"100 долларов", all, "$100"}, {"100美元", all, "$100"},
		{"100 dolar", all, "$100"}, {"100 đô la", all, "$100"}, {"$100 TKN", all, "$100"}, {"TKN $100", all, "$100"}, {"$100 usd", all, "$100"}, {"100 usd in TKN", all, "$100"},
		{"100 in usd", all, "100"}, {"100 TKN in USD", all, "100"}, {"100 tkn usd", all, "100"}, {"100 to dollars", all, "100"}, {"100 tkn = $", all, "100"},
		{"$1.5k", all, "$1,500"}, {"1,5k$", all, "$1,500"}, {"$2bn", all, "$2,000,000,000"}, {"1e3 usd", all, "$1,000"}, {"$.5", all, "$0.5"}, {"$0,25", all, "$0.25"}, {"$1.125", point, "$1.125"},
		{"$1,500", point, "$1,500"}, {"$1,500", comma, "$1.5"}, {"$1.500", comma, "$1,500"}, {"1.500 $", comma, "$1,500"}, {"1 500 $", all, "$1,500"}, {"1\u00a0500,25\u00a0$", all, "$1,500.25"},
		{"1.500,25 usd", all, "$1,500.25"}, {"$1,234,567.89", all, "$1,234,567.89"}, {"$1_500", all, "$1,500"},
		{strings.Repeat("9", 30), all, "999,999,999,999,999,999,999,999,999,999"},
		{"0." + strings.Repeat("9", 29), all, "0." + strings.Repeat("9", 29)},
	} {
		for _, l := range test.in {
			typed := askIn(t, r, l, "price", chat.Typed(strings.Fields(test.typed)...))
			option := askIn(t, r, l, "price", chat.Named(map[string]string{"amount": test.typed}))
			replies := map[string]*chat.Reply{"typed": typed, "an option": option}
			typed.Language = l
			press, err := chat.ParseState(buttons(t, typed)[words.Say(l, chat.Say("button.refresh"))])
			for _, presser := range all {
				replies["pressed in "+string(presser)] = askIn(t, r, presser, press.Command, chat.Typed(press.Args...))
			}
			for how, reply := range replies {
				reply.Language = chat.English
				title := words.Print(reply).Title.String()
				got, other, _ := strings.Cut(strings.ReplaceAll(title, "\u00a0TKN", ""), " ≈ ")
				if got != test.want || strings.Contains(got, "$") == strings.Contains(other, "$") || err != nil {
					t.Errorf("%q in %s, %s, is %q, want %q", test.typed, l, how, title, test.want)
				}
			}
		}
	}
}

func TestAWrongAmountIsToldAndNeverAnswered(t *testing.T) {
	w := commandstest.Healthy()
	w.PriceErr = errInner // would be told if it were asked
	r := w.Router(t)
	const choose, drawn, one, symbol = "a period (24h, 7d, 30d) or an amount (1500, 1.5k or $100)", "I draw 24h, 7d and 30d.", "One period at a time.", "I only know TKN."
	for typed, want := range map[string]string{
		"0": "more than 0", "0.000": "more than 0", "-5": "more than 0", "-0": "more than 0", "0k": "more than 0", "$0": "more than 0", "-$5": "more than 0", "$-5": "more than 0", "0e999999999": "more than 0",
		strings.Repeat("9", 31): "at most 30 digits", strings.Repeat("9", 28) + "k": "at most 30 digits", "0." + strings.Repeat("0", 29) + "1": "at most 30 digits",
		strings.Repeat("9", 4000): "at most 30 digits", "$" + strings.Repeat("9", 31): "at most 30 digits", strings.Repeat("9", 22) + "b": "at most 30 digits",
		"1e30": "at most 30 digits", "1e-30": "at most 30 digits", "1e999999999": "at most 30 digits", "1e-999999999": "at most 30 digits", "1e" + strings.Repeat("9", 4000): "at most 30 digits", "$1e99999999": "at most 30 digits",
		"90d": drawn, "1y": drawn, "1Y": drawn, "3 months": drawn, "48h": drawn, "1 year please": drawn, "last 2 weeks": drawn, "3 месяца": drawn, "2 semanas": drawn, "365天": drawn, "6 ay": drawn, "1 năm": drawn, "0d": drawn, "99999y": drawn,
		"7d 30d": one, "24h 90d": one, "7 days or 30 days": one, "7d30d": choose,
		"btc": symbol, "ETH": symbol, "$pepe": symbol, "btc 7d": symbol, "$PEPE 7d": symbol, "bitcoin": symbol, "1 btc": symbol, "1500 eth": symbol, "100 eur": symbol, "100 USDT": symbol,
		"max": choose, "list": choose, "PEPE": symbol, "abc": symbol, "bonk": symbol, "TKN/BTC": choose,
		"hello there": choose, "k": choose, "d": choose, "whatever please": choose, "123456d": choose,
		"1,23,456": choose, "1,234,5": choose, "1.5.2": choose, "5.": choose, "1__5": choose, "12 34": choose, "1.5kk": choose, "1.2_3": choose,
		"0x10": choose, "٣": choose, "+5": choose, "2 million": choose, "1e": choose, "1e5k": choose, "1e5.5": choose, "100 €": choose,
	} {
		for name, args := range map[string]chat.Args{
			"typed": chat.Typed(strings.Fields(typed)...), "an option": chat.Named(map[string]string{"amount": typed}),
		} {
			reply := askIn(t, r, chat.English, "price", args)
			said := texts(reply)
			if !strings.Contains(said, want) || !strings.Contains(said, "Example | `/price ") || !reply.ForSender() || reply.Image != nil {
				t.Errorf("%.40q, %s: %s", typed, name, said)
			}
			if (want == drawn || want == one) && !strings.Contains(said, "Example | `/price 7d`") {
				t.Errorf("%.40q, %s, has no period as its example: %s", typed, name, said)
			}
		}
	}
	week := chat.Named(map[string]string{"amount": "7 days"})
	if reply := askIn(t, r, chat.English, "price", week); reply.Title.Key != "unchecked.title" {
		t.Errorf("a period in the place of an amount: %s", texts(reply))
	}
	both := chat.Named(map[string]string{"period": "7d", "amount": "1500"})
	if said := texts(askIn(t, r, chat.English, "price", both)); !strings.Contains(said, "Those don't go together. Use one of these:") {
		t.Errorf("a period and an amount: %s", said)
	}
}

// askedAt asks for amounts at prices, and compares the titles.
func askedAt(t *testing.T, prices map[string]map[string]string) {
	t.Helper()
	for price, cases := range prices {
		w := commandstest.Healthy()
		w.Price.Value.Price = known(price).Decimal
		for typed, want := range cases {
			card := words.Print(commandstest.Ask(t, w.Router(t), "/price "+typed))
			if got := strings.ReplaceAll(card.Title.String(), "\u00a0", " "); got != want {
				t.Errorf("%s at %s: %q, want %q", typed, price, got, want)
			}
		}
	}
}

func TestWhatAnAmountIsWorthIsShownInDigits(t *testing.T) {
	askedAt(t, map[string]map[string]string{
		"0.0417352":        {"1500": "1,500 TKN ≈ $62.60", "24": "24 TKN ≈ $1.00", "23": "23 TKN ≈ $0.9599", "0.25": "0.25 TKN ≈ $0.01043", "2m": "2,000,000 TKN ≈ $83,470"},
		"0.00000001234567": {"1": "1 TKN ≈ $0.00000001235", "0.0000001": "0.0000001 TKN ≈ $0.000000000000001235"},
		"64123.456":        {strings.Repeat("9", 30): "999,999,999,999,999,999,999,999,999,999 TKN ≈ > $999,999T"},
	})
}

// The tokens for a sum have four digits or are whole, and are never 0.
func TestASumIsTurnedIntoTokens(t *testing.T) {
	askedAt(t, map[string]map[string]string{
		"0.0417352":        {"$100": "$100 ≈ 2,396 TKN", "$1": "$1 ≈ 23.96 TKN", "$41.73": "$41.73 ≈ 999.9 TKN", "$41.735": "$41.735 ≈ 1,000 TKN", "$0.001": "$0.001 ≈ 0.02396 TKN", "$1m": "$1,000,000 ≈ 23,960,590 TKN"},
		"0.00000001234567": {"$1": "$1 ≈ 81,000,059 TKN"},
		"64123.456":        {"$1": "$1 ≈ 0.00001559 TKN", "$1e-29": "$0.00000000000000000000000000001 ≈ 0.0000000000000000000000000000000001559 TKN", "$" + strings.Repeat("9", 30): "$999,999,999,999,999,999,999,999,999,999 ≈ 15,594,917,404,327,053,114,542,048 TKN"},
	})
}

// The token's own symbol says nothing new, and a period may be said in words.
func TestAPeriodIsReadAsItIsSaid(t *testing.T) {
	r := commandstest.Healthy().Router(t)
	for name, all := range map[string][]string{
		"":              {"", "tkn", "TKN", "$tkn", "$TKN tkn", "now", "please", "tkn now pls", "usd", "in USD", "$", "сейчас"},
		"price-24h.png": {"24h", "1d", "day", "24 h", "24 hours", "1 day", "1 día", "24 часа", "24小时", "24 saat", "24 giờ", "last 24 hours please"},
		"price-7d.png":  {"7d", "7D", "1w", "week", "7 d", "7days", "7 days", "1 week", "168h", "7 días", "1 semana", "7 дней", "7天", "1周", "7 gün", "1 hafta", "7 ngày", "TKN 7d", "7 days tkn", "$TKN 7 days", "for the last 7 days please"},
		"price-30d.png": {"30d", "30 days", "30 day", "month", "1 month", "1mo", "1 mes", "30 дней", "месяц", "1个月", "1 ay", "1 tháng"},
	} {
		for _, typed := range all {
			reply := askIn(t, r, chat.English, "price", chat.Typed(strings.Fields(typed)...))
			drawn := ""
			if reply.Image != nil {
				drawn = reply.Image.Name
			}
			if drawn != name || reply.Title.Key != "price.title" {
				t.Errorf("%q: %q, %s", typed, drawn, texts(reply))
			}
		}
	}
}
