package ticker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/credits"
	"herald/internal/ticker"
)

type silent struct{}

func (silent) Call(*core.Service, string, time.Duration) {}
func (silent) Lookup(string, string, time.Duration)      {}

// provider is a price and how often it was asked for.
type provider struct {
	*core.Cached[core.NoArgument, core.Quote]
	calls int
	fails bool
	quote core.Quote
}

const (
	ttl      = 30 * time.Second
	staleFor = time.Hour
)

func newProvider(t *testing.T, budget core.Budget) *provider {
	service := &core.Service{Name: "price"}
	p := &provider{quote: core.Quote{
		Price: decimal.RequireFromString("0.0417345"), Change24h: decimal.NewNullDecimal(decimal.RequireFromString("2.716")),
	}}
	cache := core.NewCache(core.CacheConfig{
		MaxItems: 10, StaleFor: staleFor, CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, Observer: silent{},
	})
	t.Cleanup(cache.Close)
	p.Cached = core.NewCached(core.NewMeteredBreaker(cache, service, ttl, budget), core.Question[core.NoArgument, core.Quote]{
		Name: "price", TTL: ttl, Shared: &core.Shared[core.Quote]{},
		Ask: func(context.Context, core.NoArgument) (core.Quote, error) {
			p.calls++
			if p.fails {
				return core.Quote{}, service.Fail(core.Rejected, errors.New("no"))
			}
			return p.quote, nil
		},
	})
	return p
}

func (p *provider) ticker(l chat.Language, credit time.Duration) *ticker.Ticker {
	return ticker.New(ticker.Config{Symbol: "HRLD", Language: l, Last: p.Last, Price: p, Credit: credit, Oldest: ttl + staleFor})
}

func plain(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2060", "").Replace(text)
}

func TestThePriceIsSaidInOneLineOfALanguage(t *testing.T) {
	for l, want := range map[chat.Language]string{
		chat.English: "HRLD $0.04173 · 24 h ▲ +2.72%",
		chat.Spanish: "HRLD 0,04173 $ · 24 h ▲ +2,72 %",
		chat.Russian: "HRLD 0,04173 $ · 24 ч ▲ +2,72 %",
	} {
		if got := plain(newProvider(t, nil).ticker(l, 0).Text(t.Context())); got != want {
			t.Errorf("%s: %q, want %q", l, got, want)
		}
	}
	alone := newProvider(t, nil)
	alone.quote.Change24h = decimal.NullDecimal{}
	if got := alone.ticker(chat.English, 0).Text(t.Context()); got != "HRLD $0.04173" {
		t.Errorf("without a change: %q", got)
	}
	for _, l := range chat.Languages() {
		p := newProvider(t, nil)
		p.quote.Price = decimal.RequireFromString("999999999999999")
		p.quote.Change24h = decimal.NewNullDecimal(decimal.RequireFromString("999999999"))
		t20 := ticker.New(ticker.Config{Symbol: strings.Repeat("W", 20), Language: l, Last: p.Last, Price: p, Oldest: time.Hour})
		if got := t20.Text(t.Context()); len([]rune(got)) > 128 || got == "" {
			t.Errorf("%s: the longest is %q", l, got)
		}
	}
}

func TestAPriceThatCommandsLearnedIsShownWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, nil)
		show := p.ticker(chat.English, 0)
		show.Text(t.Context())
		for minute := range int64(120) {
			p.quote.Price = decimal.NewFromInt(1000 + minute)
			p.Get(t.Context(), core.NoArgument{})
			p.quote.Price = decimal.NewFromInt(9)
			before := p.calls
			if got := show.Text(t.Context()); !strings.Contains(got, decimal.NewFromInt(1000 + minute).StringFixed(0)[1:]) && minute > 0 || p.calls != before {
				t.Errorf("in minute %d it shows %q after %d calls of its own", minute, got, p.calls-before)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestAnOldPriceIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, nil)
		show := p.ticker(chat.English, 0)
		if show.Text(t.Context()) == "" {
			t.Fatal("nothing is shown")
		}
		p.fails = true
		start := time.Now()
		for time.Since(start) < 3*time.Hour {
			if got, is := show.Text(t.Context()) != "", time.Since(start) < ttl+staleFor; got != is {
				t.Fatalf("after %v it is shown: %t", time.Since(start), got)
			}
			time.Sleep(time.Minute)
		}
		p.fails = false
		time.Sleep(5 * time.Minute)
		if show.Text(t.Context()) == "" {
			t.Error("not shown once the provider is well")
		}
	})
}

func TestAtMostAThirdOfTheCreditsIsSpentWhenNobodyAsks(t *testing.T) {
	for _, plan := range []int{10, 100, 1000, 10_000} {
		for name, fails := range map[string]bool{"well": false, "failing": true} {
			synctest.Test(t, func(t *testing.T) {
				budget := credits.New(credits.Config{PerMonth: plan})
				p := newProvider(t, budget)
				p.fails = fails
				show := p.ticker(chat.English, budget.Every())
				for range 31 * 24 * 60 {
					show.Text(t.Context())
					time.Sleep(time.Minute)
				}
				if p.calls > plan/3+1 || p.calls < plan/5 {
					t.Errorf("a provider that is %s: %d calls of %d", name, p.calls, plan)
				}
			})
		}
	}
}
