package app

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// checkRow is what one probe came to.
type checkRow struct {
	what, where string
	took        time.Duration
	learned     []string
	wrong       []string // what is wrong, and what to look at
}

func (r checkRow) failed() bool { return len(r.wrong) > 0 }

func (r checkRow) result() string {
	if r.failed() {
		return "WRONG"
	}
	return "ok"
}

// elapsed is what the answer took, or a dash where nobody was asked.
func (r checkRow) elapsed() string {
	switch {
	case r.where == "":
		return "-"
	case r.took < 10*time.Second:
		return fmt.Sprintf("%4d ms", r.took.Milliseconds())
	}
	return fmt.Sprintf("%5.0f s", r.took.Seconds())
}

const (
	// tableWidth is how many characters a line may have, and leastAnswer how many
	// are left for the last column, however long a host is.
	tableWidth  = 100
	leastAnswer = 30
	// wrongIndent is what stands before what is wrong, below its row.
	wrongIndent = "    "
)

// writeChecked writes the rows as a table, with what is wrong below its row, and
// a last line that sums it up.
func writeChecked(w io.Writer, rows []checkRow, colour bool) error {
	lines := [][4]string{{"WHAT", "WHERE", "RESULT", "TOOK"}}
	for _, r := range rows {
		lines = append(lines, [4]string{r.what, cmp.Or(r.where, "-"), r.result(), r.elapsed()})
	}
	var widths [4]int
	answer := 0 // where the last column begins
	for column := range widths {
		for _, line := range lines {
			widths[column] = max(widths[column], utf8.RuneCountInString(line[column]))
		}
		answer += widths[column] + 2
	}
	var b strings.Builder
	for i, line := range lines {
		said := []string{"ANSWER"}
		if i > 0 {
			said = wrapAll(rows[i-1].learned, max(tableWidth-answer, leastAnswer))
		}
		var row strings.Builder
		for column, text := range line {
			padding := strings.Repeat(" ", widths[column]-utf8.RuneCountInString(text)+2)
			if column == 2 && i > 0 && colour {
				text = inColour(text, rows[i-1].failed())
			}
			row.WriteString(text + padding)
		}
		b.WriteString(strings.TrimRight(row.String()+strings.Join(said, "\n"+strings.Repeat(" ", answer)), " ") + "\n")
		if i > 0 && rows[i-1].failed() {
			for _, part := range wrapAll(rows[i-1].wrong, tableWidth-len(wrongIndent)) {
				b.WriteString(wrongIndent + part + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String()+"\n"+summary(rows)+"\n")
	return err
}

// summary is what to do next.
func summary(rows []checkRow) string {
	failed := 0
	for _, r := range rows {
		if r.failed() {
			failed++
		}
	}
	switch failed {
	case 0:
		return "Everything answers. Start it with `bot run`."
	case 1:
		return fmt.Sprintf("1 of %d needs a look.", len(rows))
	}
	return fmt.Sprintf("%d of %d need a look.", failed, len(rows))
}

func wrapAll(sentences []string, width int) (lines []string) {
	for _, s := range sentences {
		lines = append(lines, wrap(s, width)...)
	}
	return lines
}

// wrap breaks text between words into lines of at most width characters. A
// longer word has a line of its own.
func wrap(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// inColour is text in red or green, by the codes that every terminal knows.
func inColour(text string, red bool) string {
	if red {
		return "\x1b[1;31m" + text + "\x1b[0m"
	}
	return "\x1b[32m" + text + "\x1b[0m"
}
