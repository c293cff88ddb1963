package words_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"herald/internal/chat"
	"herald/internal/words"
)

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
	for _, s := range append(c.Sections, words.Section{Fields: c.Exact}) {
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

func TestTheLongestSectionLosesFieldsAndSaysHowMany(t *testing.T) {
	c := words.Card{Language: chat.Spanish, Sections: []words.Section{section("few", fields(3)), section("many", fields(500))},
		Exact: fields(2), Notes: []words.Line{line("kept")}}
	got := c.Fit(1000, runes)
	left := got.Sections[1].Fields
	last := len(left) - 1
	want := words.Say(chat.Spanish, chat.SayWith("more", chat.Values{"n": chat.Count(500 - last)}))
	if size(got) > 1000 || len(got.Sections[0].Fields) != 3 || len(got.Exact) != 2 || len(got.Notes) != 1 || last < 30 ||
		left[last].Value.String() != want {
		t.Errorf("size %d: %+v", size(got), got)
	}
	if len(c.Sections[1].Fields) != 500 {
		t.Error("the card itself was changed")
	}
}

func TestOneLongStringIsCutAndCrowdsOutNothing(t *testing.T) {
	long := line(strings.Repeat("é", 5000))
	styled := words.Line{{Text: "é"}, {Text: strings.Repeat("é", 5000), Style: words.Untrusted}, {Text: "gone"}}
	c := words.Card{Title: long, Text: styled, Sections: []words.Section{{Heading: long, Fields: []words.Field{{Name: long, Value: long}}}},
		Notes: []words.Line{long}}
	got := c.Fit(1000, runes)
	f := got.Sections[0].Fields[0]
	for _, l := range []words.Line{got.Title, got.Text, got.Sections[0].Heading, f.Name, f.Value, got.Notes[0]} {
		if s := l.String(); !strings.HasPrefix(s, "éééé") || !strings.HasSuffix(s, "é…") {
			t.Errorf("cut to %q", s)
		}
	}
	if n := runes(words.Field{Value: got.Text}); size(got) > 1000 || n > 250 || n < 248 || len(got.Text) != 2 || got.Text[1].Style != words.Untrusted {
		t.Errorf("size %d, and the text of three parts is cut to %d: %+v", size(got), n, got.Text)
	}
}

// TestWhateverACardHoldsItFits, and its fields are shown or counted.
func TestWhateverACardHoldsItFits(t *testing.T) {
	texts := rapid.Custom(func(t *rapid.T) words.Line {
		return line(rapid.StringN(0, 600, -1).Draw(t, "text"))
	})
	field := rapid.Custom(func(t *rapid.T) words.Field {
		return words.Field{Name: line("field"), Value: texts.Draw(t, "value")}
	})
	section := rapid.Custom(func(t *rapid.T) words.Section {
		return words.Section{Heading: texts.Draw(t, "heading"), Fields: rapid.SliceOfN(field, 0, 30).Draw(t, "fields")}
	})
	// counted is how many a line says that are not shown.
	counted := func(l words.Line) int {
		n, counts := strings.CutPrefix(l.String(), "… and ")
		if !counts {
			return 0
		}
		more, _ := strconv.Atoi(strings.TrimSuffix(n, " more"))
		return more
	}
	check := func(t *rapid.T, was, left []words.Field) {
		if last := len(left) - 1; last < 0 || left[last].Name != nil {
			left = append(left, words.Field{})
		}
		if last := len(left) - 1; last+counted(left[last].Value) != len(was) {
			t.Fatalf("%d fields are neither shown nor counted in %+v", len(was), left)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := words.Card{Title: texts.Draw(t, "title"), Text: texts.Draw(t, "text"), Sections: rapid.SliceOfN(section, 0, 10).Draw(t, "sections"),
			Exact: rapid.SliceOfN(field, 0, 30).Draw(t, "details")}
		limit := rapid.IntRange(1000, 8000).Draw(t, "limit")
		got := c.Fit(limit, runes)
		if size(got) > limit {
			t.Fatalf("size %d, limit %d: %+v", size(got), limit, got)
		}
		check(t, c.Exact, got.Exact)
		shown, more := len(got.Sections), 0
		if shown > 0 {
			more = counted(got.Sections[shown-1].Heading)
		}
		if more > 0 {
			shown--
		}
		if shown+more != len(c.Sections) {
			t.Fatalf("%d sections are neither shown nor counted: %+v", len(c.Sections), got)
		}
		for i, s := range got.Sections[:shown] {
			check(t, c.Sections[i].Fields, s.Fields)
		}
	})
}

func TestATextIsCutByUTF16Units(t *testing.T) {
	for in, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "😀😀": "😀😀", "😀😀😀": "😀…", "a😀😀": "a😀…"} {
		if got := words.Cut(in, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", in, got, want)
		}
	}
}
