package terminal

import (
	"strings"
	"unicode"

	"herald/internal/chat"
	"herald/internal/words"
)

// maxNameWidth bounds the column of field names: one long name must not push
// every value to the right.
const maxNameWidth = 24

// tones are the sign before a title and its colour, by ECMA-48, 8.3.117, "select
// graphic rendition": green, red and yellow.
// https://ecma-international.org/publications-and-standards/standards/ecma-48/
var tones = map[chat.Tone]struct{ sign, colour string }{
	chat.Positive: {"[+] ", "32"},
	chat.Negative: {"[-] ", "31"},
	chat.Warning:  {"[!] ", "33"},
}

// dim is the code of small print.
const dim = "2"

// look is how cards look besides what they say.
type look struct {
	// mark, if any, ends the first line.
	mark chat.Text
	// colour shows the tone of the title, and dims small print.
	colour bool
}

// paint is text in a colour; without one, or without colours, as it is.
func (l look) paint(colour, text string) string {
	if !l.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// render is the card as lines of text, without an empty line and without one at
// its end. Nothing in it controls a terminal but the colours of look. Of a
// picture there is its alternative text; of a button, what to type instead of
// pressing it.
func render(card words.Card, private bool, look look) string {
	say := func(key string) string { return words.Say(card.Language, chat.Say(key)) }
	var lines []string
	add := func(indent, text string) {
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, indent+text)
		}
	}
	list := func(heading string, fields []words.Field) {
		add("", heading)
		column := nameColumn(fields)
		for _, f := range fields {
			add("  ", pad(clean(f.Name.String()), column)+clean(f.Value.String()))
		}
	}
	add("", clean(card.Title.String()))
	add("", clean(card.Text.String()))
	if card.Image != nil {
		add("", clean(card.Image.Alt))
	}
	for _, section := range card.Sections {
		list(clean(section.Heading.String()), section.Fields)
	}
	if len(card.Details) > 0 {
		list(say("terminal.exactly"), card.Details)
	}
	add("", look.paint(dim, clean(buttons(card.Buttons))))
	for _, note := range card.Notes {
		add("", look.paint(dim, clean(note.String())))
	}
	if len(lines) == 0 {
		lines = []string{say("terminal.nothing")}
	}
	lines[0] = look.paint(tones[card.Tone].colour, tones[card.Tone].sign+lines[0])
	if mark := clean(words.Say(card.Language, look.mark)); mark != "" {
		lines[0] += " " + look.paint(dim, mark)
	}
	if private {
		lines = append([]string{look.paint(dim, say("terminal.private"))}, lines...)
	}
	return strings.Join(lines, "\n")
}

// clean is text as one line. A word joiner ends mentions and links, of which there
// are none here, and would stay in what is copied.
func clean(text string) string { return strings.ReplaceAll(chat.OneLine(text), "\u2060", "") }

// buttons is one line of what to type or open instead of pressing each. What a
// button would copy stands in the card, from which it can be copied as well.
func buttons(all []words.Button) string {
	var instead []string
	for _, b := range all {
		switch press, err := chat.ParseState(b.State); {
		case b.URL != "":
			instead = append(instead, "["+b.Label+"] "+b.URL)
		case err == nil:
			instead = append(instead, "["+b.Label+"] "+strings.Join(append([]string{"/" + press.Command}, press.Args...), " "))
		}
	}
	return strings.Join(instead, " · ")
}

// nameColumn is the width of the names of fields, with the gap after them.
func nameColumn(fields []words.Field) int {
	widest := 0
	for _, field := range fields {
		if w := width(clean(field.Name.String())); w > widest && w <= maxNameWidth {
			widest = w
		}
	}
	return widest + 2
}

// pad fills name up to column; a wider one is still kept apart from what
// follows.
func pad(name string, column int) string {
	if name == "" {
		return ""
	}
	return name + strings.Repeat(" ", max(column-width(name), 2))
}

// width is how many cells of a terminal s takes, nearly: East Asian characters
// and emoji take two, marks none.
func width(s string) int {
	cells := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
			r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
			cells += 2
		default:
			cells++
		}
	}
	return cells
}
