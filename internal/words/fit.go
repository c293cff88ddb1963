package words

import (
	"slices"
	"sort"

	"herald/internal/chat"
)

// The most that one line may take of a limit. Title and text alone always fit.
const (
	lineShare = 16
	textShare = 4
)

// Fit is c short enough for a platform whose messages hold at most limit units,
// which must be at least 1,000. A unit is what the platform counts. measure
// returns how many a line takes that shows this name and value, with its line
// break and whatever the platform adds to it; a title, text, heading or note is
// a line with a value alone.
//
// A text of more than a quarter of the limit is cut, and any other line of more
// than a sixteenth. Then the longest section loses fields, and says how many;
// then whole sections go, and notes, from the end. The details count as a section
// behind the others.
func (c Card) Fit(limit int, measure func(Field) int) Card {
	line := func(l Line) int { return measure(Field{Value: l}) }
	total := 0
	cut := func(l Line, most int) Line {
		l, size := cutTo(l, most, line)
		total += size
		return l
	}
	c.Title = cut(c.Title, limit/lineShare)
	c.Text = cut(c.Text, limit/textShare)
	c.Notes = slices.Clone(c.Notes)
	for i := range c.Notes {
		c.Notes[i] = cut(c.Notes[i], limit/lineShare)
	}
	sections := append(slices.Clone(c.Sections), Section{Fields: c.Details})
	sizes := make([]int, len(sections))
	for i := range sections {
		s := &sections[i]
		s.Heading, sizes[i] = cutTo(s.Heading, limit/lineShare, line)
		s.Fields = slices.Clone(s.Fields)
		for j := range s.Fields {
			size := measure(s.Fields[j])
			if size > limit/lineShare {
				s.Fields[j].Name, _ = cutTo(s.Fields[j].Name, limit/lineShare/2, line)
				s.Fields[j].Value, _ = cutTo(s.Fields[j].Value, limit/lineShare/2, line)
				size = measure(s.Fields[j])
			}
			sizes[i] += size
		}
		total += sizes[i]
	}
	f := fitting{limit: limit, total: total, sections: sections, sizes: sizes, notes: c.Notes, measure: measure, language: c.Language}
	if total > limit {
		f.drop()
	}
	c.Notes, c.Sections, c.Details = f.notes, f.sections, nil
	if len(f.sections) == len(sections) {
		last := len(f.sections) - 1
		c.Sections, c.Details = f.sections[:last], f.sections[last].Fields
	}
	return c
}

// fitting is a card that is too long.
type fitting struct {
	limit, total int
	sections     []Section
	sizes        []int
	notes        []Line
	measure      func(Field) int
	language     chat.Language
}

// drop leaves out what total has above limit.
func (f *fitting) drop() {
	// Room for the lines that say how much was left out.
	counted := f.measure(Field{Value: f.more(1_000_000_000)})
	f.limit -= 2 * counted
	dropped := make([]int, len(f.sections))
	var fields, notes int
	for f.total > f.limit {
		last := len(f.sections) - 1
		i := f.longest()
		switch {
		case i >= 0:
			s := &f.sections[i]
			freed := f.measure(s.Fields[len(s.Fields)-1])
			if dropped[i] == 0 {
				freed -= counted
			}
			s.Fields = s.Fields[:len(s.Fields)-1]
			dropped[i]++
			f.sizes[i] -= freed
			f.total -= freed
		case last >= 0:
			fields += dropped[last]
			f.total -= f.sizes[last]
			f.sections, dropped = f.sections[:last], dropped[:last]
		case len(f.notes) > 0:
			notes++
			end := len(f.notes) - 1
			f.total -= f.measure(Field{Value: f.notes[end]})
			f.notes = f.notes[:end]
		default:
			return
		}
	}
	for i, n := range dropped {
		if n > 0 {
			f.sections[i].Fields = append(f.sections[i].Fields, Field{Value: f.more(n)})
		}
	}
	if fields > 0 {
		f.notes = append(f.notes, f.more(fields))
	}
	if notes > 0 {
		f.notes = append(f.notes, f.more(notes))
	}
}

func (f *fitting) more(n int) Line {
	return newPrinter(f.language).text(chat.SayWith("more", chat.Values{pluralArg: chat.Count(n)}))
}

// longest is the longest section that has a field to lose, of equals the first,
// or -1.
func (f *fitting) longest() int {
	found := -1
	for i, s := range f.sections {
		if len(s.Fields) > 0 && (found < 0 || f.sizes[i] > f.sizes[found]) {
			found = i
		}
	}
	return found
}

// cutTo is as much of l as measures at most so much, with an ellipsis if
// something is missing, and what it measures.
func cutTo(l Line, most int, measure func(Line) int) (cut Line, size int) {
	if size = measure(l); size <= most {
		return l, size
	}
	for i := range l {
		if measure(append(slices.Clone(l[:i+1]), Span{Text: "…"})) <= most {
			continue
		}
		// No character measures nothing.
		runes := []rune(l[i].Text)
		runes = runes[:min(len(runes), most)]
		kept := func(n int) Line {
			last := l[i]
			last.Text = string(runes[:n]) + "…"
			return append(slices.Clone(l[:i]), last)
		}
		l = kept(sort.Search(len(runes), func(n int) bool { return measure(kept(n+1)) > most }))
		break
	}
	return l, measure(l)
}
