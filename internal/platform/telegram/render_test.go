package telegram

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/telegram/outbox"
)

const testWallet = "0x52908400098527886E0F7030069857D2E4169EE7"

// shown returns r as a message.
func shown(r *chat.Reply) outbox.Content { return render(r, faketelegram.Username) }

// A person's name that could become a link of another kind stays code.
func TestAPersonIsALinkToThem(t *testing.T) {
	ann := chat.User{Platform: Platform, ID: "4815162342"}
	forged, elsewhere := chat.User{Platform: Platform, ID: "5&x=1"}, chat.User{Platform: "discord", ID: "4815162342"}
	link := models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: "tg://user?id=4815162342"}
	code := models.MessageEntity{Type: models.MessageEntityTypeCode}
	for name, test := range map[string]struct {
		person chat.Mention
		want   models.MessageEntity
	}{
		"an ID":               {chat.Mention{User: ann}, link},
		"a name":              {chat.Mention{User: ann, Name: "Ann A"}, link},
		"a name like a link":  {chat.Mention{User: ann, Name: "evil.example"}, code},
		"a forged ID":         {chat.Mention{User: forged}, code},
		"of another platform": {chat.Mention{User: elsewhere}, code},
	} {
		got := shown(&chat.Reply{Text: chat.SayWith("unlisted.entry", chat.Values{"entry": test.person})}).Entities
		if len(got) != 1 || got[0].Type != test.want.Type || got[0].URL != test.want.URL {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// Whatever a service calls a dapp or a pool, Telegram makes no link of it:
// every such name stands in a code entity, however many there are and whatever
// else has one.
func TestUntrustedNamesAreCode(t *testing.T) {
	for _, fields := range []int{1, 40, 99, 100, 101, 200} {
		r := &chat.Reply{Title: chat.Say("Title"), Sections: []chat.Section{{Heading: chat.Say("Heading")}, {Heading: chat.Say("Own")}}, Notes: []chat.Text{chat.Say("note")}}
		for range fields {
			r.Sections[0].Fields = append(r.Sections[0].Fields, chat.Field{Name: chat.NewUntrusted("t.me/x", 9), Value: chat.Plain("own.org")})
		}
		r.Sections[1].Fields = []chat.Field{{Name: chat.Plain("own.org"), Value: chat.NewUntrusted("evil.com", 9)}, {Value: chat.Plain("/own")},
			{Name: chat.Say("Wallet"), Value: chat.Address{Hex: "t.me/y", URL: "https://explorer.example/"}}}
		got := shown(r)
		checkText(t, got)
		all := utf16.Encode([]rune(got.Text))
		inCode := make([]bool, len(all))
		for _, e := range got.Entities {
			for i := range e.Length {
				inCode[e.Offset+i] = inCode[e.Offset+i] || e.Type == models.MessageEntityTypeCode
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

func checkText(t *testing.T, got outbox.Content) {
	t.Helper()
	all := utf16.Encode([]rune(got.Text))
	limit := maxUnits
	if got.Picture != nil {
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
		known := []models.MessageEntityType{models.MessageEntityTypeBold, models.MessageEntityTypeItalic, models.MessageEntityTypeCode, models.MessageEntityTypeTextLink, models.MessageEntityTypeDateTime, models.MessageEntityTypeExpandableBlockquote}
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
			for _, pair := range [][2]models.MessageEntity{{e, other}, {other, e}} {
				if !apart && pair[0].Type == models.MessageEntityTypeCode && pair[1].Type != models.MessageEntityTypeExpandableBlockquote {
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
	// It fits but for the empty lines before headings.
	f.Add(strings.Repeat("h", 96), strings.Repeat("x", 120), "", "", "n", uint16(39), uint16(0))
	// Thousands of fields of a megabyte each would only try the memory: what
	// commands make of foreign text is bounded. Messages are ours, and valid.
	bounded := func(s string, most int) string { return s[:min(len(s), most)] }
	say := func(s string, most int) chat.Text { return chat.Say(strings.ToValidUTF8(bounded(s, most), "?")) }
	f.Fuzz(func(t *testing.T, title, body, name, value, note string, sections, fields uint16) {
		r := &chat.Reply{Tone: chat.Warning, Title: say(title, 6000), Text: say(body, 6000)}
		if sections%5 == 0 {
			r.Image = &chat.Image{PNG: []byte("picture"), Caption: say(note, 600)}
		}
		for range sections % 40 {
			s := chat.Section{Heading: say(title, 600)}
			for i := range fields % 40 {
				f := chat.Field{Name: chat.Plain(bounded(name, 600)), Value: chat.Untrusted(bounded(value, 600))}
				switch (fields + i) % 6 {
				case 0:
					f.Name = chat.NewUntrusted(name, 600)
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
		checkText(t, shown(r))
	})
}

// Without its quote a list of a hundred links would be a wall.
func TestLongListStaysFolded(t *testing.T) {
	reply := &chat.Reply{}
	for i := range 110 {
		pool := chat.Address{Hex: fmt.Sprintf("0x%040x", i), URL: "https://explorer.example/"}
		reply.Folded = append(reply.Folded, chat.Field{Name: pool, Value: chat.Count(i)})
	}
	folds := func(e models.MessageEntity) bool { return e.Type == models.MessageEntityTypeExpandableBlockquote }
	if c := shown(reply); !slices.ContainsFunc(c.Entities, folds) || len(c.Entities) > maxEntities {
		t.Errorf("%d entities: %+v", len(c.Entities), c.Entities)
	}
}

var updateGolden = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Telegram shows it, with *bold*, _italic_, `code`, <a date>, [a
// link](where it leads), ⟪what is folded away⟫ and [a button: what it does].
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *updateGolden, func(c commandstest.Case) string {
		message := shown(c.Reply)
		checkText(t, message)
		text := marked(message)
		if c.Private && !c.Direct {
			text = "(in the private chat)\n" + text
		}
		return text
	})
}

// TestPreviewsTellTheAnswer also holds how long each card is.
func TestPreviewsTellTheAnswer(t *testing.T) {
	commandstest.Previews(t, *updateGolden, func(c commandstest.Case) string { return shown(c.Reply).Text })
}

// marked is a message as text that shows its entities, its buttons and what else
// it has.
func marked(m outbox.Content) string {
	opening, closing := map[int]string{}, map[int]string{}
	// An entity around another one begins before it and ends behind it.
	entities := slices.SortedStableFunc(slices.Values(m.Entities), func(a, b models.MessageEntity) int { return b.Length - a.Length })
	marks := map[models.MessageEntityType][2]string{
		models.MessageEntityTypeBold: {"*", "*"}, models.MessageEntityTypeItalic: {"_", "_"}, models.MessageEntityTypeCode: {"`", "`"}, models.MessageEntityTypeDateTime: {"<", ">"},
		models.MessageEntityTypeExpandableBlockquote: {"⟪", "⟫"}, models.MessageEntityTypeTextLink: {"[", "]("},
	}
	for _, e := range entities {
		before, after := marks[e.Type][0], marks[e.Type][1]
		if e.Type == models.MessageEntityTypeTextLink {
			after += e.URL + ")"
		}
		opening[e.Offset] += before
		closing[e.Offset+e.Length] = after + closing[e.Offset+e.Length]
	}
	var b strings.Builder
	units := utf16.Encode([]rune(m.Text))
	from := 0
	for i := range len(units) + 1 {
		if opening[i] != "" || closing[i] != "" || i == len(units) {
			b.WriteString(string(utf16.Decode(units[from:i])) + closing[i] + opening[i])
			from = i
		}
	}
	if m.Picture != nil {
		b.WriteString("\n(picture)")
	}
	switch markup := m.Markup.(type) {
	case *models.ForceReply:
		b.WriteString("\n(reply: " + markup.InputFieldPlaceholder + ")")
	case *models.InlineKeyboardMarkup:
		for _, row := range markup.InlineKeyboard {
			b.WriteByte('\n')
			for _, button := range row {
				fmt.Fprintf(&b, "[%s: %s] ", button.Text, button.CallbackData+button.URL+copied(button))
			}
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), hidden, "·")
}

// copied is what a button puts on the clipboard.
func copied(b models.InlineKeyboardButton) string {
	if b.CopyText == nil {
		return ""
	}
	return b.CopyText.Text
}

func TestTheNextStepAndTheChoiceShownAreColoured(t *testing.T) {
	reply := &chat.Reply{Title: chat.Say("x"), Actions: []chat.Action{
		{Label: chat.Say("7d"), Command: "price", Args: []string{"7d"}, Current: true}, {Label: chat.Say("30d"), Command: "price"},
		{Label: chat.Say("register"), URL: "https://register.example", NextStep: true}, {Label: chat.Say("copy"), Copy: "x"},
	}}
	got := map[string]string{}
	for _, b := range slices.Concat(shown(reply).Markup.(*models.InlineKeyboardMarkup).InlineKeyboard...) {
		got[b.Text] = b.Style
	}
	check(t, "styles", fmt.Sprint(got), "map[30d: copy: register:success · 7d ·:primary]")
}
