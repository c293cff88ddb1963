package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"herald/internal/chat"
	"herald/internal/words"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// shown returns how a value is printed in a field.
func shown(l chat.Language, v chat.Value) string {
	field := chat.Field{Value: v}
	card := words.Print(&chat.Reply{
		Language: l,
		Sections: []chat.Section{{Fields: []chat.Field{field}}},
	})
	return card.Sections[0].Fields[0].Value.String()
}

// spaced replaces the spaces that do not break the line by "~".
func spaced(s string) string { return strings.ReplaceAll(s, "\u00a0", "~") }

// Values of the tests, from decimals.
func price(s string) chat.Value  { return chat.Price{Decimal: dec(s)} }
func money(s string) chat.Value  { return chat.Money{Decimal: dec(s)} }
func change(s string) chat.Value { return chat.Change{Decimal: dec(s)} }
func share(s string) chat.Value  { return chat.Share{Decimal: dec(s)} }

func amount(s string, digits chat.Digits) chat.Value {
	return chat.Amount{Decimal: dec(s), Symbol: "HRLD", Digits: digits}
}

// valueCase is a value, and how it is printed in English.
type valueCase struct {
	value chat.Value
	want  string
}

func checkValues(t *testing.T, cases []valueCase) {
	t.Helper()
	for _, c := range cases {
		if got := spaced(shown(chat.English, c.value)); got != c.want {
			t.Errorf("%T %v: %q, want %q", c.value, c.value, got, c.want)
		}
	}
}

const tiny = "0.000000000000000000000000000001" // 30 digits

func TestAPriceHasFourDigits(t *testing.T) {
	checkValues(t, []valueCase{
		{price("0.0417312"), "$0.04173"},
		{price("1"), "$1.000"},
		{price("999.995"), "$1,000.00"},
		{price("0.99996"), "$1.000"},
		{price("0.00000001234567"), "$0.00000001235"},
		{price(tiny), "$" + tiny + "000"},
	})
}

func TestASumHasCentsOrAUnit(t *testing.T) {
	checkValues(t, []valueCase{
		{money("0.0099"), "<~$0.01"},
		{money("999.99"), "$999.99"},
		{money("42245.67"), "$42,246"},
		{money("25501000"), "$25.50M"},
		{money("25554321.99"), "$25.55M"},
		{money("999999999"), "$1B"},
		{money("1000000000000000"), "$1,000T"},
		{money("999999000000000000"), "$999,999T"},
		{money("999999999999999999"), ">~$999,999T"},
		{money("41726391840000000000000000"), ">~$999,999T"},
		{money("1e90"), ">~$999,999T"},
	})
}

func TestAnAmountIsShortUnlessItsDigitsMatter(t *testing.T) {
	checkValues(t, []valueCase{
		{amount("0.000099999", chat.Short), "<~0.0001~HRLD"},
		{amount("0.00123456", chat.Short), "0.0012~HRLD"},
		{amount("0.99999", chat.Short), "1~HRLD"},
		{amount("1.23456", chat.Short), "1.23~HRLD"},
		{amount("1.99999", chat.Short), "2~HRLD"},
		{amount("1012345.67899", chat.Short), "1,012,345.68~HRLD"},
		{amount("9999999.99999", chat.Short), "10,000,000~HRLD"},
		{amount("987654321.123456789", chat.Short), "987.65M~HRLD"},
		{amount("98765432100000000000000000", chat.Short), ">~999,999T~HRLD"},
		{amount("987654321.5", chat.Whole), "987,654,322~HRLD"},
		{amount("1012345.678901234567890123", chat.Exact), "1,012,345.678901234567890123~HRLD"},
		{amount(tiny, chat.Exact), tiny + "~HRLD"},
	})
}

func TestAChangeHasASign(t *testing.T) {
	checkValues(t, []valueCase{
		{change("3.456"), "▲ 3.46%"},
		{change("-3.2"), "▼ 3.20%"},
		{change("0"), "0.00%"},
	})
}

func TestAShareIsZeroOrAHundredOnlyIfItIsExact(t *testing.T) {
	checkValues(t, []valueCase{
		{share("45.678"), "45.7%"},
		{share("62.04"), "62%"},
		{share("0"), "0%"},
		{share("0.0499"), "<~0.1%"},
		{share("0.05"), "0.1%"},
		{share("99.96"), ">~99.9%"},
		{share("100"), "100%"},
	})
}

func TestNoLanguageWritesALongSum(t *testing.T) {
	for _, l := range chat.Languages() {
		for power := range int32(100) {
			sum := shown(l, chat.Money{Decimal: decimal.New(1, power)})
			if len([]rune(sum)) > 24 {
				t.Errorf("%s: 1e%d is %q", l, power, sum)
			}
		}
	}
}

// notation is how a language writes numbers, and November 20.
type notation struct {
	hundreds  string // $234.5
	millions  string // $25,554,321.5
	billions  string // $1,500,000,000
	trillions string // $1,500,000,000,000
	amount    string // 1234.5 of the token X
	rise      string // 12.75 %
	fall      string // 3.2 %
	day       string
}

// notations has what Intl.NumberFormat of Node.js 20 (CLDR 44) returns, and not what this program does. Its options
// were the narrow currency symbol, the compact notation (for Vietnamese in its long form), and two decimals or, for
// whole numbers, none.
var notations = map[chat.Language]notation{
	chat.English: {
		hundreds:  "$234.50",
		millions:  "$25.55M",
		billions:  "$1.50B",
		trillions: "$1.50T",
		amount:    "1,234.5~X",
		rise:      "▲ 12.75%",
		fall:      "▼ 3.20%",
		day:       "Nov 20",
	},
	chat.Spanish: {
		hundreds:  "234,50~$",
		millions:  "25,55~M~$",
		billions:  "1500~M~$",
		trillions: "1,50~B~$",
		amount:    "1234,5~X",
		rise:      "▲ 12,75~%",
		fall:      "▼ 3,20~%",
		day:       "20/11",
	},
	chat.Chinese: {
		hundreds:  "$234.50",
		millions:  "$2555.43万",
		billions:  "$15亿",
		trillions: "$1.50万亿",
		amount:    "1,234.5~X",
		rise:      "▲ 12.75%",
		fall:      "▼ 3.20%",
		day:       "11/20",
	},
	chat.Russian: {
		hundreds:  "234,50~$",
		millions:  "25,55~млн~$",
		billions:  "1,50~млрд~$",
		trillions: "1,50~трлн~$",
		amount:    "1~234,5~X",
		rise:      "▲ 12,75~%",
		fall:      "▼ 3,20~%",
		day:       "20.11",
	},
	chat.Turkish: {
		hundreds:  "$234,50",
		millions:  "$25,55~Mn",
		billions:  "$1,50~Mr",
		trillions: "$1,50~Tn",
		amount:    "1.234,5~X",
		rise:      "▲ %12,75",
		fall:      "▼ %3,20",
		day:       "20.11",
	},
	chat.Vietnamese: {
		hundreds:  "234,50~$",
		millions:  "25,55~triệu~$",
		billions:  "1,50~tỷ~$",
		trillions: "1,50~nghìn~tỷ~$",
		amount:    "1.234,5~X",
		rise:      "▲ 12,75%",
		fall:      "▼ 3,20%",
		day:       "20/11",
	},
}

func TestEveryLanguageWritesNumbersItsOwnWay(t *testing.T) {
	november20 := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for l, want := range notations {
		write := func(v chat.Value) string { return strings.ReplaceAll(spaced(shown(l, v)), "\u2060", "") }
		got := notation{
			hundreds:  write(money("234.5")),
			millions:  write(money("25554321.5")),
			billions:  write(money("1500000000")),
			trillions: write(money("1500000000000")),
			amount:    write(chat.Amount{Decimal: dec("1234.5"), Symbol: "X"}),
			rise:      write(change("12.75")),
			fall:      write(change("-3.2")),
			day:       november20.Format(l.Info().Day),
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", l, got, want)
		}
	}
}

func TestEveryLanguageDividesThousandsAsInTheCLDR(t *testing.T) {
	for _, l := range chat.Languages() {
		want := message.NewPrinter(language.MustParse(string(l))).Sprint(number.Decimal(1234567.5))
		text := shown(l, chat.Amount{Decimal: dec("1234567.5")})
		if got := strings.TrimRight(text, "\u00a0"); got != want {
			t.Errorf("%s: 1234567.5 is %q, want %q", l, got, want)
		}
	}
}
