package terminal

import (
	"math"
	"strings"
	"unicode/utf8"
)

// wrap sets words on lines of at most width characters: the first begins with first,
// the others with as many spaces as hanging says. A word is never broken.
func wrap(first string, words []string, hanging, width int) []string {
	var lines []string
	line, begun := first, false
	for _, word := range words {
		if begun && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line, begun = append(lines, line), strings.Repeat(" ", hanging), false
		}
		if begun {
			line += " "
		}
		line, begun = line+word, true
	}
	return append(lines, line)
}

// sparkline draws values with blocks of eight heights, and a space for NaN. It is
// empty without values.
func sparkline(values []float64) string {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			lowest, highest = min(lowest, v), max(highest, v)
		}
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var line strings.Builder
	for _, v := range values {
		height := len(blocks) / 2 // of a price that stands still
		if highest > lowest {
			height = min(int((v-lowest)/(highest-lowest)*float64(len(blocks))), len(blocks)-1)
		}
		if math.IsNaN(v) {
			line.WriteByte(' ')
		} else {
			line.WriteRune(blocks[height])
		}
	}
	return line.String()
}
