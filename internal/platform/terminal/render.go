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
	chat.Negative: {"[-] ", "31"},
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
// its alternative text, and of a button what to type instead.
func render(card words.Card, private bool, style style) string {
	say := func(text chat.Text) string { return chat.OneLine(words.Say(card.Language, text)) }
	var lines []string
	add := func(indent, text string) {
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, indent+text)
		}
	}
	list := func(heading string, fields []words.Field) {
		add("", heading)
		column := 0
		fields = slices.DeleteFunc(slices.Clone(fields), func(f words.Field) bool { return f.InTitle })
		for _, f := range fields {
			column = max(column, utf8.RuneCountInString(clean(f.Name)))
		}
		for _, f := range fields {
			add("  ", fmt.Sprintf("%-*s  %s", column, clean(f.Name), clean(f.Value)))
		}
	}
	tone := tones[card.Tone]
	if private {
		add("", style.paint(dim, say(chat.Say("terminal.private"))))
	}
	title := strings.TrimSpace(tone.sign + clean(card.Title) + " " + clean(card.Beside))
	add("", style.paint(tone.colour, title)+" "+style.paint(dim, say(style.mark)))
	add("", clean(card.Text))
	if card.Image != nil {
		add("", chat.OneLine(card.Image.Alt))
	}
	for _, section := range card.Sections {
		list(clean(section.Heading), section.Fields)
	}
	list("", card.Exact)
	add("", style.paint(dim, buttons(card.Buttons)))
	for _, note := range append(card.Notes, card.Footer) {
		add("", style.paint(dim, clean(note)))
	}
	return strings.Join(lines, "\n")
}

// clean returns a line without word joiners: they end mentions and links, which a
// terminal does not have, and would stay in what is copied.
func clean(l words.Line) string {
	return chat.OneLine(strings.ReplaceAll(l.String(), "\u2060", ""))
}

// buttons is one line of what to type or open instead of pressing each. What a
// button would copy can be copied from the card.
func buttons(all []words.Button) string {
	var instead []string
	for _, b := range all {
		does := b.URL
		if press, err := chat.ParseState(b.State); err == nil {
			does = strings.Join(append([]string{"/" + press.Command}, press.Args...), " ")
		}
		if does != "" {
			instead = append(instead, "["+b.Label+"] "+does)
		}
	}
	return chat.OneLine(strings.Join(instead, " · "))
}
