package pricechart

import (
	"context"
	"errors"
	"fmt"
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

// inWords says what a chart shows of the time before now.
func inWords(c core.Chart, now time.Time) string {
	said := fmt.Sprintf("line %v, %.2f seen since %v, from %s to %s", c.HasLine, c.Seen, now.Sub(c.Since), c.First, c.Last)
	if c.Lowest.IsPositive() {
		said += fmt.Sprintf(", lowest %s, highest %s", c.Lowest, c.Highest)
	}
	return said
}

func TestChartTellsOfItsPeriod(t *testing.T) {
	all := func(time.Duration) bool { return true }
	none := func(time.Duration) bool { return false }
	withoutADay := func(ago time.Duration) bool { return ago > 4*day || ago < 3*day }
	for name, test := range map[string]struct {
		recorded func(ago time.Duration) bool
		period   time.Duration
		ahead    time.Duration // of the clock: the last quotes, or the quote itself
		noTime   bool
		want     string
	}{
		"a day":              {all, day, 0, false, "line true, 0.99 seen since 23h50m0s, from 2 to 3, lowest 1.5, highest 4"},
		"a clock set back":   {all, day, 12 * time.Hour, false, "line true, 0.99 seen since 23h50m0s, from 2 to 3, lowest 1.5, highest 4"},
		"a gap before":       {withoutADay, day, 0, false, "line true, 0.99 seen since 23h50m0s, from 2 to 3, lowest 1.5, highest 4"},
		"a gap":              {withoutADay, 7 * day, 0, false, "line true, 0.85 seen since 167h50m0s, from 2 to 3"},
		"a gap of 1/30":      {withoutADay, 30 * day, 0, false, "line true, 1.00 seen since 719h50m0s, from 2 to 3, lowest 1.5, highest 4"},
		"one price":          {none, day, 0, false, "line false, 0.00 seen since 0s, from 3 to 3"},
		"a week of one":      {none, 7 * day, 0, false, "line false, 0.00 seen since 0s, from 3 to 3"},
		"a month of one":     {none, 30 * day, 0, false, "line false, 0.00 seen since 0s, from 3 to 3"},
		"a quote ahead":      {none, 7 * day, time.Hour, false, "line false, 0.00 seen since -1h0m0s, from 3 to 3"},
		"a quote of no time": {none, day, 0, true, "line false, 0.00 seen since 0s, from 3 to 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(100 * day)
			quotes, now := NewQuotes("test", nil, nil), time.Now()
			quote := changed("3", now, "", "100", "100")
			var points []point
			for ago := 90*day + 5*time.Minute; ago >= -test.ahead; ago -= step {
				if test.recorded(ago) {
					points = append(points, point{At: now.Add(-ago), Price: number("2")})
				}
			}
			if len(points) == 0 {
				quote.LastUpdated = now.Add(test.ahead)
			} else {
				points[len(points)-50-int(test.ahead/step)].Price = number("1.5")
				points[len(points)-30-int(test.ahead/step)].Price = number("4")
			}
			if test.noTime {
				quote.LastUpdated = time.Time{}
			}
			quotes.series.add(points)
			c, err := New(quotes, "TKN", Settings{}).Chart(t.Context(), quote, test.period, chat.English, "Herald", "@herald_bot")
			if got := inWords(c, now); err != nil || got != test.want {
				t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
			}
			pixels(t, c.PNG)
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
			if c, err := charts.Chart(t.Context(), quote, period, l, name, "@herald_bot"); err != nil || string(c.PNG) != want {
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
		time.Sleep(drawnTTL + 1)
		expect("5", newer, day, chat.English, "Herald")
		expect("6", newer, day, chat.English, "Another")
		if c, err := charts.Chart(t.Context(), newer, day, chat.English, "Another", "@renamed_bot"); err != nil || string(c.PNG) != "7" {
			t.Errorf("after the bot was renamed: picture %q, %v", c.PNG, err)
		}
	})
}

// While the provider's quotes are old, nobody knows when enough will be seen.
func TestOldQuotesPromiseNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * day)
		charts := New(NewQuotes("test", nil, nil), "TKN", Settings{})
		charts.draw = func(picture) ([]byte, error) { return []byte("png"), nil }
		quote := changed("2", time.Now().Add(-2*day), "1", "1", "1")
		quote.OldFrom = time.Now().Add(-time.Hour)
		c, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald", "")
		if err != nil || c.HasLine || !c.LineFrom.IsZero() {
			t.Errorf("a line %t, from %v, %v", c.HasLine, c.LineFrom, err)
		}
	})
}

// The time that a card tells is one at which there is a line, if quotes are seen until then, and not
// much later than the first such time.
func TestTheLineBeginsWhenACardSays(t *testing.T) {
	for name, recorded := range map[string]func(ago, period time.Duration) bool{
		"a new bot":            func(ago, _ time.Duration) bool { return ago == 0 },
		"a tenth":              func(ago, period time.Duration) bool { return ago <= period/10 },
		"a gap":                func(ago, period time.Duration) bool { return ago <= period/10 || ago >= period*2/5 && ago <= period/2 },
		"long ago":             func(ago, period time.Duration) bool { return ago == 0 || ago >= period*4/5 },
		"as much as is needed": func(ago, period time.Duration) bool { return ago < period/4 },
	} {
		for _, period := range []time.Duration{day, 7 * day, 30 * day} {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(100*day + 7*time.Hour + 5*time.Minute)
				const late = 10 * time.Minute // A quote is that old when it is seen.
				quotes := NewQuotes("test", nil, nil)
				start := time.Now()
				var before []point
				for ago := time.Duration(0); ago <= period; ago += step {
					if recorded(ago, period) {
						before = append(before, point{At: start.Add(-late - ago), Price: number("2")})
					}
				}
				quotes.series.add(before)
				charts := New(quotes, "TKN", Settings{})
				charts.draw = func(picture) ([]byte, error) { return []byte("png"), nil }
				at := func() core.Chart {
					quote := changed("2", time.Now().Add(-late), "1", "1", "1")
					c, err := charts.Chart(t.Context(), quote, period, chat.English, "Herald", "")
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				first := at()
				said := first.LineFrom
				if first.HasLine != said.IsZero() || first.HasLine {
					t.Fatalf("%s, %v: a line %t, from %v", name, period, first.HasLine, said)
				}
				for time.Now().Before(said) {
					time.Sleep(min(step, time.Until(said)))
					quotes.series.add([]point{{At: time.Now().Add(-late), Price: number("2")}})
				}
				if !at().HasLine {
					t.Errorf("%s, %v: no line at %v", name, period, said)
				}
				if wait := said.Sub(start); wait > period/4+day || period == day && wait > 7*time.Hour {
					t.Errorf("%s, %v: a line only after %v", name, period, wait)
				}
			})
		}
	}
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
				_, err := charts.Chart(t.Context(), quoted(fmt.Sprint(n+1), start), day, chat.English, "Herald", "@herald_bot")
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
			if _, err := charts.Chart(ctx, quote, day, chat.English, "Herald", "@herald_bot"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first caller gets %v, want %v", err, context.DeadlineExceeded)
			}
		}()
		synctest.Wait()
		if c, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald", "@herald_bot"); err != nil || string(c.PNG) != "png" {
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
		_, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald", "@herald_bot")
		if err == nil || !strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "private") {
			t.Errorf("got %v, want the panic without its value", err)
		}
	}
	if c, err := charts.Chart(t.Context(), quote, day, chat.English, "Herald", "@herald_bot"); err != nil || string(c.PNG) != "png" {
		t.Errorf("after the panics: %q, %v", c.PNG, err)
	}
}

func TestChartsInMemoryAreBounded(t *testing.T) {
	charts := drawnBy(func() ([]byte, error) { return nil, nil })
	for n := range 2*maxDrawn + 1 {
		if _, err := charts.Chart(t.Context(), quoted(fmt.Sprint(n+1), time.Now()), day, chat.English, "Herald", "@herald_bot"); err != nil {
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
		"grown ten million times": {changed("0.1", now, "900000000", "", ""), day,
			[]point{estimate(time.Hour, "0.0000000111111098765"), seen(0, "0.1")}},
		"no time":                  {changed("1", time.Time{}, "1", "", ""), day, nil},
		"no price":                 {changed("0", now, "1", "1", "1"), day, nil},
		"nothing at its beginning": {changed("110", now, "", "", "-75"), day, []point{seen(0, "110")}},
	} {
		if got := pointsBetween(nil, c.quote, now.Add(-c.period), now); fmt.Sprint(got) != fmt.Sprint(c.want) {
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
		if got[0].Estimated != want {
			t.Errorf("seen %v apart: the first point is an estimate: %v, want %v", apart, got[0].Estimated, want)
		}
		if !slices.IsSortedFunc(got, byTime) {
			t.Errorf("seen %v apart: got %v, want points sorted by time", apart, got)
		}
		// What another replica saw later is not shown.
		if last := got[len(got)-1].Price; !last.Equal(number("110")) {
			t.Errorf("seen %v apart: the last price is %s, want 110", apart, last)
		}
	}
}

func TestChangeIsTheProvidersOrRecorded(t *testing.T) {
	whole := walk(7*day, step, 4, 5)
	for name, test := range map[string]struct {
		points   []point
		provided decimal.NullDecimal
		want     string
	}{
		"the provider's":           {whole, decimal.NewNullDecimal(number("-12.5")), "-12.5"},
		"the provider's, no line":  {nil, decimal.NewNullDecimal(number("-12.5")), "-12.5"},
		"what was seen":            {whole, decimal.NullDecimal{}, "24.74"},
		"what was seen, with gaps": {without(whole, 5*day, 3*day), decimal.NullDecimal{}, "24.74"},
		"of half the period":       {without(whole, 8*day, 3*day), decimal.NullDecimal{}, ""},
		"an estimate at first":     {append([]point{estimate(7*day, "9")}, without(whole, 8*day, 3*day)...), decimal.NullDecimal{}, ""},
	} {
		p := picture{from: now.Add(-7 * day), to: now, points: test.points, quote: core.Quote{Change7d: test.provided}}
		if got := p.change(); got.Valid != (test.want != "") || got.Valid && !got.Decimal.Equal(number(test.want)) {
			t.Errorf("%s: got %v, want %s", name, got, test.want)
		}
	}
}

func TestHighAndLowNeedTheWholePeriod(t *testing.T) {
	week := walk(7*day, step, 4, 5)
	for name, test := range map[string]struct {
		points []point
		want   bool
	}{
		"whole": {week, true}, "hourly": {walk(7*day, time.Hour, 4, 5), true}, "an hour is missing": {without(week, 5*time.Hour, 4*time.Hour), true},
		"nights between which a line is drawn": {nights(week), true}, "a day is missing": {without(week, 5*day, 4*day), false},
		"the first 6 hours are missing":  {without(week, 8*day, 7*day-6*time.Hour), true},
		"the first 10 hours are missing": {without(week, 8*day, 7*day-10*time.Hour), false},
		"much is estimated":              {append([]point{estimate(7*day, "1")}, without(week, 8*day, 6*day)...), false},
		"the first is estimated":         {append([]point{estimate(7*day-time.Minute, "1")}, without(week, 8*day, 7*day-time.Hour)...), true},
	} {
		lowest, highest := ofPeriod(7*day, test.points...).extremes()
		if got := lowest.GreaterThan(number("3")); got != test.want {
			t.Errorf("%s: the lowest is %v, want one: %v", name, lowest, test.want)
		}
		if got := highest.GreaterThan(lowest); got != test.want {
			t.Errorf("%s: the highest is %v, want one: %v", name, highest, test.want)
		}
	}
}
