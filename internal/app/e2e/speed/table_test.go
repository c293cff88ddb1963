//go:build speed

package speed

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// figures are what one round came to for one bot.
type figures struct {
	rate        float64       // commands a second at full speed
	cpu         time.Duration // of the bot for 1,000 commands at full speed
	own         time.Duration // of the fakes, which share the processors with it
	pacedCPU    time.Duration // of the bot for 1,000 commands at the fixed pace
	median, p99 time.Duration // from a command to its answer at the fixed pace
}

func (f figures) String() string {
	return fmt.Sprintf("%5.0f a second, CPU for 1,000 %d ms and %d ms of the fakes; at %d a second median %.2f ms, p99 %.2f ms, CPU for 1,000 %d ms",
		f.rate, f.cpu.Milliseconds(), f.own.Milliseconds(), pace, milliseconds(f.median), milliseconds(f.p99), f.pacedCPU.Milliseconds())
}

// goal is what the ratios to the bare library should be: the rate at least, the
// others at most; 0 is no goal.
type goal struct{ rate, cpu, median float64 }

// result is a way, measured.
type result struct {
	way
	herald, bare contender
}

// ratio is the median of one figure's ratios, round by round.
func (r result) ratio(figure func(figures) float64) float64 {
	return medianOf(len(r.herald.figures), func(i int) float64 {
		return figure(r.herald.figures[i]) / figure(r.bare.figures[i])
	})
}

// median is the median of one figure of all rounds.
func (c contender) median(figure func(figures) float64) float64 {
	return medianOf(len(c.figures), func(i int) float64 { return figure(c.figures[i]) })
}

func medianOf(n int, value func(i int) float64) float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = value(i)
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func rate(f figures) float64     { return f.rate }
func cpu(f figures) float64      { return float64(f.cpu) }
func pacedCPU(f figures) float64 { return float64(f.pacedCPU) }
func median(f figures) float64   { return float64(f.median) }
func p99(f figures) float64      { return float64(f.p99) }

// table is all results in Markdown: Herald's figure, the library's, and their
// ratio with its goal.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("\n| way in | commands a second | CPU for 1,000, ms | median, ms | p99, ms | peak memory, MiB |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.0f : %.0f = %.2f |\n", r.name,
			r.cell("%.0f", 1, rate, atLeast(r.goal.rate)),
			r.cell("%.0f", float64(time.Millisecond), cpu, atMost(r.goal.cpu)),
			r.cell("%.2f", float64(time.Millisecond), median, atMost(r.goal.median)),
			r.cell("%.2f", float64(time.Millisecond), p99, atMost(0)),
			mebibytes(r.herald.memory), mebibytes(r.bare.memory), float64(r.herald.memory)/float64(r.bare.memory))
	}
	return b.String()
}

// cell shows one figure in a unit as both bots' medians and their ratio.
func (r result) cell(format string, unit float64, figure func(figures) float64, judge func(ratio float64) string) string {
	ratio := r.ratio(figure)
	return fmt.Sprintf(format+" : "+format+" = **%.2f**%s",
		r.herald.median(figure)/unit, r.bare.median(figure)/unit, ratio, judge(ratio))
}

func atLeast(goal float64) func(float64) string {
	return func(ratio float64) string { return verdict("≥", goal, ratio >= goal) }
}

func atMost(goal float64) func(float64) string {
	return func(ratio float64) string { return verdict("≤", goal, ratio <= goal) }
}

// verdict says whether a goal is met, where there is one.
func verdict(sign string, goal float64, met bool) string {
	switch {
	case goal == 0:
		return ""
	case met:
		return fmt.Sprintf(" (%s %.2f)", sign, goal)
	default:
		return fmt.Sprintf(" (%s %.2f missed)", sign, goal)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
