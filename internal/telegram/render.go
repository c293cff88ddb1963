package telegram

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// Telegram's bounds on one message, https://core.telegram.org/bots/api#sendmessage
// and https://core.telegram.org/api/entities.
const (
	maxUnits    = 4096 // UTF-16 units after entities are parsed
	maxEntities = 100
)

// Bounds in UTF-16 units on single strings of a reply that is too long, chosen
// so that title and text alone always fit.
const (
	longestLine = 512
	longestText = 2048
)

// moreUnits is room for the line that says how many fields were left out.
const moreUnits = 24

var signs = map[chat.Tone]string{chat.Positive: "✅ ", chat.Negative: "❌ ", chat.Warning: "⚠️ "}

// text is a message ready to be sent. Styles are entities and never markup, so
// that nothing in it has to be escaped.
type text struct {
	body     string
	entities []models.MessageEntity
}

// render shows every part of r within Telegram's bounds: if it is too long,
// the longest section loses fields first and says how many.
func render(r chat.Reply) text {
	r = r.Clean()
	left := make([]int, len(r.Sections))
	if size(r) > maxUnits {
		r, left = shorten(r)
	}
	var p page
	sign := signs[r.Tone]
	if r.Title != "" {
		p.line(sign, bold(r.Title))
		sign = ""
	}
	p.line(sign, span{s: r.Text})
	for i, s := range r.Sections {
		p.gap()
		p.line("", bold(s.Heading))
		for _, f := range s.Fields {
			p.line("", span{s: fieldLine(f)})
		}
		if left[i] > 0 {
			p.line("", span{s: fmt.Sprintf("… and %d more", left[i])})
		}
	}
	p.gap()
	for _, n := range r.Notes {
		p.line("", span{n, models.MessageEntityTypeItalic})
	}
	return p.done()
}

func fieldLine(f chat.Field) string {
	if f.Name == "" || f.Value == "" {
		return f.Name + f.Value
	}
	return f.Name + ": " + f.Value
}

// units is a string's length as Telegram counts it.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// size bounds what render makes of r from above, line breaks and gaps counted.
func size(r chat.Reply) int {
	n := units(r.Title) + units(r.Text) + 8
	for _, s := range r.Sections {
		n += sectionSize(s)
	}
	for _, note := range r.Notes {
		n += units(note) + 1
	}
	return n
}

func sectionSize(s chat.Section) int {
	n := units(s.Heading) + 2
	for _, f := range s.Fields {
		n += units(fieldLine(f)) + 1
	}
	return n
}

// shorten clips every string of r and then drops fields of whichever section
// is the longest, then whole sections and notes from the end, until r fits.
// left is how many fields each section lost.
func shorten(r chat.Reply) (_ chat.Reply, left []int) {
	r = clipAll(r)
	total := size(r)
	sizes := make([]int, len(r.Sections))
	for i, s := range r.Sections {
		sizes[i] = sectionSize(s)
	}
	left = make([]int, len(r.Sections))
	for total > maxUnits {
		i := longest(sizes, r.Sections)
		if i < 0 {
			break
		}
		fields := r.Sections[i].Fields
		last := units(fieldLine(fields[len(fields)-1])) + 1
		if left[i] == 0 {
			last -= moreUnits
		}
		r.Sections[i].Fields = fields[:len(fields)-1]
		left[i]++
		sizes[i] -= last
		total -= last
	}
	for total > maxUnits && len(r.Sections) > 0 {
		end := len(r.Sections) - 1
		total -= sizes[end]
		r.Sections, left = r.Sections[:end], left[:end]
	}
	for total > maxUnits && len(r.Notes) > 0 {
		end := len(r.Notes) - 1
		total -= units(r.Notes[end]) + 1
		r.Notes = r.Notes[:end]
	}
	return r, left
}

// longest is the section with the most units that has a field to lose, or -1.
func longest(sizes []int, sections []chat.Section) int {
	best := -1
	for i, n := range sizes {
		if len(sections[i].Fields) > 0 && (best < 0 || n > sizes[best]) {
			best = i
		}
	}
	return best
}

// clipAll bounds each string of r. Its slices are r's own: Clean has copied them.
func clipAll(r chat.Reply) chat.Reply {
	r.Title = clip(r.Title, longestLine)
	r.Text = clip(r.Text, longestText)
	for i := range r.Sections {
		s := &r.Sections[i]
		s.Heading = clip(s.Heading, longestLine)
		for j := range s.Fields {
			s.Fields[j].Name = clip(s.Fields[j].Name, longestLine)
			s.Fields[j].Value = clip(s.Fields[j].Value, longestLine)
		}
	}
	for i := range r.Notes {
		r.Notes[i] = clip(r.Notes[i], longestLine)
	}
	return r
}

// clip keeps the first limit units of s, the last of them an ellipsis if
// something was cut off. It never parts a surrogate pair.
func clip(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > limit-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// page gathers lines and remembers how many units are written.
type page struct {
	b        strings.Builder
	units    int
	breaks   int // line breaks owed before the next line
	entities []models.MessageEntity
}

// span is a string with one style or none.
type span struct {
	s     string
	style models.MessageEntityType
}

func bold(s string) span { return span{s, models.MessageEntityTypeBold} }

// line writes one line, if there is anything to write on it.
func (p *page) line(sign string, s span) {
	if sign+s.s == "" {
		return
	}
	if p.units > 0 {
		p.write(strings.Repeat("\n", max(p.breaks, 1)))
	}
	p.breaks = 1
	p.write(sign)
	if s.style != "" && s.s != "" && len(p.entities) < maxEntities {
		p.entities = append(p.entities, models.MessageEntity{Type: s.style, Offset: p.units, Length: units(s.s)})
	}
	p.write(s.s)
}

// gap leaves an empty line before the next line.
func (p *page) gap() { p.breaks = 2 }

func (p *page) write(s string) {
	p.b.WriteString(s)
	p.units += units(s)
}

// done is the page; Telegram refuses one without text.
func (p *page) done() text {
	if strings.TrimSpace(p.b.String()) == "" {
		return text{body: "…"}
	}
	return text{p.b.String(), p.entities}
}
