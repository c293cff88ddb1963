package words

import (
	"slices"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"herald/internal/chat"
)

// The shares of the limit that a line and the text may take, if the card is too long. Title
// and text alone always fit.
const (
	lineShare = 16
	textShare = 4
)

// Fit returns c shortened to limit units, which is at least 1,000. measure returns the units
// of a line with this name and value, including the line break and the platform's markup.
// Titles, texts, headings and notes are lines with a value alone.
//
// Title and Subtitle are always cut to a sixteenth of the limit. If the card is too long,
// the text is cut to a quarter and every other line to a sixteenth. Then the longest lists
// are cut, and say how many are missing: fields, full values, notes, sections.
func (c Card) Fit(limit int, measure func(Field) int) Card {
	line := func(l Line) int { return measure(Field{Value: l}) }
	short := func(l Line) Line { return cutTo(l, limit/lineShare, line) }
	c.Title = short(c.Title)
	c.Subtitle = short(c.Subtitle)
	if c.size(measure) <= limit {
		return c
	}
	field := func(f Field) Field {
		if half := limit / lineShare / 2; measure(f) > 2*half {
			f.Name = cutTo(f.Name, half, line)
			f.Value = cutTo(f.Value, half, line)
		}
		return f
	}
	c.Text = cutTo(c.Text, limit/textShare, line)
	c.FullValues = each(c.FullValues, field)
	c.Notes = each(c.Notes, short)
	c.Footer = short(c.Footer)
	c.Source = short(c.Source)
	c.Sections = each(c.Sections, func(s Section) Section {
		return Section{Heading: short(s.Heading), Fields: each(s.Fields, field)}
	})
	longest := max(len(c.FullValues), len(c.Sections), len(c.Notes))
	for _, s := range c.Sections {
		longest = max(longest, len(s.Fields))
	}
	return c.keep(sort.Search(longest, func(n int) bool { return c.keep(n+1).size(measure) > limit }))
}

// keep returns c with at most n of each list, and a line that counts the others.
func (c Card) keep(n int) Card {
	more := func(left int) Line {
		return catalogueOf(c.Language).text(chat.SayWith("more", chat.Values{pluralArg: chat.Count(left)}))
	}
	fields := func(all []Field) []Field {
		return first(n, all, func(left int) Field { return Field{Value: more(left)} })
	}
	c.FullValues = fields(c.FullValues)
	c.Notes = first(n, c.Notes, more)
	c.Sections = each(c.Sections, func(s Section) Section {
		return Section{Heading: s.Heading, Fields: fields(s.Fields)}
	})
	c.Sections = first(n, c.Sections, func(left int) Section { return Section{Heading: more(left)} })
	return c
}

// each returns what f returns for each.
func each[S, T any](all []S, f func(S) T) []T {
	results := make([]T, len(all))
	for i, one := range all {
		results[i] = f(one)
	}
	return results
}

// first returns the first n, and after them more if there are others.
func first[T any](n int, all []T, more func(left int) T) []T {
	if left := len(all) - n; left > 0 {
		return append(slices.Clone(all[:n]), more(left))
	}
	return all
}

// size returns what all lines of the card measure.
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

// cutTo returns as much of l as measures at most limit, with an ellipsis if anything is
// missing.
func cutTo(l Line, limit int, measure func(Line) int) Line {
	if measure(l) <= limit {
		return l
	}
	// Each character measures at least one.
	runes := min(utf8.RuneCountInString(l.String()), limit)
	return l.first(sort.Search(runes, func(n int) bool { return measure(l.first(n+1)) > limit }))
}

// first returns the first n characters of l and an ellipsis, or all of l if it is shorter.
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

// Units returns the length of s in UTF-16 units, in which platforms count most texts.
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
