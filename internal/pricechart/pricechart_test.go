package pricechart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chart"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/history"
	"herald/internal/pricechart"
	"herald/internal/words"
)

const day = 24 * time.Hour

func newHistory() *history.History { return history.New(history.Config{Source: "test"}) }

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func quoted(price string, at time.Time) core.Quote {
	return core.Quote{Price: number(price), LastUpdated: at}
}

func TestAChartShowsWhatWasSeenOfItsPeriod(t *testing.T) {
	now := time.Now()
	h := newHistory()
	h.Add(quoted("9", now.Add(-3*day))) // before the period
	for i := range 48 {
		h.Add(quoted("2", now.Add(-day+time.Duration(i)*30*time.Minute+time.Minute)))
	}
	h.Add(quoted("1.5", now.Add(-12*time.Hour)))
	h.Add(quoted("4", now.Add(-6*time.Hour)))
	for _, l := range []chat.Language{chat.English, chat.Chinese} {
		c, err := pricechart.New(h, "TKN").Chart(t.Context(), quoted("3", now), day, l)
		if err != nil {
			t.Fatal(l, err)
		}
		if _, err := png.Decode(bytes.NewReader(c.PNG)); err != nil {
			t.Errorf("%s: no picture: %v", l, err)
		}
		if !c.First.Equal(number("2")) || !c.Last.Equal(number("3")) || !c.Lowest.Equal(number("1.5")) || !c.Highest.Equal(number("4")) {
			t.Errorf("%s: from %s to %s, lowest %s, highest %s", l, c.First, c.Last, c.Lowest, c.Highest)
		}
		if c.Seen < 0.9 || c.Seen > 1 {
			t.Errorf("%s: %g of the period was seen", l, c.Seen)
		}
	}
}

func TestAChartBeginsWithWhatTheQuoteImplies(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	quote, timeless := quoted("3", now), quoted("3", time.Time{})
	doubled := decimal.NewNullDecimal(number("100"))
	overADay, overAWeek := quote, quote
	overADay.Change24h, overAWeek.Change7d = doubled, doubled
	for name, test := range map[string]struct {
		quote  core.Quote
		period time.Duration
		since  time.Time // zero: no picture
	}{
		"one price":             {quote, day, time.Time{}},
		"no time":               {timeless, day, time.Time{}},
		"a day":                 {overADay, day, now.Add(-day)},
		"a week":                {overAWeek, 7 * day, now.Add(-7 * day)},
		"the last of its weeks": {overAWeek, 30 * day, now.Add(-7 * day)},
	} {
		c, err := pricechart.New(newHistory(), "TKN").Chart(t.Context(), test.quote, test.period, chat.English)
		drawn := c.PNG != nil
		if err != nil || drawn == test.since.IsZero() || !c.Since.Equal(test.since) {
			t.Errorf("%s: drawn %v, since %v, %v", name, drawn, c.Since, err)
		}
		if drawn && (!c.From.Equal(now.Add(-test.period)) || !c.First.Equal(number("1.5")) || c.Seen > 0) {
			t.Errorf("%s: from %v, first %s, %g seen", name, c.From, c.First, c.Seen)
		}
	}
}

// drawnBy makes charts of any quote by draw, and returns how to ask for one.
func drawnBy(draw func(chart.Picture) ([]byte, error)) func(context.Context, core.Quote, time.Duration, chat.Language) (string, error) {
	h := newHistory()
	h.Add(quoted("1", time.Now().Add(-time.Hour)))
	charts := pricechart.New(h, "TKN")
	charts.DrawBy(draw)
	return func(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language) (string, error) {
		c, err := charts.Chart(ctx, quote, period, l)
		return string(c.PNG), err
	}
}

func TestAChartIsDrawnOnceForAllWhoAskForTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drawn := 0
		ask := drawnBy(func(chart.Picture) ([]byte, error) {
			time.Sleep(time.Second)
			drawn++
			return fmt.Append(nil, drawn), nil
		})
		quote := quoted("3", time.Now())
		var askers sync.WaitGroup
		for range 100 {
			askers.Go(func() {
				if png, err := ask(t.Context(), quote, day, chat.English); err != nil || png != "1" {
					t.Errorf("%q, %v", png, err)
				}
			})
		}
		askers.Wait()
		newer := quoted("3", time.Now())
		for i, other := range []func() (string, error){
			func() (string, error) { return ask(t.Context(), quote, day, chat.English) },
			func() (string, error) { return ask(t.Context(), quote, day, chat.Chinese) },
			func() (string, error) { return ask(t.Context(), quote, 7*day, chat.English) },
			func() (string, error) { return ask(t.Context(), newer, day, chat.English) },
			func() (string, error) { time.Sleep(time.Minute); return ask(t.Context(), newer, day, chat.English) },
		} {
			if png, err := other(); err != nil || png != fmt.Sprint(i+1) {
				t.Errorf("question %d is answered with picture %q, %v", i, png, err)
			}
		}
	})
}

func TestTwoChartsAreDrawnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		ask := drawnBy(func(chart.Picture) ([]byte, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return []byte("png"), nil
		})
		start := time.Now()
		var askers sync.WaitGroup
		for n := range 6 {
			askers.Go(func() {
				_, _ = ask(t.Context(), quoted(fmt.Sprint(n+1), start), day, chat.English)
			})
		}
		askers.Wait()
		if took := time.Since(start); most.Load() != 2 || took != 3*time.Second {
			t.Errorf("%d at a time, in %v", most.Load(), took)
		}
	})
}

func TestADrawingThatFailsIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drawn := 0
		ask := drawnBy(func(chart.Picture) ([]byte, error) {
			switch drawn++; drawn {
			case 1:
				panic("a secret")
			case 2:
				return nil, errors.New("no font")
			case 3:
				return nil, chart.ErrTooFewPoints
			}
			return []byte("png"), nil
		})
		quote := quoted("3", time.Now())
		for n := range 2 {
			if png, err := ask(t.Context(), quote, day, chat.English); err == nil || strings.Contains(err.Error(), "a secret") || png != "" {
				t.Errorf("drawing %d: %q, %v", n, png, err)
			}
		}
		for _, want := range []string{"", "png"} {
			if png, err := ask(t.Context(), quote, day, chat.English); err != nil || png != want {
				t.Errorf("got %q, %v, want %q", png, err, want)
			}
		}
	})
}

func TestABusyPainterIsWaitedForThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := drawnBy(func(chart.Picture) ([]byte, error) {
			time.Sleep(time.Minute)
			return nil, nil
		})
		start := time.Now()
		png, err := ask(t.Context(), quoted("3", start), day, chat.English)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || png != "" || took != 3*time.Second {
			t.Errorf("%q, %v after %v", png, err, took)
		}
		time.Sleep(time.Minute)
	})
}

func TestAPictureIsLabelledInItsLanguage(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		language chat.Language
		period   time.Duration
		moment   string
	}{
		{chat.English, day, "15:30"},
		{chat.English, 7 * day, "Nov 20"},
		{chat.Spanish, 30 * day, "20/11"},
		{chat.Chinese, 7 * day, "11/20"},
		{chat.Russian, 7 * day, "20.11"},
		{chat.Turkish, 7 * day, "20.11"},
		{chat.Vietnamese, 7 * day, "20/11"},
	} {
		say := func(v chat.Value) string { return words.Say(test.language, v) }
		charts := pricechart.New(newHistory(), "TKN")
		charts.DrawBy(func(p chart.Picture) ([]byte, error) {
			if got, want := p.Money(1234.5), say(chat.Price{Decimal: number("1234.5")}); got != want {
				t.Errorf("%s: the price is %q, want %q", test.language, got, want)
			}
			if got, want := p.Money(0.5), words.AxisPrice(test.language, number("0.5")); got != want {
				t.Errorf("%s: the price is %q, want %q", test.language, got, want)
			}
			if got := p.Moment(at); got != test.moment {
				t.Errorf("%s: the moment is %q, want %q", test.language, got, test.moment)
			}
			if test.language == chat.Chinese { // its letters are not in the font
				say = func(v chat.Value) string { return words.Say(chat.English, v) }
			}
			title := say(chat.SayWith("chart.title", chat.Values{"symbol": chat.Plain("TKN")}))
			if p.Title != title || p.Seen != say(chat.Say("chart.seen")) || p.Estimated != say(chat.Say("chart.estimated")) {
				t.Errorf("%s: %q, %q, %q", test.language, p.Title, p.Seen, p.Estimated)
			}
			return nil, chart.ErrTooFewPoints
		})
		quote := quoted("3", time.Now())
		quote.Change24h = decimal.NewNullDecimal(number("1"))
		if c, err := charts.Chart(t.Context(), quote, test.period, test.language); err != nil || c.PNG != nil {
			t.Errorf("%s: %d bytes, %v", test.language, len(c.PNG), err)
		}
	}
}

// answers is a core.Source.
type answers func() (core.Snapshot[core.Quote], error)

func (f answers) Get(context.Context, core.NoArgument) (core.Snapshot[core.Quote], error) { return f() }

func TestEveryFreshQuoteIsRecordedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next core.Snapshot[core.Quote]
		var failure error
		h := newHistory()
		source := pricechart.Recorded(answers(func() (core.Snapshot[core.Quote], error) { return next, failure }), h)
		at := func(price string, stale bool, err error) {
			time.Sleep(10 * time.Minute)
			next, failure = core.Snapshot[core.Quote]{Value: quoted(price, time.Now()), Stale: stale}, err
			if got, gotErr := source.Get(t.Context(), core.NoArgument{}); !got.Value.Price.Equal(number(price)) || !errors.Is(gotErr, err) {
				t.Errorf("%s became %s, %v", price, got.Value.Price, gotErr)
			}
		}
		at("1", false, nil)
		at("2", true, nil)
		at("3", false, errors.New("down"))
		at("4", false, nil)
		var seen []string
		for _, p := range h.Since(time.Time{}) {
			seen = append(seen, p.Price.String())
		}
		if len(seen) != 2 || seen[0] != "1" || seen[1] != "4" {
			t.Errorf("recorded %q", seen)
		}
	})
}
