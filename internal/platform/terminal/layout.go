package terminal

import (
	"math"
	"strings"
	"unicode/utf8"
)

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
