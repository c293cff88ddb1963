package history

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

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
		"no time":         {core.Quote{Price: decimal.New(1, 0), Change1h: decimal.NewNullDecimal(decimal.New(1, 0))}, day, nil},
		"no price":        {changed("0", "1", "1", "1"), day, nil},
	} {
		if got := Joined(nil, c.quote, now.Add(-c.period), now); !samePoints(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEstimatesGiveWayToWhatWasSeen(t *testing.T) {
	for apart, want := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: true, // What was seen before the period hides nothing.
		0: false, 59 * time.Minute: false, time.Hour: true, 5 * time.Hour: true,
	} {
		from := now.Add(-day)
		got := Joined([]Point{point(from.Add(apart), "100")}, changed("110", "10", "10", ""), from, now)
		if got[0].Estimated != want || !slices.IsSortedFunc(got, func(a, b Point) int { return a.At.Compare(b.At) }) {
			t.Errorf("seen %v apart: %v, want an estimate: %v", apart, got, want)
		}
	}
}
