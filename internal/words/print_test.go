package words_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/words"
)

const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"

// everyKind has a value of every kind.
func everyKind() []chat.Value {
	return []chat.Value{
		chat.SayWith("limit.text", chat.Values{"n": chat.Count(5)}),
		chat.Plain("plain"), chat.Code("/price"), chat.Count(3), chat.NewForeign("somebody's", 40),
		chat.Price{Decimal: dec("0.5")}, chat.Money{Decimal: dec("12345678")}, chat.Amount{Decimal: dec("1"), Symbol: "HRLD"},
		chat.Change{Decimal: dec("-1")}, chat.Share{Decimal: dec("40")}, chat.Moment{Time: time.Now()}, chat.Date{Time: time.Now()},
		chat.Address{Hex: wallet, URL: "https://explorer.example/address/" + wallet},
		chat.Block{Number: 1_000_000, At: time.Now()},
		chat.Mention{User: ann}, chat.Channel{ID: "-100", Title: "Holders"},
	}
}

var ann = chat.User{Platform: "telegram", ID: "4815162342"}

// TestEveryKindOfValueIsPrinted finds the kinds in the source of package chat.
func TestEveryKindOfValueIsPrinted(t *testing.T) {
	kinds := map[string]bool{}
	sources, err := filepath.Glob("../chat/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "value" && f.Recv != nil {
				kinds[fmt.Sprint(f.Recv.List[0].Type)] = true
			}
		}
	}
	tested := map[string]bool{}
	for _, v := range everyKind() {
		tested[reflect.TypeOf(v).Name()] = true
		for _, l := range append(chat.Languages(), "", "tlh") {
			if text, _ := shown(l, v); text == "" {
				t.Errorf("%s: %T %v is not shown", l, v, v)
			}
		}
	}
	if !maps.Equal(kinds, tested) {
		t.Errorf("package chat has the kinds %v, and this test %v", slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(tested)))
	}
}

func TestEveryFieldOfAReplyIsPrinted(t *testing.T) {
	reply, markers := chattest.FullReply()
	reply.Image = &chat.Image{Name: "price-7d.png", PNG: []byte("png"), Alt: chat.Say("what is to be seen")}
	reply.Ask = &chat.Ask{Command: "staked", Param: "wallet", Question: chat.Say("Which wallet?"), Example: "0x1"}
	reply.Actions = append(reply.Actions, chat.Action{Label: chat.Say("copy"), Copy: wallet})
	card := words.Print(reply)
	for _, marker := range markers {
		if !strings.Contains(fmt.Sprint(card), marker) {
			t.Errorf("%s is not in %+v", marker, card)
		}
	}
	if card.Tone != reply.Tone || card.Language != reply.Language {
		t.Errorf("the tone is %v and the language %q", card.Tone, card.Language)
	}
	if want := (words.Image{Name: "price-7d.png", Alt: "what is to be seen", PNG: []byte("png")}); !reflect.DeepEqual(*card.Image, want) {
		t.Errorf("the picture is %+v", card.Image)
	}
	if want := (words.Ask{Command: "staked", Param: "wallet", Question: "Which wallet?", Example: "0x1"}); *card.Ask != want {
		t.Errorf("asked is %+v", card.Ask)
	}
	press, link, copied := card.Buttons[0], card.Buttons[1], card.Buttons[2]
	if press.State != "1 e 0 price" || link.URL != "https://example.org/" || copied.Copy != wallet || link.State+copied.State != "" {
		t.Errorf("the buttons are %+v", card.Buttons)
	}
}

func TestAButtonThatRefreshesKnowsWhatItIsUnder(t *testing.T) {
	card := words.Print(chat.Reply{AsOf: time.Unix(36, 0), Actions: []chat.Action{
		{Label: chat.Say("refresh"), Command: "price", Edit: true, Refresh: true},
		{Label: chat.Say("another"), Command: "price", Args: []string{"7d"}, Edit: true},
	}})
	if card.Buttons[0].State != "1 e 10 price" || card.Buttons[1].State != "1 e 0 price 7d" {
		t.Errorf("the buttons are %+v", card.Buttons)
	}
}

func TestAButtonWhoseStateIsTooLongIsLeftOut(t *testing.T) {
	card := words.Print(chat.Reply{Actions: []chat.Action{
		{Label: chat.Say("long"), Command: "price", Args: []string{strings.Repeat("x", 60)}},
		{Label: chat.Say("short"), Command: "price"},
	}})
	if len(card.Buttons) != 1 || card.Buttons[0].Label != "short" {
		t.Errorf("the buttons are %+v", card.Buttons)
	}
}

func TestValuesTellHowTheyAreToBeShown(t *testing.T) {
	url := "https://explorer.example/address/" + wallet
	at := time.Unix(1_790_000_000, 0)
	title := chat.NewForeign("Holders", 40)
	span := func(v chat.Value) words.Span {
		card := words.Print(chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Value: v}}}}})
		line := card.Sections[0].Fields[0].Value
		if len(line) != 1 {
			t.Fatalf("%v is in %d parts", v, len(line))
		}
		return line[0]
	}
	for _, test := range []struct {
		value chat.Value
		want  words.Span
	}{
		{chat.Code("/price"), words.Span{Text: "/price", Style: words.Code}},
		{chat.NewForeign("<b> @all", 40), words.Span{Text: "<b> @\u2060all", Style: words.Foreign}},
		{chat.Plain("a\nb"), words.Span{Text: "a b"}},
		{chat.Address{Hex: wallet, URL: url}, words.Span{Text: "0x5290…9EE7", URL: url}},
		{chat.Address{Hex: "not an address"}, words.Span{Text: "not an address"}},
		{chat.Mention{User: ann}, words.Span{Text: ann.ID, Style: words.Foreign, Person: &ann}},
		{chat.Mention{User: ann, Name: "Ann A."}, words.Span{Text: "Ann A.", Style: words.Foreign, Person: &ann}},
		{chat.Channel{ID: "-100", Title: title}, words.Span{Text: "Holders", Style: words.Foreign, Channel: &chat.Channel{ID: "-100", Title: title}}},
		{chat.Channel{ID: "-100"}, words.Span{Text: "-100", Style: words.Foreign, Channel: &chat.Channel{ID: "-100"}}},
	} {
		if got := span(test.value); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%#v is %+v, want %+v", test.value, got, test.want)
		}
	}
	if got := span(chat.Date{Time: at}); !reflect.DeepEqual(got, words.Span{Text: "2026-09-21 14:13 UTC"}) {
		t.Errorf("a date is %+v", got)
	}
	if got := span(chat.Moment{Time: at}); !got.At.Equal(at) || got.UTC != "2026-09-21 14:13 UTC" {
		t.Errorf("a moment is %+v", got)
	}
}

func TestExactValuesAreNamedAfterWhatTheyBelongTo(t *testing.T) {
	big := chat.Amount{Decimal: dec("123456789.5"), Symbol: "X"}
	card := words.Print(chat.Reply{Text: chat.SayWith("unlisted.entry", chat.Values{"entry": big}), Sections: []chat.Section{
		{Fields: []chat.Field{{Name: chat.Say("Total"), Value: big}, {Value: big}, {Name: chat.Say("Small"), Value: chat.Count(1)}}},
		{Heading: chat.Say("Unstaking"), Fields: []chat.Field{{Name: chat.NewForeign("Pool 1", 40), Value: big}}},
		{Fields: []chat.Field{{Name: chat.Say("Wallet"), Value: chat.Address{Hex: wallet}}}},
	}, Notes: []chat.Text{chat.SayWith("unlisted.entry", chat.Values{"entry": big})}})
	var got []string
	for _, d := range card.Details {
		got = append(got, spaced(d.Name.String()+": "+d.Value.String()))
	}
	want := []string{": 123,456,789.5~X", "Total: 123,456,789.5~X", ": 123,456,789.5~X", "Unstaking · Pool 1: 123,456,789.5~X", "Wallet: " + wallet, ": 123,456,789.5~X"}
	if !slices.Equal(got, want) {
		t.Errorf("the details are %q, want %q", got, want)
	}
	if style := card.Details[4].Value[0].Style; style != words.Code {
		t.Errorf("the whole wallet has style %v", style)
	}
}

func TestAMomentIsToldByHowLongAgoItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			ago    time.Duration
			en, ru string
		}{
			{0, "just now", "только что"},
			{999 * time.Millisecond, "just now", "только что"},
			{time.Second, "1 s ago", "1 с назад"},
			{59 * time.Second, "59 s ago", "59 с назад"},
			{time.Minute, "1 min ago", "1 мин назад"},
			{time.Hour - 1, "59 min ago", "59 мин назад"},
			{time.Hour, "1 h ago", "1 ч назад"},
			{24*time.Hour - 1, "23 h ago", "23 ч назад"},
			{24 * time.Hour, "1 day ago", "1 день назад"},
			{48 * time.Hour, "2 days ago", "2 дня назад"},
			{5 * 24 * time.Hour, "5 days ago", "5 дней назад"},
			{21 * 24 * time.Hour, "21 days ago", "21 день назад"},
			{-time.Second, "just now", "только что"},
			{-time.Minute, "just now", "только что"},
			{-time.Minute - 1, "2000-01-01 00:01 UTC", "01.01.2000 00:01 UTC"},
			{-365 * 24 * time.Hour, "2000-12-31 00:00 UTC", "31.12.2000 00:00 UTC"},
		} {
			moment := chat.Moment{Time: time.Now().Add(-test.ago)}
			en, _ := shown(chat.English, moment)
			ru, _ := shown(chat.Russian, moment)
			if en != test.en || ru != test.ru {
				t.Errorf("%v ago is %q and %q, want %q and %q", test.ago, en, ru, test.en, test.ru)
			}
		}
		block := chat.Block{Number: 1_000_000, At: time.Now().Add(-12 * time.Second)}
		if got, _ := shown(chat.English, block); got != "Block 1,000,000, 12 s ago" {
			t.Errorf("a block is %q", got)
		}
	})
}

func TestPluralFormsAreThoseOfTheLanguage(t *testing.T) {
	say := func(l chat.Language, n int) string {
		return words.Say(l, chat.SayWith("limit.text", chat.Values{"n": chat.Count(n)}))
	}
	for n, want := range map[int]string{1: "через 1 секунду.", 21: "через 21 секунду.", 2: "через 2 секунды.", 104: "через 104 секунды.",
		0: "через 0 секунд.", 5: "через 5 секунд.", 11: "через 11 секунд.", 12: "через 12 секунд.", 1_000_000: "через 1\u00a0000\u00a0000 секунд."} {
		if got := say(chat.Russian, n); !strings.HasSuffix(got, want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if one, many := say(chat.English, 1), say(chat.English, 2); !strings.HasSuffix(one, "1 second.") || !strings.HasSuffix(many, "2 seconds.") {
		t.Errorf("got %q and %q", one, many)
	}
}

func TestWhatTheCatalogueLacksIsStillSaid(t *testing.T) {
	if got := words.Say(chat.Turkish, chat.Say("no such key")); got != "no such key" {
		t.Errorf("an unknown key is %q", got)
	}
	if got := words.Say("tlh", chat.Say("busy.title")); got != words.Say(chat.English, chat.Say("busy.title")) {
		t.Errorf("in a language nobody speaks: %q", got)
	}
	if got := words.Say(chat.English, chat.Say("reference")); got != "Reference " {
		t.Errorf("without its argument: %q", got)
	}
	if got := words.Say(chat.English, chat.Text{}); got != "" {
		t.Errorf("no text is %q", got)
	}
}

// lines are all lines of a card, each with where it stands.
func lines(c words.Card) []words.Line {
	all := []words.Line{c.Title, c.Text}
	all = append(all, c.Notes...)
	for _, s := range append(c.Sections, words.Section{Fields: c.Details}) {
		all = append(all, s.Heading)
		for _, f := range s.Fields {
			all = append(all, f.Name, f.Value)
		}
	}
	return all
}

// FuzzPrint: whatever a service or a user says, each line of the card is one
// clean line.
func FuzzPrint(f *testing.F) {
	f.Add("plain")
	f.Add("a\nb\u202e\x00\xff \u200b{n} @everyone https://evil.example")
	f.Fuzz(func(t *testing.T, s string) {
		foreign := chat.Foreign(s)
		at := time.Now()
		values := []chat.Value{foreign, chat.Plain(s), chat.Code(s), chat.Amount{Decimal: dec("0.5"), Symbol: s}, chat.Address{Hex: s},
			chat.Mention{User: chat.User{ID: s}}, chat.Channel{ID: s, Title: foreign}, chat.Moment{Time: at},
			chat.SayWith("unlisted.entry", chat.Values{"entry": chat.Code(s)})}
		reply := chat.Reply{Title: chat.SayWith("reference", chat.Values{"reference": chat.Plain(s)})}
		for _, v := range values {
			reply.Sections = append(reply.Sections, chat.Section{Fields: []chat.Field{{Name: foreign, Value: v}}})
		}
		for _, line := range lines(words.Print(reply)) {
			text := strings.ReplaceAll(strings.ReplaceAll(line.String(), "\u2060", ""), "\u00a0", " ")
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }) {
				t.Fatalf("%q is printed as %q", s, line.String())
			}
		}
	})
}
