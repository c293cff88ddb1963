package words

import (
	"slices"
	"sort"

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
// A text of more than a quarter of the limit is cut, and any other line of more
// than a sixteenth. Then the longest sections lose fields, and say how many; then
// whole sections go, and notes, from the end. The details count as a section
// behind the others.
func (c Card) Fit(limit int, measure func(Field) int) Card {
	c = c.cutLines(limit, measure)
	fields, sections, notes := len(c.Details), len(c.Sections)+1, len(c.Notes)
	for _, s := range c.Sections {
		fields = max(fields, len(s.Fields))
	}
	fits := func() bool { return c.keep(fields, sections, notes).size(measure) <= limit }
	for _, kept := range []*int{&fields, &sections, &notes} {
		if fits() {
			break
		}
		*kept = sort.Search(*kept, func(n int) bool { *kept = n + 1; return !fits() })
	}
	return c.keep(fields, sections, notes)
}

// cutLines cuts each line that is longer than its share.
func (c Card) cutLines(limit int, measure func(Field) int) Card {
	line := func(l Line) int { return measure(Field{Value: l}) }
	c.Title = cutTo(c.Title, limit/lineShare, line)
	c.Text = cutTo(c.Text, limit/textShare, line)
	c.Notes = slices.Clone(c.Notes)
	for i, note := range c.Notes {
		c.Notes[i] = cutTo(note, limit/lineShare, line)
	}
	cutFields := func(fields []Field) []Field {
		fields = slices.Clone(fields)
		for i, f := range fields {
			if measure(f) > limit/lineShare {
				half := limit / lineShare / 2
				fields[i] = Field{Name: cutTo(f.Name, half, line), Value: cutTo(f.Value, half, line)}
			}
		}
		return fields
	}
	c.Sections = slices.Clone(c.Sections)
	for i, s := range c.Sections {
		c.Sections[i] = Section{Heading: cutTo(s.Heading, limit/lineShare, line), Fields: cutFields(s.Fields)}
	}
	c.Details = cutFields(c.Details)
	return c
}

// keep leaves so many fields in each section, so many sections (the details are the
// last) and so many notes, and says how many more there were.
func (c Card) keep(fields, sections, notes int) Card {
	more := func(n int) Line {
		return newPrinter(c.Language).text(chat.SayWith("more", chat.Values{pluralArg: chat.Count(n)}))
	}
	all := append(slices.Clone(c.Sections), Section{Fields: c.Details})
	dropped := 0
	for i, s := range all {
		if i >= sections {
			dropped += len(s.Fields)
		} else if n := len(s.Fields) - fields; n > 0 {
			all[i].Fields = append(slices.Clone(s.Fields[:fields]), Field{Value: more(n)})
		}
	}
	last := len(all) - 1
	c.Sections, c.Details = all[:min(sections, last)], nil
	if sections > last {
		c.Details = all[last].Fields
	}
	kept := slices.Clone(c.Notes[:notes])
	if dropped > 0 {
		kept = append(kept, more(dropped))
	}
	if n := len(c.Notes) - notes; n > 0 {
		kept = append(kept, more(n))
	}
	c.Notes = kept
	return c
}

// size is what all lines of the card measure.
func (c Card) size(measure func(Field) int) int {
	total := measure(Field{Value: c.Title}) + measure(Field{Value: c.Text})
	for _, note := range c.Notes {
		total += measure(Field{Value: note})
	}
	for _, s := range append(slices.Clone(c.Sections), Section{Fields: c.Details}) {
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
	ending := Span{Text: "…"}
	parts := sort.Search(len(l)-1, func(n int) bool { return measure(append(slices.Clone(l[:n+1]), ending)) > limit })
	last := l[parts]
	runes := []rune(last.Text)
	runes = runes[:min(len(runes), limit)] // no character measures nothing
	kept := func(n int) Line {
		last.Text = string(runes[:n]) + "…"
		return append(slices.Clone(l[:parts]), last)
	}
	return kept(sort.Search(len(runes), func(n int) bool { return measure(kept(n+1)) > limit }))
}
