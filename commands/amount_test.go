package commands_test

import (
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

// askIn asks in a private chat in a language.
func askIn(t *testing.T, r *chat.Router, l chat.Language, command string, args chat.Args) chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), chat.Request{
		Command: command, Args: args, From: chat.User{Platform: "telegram", ID: commandstest.Ann}, Locale: string(l), Direct: true,
	})
}

// Each amount is given typed and as an option. Its buttons are then pressed in every
// language, and must say the same.
func TestAnAmountIsReadInTheLanguageOfTheAnswer(t *testing.T) {
	point, comma := []chat.Language{chat.English, chat.Chinese}, []chat.Language{chat.Spanish, chat.Turkish, chat.Vietnamese}
	all := chat.Languages()
	r := commandstest.Healthy().Router(t)
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
		{strings.Repeat("9", 30), all, "999,999,999,999,999,999,999,999,999,999"},
		{"0." + strings.Repeat("9", 29), all, "0." + strings.Repeat("9", 29)},
	} {
		for _, l := range test.in {
			typed := askIn(t, r, l, "price", chat.Typed(strings.Fields(test.typed)...))
			option := askIn(t, r, l, "price", chat.Named(map[string]string{"amount": test.typed}))
			replies := map[string]chat.Reply{"typed": typed, "an option": option}
			for _, presser := range all {
				for label, state := range buttons(t, typed) {
					press, err := chat.ParseState(state)
					if err != nil {
						t.Errorf("%q: %v", state, err)
					}
					replies[label+" in "+string(presser)] = askIn(t, r, presser, press.Command, chat.Typed(press.Args...))
				}
			}
			for how, reply := range replies {
				reply.Language = chat.English
				title := words.Print(reply).Title.String()
				if got, _, _ := strings.Cut(title, "\u00a0TKN ≈ $"); got != test.want || len(replies) != 2+len(all) {
					t.Errorf("%q in %s, %s of %d, is %q, want %q", test.typed, l, how, len(replies), title, test.want)
				}
			}
		}
	}
}

func TestAWrongAmountIsToldAndNeverAnswered(t *testing.T) {
	w := commandstest.Healthy()
	w.PriceErr = errInner // would be told if it were asked
	r := w.Router(t)
	const choose = "a period (24h, 7d, 30d) or an amount (1500 or 1.5k)"
	for typed, want := range map[string]string{
		"0": "more than 0", "0.000": "more than 0", "-5": "more than 0", "-0": "more than 0", "0k": "more than 0",
		strings.Repeat("9", 31): "at most 30 digits", strings.Repeat("9", 28) + "k": "at most 30 digits", "0." + strings.Repeat("0", 29) + "1": "at most 30 digits",
		strings.Repeat("9", 4000): "at most 30 digits",
		"7days":                   choose, "7 days": choose, "last 7 days": choose, "now": choose, "hello there": choose, "1y": choose, "k": choose,
		"1,23,456": choose, "1,234,5": choose, "1.5.2": choose, "5.": choose, "1__5": choose, "12 34": choose, "1.5kk": choose, "1.2_3": choose,
		"1e5": choose, "0x10": choose, "٣": choose, "+5": choose, "$100": choose, "100 usd": choose, "2 million": choose, "TKN 5": choose,
	} {
		for name, args := range map[string]chat.Args{
			"typed": chat.Typed(strings.Fields(typed)...), "an option": chat.Named(map[string]string{"amount": typed}),
		} {
			reply := askIn(t, r, chat.English, "price", args)
			if said := texts(reply); !strings.Contains(said, want) || !strings.Contains(said, "Example | `/price ") || !reply.Ephemeral || reply.Image != nil {
				t.Errorf("%.40q, %s: %s", typed, name, said)
			}
		}
	}
	both := chat.Named(map[string]string{"period": "7d", "amount": "1500"})
	if said := texts(askIn(t, r, chat.English, "price", both)); !strings.Contains(said, "Those don't go together. Use one of these:") {
		t.Errorf("a period and an amount: %s", said)
	}
}

func TestWhatAnAmountIsWorthIsShownInDigits(t *testing.T) {
	for price, cases := range map[string]map[string]string{
		"0.0417352":        {"1500": "1,500 TKN ≈ $62.60", "24": "24 TKN ≈ $1.00", "23": "23 TKN ≈ $0.9599", "0.25": "0.25 TKN ≈ $0.01043", "2m": "2,000,000 TKN ≈ $83,470"},
		"0.00000001234567": {"1": "1 TKN ≈ $0.00000001235", "0.0000001": "0.0000001 TKN ≈ $0.000000000000001235"},
		"64123.456":        {strings.Repeat("9", 30): "999,999,999,999,999,999,999,999,999,999 TKN ≈ $64,123,456,000,000,000,000,000T"},
	} {
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

// In a group, the card of another amount answers another question.
func TestEachAmountIsASubjectOfItsOwn(t *testing.T) {
	w := commandstest.Healthy()
	same := []string{"/price 1500", "/price 1.5k", "/price 1,500 TKN"}
	for range 2 {
		r := w.Router(t)
		about := commandstest.Ask(t, r, same[0]).About
		for _, line := range same {
			if got := commandstest.Ask(t, r, line).About; got != about || got == "" {
				t.Errorf("%s is about %q, want %q", line, got, about)
			}
		}
		for _, line := range []string{"/price", "/price 7d", "/price 1501"} {
			if got := commandstest.Ask(t, r, line).About; got == about {
				t.Errorf("%s is about %q too", line, got)
			}
		}
		w.PriceErr = errInner
	}
}
