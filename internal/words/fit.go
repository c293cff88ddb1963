package words

import (
	"slices"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"herald/internal/chat"
)

// How much of the limit one line may take. Title and text alone always fit.
const (
	lineShare = 16
	textShare = 4
)

// Fit returns c short enough for a platform whose messages hold at most limit
// units, which must be at least 1,000. A unit is what the platform counts. measure
// returns how many units a line takes that shows this name and value, with its line
// break and whatever the platform adds; a title, text, heading or note is a line
// with a value alone.
//
// A title of more than a sixteenth of the limit is always cut, and so is what stands
// beside it. If the card is too long, so is a text of more than a quarter, and any other
// line of more than a sixteenth. Then the longest lists are cut, and say how many are
// missing: fields of a section, exact values, notes, sections.
func (c Card) Fit(limit int, measure func(Field) int) Card {
	line := func(l Line) int { return measure(Field{Value: l}) }
	short := func(l Line) Line { return cutTo(l, limit/lineShare, line) }
	c.Title, c.Subtitle = short(c.Title), short(c.Subtitle)
	if c.size(measure) <= limit {
		return c
	}
	field := func(f Field) Field {
		if half := limit / lineShare / 2; measure(f) > 2*half {
			f.Name, f.Value = cutTo(f.Name, half, line), cutTo(f.Value, half, line)
		}
		return f
	}
	c.Text = cutTo(c.Text, limit/textShare, line)
	c.FullValues, c.Notes = each(c.FullValues, field), each(c.Notes, short)
	c.Footer, c.Source = short(c.Footer), short(c.Source)
	c.Sections = each(c.Sections, func(s Section) Section {
		return Section{Heading: short(s.Heading), Fields: each(s.Fields, field)}
	})
	longest := max(len(c.FullValues), len(c.Sections), len(c.Notes))
	for _, s := range c.Sections {
		longest = max(longest, len(s.Fields))
	}
	return c.keep(sort.Search(longest, func(n int) bool { return c.keep(n+1).size(measure) > limit }))
}

// keep leaves at most n of each list, and says how many more there were.
func (c Card) keep(n int) Card {
	more := func(left int) Line {
		return catalogueOf(c.Language).text(chat.SayWith("more", chat.Values{pluralArg: chat.Count(left)}))
	}
	fields := func(all []Field) []Field {
		return first(n, all, func(left int) Field { return Field{Value: more(left)} })
	}
	c.FullValues, c.Notes = fields(c.FullValues), first(n, c.Notes, more)
	c.Sections = each(c.Sections, func(s Section) Section {
		return Section{Heading: s.Heading, Fields: fields(s.Fields)}
	})
	c.Sections = first(n, c.Sections, func(left int) Section { return Section{Heading: more(left)} })
	return c
}

// each returns what change makes of each.
func each[T any](all []T, change func(T) T) []T {
	all = slices.Clone(all)
	for i, one := range all {
		all[i] = change(one)
	}
	return all
}

// first returns at most n, and then what says how many are left.
func first[T any](n int, all []T, more func(left int) T) []T {
	if left := len(all) - n; left > 0 {
		return append(slices.Clone(all[:n]), more(left))
	}
	return all
}

// size is what all lines of the card measure.
func (c Card) size(measure func(Field) int) int {
	total := 0
	for _, l := range append([]Line{c.Title, c.Subtitle, c.Text, c.Footer}, c.Notes...) {
		total += measure(Field{Value: l})
	}
	for _, f := range c.FullValues {
		total += measure(f)
	}
	for _, s := range c.Sections {
		total += measure(Field{Value: s.Heading})
		for _, f := range s.Fields {
			total += measure(f)
		}
	}
	return total
}

// cutTo returns as much of l as measures at most so much, with an ellipsis if
// something is missing.
func cutTo(l Line, limit int, measure func(Line) int) Line {
	if measure(l) <= limit {
		return l
	}
	// No character measures nothing.
	runes := min(utf8.RuneCountInString(l.String()), limit)
	return l.first(sort.Search(runes, func(n int) bool { return measure(l.first(n+1)) > limit }))
}

// first returns the first n characters and an ellipsis.
func (l Line) first(n int) Line {
	for i, s := range l {
		runes := []rune(s.Text)
		if n <= len(runes) {
			s.Text = string(runes[:n]) + "…"
			return append(slices.Clone(l[:i]), s)
		}
		n -= len(runes)
	}
	return l
}

// Units counts s in UTF-16 units, as platforms count most of what they bound.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Cut shortens s to at most limit UTF-16 units, with an ellipsis at the end.
func Cut(s string, limit int) string {
	if Units(s) <= limit {
		return s
	}
	used := 1 // for the ellipsis
	for i, r := range s {
		if used += utf16.RuneLen(r); used > limit {
			return s[:i] + "…"
		}
	}
	return s
}
