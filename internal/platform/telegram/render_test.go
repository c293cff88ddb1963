package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

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
	forged := chat.User{Platform: Platform, ID: "5&x=1"}
	elsewhere := chat.User{Platform: "discord", ID: "4815162342"}
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
		text := chat.SayWith("unlisted.entry", chat.Values{"entry": test.person})
		got := shown(&chat.Reply{Text: text}).Entities
		if len(got) != 1 || got[0].Type != test.want.Type || got[0].URL != test.want.URL {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// withForeignNames returns a reply with a number of fields that a service has named, and with our own words.
func withForeignNames(fields int) *chat.Reply {
	foreign := chat.Section{Heading: chat.Say("Heading")}
	for range fields {
		foreign.Fields = append(foreign.Fields, chat.Field{
			Name:  chat.NewUntrusted("t.me/x", 9),
			Value: chat.Plain("own.org"),
		})
	}
	own := chat.Section{
		Heading: chat.Say("Own"),
		Fields: []chat.Field{
			{Name: chat.Plain("own.org"), Value: chat.NewUntrusted("evil.com", 9)},
			{Value: chat.Plain("/own")},
			{Name: chat.Say("Wallet"), Value: chat.Address{Hex: "t.me/y", URL: "https://explorer.example/"}},
		},
	}
	return &chat.Reply{
		Title:    chat.Say("Title"),
		Sections: []chat.Section{foreign, own},
		Notes:    []chat.Text{chat.Say("note")},
	}
}

// codeIn reports for each byte of a message whether it is inside a code entity.
func codeIn(c outbox.Content) []bool {
	units := make([]bool, len(utf16.Encode([]rune(c.Text))))
	for _, e := range c.Entities {
		for i := range e.Length {
			units[e.Offset+i] = units[e.Offset+i] || e.Type == models.MessageEntityTypeCode
		}
	}
	bytes := make([]bool, len(c.Text))
	unit := 0
	for i, char := range c.Text {
		for j := range utf8.RuneLen(char) {
			bytes[i+j] = units[unit]
		}
		unit += utf16.RuneLen(char)
	}
	return bytes
}

// occurrences returns where a word begins in a text, in bytes.
func occurrences(text, word string) (found []int) {
	for at := 0; ; at += len(word) {
		next := strings.Index(text[at:], word)
		if next < 0 {
			return found
		}
		at += next
		found = append(found, at)
	}
}

// Telegram makes no link of a name in code. A service chooses the names of dapps and pools.
func TestUntrustedNamesAreCode(t *testing.T) {
	for _, fields := range []int{1, 40, 99, 100, 101, 200} {
		got := shown(withForeignNames(fields))
		checkContent(t, got)
		inCode := codeIn(got)
		for _, foreign := range []string{"t.me/x", "evil.com"} {
			for _, at := range occurrences(got.Text, foreign) {
				if slices.Contains(inCode[at:at+len(foreign)], false) {
					t.Fatalf("%d fields: %s at %d is not code in %+v", fields, foreign, at, got)
				}
			}
		}
	}
}

// This holds while there are at most maxEntities. The last entity is then extended over the rest.
func TestOurOwnWordsAreNotCode(t *testing.T) {
	for _, fields := range []int{1, 40} {
		got := shown(withForeignNames(fields))
		inCode := codeIn(got)
		own := occurrences(got.Text, "own.org")
		check(t, "own words", len(own), fields+1)
		for _, at := range own {
			if inCode[at] {
				t.Errorf("%d fields: own.org at %d is code", fields, at)
			}
		}
	}
}

// rendered are the entities that render makes.
var rendered = []models.MessageEntityType{
	models.MessageEntityTypeBold,
	models.MessageEntityTypeItalic,
	models.MessageEntityTypeCode,
	models.MessageEntityTypeTextLink,
	models.MessageEntityTypeDateTime,
	models.MessageEntityTypeExpandableBlockquote,
}

// checkContent fails the test if Telegram would refuse a message for its text or its entities.
func checkContent(t *testing.T, got outbox.Content) {
	t.Helper()
	units := utf16.Encode([]rune(got.Text))
	limit := maxUnits
	if got.Picture != nil {
		limit = maxCaption
	}
	if len(units) == 0 || len(units) > limit || !utf8.ValidString(got.Text) {
		t.Fatalf("%d units, valid %v", len(units), utf8.ValidString(got.Text))
	}
	if len(got.Entities) > maxEntities {
		t.Fatalf("%d entities", len(got.Entities))
	}
	for i, e := range got.Entities {
		checkEntity(t, units, e)
		for _, other := range got.Entities[:i] {
			checkPair(t, e, other)
		}
	}
}

// checkEntity fails the test unless an entity is of a known type and marks whole characters.
func checkEntity(t *testing.T, units []uint16, e models.MessageEntity) {
	t.Helper()
	end := e.Offset + e.Length
	if e.Offset < 0 || e.Length <= 0 || end > len(units) {
		t.Fatalf("entity %d+%d of %d", e.Offset, e.Length, len(units))
	}
	for _, at := range []int{e.Offset, end} {
		if at < len(units) && units[at] >= 0xDC00 && units[at] <= 0xDFFF {
			t.Fatalf("entity %d+%d parts a character", e.Offset, e.Length)
		}
	}
	if !slices.Contains(rendered, e.Type) {
		t.Fatalf("entity of type %q", e.Type)
	}
}

// checkPair fails the test unless two entities are apart, or one contains the other. Code contains nothing, and
// only a quote may contain it.
func checkPair(t *testing.T, one, other models.MessageEntity) {
	t.Helper()
	oneEnd, otherEnd := one.Offset+one.Length, other.Offset+other.Length
	apart := oneEnd <= other.Offset || otherEnd <= one.Offset
	if apart {
		return
	}
	within := one.Offset >= other.Offset && oneEnd <= otherEnd
	around := one.Offset <= other.Offset && oneEnd >= otherEnd
	if !within && !around {
		t.Fatalf("%+v and %+v overlap", one, other)
	}
	const code, quote = models.MessageEntityTypeCode, models.MessageEntityTypeExpandableBlockquote
	if one.Type == code && other.Type != quote || other.Type == code && one.Type != quote {
		t.Fatalf("%+v and %+v mark the same text", one, other)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("Title", "Text", "Name", "Value", "Note", uint16(3), uint16(2))
	f.Add("", "", "", "", "", uint16(0), uint16(0))
	f.Add("😀", strings.Repeat("😀", 5000), "\x00\xff", "v", "n", uint16(300), uint16(300))
	longTitle, longText, longName := strings.Repeat("t", 5000), strings.Repeat("x", 5000), strings.Repeat("f", 5000)
	f.Add(longTitle, longText, longName, "v", strings.Repeat("n", 500), uint16(9), uint16(50))
	// It fits but for the empty lines before headings.
	f.Add(strings.Repeat("h", 96), strings.Repeat("x", 120), "", "", "n", uint16(39), uint16(0))
	f.Fuzz(func(t *testing.T, title, body, name, value, note string, sections, fields uint16) {
		reply := &chat.Reply{Tone: chat.Warning, Title: fuzzedText(title, 6000), Text: fuzzedText(body, 6000)}
		if sections%5 == 0 {
			reply.Image = &chat.Image{PNG: []byte("picture"), Caption: fuzzedText(note, 600)}
		}
		for range sections % 40 {
			section := chat.Section{Heading: fuzzedText(title, 600)}
			for i := range fields % 40 {
				at := time.Unix(int64(sections), int64(fields))
				section.Fields = append(section.Fields, fuzzedField(int(fields+i)%6, name, value, at))
			}
			reply.Sections = append(reply.Sections, section)
			reply.Notes = append(reply.Notes, fuzzedText(note, 600))
		}
		checkContent(t, shown(reply))
	})
}

// shortened returns the first bytes of s, at most the given number. Commands limit foreign text too, so megabytes would
// only test the memory.
func shortened(s string, most int) string { return s[:min(len(s), most)] }

// fuzzedText returns a message of ours, which is valid UTF-8.
func fuzzedText(s string, most int) chat.Text {
	return chat.Say(strings.ToValidUTF8(shortened(s, most), "?"))
}

// fuzzedField returns a field of one of six kinds.
func fuzzedField(kind int, name, value string, at time.Time) chat.Field {
	value = shortened(value, 600)
	field := chat.Field{Name: chat.Plain(shortened(name, 600)), Value: chat.Untrusted(value)}
	switch kind {
	case 0:
		field.Name = chat.NewUntrusted(name, 600)
	case 1:
		field.Value = chat.Address{Hex: value, URL: "https://explorer.example/"}
	case 2:
		field.Value = chat.Moment{Time: at}
	case 3:
		field.Value = chat.Mention{User: chat.User{Platform: Platform, ID: value}}
	}
	return field
}

// A list of a hundred links stays in a quote that can be unfolded.
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

func TestTheNextStepAndTheChoiceShownAreColoured(t *testing.T) {
	reply := &chat.Reply{
		Title: chat.Say("x"),
		Actions: []chat.Action{
			{Label: chat.Say("7d"), Command: "price", Args: []string{"7d"}, Current: true},
			{Label: chat.Say("30d"), Command: "price"},
			{Label: chat.Say("register"), URL: "https://register.example", NextStep: true},
			{Label: chat.Say("copy"), Copy: "x"},
		},
	}
	got := map[string]string{}
	keyboard := shown(reply).Markup.(*models.InlineKeyboardMarkup)
	for _, b := range slices.Concat(keyboard.InlineKeyboard...) {
		got[b.Text] = b.Style
	}
	check(t, "styles", fmt.Sprint(got), "map[30d: copy: register:success · 7d ·:primary]")
}
