package pricechart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func quoted(price string, at time.Time) core.Quote {
	return core.Quote{Price: number(price), LastUpdated: at}
}

// changed is a quote with changes in per cent over 1 h, 24 h and 7 d; an empty one
// is unknown.
func changed(price string, at time.Time, percents ...string) core.Quote {
	q := quoted(price, at)
	for i, to := range []*decimal.NullDecimal{&q.Change1h, &q.Change24h, &q.Change7d} {
		if percents[i] != "" {
			*to = decimal.NewNullDecimal(number(percents[i]))
		}
	}
	return q
}

// drawnBy returns charts of some quote an hour ago, which draw draws.
func drawnBy(draw func() ([]byte, error)) *Charts {
	quotes := NewQuotes("test", nil, nil)
	quotes.Add(quoted("1", time.Now().Add(-time.Hour)))
	charts := New(quotes, "TKN", Settings{})
	charts.draw = func(picture) ([]byte, error) { return draw() }
	return charts
}

func TestChartShowsItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // A busy machine takes no longer.
		now := time.Now()
		quotes := NewQuotes("test", nil, nil)
		quotes.Add(quoted("9", now.Add(-3*day))) // before the period
		for i := range 48 {
			quotes.Add(quoted("2", now.Add(-day+time.Duration(i)*30*time.Minute+time.Minute)))
		}
		quotes.Add(quoted("1.5", now.Add(-12*time.Hour)))
		quotes.Add(quoted("4", now.Add(-6*time.Hour)))
		c, err := New(quotes, "TKN", Settings{}).Chart(t.Context(), quoted("3", now), day, chat.English, "Herald")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(c.PNG)); err != nil {
			t.Errorf("no picture: %v", err)
		}
		prices := fmt.Sprintf("from %s to %s, lowest %s, highest %s", c.First, c.Last, c.Lowest, c.Highest)
		if prices != "from 2 to 3, lowest 1.5, highest 4" || c.Seen < 0.9 || c.Seen > 1 {
			t.Errorf("%s, %g of the period was seen", prices, c.Seen)
		}
	})
}

func TestTooFewPointsMakeACard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Truncate(time.Second)
		for name, test := range map[string]struct {
			quote  core.Quote
			period time.Duration
			since  time.Time
			first  string
		}{
			"one price":           {quoted("3", now), day, now, "3"},
			"no time":             {changed("3", time.Time{}, "", "100", ""), day, now, "3"},
			"a week":              {changed("3", now, "", "", "100"), 7 * day, now, "3"},
			"the end of a month":  {changed("3", now, "", "", "100"), 30 * day, now, "3"},
			"a clock that is off": {changed("3", now.Add(time.Hour), "", "", "100"), 7 * day, now.Add(time.Hour), "3"},
		} {
			c, err := New(NewQuotes("test", nil, nil), "TKN", Settings{}).Chart(t.Context(), test.quote, test.period, chat.English, "Herald")
			if err != nil || c.PNG == nil || c.Line || c.Seen > 0 || !c.Since.Equal(test.since) || !c.First.Equal(number(test.first)) || !c.Last.Equal(number("3")) {
				t.Errorf("%s: %d bytes, a line %v, since %v, from %s to %s, %v", name, len(c.PNG), c.Line, c.Since, c.First, c.Last, err)
			}
		}
	})
}

// A day without quotes is a gap of a week. An operator has the machine's clock set
// back: quotes of the time that is yet to come again are not shown, and the line goes on.
func TestALineHasNoQuotesThatAreMissingOrAhead(t *testing.T) {
	complete := func(time.Duration) bool { return true }
	missing := func(ago time.Duration) bool { return ago > 4*day || ago < 3*day }
	for name, test := range map[string]struct {
		recorded     func(ago time.Duration) bool
		back, period time.Duration
		seen         float64
	}{
		"an hour back":              {complete, time.Hour, day, 1},
		"half a day back":           {complete, 12 * time.Hour, day, 1},
		"a day without, in a day":   {missing, 0, day, 1},
		"a day without, in a week":  {missing, 0, 7 * day, 6. / 7},
		"a day without, in a month": {missing, 0, 30 * day, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(100 * day)
			quotes, now := NewQuotes("test", nil, nil), time.Now()
			var points []point
			for at := now.Add(-90*day - time.Minute); at.Before(now.Add(test.back)); at = at.Add(step) {
				if test.recorded(now.Sub(at)) {
					points = append(points, point{At: at, Price: number("2")})
				}
			}
			quotes.merge(points)
			c, err := New(quotes, "TKN", Settings{}).Chart(t.Context(), quoted("3", now), test.period, chat.English, "Herald")
			if err != nil || !c.Line || math.Abs(c.Seen-test.seen) > 0.01 || !c.First.Equal(number("2")) || !c.Last.Equal(number("3")) {
				t.Errorf("%s: a line %v of %v, from %s to %s, %v", name, c.Line, c.Seen, c.First, c.Last, err)
			}
		})
	}
}

func TestChartIsDrawnOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drawn := 0
		charts := drawnBy(func() ([]byte, error) {
			time.Sleep(time.Second)
			drawn++
			return fmt.Append(nil, drawn), nil
		})
		quote := quoted("3", time.Now())
		expect := func(want string, quote core.Quote, period time.Duration, l chat.Language, name string) {
			if c, err := charts.Chart(t.Context(), quote, period, l, name); err != nil || string(c.PNG) != want {
				t.Errorf("got picture %q, %v, want %s", c.PNG, err, want)
			}
		}
		var askers sync.WaitGroup
		for range 100 {
			askers.Go(func() { expect("1", quote, day, chat.English, "Herald") })
		}
		askers.Wait()
		newer := quoted("3", time.Now())
		expect("1", quote, day, chat.English, "Herald")
		expect("2", quote, day, chat.Chinese, "Herald")
		expect("3", quote, 7*day, chat.English, "Herald")
		expect("4", newer, day, chat.English, "Herald")
		time.Sleep(keepFor + 1)
		expect("5", newer, day, chat.English, "Herald")
		expect("6", newer, day, chat.English, "Another")
	})
}

func TestTwoChartsAreDrawnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charts := drawnBy(func() ([]byte, error) {
			time.Sleep(2 * time.Second)
			return []byte("png"), nil
		})
		start := time.Now()
		var drawn, late atomic.Int64
		var callers sync.WaitGroup
		for n := range 4 {
			callers.Go(func() {
				_, err := charts.Chart(t.Context(), quoted(fmt.Sprint(n+1), start), day, chat.English, "Herald")
				switch took := time.Since(start); {
				case err == nil && took == 2*time.Second:
					drawn.Add(1)
				case errors.Is(err, context.DeadlineExceeded) && took == 3*time.Second:
					late.Add(1)
				}
			})
		}
		callers.Wait()
		if drawn.Load() != 2 || late.Load() != 2 {
			t.Errorf("%d charts drawn after 2 s and %d callers refused after 3 s, want 2 and 2", drawn.Load(), late.Load())
		}
		time.Sleep(time.Second) // until all are drawn
	})
}

func TestDrawingOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charts, quote := drawnBy(func() ([]byte, error) { return []byte("png"), nil }), quoted("3", time.Now())
		if !charts.drawing.TryAcquire(maxDrawing) {
			t.Fatal("a chart is being drawn")
		}
		time.AfterFunc(time.Second, func() { charts.drawing.Release(maxDrawing) })
		go func() {
			ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
			defer leave()
			if _, err := charts.Chart(ctx, quote, day, chat.English, "Herald"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first caller gets %v, want %v", err, context.DeadlineExceeded)
			}
		}()
		synctest.Wait()
		if c, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald"); err != nil || string(c.PNG) != "png" {
			t.Errorf("the second caller gets %q, %v", c.PNG, err)
		}
	})
}

func TestPanicFailsOneChart(t *testing.T) {
	calls := 0
	charts := drawnBy(func() ([]byte, error) {
		if calls++; calls <= maxDrawing { // none of them keeps its permit
			panic("private")
		}
		return []byte("png"), nil
	})
	quote := quoted("3", time.Now())
	for range maxDrawing {
		_, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald")
		if err == nil || !strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "private") {
			t.Errorf("got %v, want the panic without its value", err)
		}
	}
	if c, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald"); err != nil || string(c.PNG) != "png" {
		t.Errorf("after the panics: %q, %v", c.PNG, err)
	}
}

func TestChartsInMemoryAreBounded(t *testing.T) {
	charts := drawnBy(func() ([]byte, error) { return nil, nil })
	for n := range 2*maxDrawn + 1 {
		if _, err := charts.Chart(t.Context(), quoted(fmt.Sprint(n+1), time.Now()), day, chat.English, "Herald"); err != nil {
			t.Fatal(err)
		}
		if got := charts.drawn.ItemCount(); got < 1 || got > maxDrawn {
			t.Fatalf("%d charts are kept after %d, want 1 to %d", got, n+1, maxDrawn)
		}
	}
}

var now = time.Date(2026, 11, 21, 15, 47, 12, 0, time.UTC)

func seen(ago time.Duration, price string) point {
	return point{At: now.Add(-ago), Price: number(price)}
}

func estimate(ago time.Duration, price string) point {
	return point{At: now.Add(-ago), Price: number(price), Estimated: true}
}

func samePoints(a, b []point) bool {
	return slices.EqualFunc(a, b, func(a, b point) bool {
		return a.At.Equal(b.At) && a.Price.Equal(b.Price) && a.Estimated == b.Estimated
	})
}

func TestChangesInPerCentImplyEarlierPrices(t *testing.T) {
	for name, c := range map[string]struct {
		quote  core.Quote
		period time.Duration
		want   []point
	}{
		"all three": {changed("110", now, "10", "-50", "-75"), 7 * day,
			// The price of an hour ago is too close to now.
			[]point{estimate(7*day, "440"), estimate(day, "220"), seen(0, "110")}},
		"a day":           {changed("110", now, "10", "-50", "-75"), day, []point{estimate(day, "220"), estimate(time.Hour, "100"), seen(0, "110")}},
		"unknown changes": {quoted("110", now), day, []point{seen(0, "110")}},
		"impossible":      {changed("110", now, "-100", "-100.01", "-1000"), 7 * day, []point{seen(0, "110")}},
		"tiny": {changed("0.000000000001", now, "900", "100", "0"), day,
			[]point{estimate(day, "0.0000000000005"), estimate(time.Hour, "0.0000000000001"), seen(0, "0.000000000001")}},
		"no time":                  {changed("1", time.Time{}, "1", "", ""), day, nil},
		"no price":                 {changed("0", now, "1", "1", "1"), day, nil},
		"nothing at its beginning": {changed("110", now, "", "", "-75"), day, []point{seen(0, "110")}},
	} {
		if got := pointsBetween(nil, c.quote, now.Add(-c.period), now); !samePoints(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEstimatesGiveWayToWhatWasSeen(t *testing.T) {
	for apart, want := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: true, // What was seen before the period hides nothing.
		0: false, 59 * time.Minute: false, time.Hour: true, 5 * time.Hour: true,
	} {
		got := pointsBetween([]point{seen(day-apart, "100"), seen(-time.Minute, "9")}, changed("110", now, "", "10", ""), now.Add(-day), now)
		// What another replica saw later is not shown.
		if got[0].Estimated != want || !slices.IsSortedFunc(got, byTime) || !got[len(got)-1].Price.Equal(number("110")) {
			t.Errorf("seen %v apart: %v, want an estimate: %v", apart, got, want)
		}
	}
}

func TestChangeIsTheProvidersOrRecorded(t *testing.T) {
	whole := walk(7*day, step, 4, 5)
	for name, test := range map[string]struct {
		points []point
		told   decimal.NullDecimal
		want   string
	}{
		"the provider's":           {whole, decimal.NewNullDecimal(number("-12.5")), "-12.5"},
		"the provider's, no line":  {nil, decimal.NewNullDecimal(number("-12.5")), "-12.5"},
		"what was seen":            {whole, decimal.NullDecimal{}, "24.74"},
		"what was seen, with gaps": {without(whole, 5*day, 3*day), decimal.NullDecimal{}, "24.74"},
		"of half the period":       {without(whole, 8*day, 3*day), decimal.NullDecimal{}, ""},
		"an estimate at first":     {append([]point{estimate(7*day, "9")}, without(whole, 8*day, 3*day)...), decimal.NullDecimal{}, ""},
	} {
		p := picture{from: now.Add(-7 * day), to: now, points: test.points, quote: core.Quote{Change7d: test.told}}
		if got := p.change(); got.Valid != (test.want != "") || got.Valid && !got.Decimal.Equal(number(test.want)) {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

func TestHighAndLowNeedTheWholePeriod(t *testing.T) {
	week, hourly := walk(7*day, step, 4, 5), walk(7*day, time.Hour, 4, 5)
	for name, test := range map[string]struct {
		points []point
		want   bool
	}{
		"whole": {week, true}, "hourly": {hourly, true}, "an hour is missing": {without(week, 5*time.Hour, 4*time.Hour), true},
		"nights between which a line is drawn": {nights(week), true}, "a day is missing": {without(week, 5*day, 4*day), false},
		"an estimate at first": {append([]point{estimate(7*day, "1")}, without(week, 8*day, 6*day)...), false},
	} {
		lowest, highest := ofPeriod(7*day, test.points...).extremes()
		if lowest.IsPositive() != test.want || highest.IsPositive() != test.want {
			t.Errorf("%s: %v to %v", name, lowest, highest)
		}
	}
	// What was seen is told, and no estimate.
	points := append([]point{estimate(7*day-time.Minute, "1")}, without(week, 8*day, 7*day-time.Hour)...)
	if lowest, _ := ofPeriod(7*day, points...).extremes(); lowest.LessThan(number("3")) {
		t.Errorf("the lowest is %v", lowest)
	}
}

func TestLineHasFewPointsAndAllSpikes(t *testing.T) {
	month := walk(30*day, step, 4, 5)
	month[1000].Price, month[2001].Price = number("9"), number("1")
	gap := without(month, 20*day, 15*day)
	for name, points := range map[string][]point{
		"a month": month, "a gap": gap, "estimates": append([]point{estimate(30*day, "2"), estimate(25*day, "3")}, without(month, 31*day, 20*day)...),
	} {
		p := ofPeriod(30*day, points...)
		drawn := p
		drawn.points = p.shownPoints()
		gaps := func(p picture) (n int) {
			for i := range p.points {
				if !p.joined(i) {
					n++
				}
			}
			return n
		}
		low, high := bounds(points)
		lowest, highest := bounds(drawn.points)
		if len(drawn.points) > 240 || name == "a month" && len(drawn.points) < 180 || low != lowest || high != highest || gaps(drawn) != gaps(p) {
			t.Errorf("%s: %d points from %v to %v with %d gaps; there are %v to %v with %d", name, len(drawn.points), lowest.Price, highest.Price, gaps(drawn), low.Price, high.Price, gaps(p))
		}
		if estimates := len(points) - len(p.recorded()); len(drawn.points)-len(drawn.recorded()) != estimates {
			t.Errorf("%s: not all of %d estimates are drawn", name, estimates)
		}
	}
}

// priceSource is a core.Source.
type priceSource func() (core.Snapshot[core.Quote], error)

func (f priceSource) Get(context.Context, struct{}) (core.Snapshot[core.Quote], error) { return f() }

func TestEachFreshAnswerIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(shared)
		quotes := NewQuotes("test", []core.Store{store}, nil)
		var answer core.Snapshot[core.Quote]
		var failure error
		recorded := &Recorded{Quotes: quotes, Prices: priceSource(func() (core.Snapshot[core.Quote], error) { return answer, failure })}
		for _, step := range []struct {
			name  string
			price string
			stale bool
			err   error
			want  string
		}{
			{"failed", "1", false, errors.New("down"), ""},
			{"stale", "2", true, nil, ""},
			{"fresh", "3", false, nil, "3"},
			{"the next one", "4", false, nil, "3 4"},
		} {
			time.Sleep(15 * time.Minute)
			answer = core.Snapshot[core.Quote]{Value: quoted(step.price, time.Now()), At: time.Now(), Stale: step.stale}
			failure = step.err
			for range 2 {
				if got, err := recorded.Get(t.Context(), struct{}{}); got != answer || err != failure {
					t.Errorf("%s: got %+v, %v, want %+v, %v", step.name, got, err, answer, failure)
				}
			}
			wantPrices(t, step.name, quotes, step.want)
		}
		// A hit of the cache does not even look at the points.
		quotes.points = nil
		_, _ = recorded.Get(t.Context(), struct{}{})
		wantPrices(t, "after a hit", quotes, "")
	})
}

func TestSparkHasFortyPrices(t *testing.T) {
	from := time.Unix(1_700_000_000, 0).UTC()
	p := picture{from: from, to: from.Add(40 * time.Hour)}
	for hour := 0; hour <= 40; hour++ {
		if hour <= 10 || hour >= 20 { // and a gap of more than a twelfth
			p.points = append(p.points, point{At: from.Add(time.Duration(hour) * time.Hour), Price: decimal.NewFromInt(int64(hour))})
		}
	}
	var want []float64
	for hour := 1; hour <= 40; hour++ {
		if price := float64(hour); hour <= 10 || hour >= 20 {
			want = append(want, price)
		} else {
			want = append(want, math.NaN())
		}
	}
	if got := p.spark(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	p.points = p.points[:3]
	if got := p.spark(); got != nil {
		t.Errorf("without a line: %v", got)
	}
}
