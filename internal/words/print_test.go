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
	card := words.Print(reply)
	for _, marker := range markers {
		if !strings.Contains(fmt.Sprint(card), marker) {
			t.Errorf("%s is not in %+v", marker, card)
		}
	}
	if card.Tone != reply.Tone || card.Language != reply.Language {
		t.Errorf("the card is %+v", card)
	}
}

func TestAPictureIsDescribedByItsCaptionAndTheSubtitle(t *testing.T) {
	reply, _ := platformtest.FullReply()
	reply.Image = &chat.Image{Name: "price-7d.png", PNG: []byte("png"), Caption: chat.Say("what is to be seen")}
	card := words.Print(reply)
	want := &words.Image{
		Name: "price-7d.png",
		Alt:  "what is to be seen ·\u00a0" + card.Subtitle.String(),
		PNG:  []byte("png"),
	}
	if !reflect.DeepEqual(card.Image, want) {
		t.Errorf("the picture is %+v, want %+v", card.Image, want)
	}
}

func TestAQuestionIsPrinted(t *testing.T) {
	card := words.Print(&chat.Reply{Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which wallet?")}})
	want := &words.Ask{Command: "staked", Question: "Which wallet?"}
	if !reflect.DeepEqual(card.Ask, want) {
		t.Errorf("the question is %+v, want %+v", card.Ask, want)
	}
}

func TestAButtonWhoseStateIsTooLongIsLeftOut(t *testing.T) {
	reply := &chat.Reply{Actions: []chat.Action{
		{Label: chat.Say("try again"), Command: "price", Edit: true},
		{Label: chat.Say("open"), URL: "https://example.org/"},
		{Label: chat.Say("copy"), Copy: wallet},
		{Label: chat.Say("refresh"), Command: "price", Edit: true, Refresh: true},
		{Label: chat.Say("longer than a state"), Command: "price", Args: []string{strings.Repeat("x", 60)}},
	}}
	reply.Source.AsOf.Time = time.Unix(36, 0)
	var does []string
	for _, b := range words.Print(reply).Buttons {
		does = append(does, b.State+b.URL+b.Copy)
	}
	want := []string{"1 e 0 price", "https://example.org/", wallet, "1 e 10 price"}
	if !slices.Equal(does, want) {
		t.Errorf("the buttons do %q, want %q", does, want)
	}
}

func TestAValueIsPrintedInItsStyle(t *testing.T) {
	url := "https://explorer.example/address/" + wallet
	future := time.Unix(1_790_000_000, 0).AddDate(999, 0, 0)
	const futureDate = "3025-09-21 14:13 UTC"
	for _, test := range []struct {
		value chat.Value
		want  words.Span
	}{
		{
			value: chat.Code("/price"),
			want:  words.Span{Text: "/price", Style: words.Code},
		},
		{
			value: chat.NewUntrusted("<b> @all", 40),
			want:  words.Span{Text: "<b> @\u2060all", Style: words.Untrusted},
		},
		{
			value: chat.Usage{Command: "staked", Params: []chat.Text{chat.Say("name.wallet")}},
			want:  words.Span{Text: "/staked <wallet>", Style: words.Code},
		},
		{
			value: chat.Plain("a\nb"),
			want:  words.Span{Text: "a b"},
		},
		{
			value: chat.Address{Hex: wallet, URL: url},
			want:  words.Span{Text: "0x5290…9EE7", URL: url},
		},
		{
			value: chat.Mention{User: ann, Name: "Ann A."},
			want:  words.Span{Text: "Ann A.", Style: words.Untrusted, Person: &ann},
		},
		{
			value: chat.CommandLink("/price"),
			want:  words.Span{Text: "/price", Style: words.Command},
		},
		{
			value: chat.Strong{Value: chat.Count(7)},
			want:  words.Span{Text: "7", Style: words.Strong},
		},
		{
			value: chat.Strong{Value: chat.Code("7")},
			want:  words.Span{Text: "7", Style: words.Code},
		},
		{
			value: chat.Moment{Time: future},
			want:  words.Span{Text: futureDate, Moment: &words.Moment{Time: future, Date: futureDate}},
		},
	} {
		if got := printed(test.value); !reflect.DeepEqual(got, words.Line{test.want}) {
			t.Errorf("%#v is %+v, want %+v", test.value, got, test.want)
		}
	}
}

// printed returns how a value is printed in a field, in English.
func printed(v chat.Value) words.Line {
	fields := []chat.Field{{Value: v}}
	card := words.Print(&chat.Reply{Sections: []chat.Section{{Fields: fields}}})
	return card.Sections[0].Fields[0].Value
}

func TestTheFooterEndsWithWhenItWasChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twoSecondsAgo := time.Now().Add(-2 * time.Second)
		for _, test := range []struct {
			footer  chat.Parts
			checked time.Time
			want    string
			source  string
		}{
			{
				want: "",
			},
			{
				checked: twoSecondsAgo,
				want:    "Checked 2 s ago",
			},
			{
				footer:  chat.Parts{chat.Plain("CoinMarketCap"), chat.Plain("")},
				checked: twoSecondsAgo,
				want:    "CoinMarketCap ·\u00a02 s ago",
				source:  "CoinMarketCap",
			},
			{
				footer: chat.Parts{chat.Plain("All"), chat.Plain("block 1")},
				want:   "All ·\u00a0block 1",
				source: "All ·\u00a0block 1",
			},
		} {
			card := words.Print(&chat.Reply{Footer: test.footer, Checked: test.checked})
			if card.Footer.String() != test.want || card.Source.String() != test.source {
				t.Errorf("the footer is %q with %q, want %q with %q",
					card.Footer, card.Source, test.want, test.source)
			}
			if card.Checked != test.checked {
				t.Errorf("%q was checked at %v, want %v", card.Footer, card.Checked, test.checked)
			}
		}
	})
}

// An exact value is left out if the card shows the same text above.
func TestExactValuesStandOnlyUnderShortOnes(t *testing.T) {
	for tokens, want := range map[string]int{"12.5": 0, "0.1234": 0, "1234.567": 1, "12000000": 1} {
		short := chat.Amount{Decimal: dec(tokens), Symbol: "X"}
		exact := chat.Amount{Decimal: dec(tokens), Symbol: "X", Digits: chat.Exact}
		text := chat.SayWith("stake.yes", chat.Values{"total": short})
		inSection := []chat.Section{{Fields: []chat.Field{{Value: chat.Parts{text}}}}}
		for place, reply := range map[string]*chat.Reply{
			"title":   {Title: text},
			"section": {Sections: inSection},
		} {
			reply.FullValues = []chat.Field{{Value: exact}}
			if got := len(words.Print(reply).FullValues); got != want {
				t.Errorf("%s in a %s has %d exact values, want %d", tokens, place, got, want)
			}
		}
	}
}

func TestARowBreaksOnlyBetweenItsFields(t *testing.T) {
	change := chat.Field{Name: chat.Say("price.7d"), Value: chat.Change{Decimal: dec("-12.5")}}
	section := chat.Section{Row: true, Fields: []chat.Field{change, change}}
	row := words.Print(&chat.Reply{Sections: []chat.Section{section}}).Sections[0].Fields
	const want = "7d\u00a0▼\u00a012.50%  ·\u00a0\u00a07d\u00a0▼\u00a012.50%"
	if got := row[0].Value.String(); len(row) != 1 || got != want {
		t.Errorf("%d fields, the first is %q, want %q", len(row), got, want)
	}
}

// footerOf returns how a value is printed in the footer.
func footerOf(l chat.Language, v chat.Value) string {
	return words.Print(&chat.Reply{Language: l, Footer: chat.Parts{v}}).Footer.String()
}

// Apps wrap a line at an ordinary space.
func TestALineBreaksBeforeADotAndNotBehindIt(t *testing.T) {
	parts := chat.Parts{chat.Say("price.24h"), chat.Say("price.7d")}
	if got, want := footerOf(chat.English, parts), "24h ·\u00a07d"; got != want {
		t.Errorf("between parts: %q, want %q", got, want)
	}
	beginsWithDot := chat.Say("verify.stakes_nothing")
	if got, want := footerOf(chat.English, beginsWithDot), "·\u00a0not staked"; got != want {
		t.Errorf("at the beginning: %q, want %q", got, want)
	}
}

// Apps wrap a line between any two characters of Chinese, unless U+2060 joins them.
func TestALineDoesNotBreakWithinAChineseWord(t *testing.T) {
	ago := chat.Moment{Time: time.Now().Add(-5 * time.Minute)}
	three := chat.Values{"n": chat.Count(3)}
	for _, test := range []struct {
		name  string
		value chat.Value
		want  string
	}{
		{
			name:  "Chinese parts",
			value: chat.Parts{chat.Say("price.cap"), ago},
			want:  "市\u2060值 ·\u00a05 分\u2060钟\u2060前",
		},
		{
			name:  "a Chinese sum",
			value: chat.Money{Decimal: dec("25580200")},
			want:  "$2558.02\u2060万",
		},
		{
			name:  "strong Chinese",
			value: chat.Strong{Value: chat.Say("price.volume")},
			want:  "24 小\u2060时\u2060成\u2060交\u2060额",
		},
		{
			name:  "Chinese with a number",
			value: chat.SayWith("stake.others", three),
			want:  "……以\u2060及\u2060另\u2060外 3 个\u2060质\u2060押\u2060池",
		},
		{
			name:  "a Chinese sentence, which has to break",
			value: chat.Say("anonymous.text"),
			want:  "我不知道该查哪个账号。请\u2060私\u2060聊\u2060我。",
		},
		{
			name:  "Chinese code",
			value: chat.Code("质押"),
			want:  "质押",
		},
		{
			name:  "untrusted Chinese",
			value: chat.Untrusted("质押"),
			want:  "质押",
		},
	} {
		if got := footerOf(chat.Chinese, test.value); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestANoteIsSaidOnce(t *testing.T) {
	denied := chat.Say("reason.denied")
	notes := words.Print(&chat.Reply{Notes: []chat.Text{denied, chat.Say("chart.failed"), denied}}).Notes
	if len(notes) != 2 || notes[0].String() == notes[1].String() {
		t.Error(notes)
	}
}

func TestAMomentIsShownAsHowLongAgoItWas(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			ago     time.Duration
			english string
			russian string
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
			english := shown(chat.English, moment)
			russian := shown(chat.Russian, moment)
			if english != test.english || russian != test.russian {
				t.Errorf("%v ago is %q and %q, want %q and %q",
					test.ago, english, russian, test.english, test.russian)
			}
		}
	})
}

func TestOnlyTheFirstNextStepIsMarked(t *testing.T) {
	steps := []chat.Action{
		{Label: chat.Say("copy"), Copy: "x"},
		{Label: chat.Say("left out, being too long"), Command: strings.Repeat("x", 64), NextStep: true},
		{Label: chat.Say("first"), URL: "https://one.example", NextStep: true},
		{Label: chat.Say("second"), Command: "x", NextStep: true},
	}
	var marked []string
	for _, b := range words.Print(&chat.Reply{Actions: steps}).Buttons {
		if b.NextStep {
			marked = append(marked, b.Label)
		}
	}
	if !slices.Equal(marked, []string{"first"}) {
		t.Errorf("the next steps are %q", marked)
	}
}

// lines returns all lines of a card.
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

// isClean reports whether a text is valid and has no line breaks, control characters, or spaces other than " ".
func isClean(text string) bool {
	isBad := func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, isBad)
}

// FuzzPrint checks that each line of a card is one clean line, whatever text a service or a user sends.
func FuzzPrint(f *testing.F) {
	f.Add("plain")
	f.Add("a\nb\u202e\x00\xff \u200b{n} @everyone https://evil.example")
	f.Fuzz(func(t *testing.T, s string) {
		var fields []chat.Field
		for _, v := range []chat.Value{
			chat.Untrusted(s),
			chat.Plain(s),
			chat.Code(s),
			chat.Amount{Decimal: dec("0.5"), Symbol: s},
			chat.Address{Hex: s},
			chat.Mention{User: chat.User{ID: s}},
			chat.CommandLink(s),
			chat.SayWith("unlisted.entry", chat.Values{"entry": chat.Code(s)}),
		} {
			fields = append(fields, chat.Field{Name: chat.Untrusted(s), Value: v})
		}
		card := words.Print(&chat.Reply{
			Title:    chat.SayWith("reference", chat.Values{"reference": chat.Plain(s)}),
			Sections: []chat.Section{{Fields: fields}},
		})
		ownSpaces := strings.NewReplacer("\u2060", "", "\u00a0", " ")
		for _, line := range lines(card) {
			if text := ownSpaces.Replace(line.String()); !isClean(text) {
				t.Fatalf("%q is printed as %q", s, line.String())
			}
		}
	})
}
