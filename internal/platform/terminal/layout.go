package terminal

import (
	"math"
	"strings"
	"unicode/utf8"
)

// fields returns the words of a text, between which a line may be wrapped.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' })
}

// fitting returns words, and the parts of those that are longer than room characters: such a word
// is divided at its no-break spaces, but not after a dot.
func fitting(words []string, room int) (all []string) {
	for _, word := range words {
		if utf8.RuneCountInString(word) <= room {
			all = append(all, word)
			continue
		}
		dot := ""
		for part := range strings.SplitSeq(word, noBreak) {
			if part == "·" {
				dot = part + noBreak
				continue
			}
			all, dot = append(all, dot+part), ""
		}
	}
	return all
}

// wrap returns words on lines of at most width characters, or of one longer word. The
// first line begins with first, the others with as many spaces as hanging says.
func wrap(first string, words []string, hanging, width int) []string {
	var lines []string
	line := first
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), strings.Repeat(" ", hanging)+word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Wrap breaks the lines of a text between words, so that they have at most width characters, or
// one longer word. What follows a break is indented by two spaces more. No-break spaces become
// spaces, and stay within a word.
func Wrap(text string, width int) string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indented := len(line) - len(words)
		all = append(all, wrap(line[:indented], strings.Split(words, " "), indented+len(indent), width)...)
	}
	return strings.ReplaceAll(strings.Join(all, "\n"), noBreak, " ")
}

// sparkline returns a block of one of eight heights for each value, and a space for NaN.
func sparkline(values []float64) string {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			lowest, highest = min(lowest, v), max(highest, v)
		}
	}
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	line := make([]rune, len(values))
	for i, v := range values {
		switch part := (v - lowest) / (highest - lowest); {
		case math.IsNaN(v):
			line[i] = blocks[0]
		case math.IsNaN(part): // all values are equal
			line[i] = blocks[5]
		default:
			line[i] = blocks[1+min(int(part*8), 7)]
		}
	}
	return string(line)
}
