package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/words"
)

// Telegram's bounds on one message, https://core.telegram.org/bots/api#sendmessage,
// #sendphoto and https://core.telegram.org/api/entities.
const (
	maxUnits    = 4096 // UTF-16 units after entities are parsed
	maxCaption  = 1024 // of a picture
	maxEntities = 100
)

var signs = map[chat.Tone]string{chat.Positive: "✅ ", chat.Negative: "❌ ", chat.Warning: "⚠️ "}

// A question for an argument has a link below its first character, which is
// invisible. The link names the command (askedFor).
const (
	hidden     = "\u200b"
	askPayload = "ask-"
)

// maxPlaceholder is in characters, https://core.telegram.org/bots/api#forcereply.
const maxPlaceholder = 64

// maxAlert is in characters, https://core.telegram.org/bots/api#answercallbackquery.
const maxAlert = 200

// maxDescription of an inline result is in characters: about what apps show of it.
const maxDescription = 150

// deepLink opens the private chat with a bot, which is then told payload: 1 to 64
// of A-Za-z0-9_-, https://core.telegram.org/bots/features#deep-linking.
func deepLink(bot, payload string) string { return "https://t.me/" + bot + "?start=" + payload }

// cut shortens s to n characters, the last of them an ellipsis.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// render shows a reply, shortened to Telegram's bounds. Styles are entities and never
// markup, so nothing has to be escaped. bot is the bot's username.
func render(r chat.Reply, bot string) botapi.Content {
	c := words.Print(r)
	limit := maxUnits
	var picture []byte
	if c.Image != nil {
		limit, picture = maxCaption, c.Image.PNG
		// Telegram has no place for it.
		alt := words.Field{Value: words.Line{{Text: c.Image.Alt}}}
		c.Details = append([]words.Field{alt}, c.Details...)
	}
	p := layOut(c, bot)
	if p.units > limit {
		p = layOut(c.Fit(limit-units(hidden+signs[c.Tone]), lineUnits), bot)
	}
	content := botapi.Content{Text: p.b.String(), Entities: fewer(p.entities), Markup: keyboard(c.Buttons), Picture: picture}
	if strings.TrimSpace(content.Text) == "" {
		content.Text = "…" // Telegram refuses one without text.
	}
	if c.Ask != nil {
		content.Markup = botapi.ForceReply{Force: true, Placeholder: cut(c.Ask.Question, maxPlaceholder), Selective: true}
	}
	return content
}

func layOut(c words.Card, bot string) *page {
	p := &page{sign: signs[c.Tone]}
	if c.Ask != nil {
		p.entities = append(p.entities, botapi.Entity{Type: botapi.TextLink, Length: 1, URL: deepLink(bot, askPayload+c.Ask.Command)})
		p.write(hidden)
	}
	p.line(botapi.Bold, c.Title)
	p.line("", c.Text)
	for _, s := range c.Sections {
		p.gap()
		p.line(botapi.Bold, s.Heading)
		for _, f := range s.Fields {
			p.field(f)
		}
	}
	p.gap()
	from := p.units + p.breaks
	for _, f := range c.Details {
		p.field(f)
	}
	p.mark(botapi.Entity{Type: botapi.ExpandableBlockquote, Offset: from})
	for _, n := range c.Notes {
		p.line(botapi.Italic, n)
	}
	return p
}

var colon = words.Line{{Text: ": "}}

// fieldLine returns the line of a field, in parts.
func fieldLine(f words.Field) [3]words.Line {
	if f.Name.Empty() || f.Value.Empty() {
		return [3]words.Line{f.Name, f.Value}
	}
	return [3]words.Line{f.Name, colon, f.Value}
}

// lineUnits is the length of a line with the line break before it, or with two if it
// may begin a section or the notes.
func lineUnits(f words.Field) int {
	n := 1
	for _, part := range fieldLine(f) {
		for _, s := range part {
			n += units(shownText(s))
		}
	}
	if f.Name.Empty() {
		n++
	}
	return n
}

// shownText is the text of a span. A time is a date, which an app too old for the
// entity shows as it stands.
func shownText(s words.Span) string {
	if !s.At.IsZero() {
		return s.UTC
	}
	return s.Text
}

// units is a string's length as Telegram counts it.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// page gathers lines and remembers how many units are written.
type page struct {
	sign     string // owed before the first line
	b        strings.Builder
	units    int
	breaks   int // line breaks owed before the next line
	entities []botapi.Entity
}

func (p *page) field(f words.Field) {
	parts := fieldLine(f)
	p.line("", parts[:]...)
}

// line writes one line unless it would be empty. Code gets no other style: Telegram
// allows none.
func (p *page) line(style botapi.EntityType, parts ...words.Line) {
	if !slices.ContainsFunc(parts, func(l words.Line) bool { return !l.Empty() }) {
		return
	}
	p.write(strings.Repeat("\n", p.breaks))
	p.breaks = 1
	p.write(p.sign)
	p.sign = ""
	styled := botapi.Entity{Type: style, Offset: p.units}
	for _, l := range parts {
		for _, s := range l {
			e := entityOf(s)
			e.Offset = p.units
			if e.Type == botapi.Code {
				p.mark(styled)
			}
			p.write(shownText(s))
			p.mark(e)
			if e.Type == botapi.Code {
				styled.Offset = p.units
			}
		}
	}
	p.mark(styled)
}

// entityOf says how a span is shown; without a Type it is plain. Untrusted text is
// code: Telegram makes a link of anything else that looks like a domain or a command.
func entityOf(s words.Span) botapi.Entity {
	switch {
	case s.Style != words.Plain:
		return botapi.Entity{Type: botapi.Code}
	case s.At.Unix() > 0:
		return botapi.Entity{Type: botapi.DateTime, UnixTime: s.At.Unix(), TimeFormat: relative}
	case s.URL != "":
		return botapi.Entity{Type: botapi.TextLink, URL: s.URL}
	}
	return botapi.Entity{}
}

// relative is a time told by how long ago it is,
// https://core.telegram.org/bots/api#date-time-entity-formatting.
const relative = "r"

// mark adds an entity over what was written since its Offset.
func (p *page) mark(e botapi.Entity) {
	e.Length = p.units - e.Offset
	if e.Type != "" && e.Length > 0 {
		p.entities = append(p.entities, e)
	}
}

// gap leaves an empty line before the next line, unless that is the first.
func (p *page) gap() {
	if p.breaks > 0 {
		p.breaks = 2
	}
}

func (p *page) write(s string) {
	p.b.WriteString(s)
	p.units += units(s)
}

// fewer drops entities until Telegram takes them. Code stays, so that nothing untrusted
// becomes a link: where only code is left, the last entity is extended over the ones
// that do not fit.
func fewer(entities []botapi.Entity) []botapi.Entity {
	if len(entities) > maxEntities {
		entities = slices.DeleteFunc(entities, func(e botapi.Entity) bool { return e.Type != botapi.Code })
	}
	if len(entities) > maxEntities {
		end, last := entities[len(entities)-1], &entities[maxEntities-1]
		last.Length = end.Offset + end.Length - last.Offset
		entities = entities[:maxEntities]
	}
	return entities
}

// rowWidth is how many characters of labels stand side by side on a telephone.
const rowWidth = 30

// keyboard puts buttons in rows. Without buttons it returns nil.
func keyboard(buttons []words.Button) botapi.Markup {
	if len(buttons) == 0 {
		return nil
	}
	var rows [][]botapi.Button
	width := rowWidth + 1 // The first button begins a row.
	for _, b := range buttons {
		if width += units(b.Label); width > rowWidth {
			rows, width = append(rows, nil), units(b.Label)
		}
		row := &rows[len(rows)-1]
		button := botapi.Button{Text: b.Label, Data: b.State, URL: b.URL}
		if b.Copy != "" {
			button.Copy = &botapi.CopyText{Text: b.Copy}
		}
		*row = append(*row, button)
	}
	return botapi.Keyboard{Rows: rows}
}

// renderAlert returns as much of a reply as an alert has room for.
func renderAlert(r chat.Reply) string {
	r.Ask = nil
	return cut(render(r, "").Text, maxAlert)
}

// renderArticle shows r as a result of an inline query, under its first line.
// Choosing it sends r, without the buttons that ask something of the bot.
func renderArticle(id string, r chat.Reply, bot string) botapi.Article {
	r.Ask = nil
	r.Actions = slices.DeleteFunc(slices.Clone(r.Actions), func(a chat.Action) bool { return a.Command != "" })
	content := render(r, bot)
	title, rest, _ := strings.Cut(content.Text, "\n")
	lines := strings.FieldsFunc(rest, func(c rune) bool { return c == '\n' })
	return botapi.Article{ID: id, Title: title, Description: cut(strings.Join(lines, " · "), maxDescription), Content: content}
}
