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

// shown is how a value is printed in a field.
func shown(l chat.Language, v chat.Value) string {
	card := words.Print(&chat.Reply{Language: l, Sections: []chat.Section{{Fields: []chat.Field{{Value: v}}}}})
	return card.Sections[0].Fields[0].Value.String()
}

// spaced makes the spaces that do not break the line visible as such.
func spaced(s string) string { return strings.ReplaceAll(s, "\u00a0", "~") }

func TestNumbersAreShownForPeopleToRead(t *testing.T) {
	price := func(s string) chat.Value { return chat.Price{Decimal: dec(s)} }
	money := func(s string) chat.Value { return chat.Money{Decimal: dec(s)} }
	amount := func(s string) chat.Value { return chat.Amount{Decimal: dec(s), Symbol: "HRLD"} }
	digits := func(s string, d chat.Digits) chat.Value {
		return chat.Amount{Decimal: dec(s), Symbol: "HRLD", Digits: d}
	}
	change := func(s string) chat.Value { return chat.Change{Decimal: dec(s)} }
	share := func(s string) chat.Value { return chat.Share{Decimal: dec(s)} }
	tiny30 := "0.000000000000000000000000000001"
	for _, test := range []struct {
		value chat.Value
		text  string
	}{
		{price("0.0417312"), "$0.04173"},
		{price("1"), "$1.000"},
		{price("999.995"), "$1,000.00"},
		{price("0.99996"), "$1.000"},
		{price("0.00000001234567"), "$0.00000001235"},
		{price(tiny30), "$" + tiny30 + "000"},
		{money("25554321.99"), "$25.55M"},
		{money("25501000"), "$25.50M"},
		{money("1000000000000000"), "$1,000T"},
		{money("999999000000000000"), "$999,999T"},
		{money("999999999999999999"), ">~$999,999T"},
		{money("41726391840000000000000000"), ">~$999,999T"},
		{money("1e90"), ">~$999,999T"},
		{money("0.0099"), "<~$0.01"},
		{money("999999999"), "$1B"},
		{amount("987654321.123456789"), "987.65M~HRLD"},
		{amount("98765432100000000000000000"), ">~999,999T~HRLD"},
		{amount("1012345.67899"), "1,012,345.68~HRLD"},
		{amount("9999999.99999"), "10,000,000~HRLD"},
		{amount("1.99999"), "2~HRLD"},
		{amount("1.23456"), "1.23~HRLD"},
		{amount("0.00123456"), "0.0012~HRLD"},
		{amount("0.99999"), "1~HRLD"},
		{digits("987654321.5", chat.Whole), "987,654,322~HRLD"},
		{digits("1012345.678901234567890123", chat.Exact), "1,012,345.678901234567890123~HRLD"},
		{digits(tiny30, chat.Exact), tiny30 + "~HRLD"},
		{money("999.99"), "$999.99"},
		{money("42245.67"), "$42,246"},
		{amount("0.000099999"), "<~0.0001~HRLD"},
		{change("3.456"), "▲ 3.46%"},
		{change("-3.2"), "▼ 3.20%"},
		{change("0"), "0.00%"},
		{share("45.678"), "45.7%"},
		{share("62.04"), "62%"},
		{share("0"), "0%"},
		{share("0.0499"), "<~0.1%"},
		{share("0.05"), "0.1%"},
		{share("99.96"), ">~99.9%"},
		{share("100"), "100%"},
	} {
		if text := spaced(shown(chat.English, test.value)); text != test.text {
			t.Errorf("%T %v: %q, want %q", test.value, test.value, text, test.text)
		}
	}
}

// notations are how languages write numbers and November 20, taken from another place
// than the code's: Intl.NumberFormat of Node.js 20 (CLDR 44), with currencyDisplay
// narrowSymbol, notation compact, two decimals or, by trailingZeroDisplay, none and, for
// Vietnamese, compactDisplay long.
var notations = map[chat.Language][8]string{
	chat.English:    {"$234.50", "$25.55M", "$1.50B", "$1.50T", "1,234.5~X", "▲ 12.75%", "▼ 3.20%", "Nov 20"},
	chat.Spanish:    {"234,50~$", "25,55~M~$", "1500~M~$", "1,50~B~$", "1234,5~X", "▲ 12,75~%", "▼ 3,20~%", "20/11"},
	chat.Chinese:    {"$234.50", "$2555.43万", "$15亿", "$1.50万亿", "1,234.5~X", "▲ 12.75%", "▼ 3.20%", "11/20"},
	chat.Russian:    {"234,50~$", "25,55~млн~$", "1,50~млрд~$", "1,50~трлн~$", "1~234,5~X", "▲ 12,75~%", "▼ 3,20~%", "20.11"},
	chat.Turkish:    {"$234,50", "$25,55~Mn", "$1,50~Mr", "$1,50~Tn", "1.234,5~X", "▲ %12,75", "▼ %3,20", "20.11"},
	chat.Vietnamese: {"234,50~$", "25,55~triệu~$", "1,50~tỷ~$", "1,50~nghìn~tỷ~$", "1.234,5~X", "▲ 12,75%", "▼ 3,20%", "20/11"},
}

func TestNoLanguageWritesALongSum(t *testing.T) {
	for _, l := range chat.Languages() {
		for power := range int32(100) {
			if sum := shown(l, chat.Money{Decimal: decimal.New(1, power)}); len([]rune(sum)) > 24 {
				t.Errorf("%s: 1e%d is %q", l, power, sum)
			}
		}
	}
}

func TestEveryLanguageWritesNumbersItsOwnWay(t *testing.T) {
	values := []chat.Value{chat.Money{Decimal: dec("234.5")}, chat.Money{Decimal: dec("25554321.5")}, chat.Money{Decimal: dec("1500000000")}, chat.Money{Decimal: dec("1500000000000")},
		chat.Amount{Decimal: dec("1234.5"), Symbol: "X"}, chat.Change{Decimal: dec("12.75")}, chat.Change{Decimal: dec("-3.2")}}
	for l, want := range notations {
		var got [8]string
		for i, v := range values {
			got[i] = strings.ReplaceAll(spaced(shown(l, v)), "\u2060", "")
		}
		got[7] = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).Format(l.Info().Day)
		if got != want {
			t.Errorf("%s: got %q, want %q", l, got, want)
		}
	}
	for _, l := range chat.Languages() {
		cldr := message.NewPrinter(language.MustParse(string(l))).Sprint(number.Decimal(1234567.5))
		if text := shown(l, chat.Amount{Decimal: dec("1234567.5")}); strings.TrimRight(text, "\u00a0") != cldr {
			t.Errorf("%s: 1234567.5 is %q, and in x/text's CLDR %q", l, text, cldr)
		}
	}
}
