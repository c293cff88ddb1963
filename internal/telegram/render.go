package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/telegram/botapi"
)

// Telegram's bounds on one message, https://core.telegram.org/bots/api#sendmessage
// and https://core.telegram.org/api/entities.
const (
	maxUnits    = 4096 // UTF-16 units after entities are parsed
	maxEntities = 100
)

var signs = map[chat.Tone]string{chat.Positive: "✅ ", chat.Negative: "❌ ", chat.Warning: "⚠️ "}

// richText is a message ready to be sent. Styles are entities and never markup,
// so that nothing in it has to be escaped.
type richText struct {
	body     string
	entities []botapi.Entity
}

// render shows r, shortened to Telegram's bounds.
func render(r chat.Reply) richText {
	sign := signs[r.Tone]
	r = r.Fit(maxUnits-units(sign), lineUnits)
	var p page
	if r.Title != "" {
		p.line(span{text: sign}, span{r.Title, botapi.Bold})
		sign = ""
	}
	p.line(span{text: sign}, span{text: r.Text})
	for _, s := range r.Sections {
		p.gap()
		p.line(span{s.Heading, botapi.Bold})
		for _, f := range s.Fields {
			p.line(fieldSpans(f)...)
		}
	}
	p.gap()
	for _, n := range r.Notes {
		p.line(span{n, botapi.Italic})
	}
	return p.done()
}

// span is a part of a line; without a style it is plain.
type span struct {
	text  string
	style botapi.EntityType
}

// fieldSpans shows what is foreign as code: Telegram makes a link of anything
// else that looks like a domain or a command.
func fieldSpans(f chat.Field) []span {
	name, value := span{text: f.Name}, span{text: f.Value}
	if f.ForeignName {
		name.style = botapi.Code
	}
	if f.ForeignValue {
		value.style = botapi.Code
	}
	if f.Name == "" || f.Value == "" {
		return []span{name, value}
	}
	return []span{name, {text: ": "}, value}
}

// lineUnits is what a line takes with the line break before it, or with two if
// it may begin a section or the notes.
func lineUnits(f chat.Field) int {
	n := 1
	for _, s := range fieldSpans(f) {
		n += units(s.text)
	}
	if f.Name == "" {
		n++
	}
	return n
}

// units is a string's length as Telegram counts it.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// page gathers lines and remembers how many units are written.
type page struct {
	b        strings.Builder
	units    int
	breaks   int // line breaks owed before the next line
	entities []botapi.Entity
}

// line writes one line, if there is anything to write on it.
func (p *page) line(spans ...span) {
	if !slices.ContainsFunc(spans, func(s span) bool { return s.text != "" }) {
		return
	}
	if p.units > 0 {
		p.write(strings.Repeat("\n", p.breaks))
	}
	p.breaks = 1
	for _, s := range spans {
		if s.style != "" && s.text != "" {
			p.mark(s.style, units(s.text))
		}
		p.write(s.text)
	}
}

// mark styles what is written next. Beyond maxEntities a style is left out, but
// not that of foreign text: the last entity is extended over it as code.
func (p *page) mark(style botapi.EntityType, length int) {
	if len(p.entities) < maxEntities {
		p.entities = append(p.entities, botapi.Entity{Type: style, Offset: p.units, Length: length})
	} else if style == botapi.Code {
		last := &p.entities[maxEntities-1]
		last.Type, last.Length = style, p.units+length-last.Offset
	}
}

// gap leaves an empty line before the next line.
func (p *page) gap() { p.breaks = 2 }

func (p *page) write(s string) {
	p.b.WriteString(s)
	p.units += units(s)
}

// done is the page; Telegram refuses one without text.
func (p *page) done() richText {
	if strings.TrimSpace(p.b.String()) == "" {
		return richText{body: "…"}
	}
	return richText{p.b.String(), p.entities}
}
