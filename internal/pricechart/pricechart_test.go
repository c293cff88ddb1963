package pricechart

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

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/pricechart/chart"
	"herald/internal/pricechart/history"
	"herald/internal/words"
)

func newHistory() *history.History { return history.New(history.Config{Source: "test"}) }

func number(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func quoted(price string, at time.Time) core.Quote {
	return core.Quote{Price: number(price), LastUpdated: at}
}

// drawnBy makes charts of any quote by draw, and returns how to ask for one.
func drawnBy(draw func(chart.Picture) ([]byte, error)) func(context.Context, core.Quote, time.Duration, chat.Language) (string, error) {
	h := newHistory()
	h.Add(quoted("1", time.Now().Add(-time.Hour)))
	charts := New(h, "TKN")
	charts.draw = draw
	return func(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language) (string, error) {
		c, err := charts.Chart(ctx, quote, period, l)
		return string(c.PNG), err
	}
}

func TestAChartShowsWhatWasSeenOfItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // A busy machine takes no longer.
		now := time.Now()
		h := newHistory()
		h.Add(quoted("9", now.Add(-3*day))) // before the period
		for i := range 48 {
			h.Add(quoted("2", now.Add(-day+time.Duration(i)*30*time.Minute+time.Minute)))
		}
		h.Add(quoted("1.5", now.Add(-12*time.Hour)))
		h.Add(quoted("4", now.Add(-6*time.Hour)))
		c, err := New(h, "TKN").Chart(t.Context(), quoted("3", now), day, chat.English)
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

func TestAChartBeginsWithWhatTheQuoteImplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // A busy machine takes no longer.
		now := time.Now().Truncate(time.Second)
		timeless, weekly := quoted("3", time.Time{}), quoted("3", now)
		timeless.Change24h = decimal.NewNullDecimal(number("100"))
		weekly.Change7d = timeless.Change24h
		for name, test := range map[string]struct {
			quote  core.Quote
			period time.Duration
			since  time.Time // zero: no picture
		}{
			"one price":             {quoted("3", now), day, time.Time{}},
			"no time":               {timeless, day, time.Time{}},
			"a week":                {weekly, 7 * day, now.Add(-7 * day)},
			"the last of its weeks": {weekly, 30 * day, now.Add(-7 * day)},
		} {
			c, err := New(newHistory(), "TKN").Chart(t.Context(), test.quote, test.period, chat.English)
			drawn := c.PNG != nil
			if err != nil || drawn == test.since.IsZero() || !c.Since.Equal(test.since) {
				t.Errorf("%s: drawn %v, since %v, %v", name, drawn, c.Since, err)
			}
			if drawn && (!c.From.Equal(now.Add(-test.period)) || !c.First.Equal(number("1.5")) || c.Seen > 0) {
				t.Errorf("%s: from %v, first %s, %g seen", name, c.From, c.First, c.Seen)
			}
		}
	})
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
		expect := func(want string, quote core.Quote, period time.Duration, l chat.Language) {
			if png, err := ask(t.Context(), quote, period, l); err != nil || png != want {
				t.Errorf("got picture %q, %v, want %s", png, err, want)
			}
		}
		var askers sync.WaitGroup
		for range 100 {
			askers.Go(func() { expect("1", quote, day, chat.English) })
		}
		askers.Wait()
		newer := quoted("3", time.Now())
		expect("1", quote, day, chat.English)
		expect("2", quote, day, chat.Chinese)
		expect("3", quote, 7*day, chat.English)
		expect("4", newer, day, chat.English)
		time.Sleep(time.Minute)
		expect("5", newer, day, chat.English)
	})
}

func TestTwoChartsAreDrawnAtATimeAndOthersWaitForThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := drawnBy(func(chart.Picture) ([]byte, error) {
			time.Sleep(2 * time.Second)
			return []byte("png"), nil
		})
		start := time.Now()
		var drawn, late atomic.Int64
		var askers sync.WaitGroup
		for n := range 4 {
			askers.Go(func() {
				_, err := ask(t.Context(), quoted(fmt.Sprint(n+1), start), day, chat.English)
				switch took := time.Since(start); {
				case err == nil && took == 2*time.Second:
					drawn.Add(1)
				case errors.Is(err, context.DeadlineExceeded) && took == 3*time.Second:
					late.Add(1)
				}
			})
		}
		askers.Wait()
		if drawn.Load() != 2 || late.Load() != 2 {
			t.Errorf("%d are drawn at once, and %d are waited for", drawn.Load(), late.Load())
		}
		time.Sleep(time.Second) // until all are drawn
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
		for n, want := range []string{"", "", "", "png"} {
			png, err := ask(t.Context(), quote, day, chat.English)
			if (err != nil) != (n < 2) || err != nil && strings.Contains(err.Error(), "a secret") || png != want {
				t.Errorf("drawing %d: %q, %v", n, png, err)
			}
		}
	})
}

func TestAPictureIsLabelledInItsLanguage(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	for _, l := range chat.Languages() {
		c := New(newHistory(), "TKN")
		if p := c.picture(nil, at, at.Add(day), l); p.Moment(at) != "15:30" {
			t.Errorf("%s: the moment is %q", l, p.Moment(at))
		}
		p := c.picture(nil, at, at.Add(7*day), l)
		if want := at.Format(l.Info().Day); p.Moment(at) != want {
			t.Errorf("%s: the day is %q, want %q", l, p.Moment(at), want)
		}
		if want := words.AxisPrice(l, number("0.5")); p.Money(0.5) != want {
			t.Errorf("%s: the price is %q, want %q", l, p.Money(0.5), want)
		}
		if l == chat.Chinese { // Its letters are not in the font.
			l = chat.English
		}
		said := words.Say(l, chat.SayWith("chart.title", chat.Values{"symbol": chat.Plain("TKN")}))
		if p.Title != said || p.Seen != words.Say(l, chat.Say("chart.seen")) || p.Estimated != words.Say(l, chat.Say("chart.estimated")) {
			t.Errorf("%s: %q, %q, %q", l, p.Title, p.Seen, p.Estimated)
		}
	}
}

// answers is a core.Source.
type answers func() (core.Snapshot[core.Quote], error)

func (f answers) Get(context.Context, struct{}) (core.Snapshot[core.Quote], error) { return f() }

func TestEveryFreshQuoteIsRecordedAndNothingElse(t *testing.T) {
	for name, test := range map[string]struct {
		stale    bool
		err      error
		recorded int
	}{"fresh": {false, nil, 1}, "stale": {true, nil, 0}, "failed": {false, errors.New("down"), 0}} {
		h := newHistory()
		want := core.Snapshot[core.Quote]{Value: quoted("1", time.Now()), Stale: test.stale}
		source := Recorded(answers(func() (core.Snapshot[core.Quote], error) { return want, test.err }), h)
		if got, err := source.Get(t.Context(), struct{}{}); got != want || err != test.err {
			t.Errorf("%s became %+v, %v", name, got, err)
		}
		if n := len(h.Since(time.Time{})); n != test.recorded {
			t.Errorf("%s: %d recorded", name, n)
		}
	}
}
