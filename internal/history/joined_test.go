package history

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"herald/internal/core"
)

const day = 24 * time.Hour

var now = time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)

// changed is a quote of now with changes in per cent over 1 h, 24 h and 7 d; an
// empty one is unknown.
func changed(price string, percents ...string) core.Quote {
	q := quote(now, price)
	for i, to := range []*decimal.NullDecimal{&q.Change1h, &q.Change24h, &q.Change7d} {
		if percents[i] != "" {
			*to = decimal.NewNullDecimal(decimal.RequireFromString(percents[i]))
		}
	}
	return q
}

func estimate(ago time.Duration, price string) Point {
	p := point(now.Add(-ago), price)
	p.Estimated = true
	return p
}

func TestChangesInPerCentImplyEarlierPrices(t *testing.T) {
	for name, c := range map[string]struct {
		quote  core.Quote
		period time.Duration
		want   []Point
	}{
		"all three": {changed("110", "10", "-50", "-75"), 7 * day,
			// The price of an hour ago is too close to now.
			[]Point{estimate(7*day, "440"), estimate(day, "220"), point(now, "110")}},
		"a day":           {changed("110", "10", "-50", "-75"), day, []Point{estimate(day, "220"), estimate(time.Hour, "100"), point(now, "110")}},
		"unknown changes": {changed("110", "", "", ""), day, []Point{point(now, "110")}},
		"impossible":      {changed("110", "-100", "-100.01", "-1000"), 7 * day, []Point{point(now, "110")}},
		"tiny":            {changed("0.000000000001", "900", "100", "0"), day, []Point{estimate(day, "0.0000000000005"), estimate(time.Hour, "0.0000000000001"), point(now, "0.000000000001")}},
		"none outside":    {changed("110", "10", "10", "10"), 30 * time.Minute, []Point{point(now, "110")}},
		"no time":         {core.Quote{Price: decimal.New(1, 0), Change1h: decimal.NewNullDecimal(decimal.New(1, 0))}, day, nil},
		"no price":        {changed("0", "1", "1", "1"), day, nil},
	} {
		if got := Joined(nil, c.quote, now.Add(-c.period), now); !samePoints(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEstimatesGiveWayToWhatWasSeen(t *testing.T) {
	q := changed("110", "10", "10", "")
	for minutes, want := range map[int]bool{0: false, 59: false, 60: true, 300: true} {
		for _, sign := range []time.Duration{1, -1} {
			seenAt := point(now.Add(-day).Add(sign*time.Duration(minutes)*time.Minute), "100")
			from := now.Add(-day)
			got := Joined([]Point{seenAt}, q, from, now)
			_, there := series(got).find(from)
			there = there && got[0].Estimated
			// What was seen before the period is not in it, and hides nothing.
			if want := want || sign < 0 && minutes > 0; there != want {
				t.Errorf("seen %d minutes apart (sign %d): estimated %v, want %v", minutes, sign, there, want)
			}
		}
	}
}

func TestJoinedPointsAreSortedAndInThePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen series
		for _, m := range rapid.SliceOfN(rapid.IntRange(-60, 40*24*60), 0, 50).Draw(t, "minutes ago") {
			seen.add(point(now.Add(-time.Duration(m)*time.Minute), "1"))
		}
		percent := rapid.SampledFrom([]string{"", "-100", "-99.9999999", "0", "3.3", "1000000000"})
		period := rapid.SampledFrom([]time.Duration{0, time.Hour, day, 7 * day, 30 * day}).Draw(t, "period")
		q := changed("0.04173", percent.Draw(t, "1h"), percent.Draw(t, "24h"), percent.Draw(t, "7d"))
		before := len(seen)
		joined := Joined(seen, q, now.Add(-period), now)
		if len(seen) != before {
			t.Fatal("the points seen were changed")
		}
		for i, p := range joined {
			if p.At.Before(now.Add(-period)) || p.At.After(now) || i > 0 && !joined[i-1].At.Before(p.At) || !p.Price.IsPositive() {
				t.Fatalf("point %d of %v", i, joined)
			}
		}
		for _, p := range seen.since(now.Add(-period)) {
			if _, there := series(joined).find(p.At); !there && !p.At.After(now) {
				t.Fatalf("what was seen at %v is missing", p.At)
			}
		}
	})
}
