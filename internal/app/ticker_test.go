package app

import (
	"cmp"
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

// provider is a fake of the price provider, and of the cache that commands fill with its answers.
type provider struct {
	quote core.Quote                  // what the provider answers now
	fails bool                        // whether the ticker's calls fail
	doubt *belief.DoubtError          // about the latest quote; nil if it is believed
	last  query.Snapshot[*core.Quote] // the latest quote in the cache
	calls int                         // how many times the ticker has called the provider
	every time.Duration               // the ticker's interval; 0 stands for 15 minutes
}

// learn caches the quote, as if a command had asked the provider.
func (p *provider) learn() {
	p.last = query.Snapshot[*core.Quote]{Value: &p.quote, At: time.Now()}
}

// Get implements the ticker's source.
func (p *provider) Get(context.Context, struct{}) (query.Snapshot[*core.Quote], error) {
	p.calls++
	if p.fails {
		return query.Snapshot[*core.Quote]{}, errors.New("no")
	}
	p.learn()
	return p.last, nil
}

// newTicker returns a ticker that calls the provider at most once per interval, and shows a price for an hour.
func (p *provider) newTicker(l chat.Language) *ticker {
	return &ticker{
		language: l,
		symbol:   "HRLD",
		maxAge:   time.Hour,
		interval: func() time.Duration { return cmp.Or(p.every, 15*time.Minute) },
		source:   p,
		last: func() lastPrice {
			if p.doubt != nil {
				return lastPrice{At: p.last.At, Quote: query.Answer[*core.Quote]{Err: p.doubt}}
			}
			return lastPrice{At: p.last.At, Quote: query.Answer[*core.Quote]{Snapshot: p.last}}
		},
	}
}

// text returns the text of a new ticker in English, with plain spaces.
func (p *provider) text(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(p.newTicker(chat.English).Text(t.Context()), "\u00a0", " ")
}

func TestThePresenceSpendsAtMostAThirdOfTheCredits(t *testing.T) {
	const month = 31 * 24 * time.Hour
	for _, plan := range []int{10, 1000, 10_000, 1_000_000} {
		cache := query.NewCache(query.CacheConfig{CallTimeout: time.Minute})
		settings := market.Settings{MonthlyCredits: plan}
		interval := statusInterval(market.New(settings, cache, nil).Budget)
		if calls := int(month / interval); calls > plan/3 {
			t.Errorf("of %d credits, %d calls a month spend more than a third", plan, calls)
		}
		if interval < 5*time.Minute {
			t.Errorf("with %d credits, the interval is %v, want at least 5m", plan, interval)
		}
	}
}

func TestThePresenceAsksEveryFiveMinutesIfCreditsAreNotLimited(t *testing.T) {
	if got := statusInterval(nil); got != 5*time.Minute {
		t.Errorf("the interval is %v, want 5m", got)
	}
}

// Until its TTL is over, a price is fresh for /price. The presence must not mark it as old.
func TestThePresenceAsksOnlyAfterTheTTL(t *testing.T) {
	var c Config
	c.Market.Unlimited = true
	c.Market.TTL = time.Hour
	client := market.New(c.Market, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}), nil)
	if got := (&upstreams{cfg: &c}).newTicker(client, nil).interval(); got != time.Hour {
		t.Errorf("the interval is %v, want the TTL", got)
	}
}

// priced returns a quote with this price, in dollars, and this change within 24 hours, in percent.
func priced(price, change string) core.Quote {
	return core.Quote{
		Price:     decimal.RequireFromString(price),
		Change24h: decimal.NewNullDecimal(decimal.RequireFromString(change)),
	}
}

func TestTheTickerShowsPriceAndChange(t *testing.T) {
	old := priced("0.0417345", "2.716")
	old.LastUpdated = time.Now().Add(-73 * time.Hour)
	old.CurrentUntil = time.Now().Add(-72 * time.Hour)
	for want, quote := range map[string]core.Quote{
		"⚠️ HRLD $0.04173 (3 days old)": old,
		"HRLD $0.04173 · 24h ▲ 2.72%":   priced("0.0417345", "2.716"),
		"HRLD $0.04173":                 {Price: decimal.RequireFromString("0.0417345")},
	} {
		p := &provider{quote: quote}
		if got := p.text(t); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
}

func TestTheTickerMarksADoubtfulPrice(t *testing.T) {
	p := &provider{quote: priced("894000", "2.7")}
	p.doubt = &belief.DoubtError{Answer: query.Snapshot[*core.Quote]{Value: &p.quote}}
	const want = "⚠️ HRLD $894,000.00 (doubtful)"
	if got := p.text(t); got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}

// Discord shows at most 128 characters. A symbol has at most 20, so 108 are left for everything else.
func TestTheTickerFitsInEveryLanguage(t *testing.T) {
	for _, l := range chat.Languages() {
		p := &provider{quote: priced("999999999999999", "999999999")}
		got := p.newTicker(l).Text(t.Context())
		if got == "" || len([]rune(got)) > 128-20 {
			t.Errorf("%s: the longest text is %q", l, got)
		}
	}
}

func TestTheTickerShowsAtOnceWhatCommandsLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{quote: priced("1000", "1")}
		ticker := p.newTicker(chat.English)
		ticker.Text(t.Context())
		for minute := range 60 {
			p.quote = priced("2000", "1")
			p.learn()
			if got := ticker.Text(t.Context()); !strings.Contains(got, "2,000") {
				t.Fatalf("in minute %d it shows %q", minute, got)
			}
			time.Sleep(time.Minute)
		}
		if p.calls != 1 {
			t.Errorf("it made %d calls, want only the first", p.calls)
		}
	})
}

// requireDailyCalls fails the test unless the ticker made one call in 15 minutes for a day. callsBefore is the number
// of calls before that day.
func (p *provider) requireDailyCalls(t *testing.T, callsBefore int) {
	t.Helper()
	const want = 24 * 60 / 15
	if calls := p.calls - callsBefore; calls < want-1 || calls > want+1 {
		t.Errorf("%d calls in a day, want %d", calls, want)
	}
}

func TestTheTickerAsksEveryIntervalIfCommandsLearnNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{quote: priced("1000", "1")}
		ticker := p.newTicker(chat.English)
		for minute := range 24 * 60 {
			shown := ticker.Text(t.Context())
			if shown == "" || strings.HasPrefix(shown, "⚠️") {
				t.Fatalf("after %d minutes it shows %q", minute, shown)
			}
			time.Sleep(time.Minute)
		}
		p.requireDailyCalls(t, 0)
	})
}

// The price is marked as old after the interval, 15 minutes, and is not shown after maxAge, an hour.
func TestTheTickerStopsShowingAPriceThatCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{quote: priced("1000", "1")}
		ticker := p.newTicker(chat.English)
		ticker.Text(t.Context())
		time.Sleep(time.Minute)
		p.fails = true
		callsBefore := p.calls
		for age := 1; age <= 24*60; age++ {
			shown := ticker.Text(t.Context())
			isShown := shown != ""
			isMarked := strings.HasPrefix(shown, "⚠️")
			wantShown := age < 60
			wantMarked := wantShown && age >= 15
			if isShown != wantShown || isMarked != wantMarked {
				t.Fatalf("a price of %d minutes is shown as %q", age, shown)
			}
			time.Sleep(time.Minute)
		}
		p.requireDailyCalls(t, callsBefore)

		p.fails = false
		time.Sleep(15 * time.Minute)
		if ticker.Text(t.Context()) == "" {
			t.Error("no price is shown after the provider has recovered")
		}
	})
}

// If there are few credits, the interval is longer than maxAge.
func TestTheTickerShowsAPriceUntilItMayAskForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{quote: priced("1000", "1"), every: 2 * time.Hour}
		ticker := p.newTicker(chat.English)
		for minute := range 24 * 60 {
			if shown := ticker.Text(t.Context()); !strings.HasPrefix(shown, "HRLD") {
				t.Fatalf("after %d minutes it shows %q", minute, shown)
			}
			time.Sleep(time.Minute)
		}
		if p.calls != 12 {
			t.Errorf("%d calls in a day, want 12", p.calls)
		}

		p.fails = true
		time.Sleep(2 * time.Hour)
		if shown := ticker.Text(t.Context()); shown != "" {
			t.Errorf("after the provider has failed, it shows %q", shown)
		}
	})
}
