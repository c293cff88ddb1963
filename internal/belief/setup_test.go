package belief

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/pricechart"
	"herald/internal/query"
	"herald/internal/secret/logtest"
)

const token = "https://prices.example.org id 1027"

// market is the provider: a query.Source of quotes.
type market struct {
	price     string
	changes   changes
	marketCap string // "": unknown
	err       error
	// isStale makes the last answer stand in.
	isStale bool
	answer  query.Snapshot[*core.Quote]
}

// Get implements query.Source.
func (m *market) Get(context.Context, struct{}) (query.Snapshot[*core.Quote], error) {
	if m.err != nil {
		return query.Snapshot[*core.Quote]{}, m.err
	}
	if m.isStale {
		m.answer.Stale = true
		return m.answer, nil
	}
	quote := quoteOf(m.price, time.Now(), m.changes)
	quote.MarketCap = known(m.marketCap)
	m.answer = query.Snapshot[*core.Quote]{Value: &quote, At: time.Now()}
	return m.answer, nil
}

// process is one process of the bot, which judges the market's prices.
type process struct {
	market *market
	prices *Prices
	quotes *pricechart.Quotes
	log    *logtest.Buffer
}

func start(m *market, stores ...query.Store) process {
	log := new(logtest.Buffer)
	quotes := pricechart.NewQuotes(token, stores, log.Logger())
	prices := NewPrices(Config{Source: m, Token: token, Series: quotes, Stores: stores, Log: log.Logger()})
	return process{market: m, prices: prices, quotes: quotes, log: log}
}

func (p process) close() {
	p.prices.Close()
	p.quotes.Close()
}

// opinion is whether a process believes a price.
type opinion string

const (
	believed opinion = "believed"
	doubted  opinion = "doubted"
)

// ask asks for the market's current price.
func (p process) ask(t *testing.T) opinion {
	t.Helper()
	got, err := p.prices.Get(t.Context(), struct{}{})
	if _, is := errors.AsType[*DoubtError](err); is && got.Value == nil {
		return doubted
	}
	if err != nil || !got.Value.Price.Equal(p.market.answer.Value.Price) {
		t.Fatalf("got %+v, %v", got.Value, err)
	}
	return believed
}

// run asks every minute for this time, and ends the test unless each price is believed or doubted, as wanted.
func (p process) run(t *testing.T, lasts time.Duration, want opinion) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(time.Minute) {
		if got := p.ask(t); got != want {
			t.Fatalf("%s after %v: %s", p.market.price, time.Since(begun), got)
		}
	}
}

// inBubble runs a test in simulated time, a year after its beginning.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * day)
		test(t)
	})
}
