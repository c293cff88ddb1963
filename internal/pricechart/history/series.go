package history

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Kept is how far back points are kept, counted from the newest.
const Kept = 90 * 24 * time.Hour

// tiers say how finely points are kept: those younger than age, one in a step.
// A picture of 24 hours, 7 or 30 days then has 288, 586 or 898 points, where
// some 700 pixels lie side by side.
var tiers = []struct{ age, step time.Duration }{
	{25 * time.Hour, 5 * time.Minute},
	{8 * 24 * time.Hour, 30 * time.Minute},
	{Kept, 2 * time.Hour},
}

// mostPoints is the most that tiers let a series hold: 300, 334 and 984 steps,
// and at each tier's end one more.
const mostPoints = 1621

// Point is what the token cost at a moment.
type Point struct {
	At    time.Time // UTC, whole seconds
	Price decimal.Decimal
	// Estimated marks a price that nobody saw: it is what a later price and its
	// change in per cent imply.
	Estimated bool
}

// series are points by time, oldest first, each time once.
type series []Point

// add inserts p and reports whether it was kept. Of the points in one step of
// their tier, the first is kept.
func (s *series) add(p Point) bool {
	if _, known := s.find(p.At); known {
		return false
	}
	s.merge([]Point{p})
	_, kept := s.find(p.At)
	return kept
}

// merge adds the points of times that s lacks, as far as the tiers keep them.
func (s *series) merge(points []Point) {
	all := append(slices.Clone(*s), points...)
	byTime := func(a, b Point) int { return a.At.Compare(b.At) }
	slices.SortStableFunc(all, byTime)
	*s = thinned(slices.CompactFunc(all, func(a, b Point) bool { return byTime(a, b) == 0 }))
}

// since returns a copy of the points from t on.
func (s series) since(t time.Time) []Point {
	i, _ := s.find(t)
	return slices.Clone(s[i:])
}

// find returns where the point of that time is or would be.
func (s series) find(t time.Time) (i int, known bool) {
	return slices.BinarySearchFunc(s, t, func(p Point, t time.Time) int { return p.At.Compare(t) })
}

// thinned removes in place what the tiers do not keep. Ages are counted from the
// newest point, so that a wrong clock of this machine deletes nothing.
func thinned(s series) series {
	if len(s) == 0 {
		return s
	}
	newest := s[len(s)-1].At
	kept := s[:0]
	for _, p := range s {
		step := stepAt(newest.Sub(p.At))
		if step == 0 {
			continue
		}
		if n := len(kept); n > 0 && slot(kept[n-1], step) == slot(p, step) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// stepAt is the step of points so old; 0 if they are not kept.
func stepAt(age time.Duration) time.Duration {
	for _, tier := range tiers {
		if age < tier.age {
			return tier.step
		}
	}
	return 0
}

// slot numbers the steps of all time.
func slot(p Point, step time.Duration) int64 {
	return p.At.Unix() / int64(step/time.Second)
}
