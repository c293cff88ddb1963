package words

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"herald/internal/chat"
)

// Print says a reply in its language.
func Print(r chat.Reply) Card {
	p := newPrinter(r.Language)
	c := Card{Language: r.Language, Tone: r.Tone, Title: p.text(r.Title), Text: p.text(r.Text)}
	for _, s := range r.Sections {
		section := Section{Heading: p.text(s.Heading)}
		for _, f := range s.Fields {
			section.Fields = append(section.Fields, p.field(section.Heading, f))
		}
		c.Sections = append(c.Sections, section)
	}
	for _, n := range r.Notes {
		c.Notes = append(c.Notes, p.text(n))
	}
	c.Details = p.details
	if r.Image != nil {
		c.Image = &Image{Name: r.Image.Name, Alt: p.text(r.Image.Alt).String(), PNG: r.Image.PNG}
	}
	for _, a := range r.Actions {
		b := Button{Label: p.text(a.Label).String(), URL: a.URL, Copy: a.Copy}
		fits := true
		if a.Command != "" {
			var asOf time.Time
			if a.Refresh {
				asOf = r.AsOf
			}
			b.State, fits = a.State(asOf)
		}
		if fits {
			c.Buttons = append(c.Buttons, b)
		}
	}
	if r.Ask != nil {
		c.Ask = &Ask{r.Ask.Command, r.Ask.Param, p.text(r.Ask.Question).String(), r.Ask.Example}
	}
	return c
}

// printer prints values in one language.
type printer struct {
	*catalogue
	// details gathers the exact values of what was shown short.
	details []Field
	// heading and name are what the value being printed is called, for its
	// detail.
	heading, name Line
}

func newPrinter(l chat.Language) *printer { return &printer{catalogue: catalogueOf(l)} }

// field prints a field that stands under heading.
func (p *printer) field(heading Line, f chat.Field) Field {
	name := p.value(f.Name)
	p.heading, p.name = heading, name
	printed := Field{name, p.value(f.Value)}
	p.heading, p.name = nil, nil
	return printed
}

// text prints a message with its arguments; a missing one is left out.
func (p *printer) text(t chat.Text) Line {
	if t.Key == "" {
		return nil
	}
	n, _ := t.Args[pluralArg].(chat.Count)
	sentence := p.sentence(t.Key, int(n))
	if sentence.line != nil {
		return sentence.line
	}
	line := make(Line, 0, len(sentence.parts))
	for _, part := range sentence.parts {
		if part.arg == "" {
			line = append(line, Span{Text: part.words})
			continue
		}
		line = append(line, p.value(t.Args[part.arg])...)
	}
	return line
}

func (p *printer) value(v chat.Value) Line {
	switch v := v.(type) {
	case nil:
		return nil
	case chat.Text:
		return p.text(v)
	case chat.Plain:
		return Line{{Text: chat.OneLine(string(v))}}
	case chat.Code:
		return Line{{Text: chat.OneLine(string(v)), Style: Code}}
	case chat.Untrusted:
		return Line{{Text: chat.OneLine(string(v)), Style: Untrusted}}
	case chat.Count:
		return Line{{Text: p.count(int(v))}}
	case chat.Price:
		return p.short(p.numbers.price(v.Decimal))
	case chat.Money:
		return p.short(p.numbers.money(v.Decimal))
	case chat.Amount:
		return p.short(p.numbers.amount(v.Decimal, around{after: nbsp + chat.OneLine(v.Symbol)}))
	case chat.Change:
		return Line{{Text: p.numbers.change(v.Decimal)}}
	case chat.Share:
		return Line{{Text: p.numbers.share(v.Decimal)}}
	case chat.Moment:
		return Line{p.moment(v.Time)}
	case chat.Date:
		return Line{{Text: p.date(v.Time)}}
	case chat.Address:
		whole := chat.OneLine(v.Hex)
		p.detail(Line{{Text: whole, Style: Code}})
		return Line{{Text: shortHex(whole), URL: v.URL}}
	case chat.Block:
		return p.block(v)
	case chat.Mention:
		return Line{{Text: nameOr(v.Name, v.ID), Style: Untrusted, Person: &v.User}}
	case chat.Channel:
		return Line{{Text: nameOr(v.Title, v.ID), Style: Untrusted, Channel: &v}}
	}
	panic("words: a value of an unknown type")
}

// nameOr is what something is called, or its ID.
func nameOr(name chat.Untrusted, id string) string {
	return cmp.Or(chat.OneLine(string(name)), chat.OneLine(id))
}

// short shows a number, and keeps its exact value as a detail if that says more.
func (p *printer) short(shown, exact string) Line {
	if shown != exact {
		p.detail(Line{{Text: exact}})
	}
	return Line{{Text: shown}}
}

func (p *printer) detail(value Line) {
	name := p.name
	if !p.heading.Empty() && !name.Empty() {
		name = slices.Concat(p.heading, Line{{Text: " · "}}, name)
	}
	p.details = append(p.details, Field{name, value})
}

func (p *printer) count(n int) string { return p.numbers.localize(strconv.Itoa(n), bare) }

func (p *printer) date(t time.Time) string { return t.UTC().Format(p.numbers.moment) }

// slowClock is how far ahead of this machine's clock a moment may be and count
// as now.
const slowClock = time.Minute

// moment is a time by how long ago it was, in the largest unit that fits into
// it; what is in the future is shown as a date.
func (p *printer) moment(t time.Time) Span {
	s := Span{At: t, UTC: p.date(t)}
	age := time.Since(t)
	if age < -slowClock {
		s.Text = s.UTC
		return s
	}
	const day = 24 * time.Hour
	key, n := "ago.seconds", age/time.Second
	switch {
	case age < time.Second:
		s.Text = p.text(chat.Say("ago.now")).String()
		return s
	case age >= day:
		key, n = "ago.days", age/day
	case age >= time.Hour:
		key, n = "ago.hours", age/time.Hour
	case age >= time.Minute:
		key, n = "ago.minutes", age/time.Minute
	}
	s.Text = p.text(chat.SayWith(key, chat.Values{pluralArg: chat.Count(n)})).String()
	return s
}

func (p *printer) block(b chat.Block) Line {
	number := chat.Plain(p.numbers.localize(strconv.FormatUint(b.Number, 10), bare))
	if b.At.IsZero() {
		return p.text(chat.SayWith("block", chat.Values{"number": number}))
	}
	return p.text(chat.SayWith("block.aged", chat.Values{"number": number, "age": chat.Moment{Time: b.At}}))
}

// shortHex is an address as people recognise it: its first and last digits.
func shortHex(s string) string {
	if len(s) != len("0x")+40 || utf8.RuneCountInString(s) != len(s) {
		return s
	}
	return s[:6] + "…" + s[len(s)-4:]
}
