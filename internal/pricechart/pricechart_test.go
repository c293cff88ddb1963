package pricechart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// newCharts returns the Charts of quotes.
func newCharts(quotes *Quotes) *Charts { return New(quotes, "TKN", Settings{}) }

// drawnBy returns Charts that call draw to draw a picture. They have a quote of an hour ago.
func drawnBy(draw func() ([]byte, error)) *Charts {
	quotes := NewQuotes("test", nil, nil)
	quotes.Add(quoteOf("1", time.Now().Add(-time.Hour)))
	c := newCharts(quotes)
	c.draw = func(picture) ([]byte, error) { return draw() }
	return c
}

// drawPNG is an argument for drawnBy. It takes no time.
func drawPNG() ([]byte, error) { return []byte("png"), nil }

// chartOf returns the English chart of a quote.
func chartOf(ctx context.Context, c *Charts, quote core.Quote, period time.Duration) (core.Chart, error) {
	return c.Chart(ctx, quote, period, chat.English, "Herald", "@herald_bot")
}

// facts returns the fields of a chart as a text.
func facts(c core.Chart, now time.Time) string {
	line := fmt.Sprintf("line %v, %.2f seen since %v, from %s to %s",
		c.HasLine, c.Seen, now.Sub(c.Since), c.First, c.Last)
	if c.Lowest.IsPositive() {
		line += fmt.Sprintf(", lowest %s, highest %s", c.Lowest, c.Highest)
	}
	return line
}

// recordedUntil returns a point in every step, from 90 days before now until ahead after now. It leaves out points for
// which skip returns true. The price is 2. Only in the hours before now, it is once 1.5 and once 4.
func recordedUntil(ahead time.Duration, now time.Time, skip func(ago time.Duration) bool) []point {
	var points []point
	for ago := 90*day + 5*time.Minute; ago >= -ahead; ago -= step {
		if !skip(ago) {
			points = append(points, point{At: now.Add(-ago), Price: number("2")})
		}
	}
	atNow := len(points) - int(ahead/step)
	points[atNow-50].Price = number("1.5")
	points[atNow-30].Price = number("4")
	return points
}

func TestChartReportsTheRecordedPeriod(t *testing.T) {
	nothing := func(time.Duration) bool { return false }
	oneDay := func(ago time.Duration) bool { return 3*day <= ago && ago <= 4*day }
	const wholeDay = "line true, 0.99 seen since 23h50m0s, from 2 to 3, lowest 1.5, highest 4"
	for _, test := range []struct {
		name    string
		missing func(ago time.Duration) bool // which points are not recorded
		ahead   time.Duration                // how far ahead of now the last points are
		period  time.Duration
		want    string
	}{
		{
			name:    "a day",
			missing: nothing,
			ahead:   0,
			period:  day,
			want:    wholeDay,
		},
		{
			name:    "a clock that was set back",
			missing: nothing,
			ahead:   12 * time.Hour,
			period:  day,
			want:    wholeDay,
		},
		{
			name:    "a day after a gap",
			missing: oneDay,
			ahead:   0,
			period:  day,
			want:    wholeDay,
		},
		{
			name:    "a week with a gap",
			missing: oneDay,
			period:  7 * day,
			want:    "line true, 0.85 seen since 167h50m0s, from 2 to 3",
		},
		{
			name:    "a month with a gap",
			missing: oneDay,
			period:  30 * day,
			want:    "line true, 1.00 seen since 719h50m0s, from 2 to 3, lowest 1.5, highest 4",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(100 * day)
			now := time.Now()
			quotes := NewQuotes("test", nil, nil)
			quotes.series.add(recordedUntil(test.ahead, now, test.missing))
			c, err := chartOf(t.Context(), newCharts(quotes), quoteWithChanges("3", now, "", "100", "100"), test.period)
			if got := facts(c, now); err != nil || got != test.want {
				t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
			}
			pixels(t, c.PNG)
		})
	}
}

func TestChartOfOnePriceHasNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * day)
		now := time.Now()
		for _, test := range []struct {
			name   string
			at     time.Time // of the quote
			period time.Duration
			want   string
		}{
			{
				name:   "a day",
				at:     now,
				period: day,
				want:   "line false, 0.00 seen since 0s, from 3 to 3",
			},
			{
				name:   "a week",
				at:     now,
				period: 7 * day,
				want:   "line false, 0.00 seen since 0s, from 3 to 3",
			},
			{
				name:   "a month",
				at:     now,
				period: 30 * day,
				want:   "line false, 0.00 seen since 0s, from 3 to 3",
			},
			{
				name:   "a quote ahead",
				at:     now.Add(time.Hour),
				period: 7 * day,
				want:   "line false, 0.00 seen since -1h0m0s, from 3 to 3",
			},
			{
				name:   "a quote without a time",
				at:     time.Time{},
				period: day,
				want:   "line false, 0.00 seen since 0s, from 3 to 3",
			},
		} {
			quote := quoteWithChanges("3", test.at, "", "100", "100")
			c, err := chartOf(t.Context(), newCharts(NewQuotes("test", nil, nil)), quote, test.period)
			if got := facts(c, now); err != nil || got != test.want {
				t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
			}
			pixels(t, c.PNG)
		}
	})
}

// numbered returns Charts whose pictures are the numbers 1, 2 and so on. To draw one takes a second.
func numbered() *Charts {
	drawn := 0
	return drawnBy(func() ([]byte, error) {
		time.Sleep(time.Second)
		drawn++
		return fmt.Append(nil, drawn), nil
	})
}

// wantPicture checks the picture of a chart.
func wantPicture(t *testing.T, want string, c core.Chart, err error) {
	t.Helper()
	if err != nil || string(c.PNG) != want {
		t.Errorf("got picture %q, %v, want %s", c.PNG, err, want)
	}
}

func TestChartIsDrawnOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charts := numbered()
		quote := quoteOf("3", time.Now())
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				c, err := chartOf(t.Context(), charts, quote, day)
				wantPicture(t, "1", c, err)
			})
		}
		callers.Wait()
		time.Sleep(time.Second)
		c, err := chartOf(t.Context(), charts, quote, day)
		wantPicture(t, "1", c, err)
		time.Sleep(keptTTL + 1)
		c, err = chartOf(t.Context(), charts, quote, day)
		wantPicture(t, "2", c, err)
	})
}

func TestAnotherChartIsDrawnAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charts := numbered()
		quote := quoteOf("3", time.Now())
		newer := quoteOf("3", time.Now().Add(time.Second))
		ask := func(want string, q core.Quote, period time.Duration, l chat.Language, name, handle string) {
			t.Helper()
			c, err := charts.Chart(t.Context(), q, period, l, name, handle)
			wantPicture(t, want, c, err)
		}
		ask("1", quote, day, chat.English, "Herald", "@herald_bot")
		ask("2", quote, day, chat.Chinese, "Herald", "@herald_bot")
		ask("3", quote, 7*day, chat.English, "Herald", "@herald_bot")
		ask("4", newer, day, chat.English, "Herald", "@herald_bot")
		ask("5", newer, day, chat.English, "Another", "@herald_bot")
		ask("6", newer, day, chat.English, "Another", "@renamed_bot")
	})
}

// While the provider's quotes are old, it is unknown when enough of the period will be seen.
func TestOldQuotesPromiseNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * day)
		charts := newCharts(NewQuotes("test", nil, nil))
		charts.draw = func(picture) ([]byte, error) { return drawPNG() }
		quote := quoteWithChanges("2", time.Now().Add(-2*day), "1", "1", "1")
		quote.CurrentUntil = time.Now().Add(-time.Hour)
		c, err := chartOf(t.Context(), charts, quote, day)
		if err != nil || c.HasLine || !c.LineFrom.IsZero() {
			t.Errorf("a line %t, from %v, %v", c.HasLine, c.LineFrom, err)
		}
	})
}

// providerDelay is how old the provider's quotes are in the tests of LineFrom.
const providerDelay = 10 * time.Minute

// addRecorded adds a point in every step of a period. It leaves out points for which recorded returns false.
func addRecorded(quotes *Quotes, period time.Duration, recorded func(ago, period time.Duration) bool) {
	var points []point
	for ago := time.Duration(0); ago <= period; ago += step {
		if recorded(ago, period) {
			points = append(points, point{At: time.Now().Add(-providerDelay - ago), Price: number("2")})
		}
	}
	quotes.series.add(points)
}

// chartNow returns the chart of the quote that the provider has now.
func chartNow(t *testing.T, charts *Charts, period time.Duration) core.Chart {
	t.Helper()
	quote := quoteWithChanges("2", time.Now().Add(-providerDelay), "1", "1", "1")
	c, err := chartOf(t.Context(), charts, quote, period)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// If the bot sees every quote until LineFrom, the chart has a line at that time. LineFrom is not much later than
// needed.
func TestTheLineBeginsWhenTheChartPromisesIt(t *testing.T) {
	for name, recorded := range map[string]func(ago, period time.Duration) bool{
		"a new bot": func(ago, _ time.Duration) bool { return ago == 0 },
		"a tenth":   func(ago, period time.Duration) bool { return ago <= period/10 },
		"a gap": func(ago, period time.Duration) bool {
			return ago <= period/10 || ago >= period*2/5 && ago <= period/2
		},
		"long ago":             func(ago, period time.Duration) bool { return ago == 0 || ago >= period*4/5 },
		"almost enough points": func(ago, period time.Duration) bool { return ago < period/4 },
	} {
		for _, period := range []time.Duration{day, 7 * day, 30 * day} {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(100*day + 7*time.Hour + 5*time.Minute)
				start := time.Now()
				quotes := NewQuotes("test", nil, nil)
				addRecorded(quotes, period, recorded)
				charts := newCharts(quotes)
				charts.draw = func(picture) ([]byte, error) { return drawPNG() }

				first := chartNow(t, charts, period)
				promised := first.LineFrom
				if first.HasLine || promised.IsZero() {
					t.Fatalf("%s, %v: a line %t, from %v", name, period, first.HasLine, promised)
				}
				for time.Now().Before(promised) {
					time.Sleep(min(step, time.Until(promised)))
					quotes.series.add([]point{{At: time.Now().Add(-providerDelay), Price: number("2")}})
				}
				if !chartNow(t, charts, period).HasLine {
					t.Errorf("%s, %v: no line at %v", name, period, promised)
				}
				wait := promised.Sub(start)
				if wait > period/4+day || period == day && wait > 7*time.Hour {
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
			return drawPNG()
		})
		start := time.Now()
		var drawn, refused atomic.Int64
		var callers sync.WaitGroup
		for n := range 4 {
			callers.Go(func() {
				_, err := chartOf(t.Context(), charts, quoteOf(fmt.Sprint(n+1), start), day)
				took := time.Since(start)
				switch {
				case err == nil && took == 2*time.Second:
					drawn.Add(1)
				case errors.Is(err, context.DeadlineExceeded) && took == 3*time.Second:
					refused.Add(1)
				}
			})
		}
		callers.Wait()
		if drawn.Load() != 2 || refused.Load() != 2 {
			t.Errorf("%d charts drawn after 2 s and %d callers refused after 3 s, want 2 and 2",
				drawn.Load(), refused.Load())
		}
		time.Sleep(time.Second) // until all are drawn
	})
}

func TestDrawingOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charts := drawnBy(drawPNG)
		quote := quoteOf("3", time.Now())
		if !charts.permits.TryAcquire(maxDrawing) {
			t.Fatal("a chart is being drawn")
		}
		time.AfterFunc(time.Second, func() { charts.permits.Release(maxDrawing) })
		go func() {
			ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
			defer leave()
			if _, err := chartOf(ctx, charts, quote, day); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first caller gets %v, want %v", err, context.DeadlineExceeded)
			}
		}()
		synctest.Wait()
		c, err := chartOf(t.Context(), charts, quote, day)
		wantPicture(t, "png", c, err)
	})
}

func TestPanicFailsOneChart(t *testing.T) {
	calls := 0
	charts := drawnBy(func() ([]byte, error) {
		calls++
		if calls <= maxDrawing {
			panic("private")
		}
		return drawPNG()
	})
	quote := quoteOf("3", time.Now())
	for range maxDrawing { // None of them keeps its permit.
		_, err := chartOf(t.Context(), charts, quote, day)
		if err == nil || !strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "private") {
			t.Errorf("got %v, want the panic without its value", err)
		}
	}
	c, err := chartOf(t.Context(), charts, quote, day)
	wantPicture(t, "png", c, err)
}

func TestChartsInMemoryAreLimited(t *testing.T) {
	charts := drawnBy(drawPNG)
	for n := range 2*maxKept + 1 {
		if _, err := chartOf(t.Context(), charts, quoteOf(fmt.Sprint(n+1), time.Now()), day); err != nil {
			t.Fatal(err)
		}
		if got := charts.kept.ItemCount(); got < 1 || got > maxKept {
			t.Fatalf("%d charts are kept after %d, want 1 to %d", got, n+1, maxKept)
		}
	}
}
