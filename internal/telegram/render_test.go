package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/botapi"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

const testWallet = "0x52908400098527886E0F7030069857D2E4169EE7"

// shown is r as it stands in a group, or in a private chat.
func shown(r chat.Reply, private bool) richText {
	return render(words.Print(r), telegramtest.Username, private)
}

// spansOf lists the entities of a message, each as its type, its text and what
// else it holds.
func spansOf(t richText) (spans []string) {
	all := utf16.Encode([]rune(t.Text))
	for _, e := range t.Entities {
		s := fmt.Sprintf("%s %s", e.Type, string(utf16.Decode(all[e.Offset:e.Offset+e.Length])))
		switch {
		case e.URL != "":
			s += " -> " + e.URL
		case e.User != nil:
			s += fmt.Sprint(" -> ", e.User.ID)
		case e.UnixTime != 0:
			s += fmt.Sprint(" -> ", e.UnixTime, " ", e.TimeFormat)
		}
		spans = append(spans, s)
	}
	return spans
}

// says is a section of lines without names.
func says(values ...chat.Value) []chat.Section {
	var s chat.Section
	for _, v := range values {
		s.Fields = append(s.Fields, chat.Field{Value: v})
	}
	return []chat.Section{s}
}

func TestRenderShowsEveryField(t *testing.T) {
	reply, markers := chattest.FullReply()
	got := shown(reply, false)
	text := got.Text + fmt.Sprint(got.Markup)
	for _, m := range markers {
		if !strings.Contains(text, m) {
			t.Errorf("%s is not shown in:\n%s", m, text)
		}
	}
}

func TestRenderLaysOutAReply(t *testing.T) {
	got := shown(chat.Reply{
		Tone: chat.Positive, Title: chat.Say("Staked 𝔸"), Text: chat.Say("In one pool."),
		Sections: []chat.Section{{Heading: chat.Say("Pools"), Fields: []chat.Field{
			{Name: chat.Foreign("A"), Value: chat.Amount{Decimal: decimal.RequireFromString("12345678.9"), Symbol: "TKN"}},
			{Value: chat.Plain("only a value")},
			{Name: chat.Say("Wallet"), Value: chat.Address{Hex: testWallet, URL: "https://explorer.example/address/x"}},
		}}},
		Notes: []chat.Text{chat.SayWith("block.aged", chat.Values{"number": chat.Plain("7"), "age": chat.Moment{Time: time.Unix(1750000000, 0)}})},
	}, false)
	want := "✅ Staked 𝔸\nIn one pool.\n\nPools\nA: 12.34M\u00a0TKN\nonly a value\nWallet: 0x5290…9EE7\n\n" +
		"Pools · A: 12,345,678.9\u00a0TKN\nPools · Wallet: " + testWallet + "\nBlock 7, 2025-06-15 15:06 UTC"
	if got.Text != want {
		t.Errorf("got\n%s\nwant\n%s", got.Text, want)
	}
	spans := []string{
		"bold Staked 𝔸", "bold Pools", "code A", "text_link 0x5290…9EE7 -> https://explorer.example/address/x",
		"code A", "code " + testWallet,
		"expandable_blockquote Pools · A: 12,345,678.9\u00a0TKN\nPools · Wallet: " + testWallet,
		"date_time 2025-06-15 15:06 UTC -> 1750000000 r", "italic Block 7, 2025-06-15 15:06 UTC",
	}
	if found := spansOf(got); !slices.Equal(found, spans) {
		t.Errorf("styled\n%q\nwant\n%q", found, spans)
	}
}

func TestRenderSignsTheTone(t *testing.T) {
	for tone, sign := range map[chat.Tone]string{chat.Neutral: "x", chat.Positive: "✅ x", chat.Negative: "❌ x", chat.Warning: "⚠️ x"} {
		for _, r := range []chat.Reply{{Tone: tone, Title: chat.Say("x")}, {Tone: tone, Text: chat.Say("x")}} {
			if got := shown(r, false).Text; got != sign {
				t.Errorf("tone %d: %q, want %q", tone, got, sign)
			}
		}
	}
}

func TestRenderNamesAPersonOnlyWhereNobodyIsNotified(t *testing.T) {
	for name, tt := range map[string]struct {
		person  chat.User
		name    chat.Foreign
		private bool
		want    string
	}{
		"in private":                    {chat.User{Platform: Platform, ID: "77"}, "", true, "text_mention 77 -> 77"},
		"in a group":                    {chat.User{Platform: Platform, ID: "77"}, "", false, "code 77"},
		"of another platform":           {chat.User{Platform: "discord", ID: "77"}, "", true, "code 77"},
		"whose ID is no number":         {chat.User{Platform: Platform, ID: "t.me"}, "", true, "code t.me"},
		"with a name":                   {chat.User{Platform: Platform, ID: "77"}, "Bob <b>*B* 😀", true, "text_mention Bob <b>*B* 😀 -> 77"},
		"with a name in a group":        {chat.User{Platform: Platform, ID: "77"}, "Bob", false, "code Bob"},
		"with a name that is a link":    {chat.User{Platform: Platform, ID: "77"}, "evil.com", true, "code evil.com"},
		"with a name that is a command": {chat.User{Platform: Platform, ID: "77"}, "/start", true, "code /start"},
		"with a name that is a hashtag": {chat.User{Platform: Platform, ID: "77"}, "#free", true, "code #free"},
		"with a name that is a ticker":  {chat.User{Platform: Platform, ID: "77"}, "$TKN", true, "code $TKN"},
		"with a name that is a phone":   {chat.User{Platform: Platform, ID: "77"}, "+15550100", true, "code +15550100"},
		"with a name that is a handle":  {chat.User{Platform: Platform, ID: "77"}, chat.NewForeign("@durov", 64), true, "code @\u2060durov"},
	} {
		got := spansOf(shown(chat.Reply{Sections: says(chat.Mention{User: tt.person, Name: tt.name})}, tt.private))
		if !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	channel := chat.Channel{ID: "-100", Title: chat.NewForeign("evil.com", 50)}
	if got := spansOf(shown(chat.Reply{Sections: says(channel)}, true)); !slices.Equal(got, []string{"code evil.com"}) {
		t.Errorf("a chat's title is %q", got)
	}
}

func TestRenderPutsButtonsInRows(t *testing.T) {
	press := func(label string) chat.Action {
		return chat.Action{Label: chat.Say(label), Command: "price", Edit: true}
	}
	got := shown(chat.Reply{Title: chat.Say("x"), Actions: []chat.Action{
		press("Refresh"), press("24 hours"), press("7 days"), press("30 days"),
		{Label: chat.Say("Explorer"), URL: "https://explorer.example/"},
		{Label: chat.Say("Copy the wallet's whole address"), Copy: testWallet},
	}}, false)
	keyboard, is := got.Markup.(botapi.Keyboard)
	if !is {
		t.Fatalf("the markup is %#v", got.Markup)
	}
	var rows []string
	for _, row := range keyboard.Rows {
		var labels []string
		for _, b := range row {
			labels = append(labels, b.Text)
		}
		rows = append(rows, strings.Join(labels, ","))
	}
	want := []string{"Refresh,24 hours,7 days,30 days", "Explorer", "Copy the wallet's whole address"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if b := keyboard.Rows[0][0]; b.Data != "1 e 0 price" || keyboard.Rows[1][0].URL == "" || keyboard.Rows[2][0].Copy != testWallet {
		t.Errorf("buttons %+v", keyboard.Rows)
	}
}

func TestRenderShortensTheLongestSection(t *testing.T) {
	long := chat.Section{Heading: chat.Say("Long")}
	for i := range 400 {
		long.Fields = append(long.Fields, chat.Field{Name: chat.Plain(fmt.Sprint("pool ", i)), Value: chat.Plain(strings.Repeat("9", 20))})
	}
	short := chat.Section{Heading: chat.Say("Short"), Fields: []chat.Field{{Name: chat.Plain("kept"), Value: chat.Plain("whole")}}}
	got := shown(chat.Reply{Title: chat.Say("T"), Sections: []chat.Section{long, short}, Notes: []chat.Text{chat.Say("the note")}}, false)
	left := strings.Count(got.Text, "pool ")
	if n := units(got.Text); n > maxUnits || n < maxUnits-100 {
		t.Errorf("%d units", n)
	}
	for _, want := range []string{fmt.Sprintf("… and %d more", 400-left), "kept: whole", "the note"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// What fits as a whole is not cut, however long its lines, and also as the
// caption of a picture, which has the alternative text in it.
func TestRenderCutsNothingThatFits(t *testing.T) {
	long := strings.Repeat("long ", 30)
	r := chat.Reply{Title: chat.Say("Title " + long), Text: chat.Say("Text " + long), Notes: []chat.Text{chat.Say("Note " + long)}}
	r.Image = &chat.Image{PNG: []byte("picture"), Alt: chat.Say("Alternative " + long)}
	got := shown(r, false)
	if strings.Contains(got.Text, "…") || !strings.Contains(got.Text, "Alternative "+long) || string(got.picture) != "picture" {
		t.Errorf("got %q", got.Text)
	}
	for range 20 {
		r.Notes = append(r.Notes, chat.Say(long))
	}
	if got := shown(r, false); units(got.Text) > maxCaption || !strings.Contains(got.Text, "more") {
		t.Errorf("%d units: %q", units(got.Text), got.Text)
	}
}

// Whatever is just short enough to lose nothing fits, with all of its line
// breaks.
func TestRenderCountsEveryLineBreak(t *testing.T) {
	whole := 0
	for filler := range 1000 {
		r := chat.Reply{Tone: chat.Warning, Title: chat.Say("T"), Text: chat.Say(strings.Repeat("x", filler)), Ask: &chat.Ask{Command: "staked"}}
		for range 124 {
			r.Sections = append(r.Sections, chat.Section{Heading: chat.Say("heading"), Fields: []chat.Field{
				{Name: chat.Plain("name"), Value: chat.Plain("a value")}, {Value: chat.Plain("12")}}})
		}
		r.Sections = append(r.Sections, says(chat.Address{Hex: testWallet}, chat.Moment{Time: time.Unix(1750000000, 0)})...)
		r.Notes = []chat.Text{chat.Say("the last note")}
		got := shown(r, false)
		checkText(t, got)
		if !strings.Contains(got.Text, "more") {
			whole = filler
		}
	}
	if whole == 0 || whole == 999 {
		t.Errorf("all fillers up to %d lose nothing, so that the limit was not met", whole)
	}
}

// Whatever a service calls a dapp or a pool, Telegram makes no link of it:
// every such name stands in a code entity, however many there are and whatever
// else has one.
func TestRenderShowsForeignNamesAsCode(t *testing.T) {
	for _, fields := range []int{1, 40, 99, 100, 101, 200} {
		r := chat.Reply{Title: chat.Say("Title"), Sections: []chat.Section{{Heading: chat.Say("Heading")}, {Heading: chat.Say("Own")}}, Notes: []chat.Text{chat.Say("note")}}
		for range fields {
			r.Sections[0].Fields = append(r.Sections[0].Fields, chat.Field{Name: chat.NewForeign("t.me/x", 9), Value: chat.Plain("own.org")})
		}
		r.Sections[1].Fields = []chat.Field{{Name: chat.Plain("own.org"), Value: chat.NewForeign("evil.com", 9)}, {Value: chat.Plain("/own")},
			{Name: chat.Say("Wallet"), Value: chat.Address{Hex: "t.me/y", URL: "https://explorer.example/"}}}
		got := shown(r, false)
		checkText(t, got)
		all := utf16.Encode([]rune(got.Text))
		inCode := make([]bool, len(all))
		for _, e := range got.Entities {
			for i := range e.Length {
				inCode[e.Offset+i] = inCode[e.Offset+i] || e.Type == botapi.Code
			}
		}
		at := 0
		for i, c := range got.Text {
			for _, foreign := range []string{"t.me/x", "evil.com"} {
				if strings.HasPrefix(got.Text[i:], foreign) && slices.Contains(inCode[at:at+len(foreign)], false) {
					t.Fatalf("%d fields: %s at %d is not code in %+v", fields, foreign, i, got)
				}
			}
			if fields < 90 && strings.HasPrefix(got.Text[i:], "own.org") && inCode[at] {
				t.Errorf("%d fields: what is not foreign is code", fields)
			}
			at += utf16.RuneLen(c)
		}
	}
}

// A title, a heading or a note with a foreign name in it is styled but for that.
func TestRenderStylesALineAroundItsCode(t *testing.T) {
	r := chat.Reply{Title: chat.SayWith("unlisted.entry", chat.Values{"entry": chat.Code("telegram:-1")})}
	want := []string{"bold Add ", "code telegram:-1", "bold  to MODERATOR_CHATS"}
	if got := spansOf(shown(r, false)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func checkText(t *testing.T, got richText) {
	t.Helper()
	all := utf16.Encode([]rune(got.Text))
	limit := maxUnits
	if got.picture != nil {
		limit = maxCaption
	}
	if len(all) == 0 || len(all) > limit || !utf8.ValidString(got.Text) {
		t.Fatalf("%d units, valid %v", len(all), utf8.ValidString(got.Text))
	}
	if len(got.Entities) > maxEntities {
		t.Fatalf("%d entities", len(got.Entities))
	}
	for i, e := range got.Entities {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length <= 0 || end > len(all) {
			t.Fatalf("entity %d+%d of %d", e.Offset, e.Length, len(all))
		}
		for _, i := range []int{e.Offset, end} {
			if i < len(all) && all[i] >= 0xDC00 && all[i] <= 0xDFFF {
				t.Fatalf("entity %d+%d parts a character", e.Offset, e.Length)
			}
		}
		known := []botapi.EntityType{botapi.Bold, botapi.Italic, botapi.Code, botapi.TextLink, botapi.DateTime, botapi.ExpandableBlockquote, botapi.TextMention}
		if !slices.Contains(known, e.Type) {
			t.Fatalf("entity of type %q", e.Type)
		}
		// One holds the other, or they have nothing in common; and code holds
		// nothing and stands in a quote alone.
		for _, other := range got.Entities[:i] {
			apart := end <= other.Offset || other.Offset+other.Length <= e.Offset
			within := e.Offset >= other.Offset && end <= other.Offset+other.Length
			around := e.Offset <= other.Offset && end >= other.Offset+other.Length
			if !apart && !within && !around {
				t.Fatalf("%+v and %+v overlap", e, other)
			}
			for _, pair := range [][2]botapi.Entity{{e, other}, {other, e}} {
				if !apart && pair[0].Type == botapi.Code && pair[1].Type != botapi.ExpandableBlockquote {
					t.Fatalf("%+v goes together with %+v", pair[0], pair[1])
				}
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("Title", "Text", "Name", "Value", "Note", uint16(3), uint16(2))
	f.Add("", "", "", "", "", uint16(0), uint16(0))
	f.Add("😀", strings.Repeat("😀", 5000), "\x00\xff", "v", "n", uint16(300), uint16(300))
	f.Add(strings.Repeat("t", 5000), strings.Repeat("x", 5000), strings.Repeat("f", 5000), "v", strings.Repeat("n", 500), uint16(9), uint16(50))
	// Thousands of fields of a megabyte each would only try the memory: what
	// commands make of foreign text is bounded. Messages are ours, and valid.
	bounded := func(s string, most int) string { return s[:min(len(s), most)] }
	say := func(s string, most int) chat.Text { return chat.Say(strings.ToValidUTF8(bounded(s, most), "?")) }
	f.Fuzz(func(t *testing.T, title, body, name, value, note string, sections, fields uint16) {
		r := chat.Reply{Tone: chat.Warning, Title: say(title, 6000), Text: say(body, 6000)}
		if sections%5 == 0 {
			r.Image = &chat.Image{PNG: []byte("picture"), Alt: say(note, 600)}
		}
		for range sections % 40 {
			s := chat.Section{Heading: say(title, 600)}
			for i := range fields % 40 {
				f := chat.Field{Name: chat.Plain(bounded(name, 600)), Value: chat.Foreign(bounded(value, 600))}
				switch (fields + i) % 6 {
				case 0:
					f.Name = chat.NewForeign(name, 600)
				case 1:
					f.Value = chat.Address{Hex: bounded(value, 600), URL: "https://explorer.example/"}
				case 2:
					f.Value = chat.Moment{Time: time.Unix(int64(sections), int64(fields))}
				case 3:
					f.Value = chat.Mention{User: chat.User{Platform: Platform, ID: bounded(value, 600)}}
				}
				s.Fields = append(s.Fields, f)
			}
			r.Sections = append(r.Sections, s)
			r.Notes = append(r.Notes, say(note, 600))
		}
		checkText(t, shown(r, fields%2 == 0))
	})
}
