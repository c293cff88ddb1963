package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// wrap breaks a line at its spaces into lines of at most width characters: the first
// begins with first, the others with as many spaces as hanging says. A word that is
// longer stays whole.
func wrap(first, text string, hanging, width int) []string {
	var lines []string
	line, empty := first, true
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case empty:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), strings.Repeat(" ", hanging)+word
		default:
			line += " " + word
		}
		empty = false
	}
	return append(lines, line)
}

// sparkline draws values with blocks of eight heights, the lowest value with the
// lowest block. It is empty without values.
func sparkline(values []float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	if len(values) == 0 {
		return ""
	}
	heights := []rune(blocks)
	lowest, span := slices.Min(values), slices.Max(values)-slices.Min(values)
	var line strings.Builder
	for _, v := range values {
		height := len(heights) / 2 // of a price that stands still
		if span > 0 {
			height = min(int((v-lowest)/span*float64(len(heights))), len(heights)-1)
		}
		line.WriteRune(heights[height])
	}
	return line.String()
}
