package words

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"

	"herald/internal/chat"
)

// Card is a Reply in its language, for an adapter to render. All of it is text: the
// adapter escapes what its platform would take for markup.
type Card struct {
	Language chat.Language
	Tone     chat.Tone
	// Sign begins the first line, and Dot stands before Beside. Either may be empty.
	Sign, Dot string
	Title     Line
	// Beside stands beside the title and is less prominent.
	Beside   Line
	Text     Line
	Sections []Section
	// Exact are whole values of what stands short above. They are shown small, or folded
	// away together with Folded.
	Exact, Folded []Field
	// Notes are small print, a line each.
	Notes []Line
	// Footer is the last line. It tells Checked too, and Source is the rest of it.
	Footer, Source Line
	Checked        time.Time
	// Image may be nil.
	Image   *Image
	Buttons []Button
	// Ask may be nil.
	Ask *Ask
}

var (
	signs = map[chat.Tone]string{chat.Positive: "✅ ", chat.Warning: "⚠️ "}
	dots  = map[chat.Tone]string{chat.Rising: "🟢 ", chat.Falling: "🔴 "}
)

// Section is a list of fields, a line each, under an optional heading.
type Section struct {
	Heading Line
	Fields  []Field
}

// row returns the fields as one, which breaks between them alone.
func row(fields []Field) []Field {
	var row Line
	for i, f := range fields {
		if i > 0 {
			row = append(row, Span{Text: "  ·  "})
		}
		unbroken := slices.Concat(f.Name, Line{{Text: " "}}, f.Value)
		for i, s := range unbroken {
			unbroken[i].Text = strings.ReplaceAll(s.Text, " ", "\u00a0")
		}
		row = append(row, unbroken...)
	}
	return []Field{{Value: row}}
}

// Field is one value of a Section. Either part may be empty.
type Field struct{ Name, Value Line }

// Line is text in parts that are shown in different ways. Cards share lines, so a
// line is never changed in place.
type Line []Span

// Style is how a Span is shown.
type Style int

// The styles.
const (
	// Plain is ordinary text.
	Plain Style = iota
	// Code is to be copied letter by letter; nothing in it is a link.
	Code
	// Untrusted is what a service or a user named; nothing in it is a link.
	Untrusted
	// Command is a command that can be tapped, such as "/price".
	Command
)

// Span is a part of a Line.
type Span struct {
	// Text is shown by a platform that can do nothing with the fields below.
	Text  string
	Style Style
	// URL is where the text leads, or empty.
	URL string
	// At is the time if Text says how long ago something was, or zero. A platform
	// that shows times itself shows this one. UTC is the same time as a date.
	At  time.Time
	UTC string
	// Person is mentioned without notifying them, or nil.
	Person *chat.User
}

// Image is a picture with its alternative text.
type Image struct {
	Name, Alt string
	PNG       []byte
	Spark     []float64
}

// Button has exactly one of State, URL, Copy, Private and Invite.
type Button struct {
	Label string
	// State comes back when the button is pressed, for chat.ParseState.
	State     string
	URL, Copy string
	// Private opens the private chat with the bot.
	Private bool
	// Invite adds the bot to a group.
	Invite bool
	// NewRow begins a row.
	NewRow bool
}

// Ask is a question for the last argument of Command.
type Ask struct {
	Command, Question string
}

// String returns the line as plain text.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Empty reports whether there is nothing to show.
func (l Line) Empty() bool { return l.String() == "" }

// Print returns a reply as a card in its language.
func Print(r chat.Reply) Card {
	p := catalogueOf(r.Language)
	c := Card{
		Language: r.Language, Tone: r.Tone, Title: p.text(r.Title), Beside: p.value(r.Beside), Text: p.text(r.Text),
		Sign: signs[r.Tone], Dot: dots[r.Tone], Checked: r.Checked,
	}
	above := c.Title.String()
	for _, s := range r.Sections {
		fields := p.fields(s.Fields)
		if s.Row && fields != nil {
			fields = row(fields)
		}
		c.Sections = append(c.Sections, Section{Heading: p.text(s.Heading), Fields: fields})
		for _, f := range fields {
			above += "\n" + f.Value.String()
		}
	}
	c.Exact = slices.DeleteFunc(p.fields(r.Exact), func(f Field) bool { return strings.Contains(above, f.Value.String()) })
	c.Folded = p.fields(r.Folded)
	said := map[string]bool{}
	for _, n := range r.Notes {
		if note := p.text(n); !said[note.String()] {
			said[note.String()], c.Notes = true, append(c.Notes, note)
		}
	}
	c.Source = p.value(r.Footer)
	switch when := (chat.Moment{Time: r.Checked}); {
	case r.Checked.IsZero():
		c.Footer = c.Source
	case c.Source.Empty():
		c.Footer = p.text(chat.SayWith("checked", chat.Values{"when": when}))
	default:
		c.Footer = p.value(append(slices.Clone(r.Footer), when))
	}
	if r.Image != nil {
		c.Image = &Image{Name: r.Image.Name, Alt: p.value(r.Image.Alt).String(), PNG: r.Image.PNG, Spark: r.Image.Spark}
	}
	for _, a := range r.Actions {
		if b := p.button(a, r.AsOf); b.Private || b.Invite || b.State+b.URL+b.Copy != "" {
			c.Buttons = append(c.Buttons, b)
		}
	}
	if a := r.Ask; a != nil {
		c.Ask = &Ask{Command: a.Command, Question: p.text(a.Question).String()}
	}
	return c
}

// Join returns lines as one, with a dot between them. Empty ones are left out.
func Join(lines ...Line) Line {
	var all Line
	for _, l := range lines {
		if !all.Empty() && !l.Empty() {
			all = append(all, Span{Text: " · "})
		}
		all = append(all, l...)
	}
	return all
}

func (p *catalogue) fields(all []chat.Field) []Field {
	var printed []Field
	for _, f := range all {
		printed = append(printed, Field{Name: p.value(f.Name), Value: p.value(f.Value)})
	}
	return printed
}

func (p *catalogue) button(a chat.Action, asOf time.Time) Button {
	b := Button{Label: p.text(a.Label).String(), URL: a.URL, Copy: a.Copy, Private: a.Private, Invite: a.Invite, NewRow: a.NewRow}
	if a.Shown {
		b.Label = "· " + b.Label + " ·"
	}
	switch {
	case a.Refresh && asOf.IsZero():
		// Not the state of a button that asks the same without being a refresh:
		// Discord refuses two with one state.
		b.State = a.State(time.Unix(1, 0))
	case a.Refresh:
		b.State = a.State(asOf)
	case a.Command != "":
		b.State = a.State(time.Time{})
	}
	return b
}

// text prints a message with its arguments. A missing argument is left out, and a
// missing message is its key.
func (p *catalogue) text(t chat.Text) Line {
	forms, known := p.messages[t.Key]
	if !known {
		return Line{{Text: t.Key}}
	}
	text := forms[plural.Other]
	if n, counted := t.Args[pluralArg].(chat.Count); counted {
		text = cmp.Or(forms[plural.Cardinal.MatchPlural(p.tag, int(n), 0, 0, 0, 0)], text)
	}
	var line Line
	for text != "" {
		words, rest, _ := strings.Cut(text, "{")
		if words != "" {
			line = append(line, Span{Text: words})
		}
		arg, after, _ := strings.Cut(rest, "}")
		line = append(line, p.value(t.Args[arg])...)
		text = after
	}
	return line
}

func (p *catalogue) value(v chat.Value) Line {
	switch v := v.(type) {
	case nil:
		return nil
	case chat.Text:
		return p.text(v)
	case chat.Parts:
		var parts []Line
		for _, part := range v {
			parts = append(parts, p.value(part))
		}
		return Join(parts...)
	case chat.Plain:
		return Line{{Text: chat.OneLine(string(v))}}
	case chat.Code:
		return Line{{Text: chat.OneLine(string(v)), Style: Code}}
	case chat.Usage:
		usage := "/" + v.Command
		for _, param := range v.Params {
			usage += " <" + p.text(param.Label()).String() + ">"
		}
		return Line{{Text: usage, Style: Code}}
	case chat.Untrusted:
		return Line{{Text: chat.OneLine(string(v)), Style: Untrusted}}
	case chat.Count:
		return Line{{Text: p.number(strconv.Itoa(int(v)), "#")}}
	case chat.Price:
		return Line{{Text: p.price(v.Decimal)}}
	case chat.Money:
		return Line{{Text: p.money(v.Decimal)}}
	case chat.Amount:
		return Line{{Text: p.amount(v)}}
	case chat.Change:
		return Line{{Text: p.change(v.Decimal)}}
	case chat.Share:
		return Line{{Text: p.number(v.Round(cents).String(), p.Percent)}}
	case chat.Moment:
		return Line{p.moment(v.Time)}
	case chat.Age:
		return p.age("old.", v.Time)
	case chat.Day:
		return Line{{Text: v.UTC().Format(p.Day)}}
	case chat.Address:
		hex := Span{Text: chat.OneLine(v.Hex), URL: v.URL}
		switch {
		case !v.Whole:
			hex.Text = shortHex(hex.Text)
		case v.URL == "":
			hex.Style = Code
		}
		return Line{hex}
	case chat.CommandLink:
		return Line{{Text: chat.OneLine(string(v)), Style: Command}}
	case chat.Mention:
		return Line{{Text: cmp.Or(chat.OneLine(string(v.Name)), chat.OneLine(v.ID)), Style: Untrusted, Person: &v.User}}
	}
	panic("words: a value of an unknown type")
}

// maxClockSkew is how far ahead of this machine's clock a moment may be and count
// as now.
const maxClockSkew = time.Minute

// ages are the units in which moments are told, the largest first.
var ages = []struct {
	key  string
	unit time.Duration
}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}, {"seconds", time.Second}}

// age prints how long ago a time was, in the largest unit that fits into it and by the
// messages whose keys begin with what.
func (p *catalogue) age(what string, t time.Time) Line {
	age := time.Since(t)
	for _, a := range ages {
		if age >= a.unit {
			return p.text(chat.SayWith(what+a.key, chat.Values{pluralArg: chat.Count(age / a.unit)}))
		}
	}
	return p.text(chat.Say(what + "now"))
}

// moment prints how long ago a time was, or the date of a time in the future.
func (p *catalogue) moment(t time.Time) Span {
	s := Span{At: t, UTC: t.UTC().Format(p.Moment)}
	if s.Text = s.UTC; time.Since(t) >= -maxClockSkew {
		s.Text = p.age("ago.", t).String()
	}
	return s
}

// shortHex returns an address as people recognise it: its first and last digits.
func shortHex(s string) string {
	if len(s) != len("0x")+40 || utf8.RuneCountInString(s) != len(s) {
		return s
	}
	return s[:6] + "…" + s[len(s)-4:]
}
