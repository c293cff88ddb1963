package chat_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"herald/internal/chat"
)

// runes measures a line as a platform that counts characters and puts ": "
// between a name and a value.
func runes(f chat.Field) int {
	if f.Name+f.Value == "" {
		return 0
	}
	return utf8.RuneCountInString(f.Name+f.Value) + 3
}

// size is what a reply takes by that measure.
func size(r chat.Reply) int {
	n := runes(chat.Field{Value: r.Title}) + runes(chat.Field{Value: r.Text})
	for _, s := range r.Sections {
		n += runes(chat.Field{Value: s.Heading})
		for _, f := range s.Fields {
			n += runes(f)
		}
	}
	for _, note := range r.Notes {
		n += runes(chat.Field{Value: note})
	}
	return n
}

func fields(n int) []chat.Field {
	var all []chat.Field
	for i := range n {
		all = append(all, chat.Field{Name: fmt.Sprint("name ", i), Value: "value"})
	}
	return all
}

func TestAReplyThatFitsIsLeftAsItIs(t *testing.T) {
	r := chat.Reply{Title: "t", Text: "x", Sections: []chat.Section{{Heading: "h", Fields: fields(3)}}, Notes: []string{"n"}}
	if got := r.Fit(1000, runes); !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v", got)
	}
}

func TestAReplyThatJustFitsLosesNothing(t *testing.T) {
	r := chat.Reply{Title: "t", Sections: []chat.Section{{Heading: "h", Fields: fields(70)}}}
	if got := r.Fit(size(r), runes); !reflect.DeepEqual(got.Sections, r.Sections) {
		t.Errorf("%d fields are left of 70", len(got.Sections[0].Fields))
	}
}

func TestTheLongestSectionLosesFieldsAndSaysHowMany(t *testing.T) {
	r := chat.Reply{Title: "t", Sections: []chat.Section{{Heading: "few", Fields: fields(3)}, {Heading: "many", Fields: fields(500)}}, Notes: []string{"kept"}}
	got := r.Fit(1000, runes)
	if size(got) > 1000 || len(got.Sections[0].Fields) != 3 || got.Notes[0] != "kept" {
		t.Fatalf("size %d: %+v", size(got), got)
	}
	many := got.Sections[1].Fields
	if want := fmt.Sprintf("… and %d more", 500-(len(many)-1)); many[len(many)-1].Value != want || len(many) < 30 {
		t.Errorf("%d fields, the last %+v, want %q", len(many), many[len(many)-1], want)
	}
}

func TestSectionsAndNotesWithoutRoomAreCounted(t *testing.T) {
	var r chat.Reply
	for range 400 {
		r.Sections = append(r.Sections, chat.Section{Heading: "heading", Fields: fields(2)})
		r.Notes = append(r.Notes, "note")
	}
	got := r.Fit(1000, runes)
	if size(got) > 1000 || len(got.Notes) < 2 {
		t.Fatalf("size %d: %+v", size(got), got)
	}
	last := got.Sections[len(got.Sections)-1].Fields
	notes := len(got.Notes) - 1
	if last[len(last)-1].Value != "… and 800 more" || got.Notes[notes] != fmt.Sprintf("… and %d more", 400-notes) {
		t.Errorf("got %+v", got)
	}
}

func TestOneLongStringIsCutAndCrowdsOutNothing(t *testing.T) {
	long := strings.Repeat("é", 5000)
	got := chat.Reply{Title: long, Text: long, Sections: []chat.Section{{Heading: long, Fields: []chat.Field{{Name: long, Value: long}}}},
		Notes: []string{long}}.Fit(1000, runes)
	if size(got) > 1000 {
		t.Fatalf("size %d", size(got))
	}
	for _, s := range []string{got.Title, got.Text, got.Sections[0].Heading, got.Sections[0].Fields[0].Name, got.Sections[0].Fields[0].Value, got.Notes[0]} {
		if !strings.HasPrefix(s, "éééé") || !strings.HasSuffix(s, "é…") {
			t.Errorf("cut to %q", s)
		}
	}
}

func TestWhateverAReplyHoldsItFits(t *testing.T) {
	texts := rapid.StringN(0, 300, -1)
	section := rapid.Custom(func(t *rapid.T) chat.Section {
		field := rapid.Custom(func(t *rapid.T) chat.Field {
			return chat.Field{Name: texts.Draw(t, "name"), Value: texts.Draw(t, "value")}
		})
		return chat.Section{Heading: texts.Draw(t, "heading"), Fields: rapid.SliceOfN(field, 0, 30).Draw(t, "fields")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := chat.Reply{Title: texts.Draw(t, "title"), Text: texts.Draw(t, "text"),
			Sections: rapid.SliceOfN(section, 0, 10).Draw(t, "sections"), Notes: rapid.SliceOfN(texts, 0, 30).Draw(t, "notes")}
		limit := rapid.IntRange(1000, 8000).Draw(t, "limit")
		if got := r.Fit(limit, runes); size(got) > limit {
			t.Fatalf("size %d, limit %d: %+v", size(got), limit, got)
		}
	})
}

func TestCleanMakesOneLineOfEveryString(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " ": "", "plain text, as it is": "plain text, as it is", "~!": "~!", "a  b": "a b", " a": "a", "a ": "a",
		"a\tb": "a b", "a\nb": "a b", "a\x00b": "ab", "a\x7fb": "ab", "a\u202eb": "ab", "é  é": "é é", "a\u00a0b": "a b", "\xff": "",
	} {
		if got := (chat.Reply{Title: in}).Clean().Title; got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
