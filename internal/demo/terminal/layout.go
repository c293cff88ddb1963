package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// cell is a character of a text, and its look.
type cell struct {
	char rune
	look look
}

// look is a set of flags that decide how a character is printed.
type look uint8

const (
	bold look = 1 << iota
	dim
	quoted // in an indented block
	hidden // not printed, because the window prints another text instead

	normal look = 0
)

// noBreak is the non-breaking space. wrap breaks a line there only if the text between two other spaces is too long.
const noBreak = '\u00a0'

// indent is the number of spaces before a quoted line, and before the rest of a wrapped line.
const indent = 2

// Wrap breaks the lines of a text at spaces, so that each line has at most width columns, or only one word. It prefers
// not to break a line at a non-breaking space. In the result, non-breaking spaces are plain ones.
func Wrap(text string, width int) string {
	return draw(wrap(cellsOf(text, normal), width), withoutEscapes)
}

// Width returns the number of columns of out if it is a terminal, and otherwise 80.
func Width(out io.Writer) int {
	if file, isFile := out.(*os.File); isFile {
		width, _, err := term.GetSize(int(file.Fd()))
		if err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// cellsOf returns a text with the same look for all characters.
func cellsOf(text string, look look) (cells []cell) {
	for _, r := range text {
		cells = append(cells, cell{char: r, look: look})
	}
	return cells
}

// wrap is like Wrap, for cells. It indents quoted lines. The rest of a line, after a break, has the line's indent and
// two more spaces.
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
	spaces := 0 // at the beginning
	for spaces < len(text) && text[spaces].char == ' ' {
		spaces++
	}
	restIndent := cellsOf(strings.Repeat(" ", spaces+indent), normal)
	words := split(text[spaces:], ' ') // Between two spaces, there is an empty word.
	words = splitLongWords(words, width-len(restIndent))
	line := slices.Clone(text[:spaces])
	for i, word := range words {
		fits := columns(line)+1+columns(word) <= width
		switch {
		case i == 0:
			line = append(line, word...)
		case fits:
			line = append(line, spaceBetween(line, word))
			line = append(line, word...)
		case len(word) > 0:
			lines = append(lines, trimRight(line))
			line = slices.Concat(restIndent, word)
		}
	}
	return append(lines, line)
}

// splitLongWords splits the words of more than maxColumns columns at their non-breaking spaces, except after a dot. For
// example, it splits "[a]_[b]_·_[c]" into "[a]", "[b]" and "·_[c]", if _ is a non-breaking space.
func splitLongWords(words [][]cell, maxColumns int) (all [][]cell) {
	for _, word := range words {
		if columns(word) <= maxColumns {
			all = append(all, word)
			continue
		}
		var dot []cell // the previous part and its space, if the part is a dot
		for _, part := range split(word, noBreak) {
			if len(part) == 1 && part[0].char == '·' {
				dot = slices.Concat(part, cellsOf(string(noBreak), normal))
				continue
			}
			all = append(all, slices.Concat(dot, part))
			dot = nil
		}
		if dot != nil {
			all = append(all, dot[:1]) // The word ends with a dot.
		}
	}
	return all
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

// split returns the parts of a text between separators.
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

// wideScripts are the scripts with letters of two columns.
var wideScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// width returns the number of columns of a character: 2 for an emoji that the bot uses and for a letter of wideScripts,
// 0 for a mark on the previous character, and otherwise 1.
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

// escapes is whether draw writes escape sequences for bold and dim characters.
type escapes bool

const (
	withEscapes    escapes = true
	withoutEscapes escapes = false
)

// draw returns the text of lines.
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
