package history

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// full is a series of that length, of which every 5 minutes were seen.
func full(length time.Duration) series {
	var s series
	end := time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)
	for at := end.Add(-length); !at.After(end); at = at.Add(5 * time.Minute) {
		s = append(s, point(at, "1"))
	}
	return thinned(s)
}

func TestPointsAreBoundedInNumberAndAge(t *testing.T) {
	s := full(100 * 24 * time.Hour)
	if len(s) > mostPoints || len(s) < mostPoints-3 {
		t.Errorf("%d points of a full history, want about %d", len(s), mostPoints)
	}
	if age := s[len(s)-1].At.Sub(s[0].At); age > Kept {
		t.Errorf("the oldest point is %v old", age)
	}
	if stored := len(encode(s)); stored > 64<<10 {
		t.Errorf("%d bytes are stored", stored)
	}
}

func TestEveryPeriodHasPointsForAPicture(t *testing.T) {
	s := full(91 * 24 * time.Hour)
	end := s[len(s)-1].At
	for period, least := range map[time.Duration]int{24 * time.Hour: 288, 7 * 24 * time.Hour: 586, 30 * 24 * time.Hour: 898} {
		points := s.since(end.Add(-period))
		if len(points) < least {
			t.Errorf("%v: %d points", period, len(points))
		}
		last := end.Add(-period)
		for _, p := range points {
			if p.At.Sub(last) > period/100 {
				t.Errorf("%v: nothing from %v to %v", period, last, p.At)
			}
			last = p.At
		}
	}
}

func TestSeriesIsSortedBoundedAndWithoutRepetition(t *testing.T) {
	base := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var s series
		for _, minutes := range rapid.SliceOfN(rapid.IntRange(0, 100*24*60), 0, 300).Draw(t, "minutes") {
			before := slices.Clone(s)
			p := point(base.Add(time.Duration(minutes)*time.Minute), "1")
			kept := s.add(p)
			if i, found := s.find(p.At); kept && (!found || !samePoints(s[i:i+1], []Point{p})) {
				t.Fatal("a point is said to be kept and is not there")
			}
			if newest := len(before) - 1; !kept && (newest < 0 || p.At.After(before[newest].At.Add(2*time.Hour))) {
				t.Fatal("the newest point by far is not kept")
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
