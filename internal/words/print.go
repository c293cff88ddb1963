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

var (
	signs  = map[chat.Tone]string{chat.Positive: "✅ ", chat.Warning: "⚠️ "}
	dots   = map[chat.Tone]string{chat.Rising: "🟢 ", chat.Falling: "🔴 "}
	arrows = map[chat.Tone]string{chat.Rising: "▲ ", chat.Falling: "▼ "}
)

// Print returns a reply as a card in its language.
func Print(r *chat.Reply) Card {
	p := catalogueOf(r.Language)
	c := Card{
		Language: r.Language,
		Tone:     r.Tone,
		Sign:     signs[r.Tone],
		Dot:      dots[r.Tone],
		Title:    p.line(r.Title),
		Subtitle: p.line(r.Subtitle),
		Text:     p.line(r.Text),
		Sections: each(r.Sections, p.section),
		Folded:   each(r.Folded, p.field),
		Notes:    p.notes(r.Notes),
		Source:   p.line(r.Footer),
		Checked:  r.Checked,
		Buttons:  p.buttons(r.Actions, r.Source.AsOf),
	}
	c.FullValues = slices.DeleteFunc(each(r.FullValues, p.field), func(f Field) bool { return c.shows(f.Value.String()) })
	c.Footer = p.footer(r, c.Source)
	if i := r.Image; i != nil {
		c.Image = &Image{
			Name: i.Name,
			Alt:  p.value(chat.Parts{i.Caption, r.Subtitle}).String(),
			PNG:  i.PNG,
		}
	}
	if r.Ask != nil {
		c.Ask = &Ask{Command: r.Ask.Command, Args: r.Ask.Args, Question: p.text(r.Ask.Question).String()}
	}
	return c
}

// shows reports whether the title or a section has the text.
func (c Card) shows(text string) bool {
	has := func(f Field) bool { return strings.Contains(f.Value.String(), text) }
	return strings.Contains(c.Title.String(), text) ||
		slices.ContainsFunc(c.Sections, func(s Section) bool { return slices.ContainsFunc(s.Fields, has) })
}

func (p *catalogue) section(s chat.Section) Section {
	fields := each(s.Fields, p.field)
	if s.Row && len(fields) > 0 {
		fields = []Field{row(fields)}
	}
	return Section{Heading: p.line(s.Heading), Fields: fields}
}

func (p *catalogue) field(f chat.Field) Field {
	return Field{Name: p.line(f.Name), Value: p.line(f.Value)}
}

// notes prints each note once.
func (p *catalogue) notes(all []chat.Text) []Line {
	var printed []Line
	for _, n := range all {
		note := p.line(n)
		if !slices.ContainsFunc(printed, func(l Line) bool { return l.String() == note.String() }) {
			printed = append(printed, note)
		}
	}
	return printed
}

// footer prints the source and the age of Checked, and leaves out an empty one.
func (p *catalogue) footer(r *chat.Reply, source Line) Line {
	checked := chat.Moment{Time: r.Checked}
	switch {
	case r.Checked.IsZero():
		return source
	case source.Empty():
		return p.line(chat.SayWith("checked", chat.Values{"when": checked}))
	}
	return Join(source, p.line(checked))
}

// buttons prints the actions. It drops those whose Command does not fit into a button's
// state.
func (p *catalogue) buttons(all []chat.Action, asOf chat.Version) []Button {
	printed := make([]Button, 0, len(all))
	for _, a := range all {
		b := Button{
			Label:    p.text(a.Label).String(),
			State:    a.State(asOf),
			URL:      a.URL,
			Copy:     a.Copy,
			Private:  a.Private,
			Invite:   a.Invite,
			NewRow:   a.NewRow,
			Current:  a.Current,
			NextStep: a.NextStep && !slices.ContainsFunc(printed, func(before Button) bool { return before.NextStep }),
		}
		if a.Current {
			b.Label = "· " + b.Label + " ·"
		}
		if a.Command == "" || b.State != "" {
			printed = append(printed, b)
		}
	}
	return printed
}

// text prints a message with its arguments. A missing argument is printed as nothing, and
// a missing message as its key.
func (p *catalogue) text(t chat.Text) Line {
	forms, known := p.messages[t.Key]
	if !known {
		return Line{{Text: t.Key}}
	}
	text := forms[plural.Other]
	if n, counted := t.Args[pluralArg].(chat.Count); counted {
		if form, known := forms[plural.Cardinal.MatchPlural(p.tag, int(n), 0, 0, 0, 0)]; known {
			text = form
		}
	}
	line := make(Line, 0, 2*len(text))
	for _, piece := range text {
		if piece.words != "" {
			line = append(line, Span{Text: piece.words})
		}
		line = append(line, p.value(t.Args[piece.arg])...)
	}
	return line
}

// line prints a value as a line of a card.
func (p *catalogue) line(v chat.Value) Line { return p.value(v).unbroken() }

// value prints a value; nil is an empty line.
func (p *catalogue) value(v chat.Value) Line {
	switch v := v.(type) {
	case nil:
		return nil
	case chat.Text:
		return p.text(v)
	case chat.Age:
		unit, passed := ageOf(v.Time)
		return p.text(chat.SayWith(unit.old, passed))
	case chat.Strong:
		return each(p.value(v.Value), func(s Span) Span {
			if s.Style == Plain {
				s.Style = Strong
			}
			return s
		})
	case chat.Parts:
		return Join(each(v, p.value)...)
	}
	return Line{p.span(v)}
}

// span prints a value that is shown in one style.
func (p *catalogue) span(v chat.Value) Span {
	switch v := v.(type) {
	case chat.Plain:
		return Span{Text: chat.OneLine(string(v))}
	case chat.Code:
		return Span{Text: chat.OneLine(string(v)), Style: Code}
	case chat.Usage:
		usage := "/" + v.Command
		for _, label := range v.Params {
			usage += " <" + p.text(label).String() + ">"
		}
		return Span{Text: usage, Style: Code}
	case chat.Untrusted:
		return Span{Text: chat.OneLine(string(v)), Style: Untrusted}
	case chat.CommandLink:
		return Span{Text: chat.OneLine(string(v)), Style: Command}
	case chat.Mention:
		return Span{Text: cmp.Or(chat.OneLine(string(v.Name)), chat.OneLine(v.ID)), Style: Untrusted, Person: &v.User}
	case chat.Moment:
		return p.moment(v.Time)
	case chat.Address:
		return address(v)
	}
	return Span{Text: p.figure(v)}
}

// figure prints a number or a day.
func (p *catalogue) figure(v chat.Value) string {
	switch v := v.(type) {
	case chat.Count:
		return p.number(strconv.Itoa(int(v)), "#")
	case chat.Price:
		return p.price(v.Decimal)
	case chat.Money:
		return p.money(v)
	case chat.Amount:
		return p.amount(v)
	case chat.Change:
		return p.change(v)
	case chat.Share:
		return p.share(v.Decimal)
	case chat.Day:
		return v.UTC().Format(p.Day)
	}
	panic("words: a value of an unknown type")
}

func address(a chat.Address) Span {
	s := Span{Text: chat.OneLine(a.Hex), URL: a.URL}
	if !a.Full {
		s.Text = shortHex(s.Text)
	} else if a.URL == "" {
		s.Style = Code
	}
	return s
}

// maxClockSkew is how far in the future a moment is still printed as "just now": a
// service's clock may be ahead of this machine's.
const maxClockSkew = time.Minute

// ageUnit is a unit in which ages are told. The message ago says how long ago something was,
// and old how old something is.
type ageUnit struct {
	length   time.Duration
	ago, old string
}

// ageUnits are all of them, the largest first.
var ageUnits = []ageUnit{
	{24 * time.Hour, "ago.days", "old.days"}, {time.Hour, "ago.hours", "old.hours"},
	{time.Minute, "ago.minutes", "old.minutes"}, {time.Second, "ago.seconds", "old.seconds"},
}

// ageOf returns the largest unit that has passed since t, and how many of it have.
func ageOf(t time.Time) (largest ageUnit, passed chat.Values) {
	age := time.Since(t)
	for _, u := range ageUnits {
		if age >= u.length {
			return u, chat.Values{pluralArg: chat.Count(age / u.length)}
		}
	}
	return ageUnit{ago: "ago.now", old: "old.now"}, nil
}

// moment prints how long ago t was. A time in the future is printed as a date.
func (p *catalogue) moment(t time.Time) Span {
	date := t.UTC().Format(p.Moment)
	s := Span{Text: date, Moment: &Moment{t, date}}
	if time.Since(t) >= -maxClockSkew {
		unit, passed := ageOf(t)
		s.Text = p.text(chat.SayWith(unit.ago, passed)).String()
	}
	return s
}

// shortHex shortens an address to its first and last four digits. It returns any other
// text unchanged.
func shortHex(s string) string {
	if len(s) != len("0x")+40 || utf8.RuneCountInString(s) != len(s) {
		return s
	}
	return s[:6] + "…" + s[len(s)-4:]
}
