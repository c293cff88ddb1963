package terminal

import (
	"strings"
	"unicode"

	"herald/internal/chat"
)

// maxNameWidth bounds the column of field names: one long name must not push
// every value to the right.
const maxNameWidth = 24

var signs = map[chat.Tone]string{
	chat.Positive: "[+] ",
	chat.Negative: "[-] ",
	chat.Warning:  "[!] ",
}

// render is the reply as lines of plain text, without an empty line and
// without one at its end. Nothing in it controls a terminal.
func render(reply chat.Reply, private bool) string {
	reply = reply.Clean()
	var lines []string
	add := func(indent, text string) {
		// A word joiner ends mentions and links, of which there are none
		// here, and would stay in what is copied.
		text = strings.TrimSpace(strings.ReplaceAll(text, "\u2060", ""))
		if text != "" {
			lines = append(lines, indent+text)
		}
	}
	add("", reply.Title)
	add("", reply.Text)
	for _, section := range reply.Sections {
		add("", section.Heading)
		column := nameColumn(section.Fields)
		for _, field := range section.Fields {
			add("  ", pad(field.Name, column)+field.Value)
		}
	}
	for _, note := range reply.Notes {
		add("", note)
	}
	if len(lines) == 0 {
		lines = []string{"(nothing to say)"}
	}
	lines[0] = signs[reply.Tone] + lines[0]
	if private {
		lines = append([]string{"(only you see this)"}, lines...)
	}
	return strings.Join(lines, "\n")
}

// nameColumn is the width of the names of fields, with the gap after them.
func nameColumn(fields []chat.Field) int {
	widest := 0
	for _, field := range fields {
		if w := width(field.Name); w > widest && w <= maxNameWidth {
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
		case r == '\u2060' || unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
			r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
			cells += 2
		default:
			cells++
		}
	}
	return cells
}
