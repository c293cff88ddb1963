package pricechart

import (
	"fmt"
	"testing"
	"time"
)

// withSpikes returns points of a period. One is much higher and one much lower than all others.
func withSpikes(period time.Duration) []point {
	points := walk(period, step, 4, 5)
	points[200].Price = number("9")
	points[401].Price = number("1")
	return points
}

// summary describes what shownPoints must keep: the extremes, gaps and estimates of a line.
func summary(p picture) string {
	gaps := 0
	for i := range p.points {
		if !p.isJoined(i) {
			gaps++
		}
	}
	estimates := len(p.points) - len(p.recorded())
	lowest, highest := bounds(p.points)
	return fmt.Sprintf("%v to %v with %d gaps and %d estimates", lowest, highest, gaps, estimates)
}

func TestLineHasFewPointsAndAllSpikes(t *testing.T) {
	month := withSpikes(30 * day)
	estimates := []point{estimatedAt(30*day, "2"), estimatedAt(25*day, "3")}
	for _, test := range []struct {
		name      string
		period    time.Duration
		points    []point
		minPoints int
		maxPoints int
	}{
		{
			name:      "a week",
			period:    7 * day,
			points:    withSpikes(7 * day),
			minPoints: 3 * slots,
			maxPoints: 4 * slots,
		},
		{
			name:      "a month",
			period:    30 * day,
			points:    month,
			minPoints: slots,
			maxPoints: slots + 3,
		},
		{
			name:      "a month with a gap",
			period:    30 * day,
			points:    without(month, 20*day, 15*day),
			minPoints: 1,
			maxPoints: slots,
		},
		{
			name:      "a month with a gap that a line joins",
			period:    30 * day,
			points:    without(month, 20*day-11*time.Hour, 17*day+6*time.Hour),
			minPoints: 1,
			maxPoints: slots,
		},
		{
			name:      "a month with estimates",
			period:    30 * day,
			points:    append(estimates, without(month, 31*day, 20*day)...),
			minPoints: 1,
			maxPoints: slots,
		},
	} {
		whole := pictureOf(test.period, test.points...)
		line := whole
		line.points = whole.shownPoints()
		if got, want := summary(line), summary(whole); got != want {
			t.Errorf("%s: got %s, want %s", test.name, got, want)
		}
		if n := len(line.points); n < test.minPoints || n > test.maxPoints {
			t.Errorf("%s: %d points, want %d to %d", test.name, n, test.minPoints, test.maxPoints)
		}
	}
}
