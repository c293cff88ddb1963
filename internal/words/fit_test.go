package words_test

import (
	"fmt"
	"reflect"
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
	for _, s := range append(c.Sections, words.Section{Fields: c.Details}) {
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

func TestACardThatFitsIsLeftAsItIs(t *testing.T) {
	c := words.Card{Title: line("t"), Text: line("x"), Sections: []words.Section{section("h", fields(3))}, Details: fields(2), Notes: []words.Line{line("n")},
		Buttons: []words.Button{{Label: "b", State: "1 n 0 price"}}, Ask: &words.Ask{Command: "staked"}, Image: &words.Image{Name: "a.png"}}
	if got := c.Fit(1000, runes); !reflect.DeepEqual(got, c) {
		t.Errorf("got %+v", got)
	}
}

func TestACardThatJustFitsLosesNothing(t *testing.T) {
	c := words.Card{Title: line("t"), Sections: []words.Section{section("h", fields(70))}, Details: fields(5)}
	got := c.Fit(size(c), runes)
	if !reflect.DeepEqual(got.Sections, c.Sections) || !reflect.DeepEqual(got.Details, c.Details) {
		t.Errorf("%d fields are left of 70, and %d details of 5", len(got.Sections[0].Fields), len(got.Details))
	}
}

func TestTheLongestSectionLosesFieldsAndSaysHowMany(t *testing.T) {
	few, many := section("few", fields(3)), section("many", fields(500))
	c := words.Card{Title: line("t"), Sections: []words.Section{few, many}, Details: fields(2), Notes: []words.Line{line("kept")}}
	got := c.Fit(1000, runes)
	if size(got) > 1000 || len(got.Sections[0].Fields) != 3 || len(got.Details) != 2 || got.Notes[0].String() != "kept" {
		t.Fatalf("size %d: %+v", size(got), got)
	}
	left := got.Sections[1].Fields
	if want := fmt.Sprintf("… and %d more", 500-(len(left)-1)); left[len(left)-1].Value.String() != want || len(left) < 30 {
		t.Errorf("%d fields, the last %+v, want %q", len(left), left[len(left)-1], want)
	}
	if len(c.Sections[1].Fields) != 500 || !reflect.DeepEqual(c.Sections[1], section("many", fields(500))) {
		t.Error("the card itself was changed")
	}
}

func TestManyDetailsLoseFieldsLikeASection(t *testing.T) {
	got := words.Card{Title: line("t"), Sections: []words.Section{section("few", fields(3))}, Details: fields(500)}.Fit(1000, runes)
	last := len(got.Details) - 1
	if size(got) > 1000 || len(got.Sections) != 1 || len(got.Sections[0].Fields) != 3 || last < 30 ||
		got.Details[last].Value.String() != fmt.Sprintf("… and %d more", 500-last) {
		t.Errorf("size %d: %+v", size(got), got)
	}
}

func TestWhatIsLeftOutIsCountedInTheLanguageOfTheCard(t *testing.T) {
	got := words.Card{Language: chat.Spanish, Sections: []words.Section{section("h", fields(500))}}.Fit(1000, runes)
	left := got.Sections[0].Fields
	last := left[len(left)-1].Value.String()
	if want := words.Say(chat.Spanish, chat.SayWith("more", chat.Values{"n": chat.Count(500 - (len(left) - 1))})); last != want || !strings.Contains(last, "más") {
		t.Errorf("counted as %q, want %q", last, want)
	}
}

func TestSectionsAndNotesWithoutRoomAreCounted(t *testing.T) {
	var c words.Card
	for range 400 {
		c.Sections = append(c.Sections, section("heading", fields(2)))
		c.Notes = append(c.Notes, line("note"))
	}
	got := c.Fit(1000, runes)
	if size(got) > 1000 || len(got.Notes) < 2 {
		t.Fatalf("size %d: %+v", size(got), got)
	}
	notes := len(got.Notes) - 2
	if len(got.Sections) != 0 || got.Notes[notes].String() != "… and 800 more" || got.Notes[notes+1].String() != fmt.Sprintf("… and %d more", 400-notes) {
		t.Errorf("got %+v", got)
	}
}

func TestOneLongStringIsCutAndCrowdsOutNothing(t *testing.T) {
	long := line(strings.Repeat("é", 5000))
	styled := words.Line{{Text: "é"}, {Text: strings.Repeat("é", 5000), Style: words.Foreign}, {Text: "gone"}}
	c := words.Card{Title: long, Text: styled, Sections: []words.Section{{Heading: long, Fields: []words.Field{{Name: long, Value: long}}}},
		Notes: []words.Line{long}}
	got := c.Fit(1000, runes)
	if !reflect.DeepEqual(c.Notes, []words.Line{long}) || !reflect.DeepEqual(c.Sections[0].Fields[0].Value, long) {
		t.Error("the card itself was changed")
	}
	if size(got) > 1000 {
		t.Fatalf("size %d", size(got))
	}
	f := got.Sections[0].Fields[0]
	for _, l := range []words.Line{got.Title, got.Text, got.Sections[0].Heading, f.Name, f.Value, got.Notes[0]} {
		if s := l.String(); !strings.HasPrefix(s, "éééé") || !strings.HasSuffix(s, "é…") {
			t.Errorf("cut to %q", s)
		}
	}
	if len(got.Text) != 2 || got.Text[1].Style != words.Foreign {
		t.Errorf("a line of three parts is cut to %+v", got.Text)
	}
	if n := runes(words.Field{Value: got.Text}); n > 250 || n < 248 {
		t.Errorf("a quarter of 1000 is cut to %d", n)
	}
}

func TestWhateverACardHoldsItFits(t *testing.T) {
	texts := rapid.Custom(func(t *rapid.T) words.Line {
		var l words.Line
		for _, s := range rapid.SliceOfN(rapid.StringN(0, 200, -1), 0, 3).Draw(t, "spans") {
			l = append(l, words.Span{Text: s})
		}
		return l
	})
	field := rapid.Custom(func(t *rapid.T) words.Field {
		return words.Field{Name: texts.Draw(t, "name"), Value: texts.Draw(t, "value")}
	})
	section := rapid.Custom(func(t *rapid.T) words.Section {
		return words.Section{Heading: texts.Draw(t, "heading"), Fields: rapid.SliceOfN(field, 0, 30).Draw(t, "fields")}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := words.Card{Title: texts.Draw(t, "title"), Text: texts.Draw(t, "text"), Language: rapid.SampledFrom(chat.Languages()).Draw(t, "language"),
			Sections: rapid.SliceOfN(section, 0, 10).Draw(t, "sections"), Notes: rapid.SliceOfN(texts, 0, 30).Draw(t, "notes"),
			Details: rapid.SliceOfN(field, 0, 30).Draw(t, "details")}
		limit := rapid.IntRange(1000, 8000).Draw(t, "limit")
		if got := c.Fit(limit, runes); size(got) > limit {
			t.Fatalf("size %d, limit %d: %+v", size(got), limit, got)
		}
	})
}
