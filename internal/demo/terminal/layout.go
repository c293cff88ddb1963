package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// cell is a character and how it looks.
type cell struct {
	char rune
	look look
}

// look is how a character looks. It is a set of flags.
type look uint8

const (
	bold look = 1 << iota
	dim
	quoted // in an indented block
	hidden // not printed, because other text is printed instead

	normal look = 0
)

// noBreak is a space at which wrap breaks a line only if there is no other place.
const noBreak = '\u00a0'

// indent is the number of spaces before a quoted line, and before the rest of a wrapped line.
const indent = 2

// cellsOf returns a text with the same look for all characters.
func cellsOf(text string, look look) (cells []cell) {
	for _, r := range text {
		cells = append(cells, cell{char: r, look: look})
	}
	return cells
}

// wideScripts are the scripts with letters of two columns.
var wideScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// width returns the number of columns of a character. It is 2 for emoji and for letters of wideScripts, and 0 for
// marks on the previous character. Of the emoji, it knows those that the bot uses.
// https://www.unicode.org/reports/tr11/
func (c cell) width() int {
	isEmoji := c.char >= 0x1F300 && c.char <= 0x1FAFF || strings.ContainsRune("✅❌⬜", c.char)
	switch {
	case unicode.In(c.char, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isEmoji || unicode.In(c.char, wideScripts...):
		return 2
	}
	return 1
}

// columns returns the number of columns of a line.
func columns(line []cell) (n int) {
	for _, c := range line {
		n += c.width()
	}
	return n
}

// split returns the parts of cells between separators.
func split(cells []cell, separator rune) (parts [][]cell) {
	begin := 0
	for i, c := range cells {
		if c.char == separator {
			parts = append(parts, cells[begin:i])
			begin = i + 1
		}
	}
	return append(parts, cells[begin:])
}

// wrap breaks the lines of a text between words, so that each line has at most width columns, or only one word. The
// spaces at the beginning of a line remain. After a break, the line is indented by the same number of spaces and by
// indent.
func wrap(text []cell, width int) (lines [][]cell) {
	for _, line := range split(text, '\n') {
		if len(line) > 0 && line[0].look&quoted != 0 {
			line = append(cellsOf(strings.Repeat(" ", indent), normal), line...)
		}
		lines = append(lines, wrapLine(line, width)...)
	}
	return lines
}

// wrapLine is like wrap, for one line.
func wrapLine(text []cell, width int) (lines [][]cell) {
	spaces := 0
	for spaces < len(text) && text[spaces].char == ' ' {
		spaces++
	}
	hanging := cellsOf(strings.Repeat(" ", spaces+indent), normal)
	line := slices.Clone(text[:spaces])
	for i, word := range splitLong(split(text[spaces:], ' '), width-len(hanging)) {
		switch {
		case i == 0:
			line = append(line, word...)
		case columns(line)+1+columns(word) <= width:
			line = append(line, spaceBetween(line, word))
			line = append(line, word...)
		case len(word) > 0: // It is empty between two spaces.
			lines = append(lines, trimRight(line))
			line = slices.Concat(hanging, word)
		}
	}
	return append(lines, line)
}

// spaceBetween returns a space between a line and the next word, with the flags that the characters beside it share.
func spaceBetween(line, word []cell) cell {
	if len(line) == 0 || len(word) == 0 {
		return cell{char: ' '}
	}
	return cell{char: ' ', look: line[len(line)-1].look & word[0].look}
}

// trimRight returns the line without the spaces at its end.
func trimRight(line []cell) []cell {
	for len(line) > 0 && line[len(line)-1].char == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// splitLong returns words. It splits a word of more than room columns at its non-breaking spaces, except after a dot.
func splitLong(words [][]cell, room int) (all [][]cell) {
	for _, word := range words {
		if columns(word) <= room {
			all = append(all, word)
			continue
		}
		var dot []cell
		for _, part := range split(word, noBreak) {
			if len(part) == 1 && part[0].char == '·' {
				dot = slices.Concat(part, cellsOf("\u00a0", normal))
				continue
			}
			all = append(all, slices.Concat(dot, part))
			dot = nil
		}
	}
	return all
}

// escapes is whether a text has escape sequences for bold and dim characters.
type escapes bool

const (
	withEscapes    escapes = true
	withoutEscapes escapes = false
)

// draw returns lines as text.
func draw(lines [][]cell, e escapes) string {
	var text strings.Builder
	for i, line := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		current := normal
		for _, c := range line {
			wanted := c.look & (bold | dim)
			if e == withEscapes && wanted != current {
				current = wanted
				text.WriteString(current.escape())
			}
			if c.char == noBreak {
				c.char = ' '
			}
			text.WriteRune(c.char)
		}
		if current != normal {
			text.WriteString(normal.escape())
		}
	}
	return text.String()
}

// escape returns the escape sequence that ends any other look and begins this one.
// https://ecma-international.org/publications-and-standards/standards/ecma-48/, 8.3.117
func (l look) escape() string {
	switch {
	case l&bold != 0:
		return "\x1b[0;1m"
	case l&dim != 0:
		return "\x1b[0;2m"
	}
	return "\x1b[0m"
}

// Width returns the number of columns of a line: the terminal's if out is a terminal, and otherwise 80.
func Width(out io.Writer) int {
	if file, isFile := out.(*os.File); isFile {
		width, _, err := term.GetSize(int(file.Fd()))
		if err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Wrap breaks the lines of a text between words, so that each line has at most width columns, or only one word. It
// does not break a line at non-breaking spaces, and replaces them by spaces.
func Wrap(text string, width int) string {
	return draw(wrap(cellsOf(text, normal), width), withoutEscapes)
}
