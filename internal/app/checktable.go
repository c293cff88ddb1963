package app

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
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
	if r.where == "" {
		return "-"
	}
	return fmt.Sprintf("%4d ms", r.took.Milliseconds())
}

// checkTable is the rows as a table, with what is wrong below its row, and a last
// line that sums it up.
func checkTable(rows []checkRow) string {
	var aligned strings.Builder
	columns := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "WHAT\tWHERE\tRESULT\tTOOK\tANSWER")
	for _, r := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", r.what, cmp.Or(r.where, "-"), r.result(), r.elapsed(), strings.Join(r.learned, "\n\t\t\t\t"))
	}
	_ = columns.Flush() // a Builder takes everything
	lines := strings.Split(aligned.String(), "\n")
	table, lines := lines[:1:1], lines[1:]
	failed := 0
	for _, r := range rows {
		height := max(1, len(r.learned))
		for _, line := range lines[:height] {
			table = append(table, strings.TrimRight(line, " "))
		}
		lines = lines[height:]
		for _, sentence := range r.wrong {
			table = append(table, "    "+sentence)
		}
		if r.failed() {
			failed++
		}
	}
	return strings.Join(append(table, "", summary(failed, len(rows)), ""), "\n")
}

// summary is what to do next.
func summary(failed, all int) string {
	switch failed {
	case 0:
		return "Everything answers. Start it with `bot run`."
	case 1:
		return fmt.Sprintf("1 of %d needs a look.", all)
	}
	return fmt.Sprintf("%d of %d need a look.", failed, all)
}
