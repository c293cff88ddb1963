package history

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPointsAreBoundedInNumberAndAge(t *testing.T) {
	var s series
	end := time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)
	for at := end.Add(-100 * day); !at.After(end); at = at.Add(5 * time.Minute) {
		s = append(s, point(at, "1"))
	}
	s = thinned(s)
	for age, points := range map[time.Duration]int{day: 288, 7 * day: 586, 30 * day: 898, 100 * day: mostPoints - 3} {
		if n := len(s.since(end.Add(-age))); n < points || n > mostPoints {
			t.Errorf("%d points of %v, want %d", n, age, points)
		}
	}
	if age, stored := end.Sub(s[0].At), len(encode(s)); age > Kept || stored > 64<<10 {
		t.Errorf("the oldest point is %v old, %d bytes are stored", age, stored)
	}
}

func TestSeriesIsSortedBoundedAndWithoutRepetition(t *testing.T) {
	base := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var s series
		for _, minutes := range rapid.SliceOfN(rapid.IntRange(0, 100*24*60), 0, 300).Draw(t, "minutes") {
			p := point(base.Add(time.Duration(minutes)*time.Minute), "1")
			kept := s.add(p)
			if i, found := s.find(p.At); kept && (!found || !samePoints(s[i:i+1], []Point{p})) {
				t.Fatal("a point is said to be kept and is not there")
			}
		}
		for i := 1; i < len(s); i++ {
			if !s[i-1].At.Before(s[i].At) {
				t.Fatal("not sorted, or a time twice")
			}
			if age := s[len(s)-1].At.Sub(s[i].At); slot(s[i-1], stepAt(age)) == slot(s[i], stepAt(age)) {
				t.Fatalf("two points in one step, %v old", age)
			}
			if s[len(s)-1].At.Sub(s[0].At) > Kept {
				t.Fatal("too old")
			}
		}
	})
}
