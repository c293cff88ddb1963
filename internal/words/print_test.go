package words_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/platform/platformtest"
	"herald/internal/words"
)

const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"

var ann = chat.User{Platform: "telegram", ID: "4815162342"}

func TestEveryFieldOfAReplyIsPrinted(t *testing.T) {
	reply, markers := platformtest.FullReply()
	reply.Image = &chat.Image{Name: "price-7d.png", PNG: []byte("png"), Caption: chat.Say("what is to be seen")}
	reply.Ask = &chat.Ask{Command: "staked", Question: chat.Say("Which wallet?")}
	reply.Source.AsOf.Time = time.Unix(36, 0)
	reply.Actions = append(reply.Actions,
		chat.Action{Label: chat.Say("copy"), Copy: wallet},
		chat.Action{Label: chat.Say("refresh"), Command: "price", Edit: true, Refresh: true},
		chat.Action{Label: chat.Say("longer than a state"), Command: "price", Args: []string{strings.Repeat("x", 60)}})
	card := words.Print(reply)
	for _, marker := range markers {
		if !strings.Contains(fmt.Sprint(card), marker) {
			t.Errorf("%s is not in %+v", marker, card)
		}
	}
	if card.Tone != reply.Tone || card.Language != reply.Language ||
		!reflect.DeepEqual(card.Image, &words.Image{Name: "price-7d.png", Alt: "what is to be seen ·\u00a0" + card.Subtitle.String(), PNG: []byte("png")}) ||
		!reflect.DeepEqual(card.Ask, &words.Ask{Command: "staked", Question: "Which wallet?"}) {
		t.Errorf("the card is %+v, with %+v and %+v", card, card.Image, card.Ask)
	}
	var does []string
	for _, b := range card.Buttons {
		does = append(does, b.State+b.URL+b.Copy)
	}
	if want := []string{"1 e 0 price", "https://example.org/", wallet, "1 e 10 price"}; !slices.Equal(does, want) {
		t.Errorf("the buttons do %q, want %q", does, want)
	}
}

func TestValuesTellHowTheyAreToBeShown(t *testing.T) {
	url := "https://explorer.example/address/" + wallet
	at := time.Unix(1_790_000_000, 0)
	for _, test := range []struct {
		value chat.Value
		want  words.Span
	}{
		{chat.Code("/price"), words.Span{Text: "/price", Style: words.Code}},
		{chat.NewUntrusted("<b> @all", 40), words.Span{Text: "<b> @\u2060all", Style: words.Untrusted}},
		{chat.Usage{Command: "staked", Params: []chat.Text{chat.Say("name.wallet")}}, words.Span{Text: "/staked <wallet>", Style: words.Code}},
		{chat.Plain("a\nb"), words.Span{Text: "a b"}},
		{chat.Address{Hex: wallet, URL: url}, words.Span{Text: "0x5290…9EE7", URL: url}},
		{chat.Mention{User: ann, Name: "Ann A."}, words.Span{Text: "Ann A.", Style: words.Untrusted, Person: &ann}},
		{chat.CommandLink("/price"), words.Span{Text: "/price", Style: words.Command}},
		{chat.Strong{Value: chat.Count(7)}, words.Span{Text: "7", Style: words.Strong}},
		{chat.Strong{Value: chat.Code("7")}, words.Span{Text: "7", Style: words.Code}},
		{chat.Moment{Time: at.AddDate(999, 0, 0)}, words.Span{Text: "3025-09-21 14:13 UTC", Moment: &words.Moment{Time: at.AddDate(999, 0, 0), Date: "3025-09-21 14:13 UTC"}}},
	} {
		card := words.Print(&chat.Reply{Sections: []chat.Section{{Fields: []chat.Field{{Value: test.value}}}}})
		if got := card.Sections[0].Fields[0].Value; !reflect.DeepEqual(got, words.Line{test.want}) {
			t.Errorf("%#v is %+v, want %+v", test.value, got, test.want)
		}
	}
}

func TestTheFooterEndsWithWhenItWasChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(-2 * time.Second)
		for _, test := range []struct {
			footer       chat.Parts
			checked      time.Time
			want, source string
		}{
			{nil, time.Time{}, "", ""},
			{nil, at, "Checked 2 s ago", ""},
			{chat.Parts{chat.Plain("CoinMarketCap"), chat.Plain("")}, at, "CoinMarketCap ·\u00a02 s ago", "CoinMarketCap"},
			{chat.Parts{chat.Plain("All"), chat.Plain("block 1")}, time.Time{}, "All ·\u00a0block 1", "All ·\u00a0block 1"},
		} {
			card := words.Print(&chat.Reply{Footer: test.footer, Checked: test.checked})
			if card.Footer.String() != test.want || card.Source.String() != test.source || card.Checked != test.checked {
				t.Errorf("the footer is %q with %q, want %q with %q", card.Footer, card.Source, test.want, test.source)
			}
		}
	})
}

func TestExactValuesStandUnderShortOnesAlone(t *testing.T) {
	for tokens, want := range map[string]int{"12.5": 0, "0.1234": 0, "1234.567": 1, "12000000": 1} {
		amount := chat.Amount{Decimal: dec(tokens), Symbol: "X"}
		whole := amount
		whole.Digits = chat.Exact
		title := chat.SayWith("stake.yes", chat.Values{"total": amount})
		parts := []chat.Section{{Fields: []chat.Field{{Value: chat.Parts{title}}}}}
		for place, reply := range map[string]*chat.Reply{"title": {Title: title}, "section": {Sections: parts}} {
			reply.FullValues = []chat.Field{{Value: whole}}
			if got := len(words.Print(reply).FullValues); got != want {
				t.Errorf("%s in a %s has %d exact values, want %d", tokens, place, got, want)
			}
		}
	}
}

func TestARowBreaksBetweenItsFieldsAlone(t *testing.T) {
	change := chat.Field{Name: chat.Say("price.7d"), Value: chat.Change{Decimal: dec("-12.5")}}
	row := words.Print(&chat.Reply{Sections: []chat.Section{{Row: true, Fields: []chat.Field{change, change}}}}).Sections[0].Fields
	if got, want := row[0].Value.String(), "7d\u00a0▼\u00a012.50%  ·\u00a0\u00a07d\u00a0▼\u00a012.50%"; len(row) != 1 || got != want {
		t.Errorf("%q", got)
	}
}

// An app wraps a line at any space, and between any two characters of Chinese.
func TestALineBreaksBeforeADotAndNotWithinAWord(t *testing.T) {
	ago := chat.Moment{Time: time.Now().Add(-5 * time.Minute)}
	pool := chat.SayWith("stake.others", chat.Values{"n": chat.Count(3)})
	for _, test := range []struct {
		language chat.Language
		value    chat.Value
		want     string
	}{
		{chat.English, chat.Parts{chat.Say("price.24h"), chat.Say("price.7d")}, "24h ·\u00a07d"},
		{chat.English, chat.Say("verify.stakes_nothing"), "·\u00a0not staked"},
		{chat.Chinese, chat.Parts{chat.Say("price.cap"), ago}, "市\u2060值 ·\u00a05 分\u2060钟\u2060前"},
		{chat.Chinese, chat.Money{Decimal: dec("25580200")}, "$2558.02\u2060万"},
		{chat.Chinese, chat.Strong{Value: chat.Say("price.volume")}, "24 小\u2060时\u2060成\u2060交\u2060额"},
		{chat.Chinese, pool, "……以\u2060及\u2060另\u2060外 3 个\u2060质\u2060押\u2060池"},
		{chat.Chinese, chat.Say("anonymous.text"), "我不知道该查哪个账号。请\u2060私\u2060聊\u2060我。"}, // A sentence has to break.
		{chat.Chinese, chat.Code("质押"), "质押"},
		{chat.Chinese, chat.Untrusted("质押"), "质押"},
	} {
		card := words.Print(&chat.Reply{Language: test.language, Footer: chat.Parts{test.value}})
		if got := card.Footer.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestANoteIsSaidOnce(t *testing.T) {
	twice := &chat.Reply{Notes: []chat.Text{chat.Say("reason.denied"), chat.Say("chart.failed"), chat.Say("reason.denied")}}
	if notes := words.Print(twice).Notes; len(notes) != 2 || notes[0].String() == notes[1].String() {
		t.Error(notes)
	}
}

func TestAMomentIsToldByHowLongAgoItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		for _, test := range []struct {
			ago    time.Duration
			en, ru string
		}{
			{999 * time.Millisecond, "just now", "только что"},
			{time.Second, "1 s ago", "1 с назад"},
			{time.Minute, "1 min ago", "1 мин назад"},
			{time.Hour, "1 h ago", "1 ч назад"},
			{day, "1 day ago", "1 день назад"},
			{21 * day, "21 days ago", "21 день назад"},
			{1002 * day, "1,002 days ago", "1\u00a0002 дня назад"},
			{-time.Minute, "just now", "только что"},
			{-time.Minute - 1, "2000-01-01 00:01 UTC", "01.01.2000 00:01 UTC"},
		} {
			moment := chat.Moment{Time: time.Now().Add(-test.ago)}
			en := shown(chat.English, moment)
			ru := shown(chat.Russian, moment)
			if en != test.en || ru != test.ru {
				t.Errorf("%v ago is %q and %q, want %q and %q", test.ago, en, ru, test.en, test.ru)
			}
		}
	})
}

// lines are all lines of a card.
func lines(c words.Card) []words.Line {
	all := append([]words.Line{c.Title, c.Subtitle, c.Text, c.Footer}, c.Notes...)
	for _, s := range append(c.Sections, words.Section{Fields: c.FullValues}) {
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
		foreign := chat.Untrusted(s)
		var all []chat.Field
		for _, v := range []chat.Value{foreign, chat.Plain(s), chat.Code(s), chat.Amount{Decimal: dec("0.5"), Symbol: s}, chat.Address{Hex: s},
			chat.Mention{User: chat.User{ID: s}}, chat.CommandLink(s), chat.SayWith("unlisted.entry", chat.Values{"entry": chat.Code(s)})} {
			all = append(all, chat.Field{Name: foreign, Value: v})
		}
		reply := &chat.Reply{Title: chat.SayWith("reference", chat.Values{"reference": chat.Plain(s)}), Sections: []chat.Section{{Fields: all}}}
		for _, line := range lines(words.Print(reply)) {
			text := strings.ReplaceAll(strings.ReplaceAll(line.String(), "\u2060", ""), "\u00a0", " ")
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }) {
				t.Fatalf("%q is printed as %q", s, line.String())
			}
		}
	})
}

// runes measures a line as a platform that counts characters and puts ": "
// between a name and a value.
func runes(f words.Field) int {
	if f.Name.Empty() && f.Value.Empty() {
		return 0
	}
	return utf8.RuneCountInString(f.Name.String()+f.Value.String()) + 3
}

// size is what a card takes by that measure.
func size(c words.Card) int {
	n := runes(words.Field{Value: c.Title}) + runes(words.Field{Value: c.Text})
	for _, s := range append(c.Sections, words.Section{Fields: c.FullValues}) {
		n += runes(words.Field{Value: s.Heading})
		for _, f := range s.Fields {
			n += runes(f)
		}
	}
	for _, note := range c.Notes {
		n += runes(words.Field{Value: note})
	}
	return n
}

func line(s string) words.Line { return words.Line{{Text: s}} }

func fields(n int) []words.Field {
	var all []words.Field
	for i := range n {
		all = append(all, words.Field{Name: line(fmt.Sprint("name ", i)), Value: line("value")})
	}
	return all
}

func section(heading string, fields []words.Field) words.Section {
	return words.Section{Heading: line(heading), Fields: fields}
}

func TestOneLongStringIsCutAndCrowdsOutNothing(t *testing.T) {
	long := line(strings.Repeat("é", 5000))
	styled := words.Line{{Text: "é"}, {Text: strings.Repeat("é", 5000), Style: words.Untrusted}, {Text: "gone"}}
	c := words.Card{Title: long, Text: styled, Sections: []words.Section{{Heading: long, Fields: []words.Field{{Name: long, Value: long}}}},
		FullValues: []words.Field{{Name: long, Value: long}}, Notes: []words.Line{long}}
	got := c.Fit(1000, runes)
	f, full := got.Sections[0].Fields[0], got.FullValues[0]
	for _, l := range []words.Line{got.Title, got.Text, got.Sections[0].Heading, f.Name, f.Value, full.Name, full.Value, got.Notes[0]} {
		if s := l.String(); !strings.HasPrefix(s, "éééé") || !strings.HasSuffix(s, "é…") {
			t.Errorf("cut to %q", s)
		}
	}
	if n := runes(words.Field{Value: got.Text}); size(got) > 1000 || n > 250 || n < 248 || len(got.Text) != 2 || got.Text[1].Style != words.Untrusted {
		t.Errorf("size %d, and the text of three parts is cut to %d: %+v", size(got), n, got.Text)
	}
}

func TestAListThatLacksOneSaysSo(t *testing.T) {
	short, long := line("a note"), line(strings.Repeat("x", 60))
	c := words.Card{Notes: append(slices.Repeat([]words.Line{long}, 15), short, long)}
	got := c.Fit(1000, runes).Notes
	if last := got[len(got)-1].String(); len(got) != 17 || last != "… and 1 more" {
		t.Errorf("%d notes, the last is %q, want 16 of 17 and the number of the others", len(got), last)
	}
}

func TestALineAsLongAsItMayBeIsNotCut(t *testing.T) {
	whole := strings.Repeat("y", 59)
	c := words.Card{Notes: append([]words.Line{line(whole)}, slices.Repeat([]words.Line{line(whole + "y")}, 30)...)}
	if got := c.Fit(1000, runes).Notes; got[0].String() != whole || got[1].String() != whole[1:]+"…" {
		t.Errorf("%q, then %q", got[0], got[1])
	}
}

func TestEachLongListIsCutAndSaysHowMany(t *testing.T) {
	for name, c := range map[string]words.Card{
		"fields": {Language: chat.Spanish, Sections: []words.Section{section("many", fields(500)), section("few", fields(3))},
			FullValues: fields(2), Notes: []words.Line{line("kept")}},
		"sections":    {Sections: slices.Repeat([]words.Section{section("heading", fields(1))}, 500)},
		"full values": {FullValues: fields(500)},
		"notes":       {Notes: slices.Repeat([]words.Line{line("a note")}, 500)},
	} {
		before := fmt.Sprint(c)
		got := c.Fit(1000, runes)
		left := max(len(got.Sections), len(got.FullValues), len(got.Notes)) - 1
		if name == "fields" {
			left = len(got.Sections[0].Fields) - 1
		}
		more := words.Say(c.Language, chat.SayWith("more", chat.Values{"n": chat.Count(500 - left)}))
		isCounted := func(l words.Line) bool { return l.String() == more }
		if size(got) > 1000 || left < 25 || !slices.ContainsFunc(lines(got), isCounted) || fmt.Sprint(c) != before {
			t.Errorf("%s: size %d, %d are left: %+v", name, size(got), left, got)
		}
		if name == "fields" && (len(got.Sections[1].Fields) != 3 || len(got.FullValues) != 2 || len(got.Notes) != 1) {
			t.Errorf("short lists are cut: %+v", got)
		}
	}
}

func TestATextIsCutByUTF16Units(t *testing.T) {
	for in, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "😀😀": "😀😀", "😀😀😀": "😀…", "a😀😀": "a😀…"} {
		if got := words.Cut(in, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", in, got, want)
		}
	}
}

func TestOnlyTheFirstNextStepStandsOut(t *testing.T) {
	steps := []chat.Action{
		{Label: chat.Say("copy"), Copy: "x"}, {Label: chat.Say("too long"), Command: strings.Repeat("x", 64), NextStep: true},
		{Label: chat.Say("first"), URL: "https://one.example", NextStep: true}, {Label: chat.Say("second"), Command: "x", NextStep: true},
	}
	var got []string
	for _, b := range words.Print(&chat.Reply{Actions: steps}).Buttons {
		if b.NextStep {
			got = append(got, b.Label)
		}
	}
	if !slices.Equal(got, []string{"first"}) {
		t.Errorf("%q stand out", got)
	}
}
