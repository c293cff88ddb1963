package app

import (
	"context"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// leastEvery is the least time between two questions of a Ticker, for a provider
// whose calls are not counted.
const leastEvery = 5 * time.Minute

// tickerConfig is what a Ticker works with.
type tickerConfig struct {
	Symbol   string
	Language chat.Language
	// Last is the last price there is, however old. It asks nobody.
	Last func(struct{}) (core.Snapshot[core.Quote], bool)
	// Price is asked.
	Price core.Source[struct{}, core.Quote]
	// Credit is how long it takes for a credit of the price provider to come back;
	// 0 if they are not counted. A Ticker takes at most a third of them.
	Credit time.Duration
	// Oldest is the age from which on a price is not shown.
	Oldest time.Duration
}

// ticker is used by one goroutine at a time.
type ticker struct {
	tickerConfig
	asked time.Time
}

// newTicker makes a ticker.
func newTicker(c tickerConfig) *ticker { return &ticker{tickerConfig: c} }

// Text is the price with its change over 24 hours, empty if there is none to
// show. It may ask for one, and returns when ctx is done.
func (t *ticker) Text(ctx context.Context) string {
	every := max(leastEvery, 3*t.Credit)
	last, known := t.Last(struct{}{})
	if (!known || time.Since(last.At) >= every) && time.Since(t.asked) >= every {
		t.asked = time.Now()
		_, _ = t.Price.Get(ctx, struct{}{}) // The log and the metrics have its failure.
		last, known = t.Last(struct{}{})
	}
	if !known || time.Since(last.At) >= t.Oldest {
		return ""
	}
	text := t.Symbol + " " + words.Say(t.Language, chat.Price{Decimal: last.Value.Price})
	if change := last.Value.Change24h; change.Valid {
		text += " · " + words.Say(t.Language, chat.Say("price.24h")) + " " + words.Say(t.Language, chat.Change{Decimal: change.Decimal})
	}
	if last.Value.Old() {
		text += " · " + words.Say(t.Language, chat.Moment{Time: last.Value.LastUpdated})
	}
	return text
}
