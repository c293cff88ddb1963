package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/words"
)

// tones are the sign before a title and its colour, by ECMA-48, 8.3.117, "select
// graphic rendition": green, red and yellow.
// https://ecma-international.org/publications-and-standards/standards/ecma-48/
var tones = map[chat.Tone]struct{ sign, colour string }{
	chat.Positive: {"[+] ", "32"},
	chat.Warning:  {"[!] ", "33"},
	chat.Rising:   {"", "32"},
	chat.Falling:  {"", "31"},
}

// dim is the code of small print.
const dim = "2"

// style is how cards look besides what they say.
type style struct {
	// mark, if any, ends the first line.
	mark chat.Text
	// colour shows the tone of the title, and dims small print.
	colour bool
	// width is that of a line, in characters.
	width int
}

// paint returns text in a colour, if there are colours.
func (s style) paint(colour, text string) string {
	if !s.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// render returns the card as lines of text, none of them empty; it has a title.
// Nothing in it controls a terminal but the colours of style. Of a picture there is
// its line and its alternative text, and of a button what to type instead.
func render(card words.Card, private bool, style style) string {
	say := func(text chat.Text) string { return chat.OneLine(words.Say(card.Language, text)) }
	var lines []string
	add := func(colour, first string, hanging int, words ...string) {
		for _, line := range wrap(first, words, hanging, style.width) {
			if line = strings.TrimRight(line, " "); line != "" {
				lines = append(lines, style.paint(colour, line))
			}
		}
	}
	text := func(colour, line string) { add(colour, "", 0, strings.Fields(line)...) }
	tone := tones[card.Tone]
	if private {
		text(dim, say(chat.Say("terminal.private")))
	}
	title := strings.Fields(tone.sign + clean(card.Title) + " " + clean(card.Subtitle))
	add(tone.colour, "", 0, append(title, style.paint(dim, say(style.mark)))...)
	text("", clean(card.Text))
	if card.Image != nil {
		add("", sparkline(card.Image.Spark), 0)
		text("", chat.OneLine(card.Image.Alt))
	}
	sections := append(slices.Clone(card.Sections), words.Section{Fields: card.FullValues})
	column := 0
	for _, s := range sections {
		for _, f := range s.Fields {
			if !f.Value.Empty() {
				column = max(column, utf8.RuneCountInString(clean(f.Name)))
			}
		}
	}
	for _, s := range sections {
		text("", clean(s.Heading))
		for _, f := range s.Fields {
			first, hanging := indent, 2*len(indent)
			if name := clean(f.Name); name != "" {
				first = indent + fmt.Sprintf("%-*s  ", column, name)
				hanging = utf8.RuneCountInString(first)
			}
			add("", first, hanging, strings.Fields(clean(f.Value))...)
		}
	}
	add(dim, "", 0, buttons(card.Buttons)...)
	for _, note := range append(slices.Clone(card.Notes), card.Footer) {
		text(dim, clean(note))
	}
	return strings.Join(lines, "\n")
}

// indent stands before fields.
const indent = "  "

// clean returns a line without word joiners: they end mentions and links, which a
// terminal does not have, and would stay in what is copied.
func clean(l words.Line) string {
	return chat.OneLine(strings.ReplaceAll(l.String(), "\u2060", ""))
}

// buttons is what to type or open instead of pressing each. What a button would copy
// can be copied from the card.
func buttons(all []words.Button) []string {
	var instead []string
	for _, b := range all {
		does := b.URL
		if press, err := chat.ParseState(b.State); err == nil {
			does = strings.Join(append([]string{"/" + press.Command}, press.Args...), " ")
		}
		if does = chat.OneLine(does); does == "" {
			continue
		}
		if last := len(instead) - 1; last >= 0 {
			instead[last] += " ·"
		}
		instead = append(instead, "["+chat.OneLine(b.Label)+"] "+does)
	}
	return instead
}
