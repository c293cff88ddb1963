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
	r    rune
	look look
}

// look is how a character looks, as bits.
type look uint8

const (
	bold look = 1 << iota
	dim
	quoted // in a block that is indented
	hidden // replaced by other characters
)

// noBreak is a space at which a line is wrapped only if there is no other place.
const noBreak = '\u00a0'

// indent is put before quoted lines, and before the rest of a line that is wrapped.
const indent = 2

// plain returns a text in one look.
func plain(text string, look look) (cells []cell) {
	for _, r := range text {
		cells = append(cells, cell{r: r, look: look})
	}
	return cells
}

// wide are the letters of two columns.
var wide = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// width returns the columns of a character: two for emoji and the letters of East Asia, none for
// marks on the character before. It knows the emoji that the bot uses.
// https://www.unicode.org/reports/tr11/
func (c cell) width() int {
	switch {
	case unicode.In(c.r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case c.r >= 0x1F300 && c.r <= 0x1FAFF, strings.ContainsRune("✅❌⬜", c.r), unicode.In(c.r, wide...):
		return 2
	}
	return 1
}

func columns(cells []cell) (n int) {
	for _, c := range cells {
		n += c.width()
	}
	return n
}

// split returns the parts of cells between the separators.
func split(cells []cell, separator rune) (parts [][]cell) {
	begin := 0
	for i, c := range cells {
		if c.r == separator {
			parts = append(parts, cells[begin:i])
			begin = i + 1
		}
	}
	return append(parts, cells[begin:])
}

// wrap breaks the lines of a text between words, so that they have at most width columns, or one
// longer word. Spaces at the beginning of a line stay. What follows a break is indented by them
// and indent.
func wrap(text []cell, width int) (lines [][]cell) {
	for _, line := range split(text, '\n') {
		if len(line) > 0 && line[0].look&quoted != 0 {
			line = append(plain(strings.Repeat(" ", indent), 0), line...)
		}
		lines = append(lines, wrapLine(line, width)...)
	}
	return lines
}

func wrapLine(text []cell, width int) (lines [][]cell) {
	spaces := 0
	for spaces < len(text) && text[spaces].r == ' ' {
		spaces++
	}
	hanging := plain(strings.Repeat(" ", spaces+indent), 0)
	line := slices.Clone(text[:spaces])
	for i, word := range fitting(split(text[spaces:], ' '), width-len(hanging)) {
		switch {
		case i == 0:
			line = append(line, word...)
		case columns(line)+1+columns(word) <= width:
			line = append(line, spaceBetween(line, word))
			line = append(line, word...)
		case len(word) > 0: // An empty word is one of two spaces.
			lines = append(lines, trimRight(line))
			line = slices.Concat(hanging, word)
		}
	}
	return append(lines, line)
}

// spaceBetween returns a space with the look that a line and the word after it share.
func spaceBetween(line, word []cell) cell {
	if len(line) == 0 || len(word) == 0 {
		return cell{r: ' '}
	}
	return cell{r: ' ', look: line[len(line)-1].look & word[0].look}
}

func trimRight(line []cell) []cell {
	for len(line) > 0 && line[len(line)-1].r == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// fitting returns words. A word of more than room columns is divided at its no-break spaces, but not
// after a dot.
func fitting(words [][]cell, room int) (all [][]cell) {
	for _, word := range words {
		if columns(word) <= room {
			all = append(all, word)
			continue
		}
		var dot []cell
		for _, part := range split(word, noBreak) {
			if len(part) == 1 && part[0].r == '·' {
				dot = slices.Concat(part, plain("\u00a0", 0))
				continue
			}
			all = append(all, slices.Concat(dot, part))
			dot = nil
		}
	}
	return all
}

// draw returns lines as text, with escape sequences if they are coloured.
func draw(lines [][]cell, coloured bool) string {
	var text strings.Builder
	for i, line := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		now := look(0)
		for _, c := range line {
			if coloured && c.look&(bold|dim) != now {
				now = c.look & (bold | dim)
				text.WriteString(now.escape())
			}
			if c.r == noBreak {
				c.r = ' '
			}
			text.WriteRune(c.r)
		}
		if now != 0 {
			text.WriteString(look(0).escape())
		}
	}
	return text.String()
}

// escape returns the escape sequence that begins a look and ends any other.
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

// Width returns how many columns a line of out has: the terminal's, or 80.
func Width(out io.Writer) int {
	if file, isFile := out.(*os.File); isFile {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Wrap breaks the lines of a text between words, so that they have at most width columns, or one
// longer word. No-break spaces become spaces, and stay within a word.
func Wrap(text string, width int) string { return draw(wrap(plain(text, 0), width), false) }
