package chat

import (
	"fmt"
	"sort"
)

// The most that one string may take of a limit. Title and text alone always
// fit.
const (
	lineShare = 16
	textShare = 4
)

// Fit is r clean, and short enough for a platform whose messages hold at most
// limit units, which must be at least 1,000. A unit is what the platform
// counts. measure returns how many a line takes that shows this name and
// value, with its line break and whatever the platform adds to it; a title,
// text, heading or note is a line with a value alone.
//
// A text of more than a quarter of the limit is cut, and any other string of
// more than a sixteenth. Then the longest section loses fields, and says how
// many; then whole sections go, and notes, from the end.
func (r Reply) Fit(limit int, measure func(Field) int) Reply {
	r = r.Clean()
	line := func(s string) int { return measure(Field{Value: s}) }
	cut := func(s *string, most int) { *s = cutTo(*s, most, line) }
	cut(&r.Title, limit/lineShare)
	cut(&r.Text, limit/textShare)
	total := line(r.Title) + line(r.Text)
	for i := range r.Notes {
		cut(&r.Notes[i], limit/lineShare)
		total += line(r.Notes[i])
	}
	sizes := make([]int, len(r.Sections))
	for i := range r.Sections {
		s := &r.Sections[i]
		cut(&s.Heading, limit/lineShare)
		sizes[i] = line(s.Heading)
		for j := range s.Fields {
			size := measure(s.Fields[j])
			if size > limit/lineShare {
				cut(&s.Fields[j].Name, limit/lineShare)
				cut(&s.Fields[j].Value, limit/lineShare)
				size = measure(s.Fields[j])
			}
			sizes[i] += size
		}
		total += sizes[i]
	}
	if total <= limit {
		return r
	}
	return r.drop(limit, total, sizes, measure)
}

// drop leaves out what total has above limit, where sizes are the sections'.
func (r Reply) drop(limit, total int, sizes []int, measure func(Field) int) Reply {
	// Room for the lines that say how much was left out.
	counted := measure(Field{Value: more(1_000_000_000)})
	limit -= 2 * counted
	dropped := make([]int, len(sizes))
	var fields, notes int
	for total > limit {
		last := len(r.Sections) - 1
		switch i := longest(r.Sections, sizes); {
		case i >= 0:
			s := &r.Sections[i]
			freed := measure(s.Fields[len(s.Fields)-1])
			if dropped[i] == 0 {
				freed -= counted
			}
			s.Fields = s.Fields[:len(s.Fields)-1]
			dropped[i]++
			sizes[i] -= freed
			total -= freed
		case last >= 0:
			fields += dropped[last]
			total -= sizes[last]
			r.Sections, dropped = r.Sections[:last], dropped[:last]
		case len(r.Notes) > 0:
			notes++
			end := len(r.Notes) - 1
			total -= measure(Field{Value: r.Notes[end]})
			r.Notes = r.Notes[:end]
		default:
			return r
		}
	}
	for i, n := range dropped {
		if n > 0 {
			r.Sections[i].Fields = append(r.Sections[i].Fields, Field{Value: more(n)})
		}
	}
	if fields > 0 {
		r.Sections = append(r.Sections, Section{Fields: []Field{{Value: more(fields)}}})
	}
	if notes > 0 {
		r.Notes = append(r.Notes, more(notes))
	}
	return r
}

func more(n int) string { return fmt.Sprintf("… and %d more", n) }

// longest is the section of the greatest size that has a field to lose, or -1.
func longest(sections []Section, sizes []int) int {
	best := -1
	for i, s := range sections {
		if len(s.Fields) > 0 && (best < 0 || sizes[i] > sizes[best]) {
			best = i
		}
	}
	return best
}

// cutTo is as much of s as measures at most so much, with an ellipsis if
// something is missing.
func cutTo(s string, most int, measure func(string) int) string {
	if measure(s) <= most {
		return s
	}
	runes := []rune(s)
	end := sort.Search(len(runes), func(n int) bool { return measure(string(runes[:n+1])+"…") > most })
	return string(runes[:end]) + "…"
}
