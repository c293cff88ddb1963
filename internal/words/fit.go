package words

import (
	"slices"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"herald/internal/chat"
)

// The maximum sizes of lines, as divisors of the card's limit: a quarter of the limit for Text, and a sixteenth for
// every other line. A title, a subtitle, a text and a footer therefore always fit together.
const (
	textDivisor = 4
	lineDivisor = 16
)

// Fit returns c shortened to at most limit units, such as characters. limit is at least 1,000. measure returns the
// number of units that a field takes as a line of its own, including the line break and the platform's markup. To
// measure a title, text, heading or note, Fit passes a Field that has only a Value.
//
// Fit takes these steps, and stops if the card fits after the first:
//
//  1. It cuts Title and Subtitle to a sixteenth of the limit.
//  2. It cuts Text to a quarter of the limit, and every other line to a sixteenth.
//  3. It cuts each list to n entries, and adds a line with the number of the omitted entries. n is the same for all
//     lists, and the largest number for which the card fits. The lists are Sections, the Fields of each Section,
//     FullValues and Notes.
//
// Fit does not count Source, because Footer repeats it. It does not count Sign, Dot and Folded either: a platform that
// shows them passes a smaller limit, or puts them into a field that Fit counts.
func (c Card) Fit(limit int, measure func(Field) int) Card {
	f := fitter{limit: limit, measure: measure}
	c.Title = f.cutLine(c.Title)
	c.Subtitle = f.cutLine(c.Subtitle)
	if f.fits(c) {
		return c
	}
	c.Text = f.cut(c.Text, limit/textDivisor)
	c.FullValues = mapSlice(c.FullValues, f.cutField)
	c.Notes = mapSlice(c.Notes, f.cutLine)
	c.Footer = f.cutLine(c.Footer)
	c.Source = f.cutLine(c.Source)
	c.Sections = mapSlice(c.Sections, func(s Section) Section {
		return Section{Heading: f.cutLine(s.Heading), Fields: mapSlice(s.Fields, f.cutField)}
	})
	longest := max(len(c.FullValues), len(c.Sections), len(c.Notes))
	for _, s := range c.Sections {
		longest = max(longest, len(s.Fields))
	}
	n := largest(longest, func(n int) bool { return f.fits(c.withAtMost(n)) })
	return c.withAtMost(n)
}

// largest returns the largest n from 1 to limit for which fits(n) is true, or 0 if there is none. If fits(n) is true,
// it must be true for all smaller numbers.
func largest(limit int, fits func(n int) bool) int {
	return sort.Search(limit, func(n int) bool { return !fits(n + 1) })
}

// fitter measures and cuts the lines of a card. Its fields are the parameters of Card.Fit.
type fitter struct {
	limit   int
	measure func(Field) int
}

// fits reports whether the lines of the card together have at most f.limit units. It counts the lines that Fit counts.
func (f fitter) fits(c Card) bool {
	size := 0
	for _, l := range append([]Line{c.Title, c.Subtitle, c.Text, c.Footer}, c.Notes...) {
		size += f.units(l)
	}
	for _, field := range c.FullValues {
		size += f.measure(field)
	}
	for _, s := range c.Sections {
		size += f.units(s.Heading)
		for _, field := range s.Fields {
			size += f.measure(field)
		}
	}
	return size <= f.limit
}

// units measures a line that has no name.
func (f fitter) units(l Line) int { return f.measure(Field{Value: l}) }

// maxLine returns the maximum size of a line other than Text.
func (f fitter) maxLine() int { return f.limit / lineDivisor }

// cutLine cuts l to maxLine.
func (f fitter) cutLine(l Line) Line { return f.cut(l, f.maxLine()) }

// cutField cuts the name and the value to half of maxLine each, if they are together longer than maxLine.
func (f fitter) cutField(field Field) Field {
	half := f.maxLine() / 2
	if f.measure(field) > 2*half {
		field.Name = f.cut(field.Name, half)
		field.Value = f.cut(field.Value, half)
	}
	return field
}

// cut returns l if it has at most limit units. Otherwise it returns the longest beginning of l with an ellipsis that
// has at most limit units together.
func (f fitter) cut(l Line, limit int) Line {
	if f.units(l) <= limit {
		return l
	}
	// Each character has at least one unit.
	maxLength := min(utf8.RuneCountInString(l.String()), limit)
	length := largest(maxLength, func(n int) bool { return f.units(l.prefix(n)) <= limit })
	return l.prefix(length)
}

// withAtMost returns c with at most n entries in each list. If a list has more, a line with the number of omitted
// entries follows the n entries.
func (c Card) withAtMost(n int) Card {
	moreLines := func(omitted int) Line {
		return catalogueOf(c.Language).text(chat.SayWith("more", chat.Values{pluralArg: chat.Count(omitted)}))
	}
	moreFields := func(omitted int) Field { return Field{Value: moreLines(omitted)} }
	moreSections := func(omitted int) Section { return Section{Heading: moreLines(omitted)} }

	c.FullValues = shorten(c.FullValues, n, moreFields)
	c.Notes = shorten(c.Notes, n, moreLines)
	c.Sections = mapSlice(c.Sections, func(s Section) Section {
		return Section{Heading: s.Heading, Fields: shorten(s.Fields, n, moreFields)}
	})
	c.Sections = shorten(c.Sections, n, moreSections)
	return c
}

// shorten returns the first n entries of list, and the entry that more returns for the number of
// omitted entries. It returns list if that has at most n entries.
func shorten[T any](list []T, n int, more func(omitted int) T) []T {
	omitted := len(list) - n
	if omitted <= 0 {
		return list
	}
	return append(slices.Clone(list[:n]), more(omitted))
}

// mapSlice returns the results of f for each element of list, in the same order.
func mapSlice[S, T any](list []S, f func(S) T) []T {
	results := make([]T, len(list))
	for i, element := range list {
		results[i] = f(element)
	}
	return results
}

// prefix returns the first n characters of l and an ellipsis, or l if it has fewer characters.
func (l Line) prefix(n int) Line {
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

// Units returns the length of s in UTF-16 code units. Platforms measure most texts in them.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// Cut shortens s to at most limit UTF-16 code units. A shortened text ends with an ellipsis.
func Cut(s string, limit int) string {
	if Units(s) <= limit {
		return s
	}
	end := 0
	used := 1 // for the ellipsis
	for i, r := range s {
		used += utf16.RuneLen(r)
		if used > limit {
			end = i
			break
		}
	}
	return s[:end] + "…"
}
