package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/market"
)

// provider returns a quote, keeps the last one that it returned, and counts the ticker's
// calls.
type provider struct {
	quote core.Quote
	fails bool
	doubt *belief.DoubtError // about the last quote
	last  query.Snapshot[*core.Quote]
	calls int
}

func (p *provider) learn() { p.last = query.Snapshot[*core.Quote]{Value: &p.quote, At: time.Now()} }

func (p *provider) Get(context.Context, struct{}) (query.Snapshot[*core.Quote], error) {
	p.calls++
	if p.fails {
		return query.Snapshot[*core.Quote]{}, errors.New("no")
	}
	p.learn()
	return p.last, nil
}

func (p *provider) ticker(l chat.Language) func(context.Context) string {
	last := func() (time.Time, query.Answer[*core.Quote]) {
		if p.doubt != nil {
			return p.last.At, query.Answer[*core.Quote]{Err: p.doubt}
		}
		return p.last.At, query.Answer[*core.Quote]{Snapshot: p.last}
	}
	cfg := &Config{Language: l, StaleFor: time.Hour}
	cfg.Market.Symbol = "HRLD"
	return ticker(cfg, func() time.Duration { return 15 * time.Minute }, p, last)
}

func TestStatusSpendsAThirdOfTheCredits(t *testing.T) {
	const month = 31 * 24 * time.Hour
	if got := statusInterval(nil); got != 5*time.Minute {
		t.Errorf("without a bound the gap is %v, want 5m", got)
	}
	for _, plan := range []int{10, 1000, 10_000, 1_000_000} {
		cache := query.NewCache(query.CacheConfig{CallTimeout: time.Minute})
		gap := statusInterval(market.New(market.Settings{MonthlyCredits: plan}, cache, nil).Budget)
		if calls := int(month / gap); calls > plan/3 || gap < 5*time.Minute {
			t.Errorf("plan of %d: %d calls a month, one in %v; want at most a third, one in 5m", plan, calls, gap)
		}
	}
}

func priced(price, change string) core.Quote {
	return core.Quote{Price: decimal.RequireFromString(price), Change24h: decimal.NewNullDecimal(decimal.RequireFromString(change))}
}

func TestThePriceIsSaidInOneLineOfALanguage(t *testing.T) {
	old := priced("0.0417345", "2.716")
	old.LastUpdated, old.CurrentUntil = time.Now().Add(-73*time.Hour), time.Now().Add(-72*time.Hour)
	for want, quote := range map[string]core.Quote{
		"⚠️ HRLD $0.04173 (3 days old)": old,
		"HRLD $0.04173 · 24h ▲ 2.72%":   priced("0.0417345", "2.716"),
		"HRLD $0.04173":                 {Price: decimal.RequireFromString("0.0417345")},
	} {
		p := &provider{quote: quote}
		if got := strings.ReplaceAll(p.ticker(chat.English)(t.Context()), "\u00a0", " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	doubtful := &provider{quote: priced("894000", "2.7")}
	doubtful.doubt = &belief.DoubtError{Answer: query.Snapshot[*core.Quote]{Value: &doubtful.quote}}
	if got := doubtful.ticker(chat.English)(t.Context()); got != "⚠️ HRLD $894,000.00 (doubtful)" {
		t.Errorf("a doubtful price is %q", got)
	}
	for _, l := range chat.Languages() {
		p := &provider{quote: priced("999999999999999", "999999999")}
		if got := p.ticker(l)(t.Context()); len([]rune(got)) > 128-20 || got == "" {
			t.Errorf("%s: the longest is %q", l, got)
		}
	}
}

// What commands learn is shown at once. The ticker asks only when they do not.
func TestTheTickerAsksSeldomAndShowsNoOldPrice(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &provider{quote: priced("1000", "1")}
			show := p.ticker(chat.English)
			show(t.Context())
			for minute := range 60 {
				p.quote = priced("2000", "1")
				p.learn()
				if got := show(t.Context()); !strings.Contains(got, "2,000") || p.calls != 1 {
					t.Fatalf("in minute %d it shows %q after %d calls of its own", minute, got, p.calls)
				}
				time.Sleep(time.Minute)
			}
			p.fails = fails
			for minute := range 24 * 60 {
				shown := show(t.Context())
				if (shown != "") == (fails && minute >= 59) {
					t.Fatalf("after %d minutes it shows %q", minute, shown)
				}
				if old := strings.HasPrefix(shown, "⚠️"); shown != "" && old != (fails && minute >= 14) {
					t.Fatalf("after %d minutes without a newer one it shows %q", minute+1, shown)
				}
				time.Sleep(time.Minute)
			}
			if want := 24 * 60 / 15; p.calls < want-1 || p.calls > want+1 {
				t.Errorf("%d calls in a day, want %d", p.calls, want)
			}
			p.fails = false
			time.Sleep(15 * time.Minute)
			if show(t.Context()) == "" {
				t.Error("not shown once the provider is well")
			}
		})
	}
}
