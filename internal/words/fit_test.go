package words_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/words"
)

// runes measures a field for a platform that counts characters, writes ": " between the name and the value, and ends
// each field with a line break.
func runes(f words.Field) int {
	if f.Name.Empty() && f.Value.Empty() {
		return 0
	}
	return utf8.RuneCountInString(f.Name.String()+f.Value.String()) + 3
}

// size returns the length of a card in runes.
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

// maxSize is the length to which the cards of these tests are cut.
const maxSize = 1000

// fit returns c cut to maxSize. The test fails if the result is longer, or if Fit has changed c.
func fit(t *testing.T, c words.Card) words.Card {
	t.Helper()
	before := fmt.Sprint(c)
	fitted := c.Fit(maxSize, runes)
	if n := size(fitted); n > maxSize {
		t.Errorf("the card has %d runes: %+v", n, fitted)
	}
	if fmt.Sprint(c) != before {
		t.Error("the original was changed")
	}
	return fitted
}

func line(s string) words.Line { return words.Line{{Text: s}} }

// fields returns n short fields.
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
	longField := words.Field{Name: long, Value: long}
	got := fit(t, words.Card{
		Title:      long,
		Text:       long,
		Sections:   []words.Section{{Heading: long, Fields: []words.Field{longField}}},
		FullValues: []words.Field{longField},
		Notes:      []words.Line{long},
	})
	for name, l := range map[string]words.Line{
		"title":               got.Title,
		"text":                got.Text,
		"heading":             got.Sections[0].Heading,
		"name of a field":     got.Sections[0].Fields[0].Name,
		"value of a field":    got.Sections[0].Fields[0].Value,
		"name of an exact":    got.FullValues[0].Name,
		"value of an exact":   got.FullValues[0].Value,
		"the note at the end": got.Notes[0],
	} {
		if s := l.String(); !strings.HasPrefix(s, "éééé") || !strings.HasSuffix(s, "é…") {
			t.Errorf("%s is cut to %q", name, s)
		}
	}
}

func TestAStyledLineIsCutWithinItsPartsAndKeepsTheirStyles(t *testing.T) {
	long := line(strings.Repeat("é", 5000))
	styled := words.Line{
		{Text: "é"},
		{Text: strings.Repeat("é", 5000), Style: words.Untrusted},
		{Text: "gone"},
	}
	got := fit(t, words.Card{Title: long, Text: styled, Notes: []words.Line{long}}).Text
	if len(got) != 2 || got[1].Style != words.Untrusted {
		t.Errorf("the text of three parts is cut to %+v", got)
	}
	if n := runes(words.Field{Value: got}); n < 248 || n > 250 {
		t.Errorf("the text is cut to %d runes, want a quarter of %d", n, maxSize)
	}
}

func TestAListThatLacksOneEntrySaysSo(t *testing.T) {
	short := line("a note")
	long := line(strings.Repeat("x", 60))
	notes := append(slices.Repeat([]words.Line{long}, 15), short, long)
	got := fit(t, words.Card{Notes: notes}).Notes
	if last := got[len(got)-1].String(); len(got) != 17 || last != "… and 1 more" {
		t.Errorf("%d notes, the last is %q, want 16 of 17 and the number of the others", len(got), last)
	}
}

func TestALineOfTheMaximumLengthIsNotCut(t *testing.T) {
	longest := strings.Repeat("y", 59)
	tooLong := line(longest + "y")
	notes := append([]words.Line{line(longest)}, slices.Repeat([]words.Line{tooLong}, 30)...)
	got := fit(t, words.Card{Notes: notes}).Notes
	if got[0].String() != longest || got[1].String() != longest[1:]+"…" {
		t.Errorf("%q, then %q", got[0], got[1])
	}
}

// checkCut checks a card whose list had 500 entries. left are left, and a line says how many are missing.
func checkCut(t *testing.T, got words.Card, left int) {
	t.Helper()
	more := words.Say(got.Language, chat.SayWith("more", chat.Values{"n": chat.Count(500 - left)}))
	saysHowMany := slices.ContainsFunc(lines(got), func(l words.Line) bool { return l.String() == more })
	if left < 25 || !saysHowMany {
		t.Errorf("%d are left, want %q in %+v", left, more, got)
	}
}

func TestEachLongListIsCutAndSaysHowManyAreLeftOut(t *testing.T) {
	sections := fit(t, words.Card{Sections: slices.Repeat([]words.Section{section("heading", fields(1))}, 500)})
	checkCut(t, sections, len(sections.Sections)-1)

	fullValues := fit(t, words.Card{FullValues: fields(500)})
	checkCut(t, fullValues, len(fullValues.FullValues)-1)

	notes := fit(t, words.Card{Notes: slices.Repeat([]words.Line{line("a note")}, 500)})
	checkCut(t, notes, len(notes.Notes)-1)
}

func TestShortListsBesideALongOneAreNotCut(t *testing.T) {
	got := fit(t, words.Card{
		Language:   chat.Spanish,
		Sections:   []words.Section{section("many", fields(500)), section("few", fields(3))},
		FullValues: fields(2),
		Notes:      []words.Line{line("kept")},
	})
	checkCut(t, got, len(got.Sections[0].Fields)-1)
	if len(got.Sections[1].Fields) != 3 || len(got.FullValues) != 2 || len(got.Notes) != 1 {
		t.Errorf("short lists are cut: %+v", got)
	}
}

func TestATextIsCutByUTF16Units(t *testing.T) {
	for text, want := range map[string]string{
		"":      "",
		"abcd":  "abcd",
		"abcde": "abc…",
		"😀😀":    "😀😀",
		"😀😀😀":   "😀…",
		"a😀😀":   "a😀…",
	} {
		if got := words.Cut(text, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
