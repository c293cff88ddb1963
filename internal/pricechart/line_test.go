package pricechart

import (
	"fmt"
	"testing"
	"time"
)

func TestLineHasFewPointsAndAllSpikes(t *testing.T) {
	whole := func(period time.Duration) []point {
		points := walk(period, step, 4, 5)
		points[200].Price, points[401].Price = number("9"), number("1")
		return points
	}
	month := whole(30 * day)
	inWords := func(p picture) string {
		gaps := 0
		for i := range p.points {
			if !p.joined(i) {
				gaps++
			}
		}
		lowest, highest := bounds(p.points)
		return fmt.Sprintf("%v to %v with %d gaps and %d estimates", lowest, highest, gaps, len(p.points)-len(p.recorded()))
	}
	for name, c := range map[string]struct {
		points      []point
		least, most int
	}{
		"a week":    {whole(7 * day), 3 * slots, 4 * slots},
		"a month":   {month, slots, slots + 3},
		"a gap":     {without(month, 20*day, 15*day), 1, slots},
		"joined":    {without(month, 20*day-11*time.Hour, 17*day+6*time.Hour), 1, slots},
		"estimates": {append([]point{estimate(30*day, "2"), estimate(25*day, "3")}, without(month, 31*day, 20*day)...), 1, slots},
	} {
		period := 30 * day
		if name == "a week" {
			period = 7 * day
		}
		whole := ofPeriod(period, c.points...)
		shown := whole
		shown.points = whole.shownPoints()
		if got, want := inWords(shown), inWords(whole); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if n := len(shown.points); n < c.least || n > c.most {
			t.Errorf("%s: %d points, want %d to %d", name, n, c.least, c.most)
		}
	}
}
