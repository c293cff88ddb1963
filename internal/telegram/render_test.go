package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/botapi"
)

func TestRenderShowsEveryField(t *testing.T) {
	reply, markers := chattest.FullReply()
	got := render(reply).body
	for _, m := range markers {
		if !strings.Contains(got, m) {
			t.Errorf("%s is not shown in:\n%s", m, got)
		}
	}
}

func TestRenderLaysOutAReply(t *testing.T) {
	got := render(chat.Reply{
		Tone: chat.Positive, Title: "Staked 𝔸", Text: "In one pool.",
		Sections: []chat.Section{{Heading: "Pools", Fields: []chat.Field{{Name: "A", Value: "1"}, {Value: "only a value"}}}},
		Notes:    []string{"One could not be asked."},
	})
	want := "✅ Staked 𝔸\nIn one pool.\n\nPools\nA: 1\nonly a value\n\nOne could not be asked."
	if got.body != want {
		t.Errorf("got\n%s\nwant\n%s", got.body, want)
	}
	styled := []string{"bold Staked 𝔸", "bold Pools", "italic One could not be asked."}
	var spans []string
	for _, e := range got.entities {
		all := utf16.Encode([]rune(got.body))
		spans = append(spans, fmt.Sprintf("%s %s", e.Type, string(utf16.Decode(all[e.Offset:e.Offset+e.Length]))))
	}
	if strings.Join(spans, "|") != strings.Join(styled, "|") {
		t.Errorf("styled %q, want %q", spans, styled)
	}
}

func TestRenderSignsTheTone(t *testing.T) {
	for tone, sign := range map[chat.Tone]string{chat.Neutral: "x", chat.Positive: "✅ x", chat.Negative: "❌ x", chat.Warning: "⚠️ x"} {
		for _, r := range []chat.Reply{{Tone: tone, Title: "x"}, {Tone: tone, Text: "x"}} {
			if got := render(r).body; got != sign {
				t.Errorf("tone %d: %q, want %q", tone, got, sign)
			}
		}
	}
}

func TestRenderShortensTheLongestSection(t *testing.T) {
	long := chat.Section{Heading: "Long"}
	for i := range 400 {
		long.Fields = append(long.Fields, chat.Field{Name: fmt.Sprint("pool ", i), Value: strings.Repeat("9", 20)})
	}
	short := chat.Section{Heading: "Short", Fields: []chat.Field{{Name: "kept", Value: "whole"}}}
	got := render(chat.Reply{Title: "T", Sections: []chat.Section{long, short}, Notes: []string{"the note"}})
	shown := strings.Count(got.body, "pool ")
	if n := units(got.body); n > maxUnits || n < maxUnits-100 {
		t.Errorf("%d units", n)
	}
	for _, want := range []string{fmt.Sprintf("… and %d more", 400-shown), "kept: whole", "the note"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Whatever is just short enough to lose nothing fits, with all of its line
// breaks.
func TestRenderCountsEveryLineBreak(t *testing.T) {
	whole := 0
	for filler := range 1000 {
		r := chat.Reply{Tone: chat.Warning, Title: "T", Text: strings.Repeat("x", filler)}
		for range 130 {
			r.Sections = append(r.Sections, chat.Section{Heading: "heading", Fields: []chat.Field{{Name: "name", Value: "a value"}, {Value: "12"}}})
		}
		r.Notes = []string{"the last note"}
		got := render(r)
		checkText(t, got)
		if !strings.Contains(got.body, "more") {
			whole = filler
		}
	}
	if whole == 0 || whole == 999 {
		t.Errorf("all fillers up to %d lose nothing, so that the limit was not met", whole)
	}
}

// Whatever a service calls a dapp or a pool, Telegram makes no link of it:
// every such name stands in a code entity, however many there are.
func TestRenderShowsForeignNamesAsCode(t *testing.T) {
	for _, fields := range []int{1, 40, 99, 100, 101, 200} {
		r := chat.Reply{Title: "Title", Sections: []chat.Section{{Heading: "Heading"}, {Heading: "Own"}}, Notes: []string{"note"}}
		for range fields {
			r.Sections[0].Fields = append(r.Sections[0].Fields, chat.Field{Name: "t.me/x", ForeignName: true, Value: "own.org"})
		}
		r.Sections[1].Fields = []chat.Field{{Name: "own.org", Value: "evil.com", ForeignValue: true}, {Value: "/own"}}
		got := render(r)
		checkText(t, got)
		all := utf16.Encode([]rune(got.body))
		inCode := make([]bool, len(all))
		for _, e := range got.entities {
			for i := range e.Length {
				inCode[e.Offset+i] = e.Type == botapi.Code
			}
		}
		for _, foreign := range []string{"t.me/x", "evil.com"} {
			for i := range len(got.body) {
				// All of it is ASCII, so that bytes are units.
				if strings.HasPrefix(got.body[i:], foreign) && slices.Contains(inCode[i:i+len(foreign)], false) {
					t.Fatalf("%d fields: %s at %d is not code in %+v", fields, foreign, i, got)
				}
			}
		}
		if own := strings.Index(got.body, "own.org"); fields < 90 && inCode[own] {
			t.Errorf("%d fields: what is not foreign is code", fields)
		}
	}
}

func checkText(t *testing.T, got richText) {
	t.Helper()
	all := utf16.Encode([]rune(got.body))
	if len(all) == 0 || len(all) > maxUnits || !utf8.ValidString(got.body) {
		t.Fatalf("%d units, valid %v", len(all), utf8.ValidString(got.body))
	}
	if len(got.entities) > maxEntities {
		t.Fatalf("%d entities", len(got.entities))
	}
	for _, e := range got.entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(all) {
			t.Fatalf("entity %d+%d of %d", e.Offset, e.Length, len(all))
		}
		for _, i := range []int{e.Offset, e.Offset + e.Length} {
			if i < len(all) && all[i] >= 0xDC00 && all[i] <= 0xDFFF {
				t.Fatalf("entity %d+%d parts a character", e.Offset, e.Length)
			}
		}
		known := []botapi.EntityType{botapi.Bold, botapi.Italic, botapi.Code}
		if !slices.Contains(known, e.Type) {
			t.Fatalf("entity of type %q", e.Type)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("Title", "Text", "Name", "Value", "Note", uint16(3), uint16(2))
	f.Add("", "", "", "", "", uint16(0), uint16(0))
	f.Add("😀", strings.Repeat("😀", 5000), "\x00\xff", "v", "n", uint16(300), uint16(300))
	f.Add(strings.Repeat("t", 5000), strings.Repeat("x", 5000), strings.Repeat("f", 5000), "v", strings.Repeat("n", 500), uint16(9), uint16(50))
	// Thousands of fields of a megabyte each would only try the memory: what
	// commands make of foreign text is bounded.
	bounded := func(s string, most int) string { return s[:min(len(s), most)] }
	f.Fuzz(func(t *testing.T, title, body, name, value, note string, sections, fields uint16) {
		r := chat.Reply{Tone: chat.Warning, Title: bounded(title, 6000), Text: bounded(body, 6000)}
		note = bounded(note, 600)
		for range sections % 40 {
			s := chat.Section{Heading: bounded(title, 600)}
			for range fields % 40 {
				f := chat.Field{Name: bounded(name, 600), Value: bounded(value, 600)}
				f.ForeignName, f.ForeignValue = fields%2 == 0, fields%3 == 0
				s.Fields = append(s.Fields, f)
			}
			r.Sections = append(r.Sections, s)
			r.Notes = append(r.Notes, note)
		}
		checkText(t, render(r))
	})
}
