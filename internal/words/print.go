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

// What precedes a text of a tone. For other tones, it is nothing.
var (
	signs  = map[chat.Tone]string{chat.Positive: "✅ ", chat.Warning: "⚠️ "}
	dots   = map[chat.Tone]string{chat.Rising: "🟢 ", chat.Falling: "🔴 "}
	arrows = map[chat.Tone]string{chat.Rising: "▲ ", chat.Falling: "▼ "}
)

// Print returns a reply as a card in the reply's language.
func Print(r *chat.Reply) Card {
	c := catalogueOf(r.Language)
	card := Card{
		Language: r.Language,
		Tone:     r.Tone,
		Sign:     signs[r.Tone],
		Dot:      dots[r.Tone],
		Title:    c.line(r.Title),
		Subtitle: c.line(r.Subtitle),
		Text:     c.line(r.Text),
		Sections: mapSlice(r.Sections, c.section),
		Folded:   mapSlice(r.Folded, c.field),
		Notes:    c.notes(r.Notes),
		Source:   c.line(r.Footer),
		Checked:  r.Checked,
		Buttons:  c.buttons(r.Actions, r.Source.AsOf),
	}
	for _, f := range mapSlice(r.FullValues, c.field) {
		if !card.shows(f.Value.String()) {
			card.FullValues = append(card.FullValues, f)
		}
	}
	card.Footer = c.footer(card.Source, r.Checked)
	if r.Image != nil {
		card.Image = &Image{
			Name: r.Image.Name,
			Alt:  c.value(chat.Parts{r.Image.Caption, r.Subtitle}).String(),
			PNG:  r.Image.PNG,
		}
	}
	if r.Ask != nil {
		card.Ask = &Ask{Command: r.Ask.Command, Args: r.Ask.Args, Question: c.text(r.Ask.Question).String()}
	}
	return card
}

// shows reports whether text appears in the title or in the value of a field.
func (c Card) shows(text string) bool {
	if strings.Contains(c.Title.String(), text) {
		return true
	}
	for _, s := range c.Sections {
		for _, f := range s.Fields {
			if strings.Contains(f.Value.String(), text) {
				return true
			}
		}
	}
	return false
}

// section prints a section. If it is a Row, it has one field.
func (c *catalogue) section(s chat.Section) Section {
	fields := mapSlice(s.Fields, c.field)
	if s.Row && len(fields) > 0 {
		fields = []Field{joinFields(fields)}
	}
	return Section{Heading: c.line(s.Heading), Fields: fields}
}

func (c *catalogue) field(f chat.Field) Field {
	return Field{Name: c.line(f.Name), Value: c.line(f.Value)}
}

// notes prints the notes, and omits a note with the same text as an earlier one.
func (c *catalogue) notes(notes []chat.Text) []Line {
	var printed []Line
	for _, n := range notes {
		note := c.line(n)
		if !slices.ContainsFunc(printed, func(l Line) bool { return l.String() == note.String() }) {
			printed = append(printed, note)
		}
	}
	return printed
}

// footer joins the source and how long ago it was checked. It omits an empty source, and a zero checked.
func (c *catalogue) footer(source Line, checked time.Time) Line {
	if checked.IsZero() {
		return source
	}
	age := chat.Moment{Time: checked}
	if source.Empty() {
		return c.line(chat.SayWith("checked", chat.Values{"when": age}))
	}
	return Join(source, c.line(age))
}

// buttons prints the actions of a reply of version asOf. It omits an action whose state does not fit (see
// chat.Action.State). At most one button is a NextStep: the first.
func (c *catalogue) buttons(actions []chat.Action, asOf chat.Version) []Button {
	printed := make([]Button, 0, len(actions))
	hasNextStep := false
	for _, a := range actions {
		b := Button{
			Label:    c.text(a.Label).String(),
			URL:      a.URL,
			Copy:     a.Copy,
			Private:  a.Private,
			Invite:   a.Invite,
			NewRow:   a.NewRow,
			Current:  a.Current,
			NextStep: a.NextStep && !hasNextStep,
		}
		if a.Current {
			b.Label = "· " + b.Label + " ·"
		}
		if a.Command != "" {
			state, fits := a.State(asOf)
			if !fits {
				continue
			}
			b.State = state
		}
		hasNextStep = hasNextStep || b.NextStep
		printed = append(printed, b)
	}
	return printed
}

// text prints a message with its arguments. It prints a missing argument as nothing, and a missing
// message as its key.
func (c *catalogue) text(t chat.Text) Line {
	forms, known := c.messages[t.Key]
	if !known {
		return Line{{Text: t.Key}}
	}
	pieces := c.pluralForm(forms, t.Args)
	line := make(Line, 0, 2*len(pieces))
	for _, piece := range pieces {
		if piece.words != "" {
			line = append(line, Span{Text: piece.words})
		}
		line = append(line, c.value(t.Args[piece.arg])...)
	}
	return line
}

// pluralForm returns the plural form of a message for the Count that is its argument pluralArg. If there is no such
// Count, or if the message lacks the Count's form, it returns the form plural.Other.
func (c *catalogue) pluralForm(forms message, args chat.Values) template {
	if count, isCount := args[pluralArg].(chat.Count); isCount {
		form, known := forms[plural.Cardinal.MatchPlural(c.tag, int(count), 0, 0, 0, 0)]
		if known {
			return form
		}
	}
	return forms[plural.Other]
}

// line prints a value as a line of a card: it is value, with Chinese words kept together.
func (c *catalogue) line(v chat.Value) Line { return c.value(v).keepWordsTogether() }

// value prints a value of any type. It prints nil as an empty line.
func (c *catalogue) value(v chat.Value) Line {
	switch v := v.(type) {
	case nil:
		return nil
	case chat.Text:
		return c.text(v)
	case chat.Parts:
		return Join(mapSlice(v, c.value)...)
	case chat.Strong:
		return c.strong(v)
	case chat.Age:
		return c.age(v.Time)
	case chat.Moment:
		return c.moment(v.Time)
	case chat.Plain:
		return Line{{Text: chat.OneLine(string(v))}}
	case chat.Code:
		return Line{{Text: chat.OneLine(string(v)), Style: Code}}
	case chat.Untrusted:
		return Line{{Text: chat.OneLine(string(v)), Style: Untrusted}}
	case chat.CommandLink:
		return Line{{Text: chat.OneLine(string(v)), Style: Command}}
	case chat.Usage:
		return c.usage(v)
	case chat.Mention:
		return mention(v)
	case chat.Address:
		return address(v)
	case chat.Count:
		return Line{{Text: c.number(strconv.Itoa(int(v)), "#")}}
	case chat.Price:
		return Line{{Text: c.price(v.Decimal)}}
	case chat.Money:
		return Line{{Text: c.money(v)}}
	case chat.Amount:
		return Line{{Text: c.amount(v)}}
	case chat.Change:
		return Line{{Text: c.change(v)}}
	case chat.Share:
		return Line{{Text: c.share(v.Decimal)}}
	case chat.Day:
		return Line{{Text: v.UTC().Format(c.Day)}}
	}
	panic("words: a value of an unknown type")
}

// strong prints a value, and emphasizes its Plain spans.
func (c *catalogue) strong(v chat.Strong) Line {
	return mapSlice(c.value(v.Value), func(s Span) Span {
		if s.Style == Plain {
			s.Style = Strong
		}
		return s
	})
}

// usage prints a command and the names of its parameters, such as "/staked <wallet>".
func (c *catalogue) usage(u chat.Usage) Line {
	text := "/" + u.Command
	for _, param := range u.Params {
		text += " <" + c.text(param).String() + ">"
	}
	return Line{{Text: text, Style: Code}}
}

// mention prints a user's name, or their ID if the name is empty.
func mention(m chat.Mention) Line {
	name := cmp.Or(chat.OneLine(string(m.Name)), chat.OneLine(m.ID))
	return Line{{Text: name, Style: Untrusted, Person: &m.User}}
}

// address prints an address. A full address without a link is Code, so that it can be copied.
func address(a chat.Address) Line {
	s := Span{Text: chat.OneLine(a.Hex), URL: a.URL}
	if !a.Full {
		s.Text = shortHex(s.Text)
	}
	hasLink := a.URL != ""
	if a.Full && !hasLink {
		s.Style = Code
	}
	return Line{s}
}

// shortHex shortens an address to its first and last four digits, such as "0x5290…9EE7". It returns
// any other text unchanged.
func shortHex(s string) string {
	const length = len("0x") + 40
	if len(s) != length || utf8.RuneCountInString(s) != length {
		return s
	}
	return s[:len("0x")+4] + "…" + s[length-4:]
}

// maxClockSkew is how far ahead of this machine's clock a service's clock may be. A moment up to maxClockSkew in the
// future is printed as "just now".
const maxClockSkew = time.Minute

// ageUnit is a unit of ages.
type ageUnit struct {
	length time.Duration
	ago    string // the key of the message that says how long ago something happened
	old    string // the key of the message that says how old something is
}

// ageUnits lists the units, the largest first.
var ageUnits = []ageUnit{
	{length: 24 * time.Hour, ago: "ago.days", old: "old.days"},
	{length: time.Hour, ago: "ago.hours", old: "old.hours"},
	{length: time.Minute, ago: "ago.minutes", old: "old.minutes"},
	{length: time.Second, ago: "ago.seconds", old: "old.seconds"},
}

// ageNow has the messages for an age of less than a second.
var ageNow = ageUnit{ago: "ago.now", old: "old.now"}

// ageSince returns the age of t in the largest unit that has passed at least once: 3 hours for 3 h 59 min. args has the
// number for the unit's messages.
func ageSince(t time.Time) (unit ageUnit, args chat.Values) {
	age := time.Since(t)
	for _, u := range ageUnits {
		if age >= u.length {
			return u, chat.Values{pluralArg: chat.Count(age / u.length)}
		}
	}
	return ageNow, nil
}

// age prints how old something is that began at the time t, such as "3 days old".
func (c *catalogue) age(t time.Time) Line {
	unit, args := ageSince(t)
	return c.text(chat.SayWith(unit.old, args))
}

// moment prints how long ago t was, such as "2 min ago". It prints a time in the future as a date.
func (c *catalogue) moment(t time.Time) Line {
	date := t.UTC().Format(c.Moment)
	s := Span{Text: date, Moment: &Moment{t, date}}
	if time.Since(t) >= -maxClockSkew {
		unit, args := ageSince(t)
		s.Text = c.text(chat.SayWith(unit.ago, args)).String()
	}
	return Line{s}
}
