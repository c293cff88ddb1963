package telegram

import (
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

var signs = map[chat.Tone]string{chat.Positive: "✅ ", chat.Negative: "❌ ", chat.Warning: "⚠️ "}

// richText is a message ready to be sent. Styles are entities and never markup,
// so that nothing in it has to be escaped.
type richText struct {
	body     string
	entities []models.MessageEntity
}

// render shows r, shortened to Telegram's bounds.
func render(r chat.Reply) richText {
	sign := signs[r.Tone]
	r = r.Fit(maxUnits-units(sign), lineUnits)
	var p page
	if r.Title != "" {
		p.line(sign, r.Title, models.MessageEntityTypeBold)
		sign = ""
	}
	p.line(sign, r.Text, "")
	for _, s := range r.Sections {
		p.gap()
		p.line("", s.Heading, models.MessageEntityTypeBold)
		for _, f := range s.Fields {
			p.line("", fieldLine(f), "")
		}
	}
	p.gap()
	for _, n := range r.Notes {
		p.line("", n, models.MessageEntityTypeItalic)
	}
	return p.done()
}

func fieldLine(f chat.Field) string {
	if f.Name == "" || f.Value == "" {
		return f.Name + f.Value
	}
	return f.Name + ": " + f.Value
}

// lineUnits is what a line takes with the line break before it, or with two if
// it may begin a section or the notes.
func lineUnits(f chat.Field) int {
	n := units(fieldLine(f)) + 1
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
	entities []models.MessageEntity
}

// line writes one line, if there is anything to write on it. The style is that
// of s; empty is none.
func (p *page) line(sign, s string, style models.MessageEntityType) {
	if sign+s == "" {
		return
	}
	if p.units > 0 {
		p.write(strings.Repeat("\n", p.breaks))
	}
	p.breaks = 1
	p.write(sign)
	if style != "" && s != "" && len(p.entities) < maxEntities {
		p.entities = append(p.entities, models.MessageEntity{Type: style, Offset: p.units, Length: units(s)})
	}
	p.write(s)
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
