package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/words"
)

// tones are the sign before a title and the title's colour: green, red or yellow, by
// ECMA-48, 8.3.117, "select graphic rendition".
// https://ecma-international.org/publications-and-standards/standards/ecma-48/
var tones = map[chat.Tone]struct{ sign, colour string }{
	chat.Positive: {"[+] ", "32"},
	chat.Warning:  {"[!] ", "33"},
	chat.Rising:   {"", "32"},
	chat.Falling:  {"", "31"},
}

// dim is the code of small print.
const dim = "2"

// style is how cards look.
type style struct {
	// mark, if any, ends the first line.
	mark chat.Text
	// colour shows the tone of the title, and dims small print.
	colour bool
	// width is that of a line, in characters.
	width int
}

// page is a card that is being rendered.
type page struct {
	style
	lines []string // none is empty
}

// render returns the card as lines of text, none of them empty. The card has a title. No
// control characters are in the text but the colours of style. A picture is shown as its
// line and its caption, and buttons, below all else, as what to type instead.
func render(card words.Card, private bool, style style) string {
	p := page{style: style}
	say := func(text chat.Text) string { return chat.OneLine(words.Say(card.Language, text)) }
	if private {
		p.text(dim, say(chat.Say("terminal.private")))
	}
	tone := tones[card.Tone]
	title := fields(tone.sign + clean(card.Title) + " " + clean(card.Subtitle))
	p.add(tone.colour, "", 0, append(title, p.paint(dim, say(style.mark))))
	p.text("", clean(card.Text))
	if card.Image != nil {
		p.add("", sparkline(card.Image.Spark), 0, nil)
		p.text("", clean(words.Line{{Text: card.Image.Caption}}))
	}
	p.sections(append(slices.Clone(card.Sections), words.Section{Fields: card.FullValues}))
	for _, note := range append(slices.Clone(card.Notes), card.Footer) {
		p.text(dim, clean(note))
	}
	p.add("", "", 0, buttons(card.Buttons, style.width))
	return strings.Join(p.lines, "\n")
}

// sections adds headings and fields. The values of all sections stand in one column.
func (p *page) sections(sections []words.Section) {
	column := 0
	for _, s := range sections {
		for _, f := range s.Fields {
			if !f.Value.Empty() {
				column = max(column, utf8.RuneCountInString(clean(f.Name)))
			}
		}
	}
	for _, s := range sections {
		p.text("", clean(s.Heading))
		for _, f := range s.Fields {
			first, hanging := indent, 2*len(indent)
			if name := clean(f.Name); name != "" {
				first = fmt.Sprintf("%s%-*s  ", indent, column, name)
				hanging = utf8.RuneCountInString(first)
			}
			p.add("", first, hanging, fields(clean(f.Value)))
		}
	}
}

// text adds a text in a colour.
func (p *page) text(colour, text string) { p.add(colour, "", 0, fields(text)) }

// add wraps words as wrap does, after fitting, and adds the lines in a colour. A no-break space is
// shown as a space.
func (p *page) add(colour, first string, hanging int, words []string) {
	for _, line := range wrap(first, fitting(words, p.width-hanging), hanging, p.width) {
		line = strings.ReplaceAll(line, noBreak, " ")
		if line = strings.TrimRight(line, " "); line != "" {
			p.lines = append(p.lines, p.paint(colour, line))
		}
	}
}

// paint returns text in a colour, or as it is without colours.
func (p *page) paint(colour, text string) string {
	if !p.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// indent stands before fields.
const indent = "  "

// noBreak is a space at which no line is wrapped.
const noBreak = "\u00a0"

// clean returns a line without word joiners, which would be copied with the text. They end
// mentions and links, and a terminal has neither. No-break spaces stay, single ones.
func clean(l words.Line) string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(l.String(), "\u2060", ""), noBreak) {
		if part = chat.OneLine(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, noBreak)
}

// buttons returns what to type or open instead of pressing each button, after the button's
// label if that says more. If there is no room for both on a line, the label has a line of its own.
// It leaves out buttons that copy, since their text can be copied from the card, and those that
// show the same card again.
func buttons(all []words.Button, width int) []string {
	var instead []string
	for _, b := range all {
		does := chat.OneLine(b.URL)
		press, err := chat.ParseState(b.State)
		if err == nil {
			does = chat.OneLine(strings.Join(append([]string{"/" + press.Command}, press.Args...), " "))
		}
		if isRefresh := !press.AsOf.IsZero(); isRefresh || b.Current || does == "" {
			continue
		}
		dot := ""
		if len(instead) > 0 {
			dot = "· "
		}
		label := chat.OneLine(b.Label)
		if strings.Contains(strings.ToLower(does), strings.ToLower(label)) {
			instead = append(instead, dot+does)
			continue
		}
		label = dot + "[" + label + "]"
		if utf8.RuneCountInString(label+" "+does) > width {
			instead = append(instead, label, does)
		} else {
			instead = append(instead, label+" "+does)
		}
	}
	return instead
}
