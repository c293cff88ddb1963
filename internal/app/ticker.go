package app

import (
	"context"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// minTickerGap is the shortest time between two questions of a ticker to a provider
// whose calls are not counted.
const minTickerGap = 5 * time.Minute

// ticker is the price in Discord's member list. Commands keep it up to date; it asks
// the provider only where they do not. One goroutine at a time may use it.
type ticker struct {
	symbol   string
	language chat.Language
	// last returns the last price there is, however old, and asks nobody.
	last  func(struct{}) (core.Snapshot[core.Quote], bool)
	price core.Source[struct{}, core.Quote]
	// credit is how long the price provider's next credit takes, 0 if credits are not
	// counted. A ticker spends at most a third of them.
	credit time.Duration
	maxAge time.Duration // of a price that is shown

	asked time.Time
}

// text returns the price with its change over 24 hours, empty if there is none to
// show. It may ask the provider, and returns when ctx is done.
func (t *ticker) text(ctx context.Context) string {
	gap := max(minTickerGap, 3*t.credit)
	last, known := t.last(struct{}{})
	if (!known || time.Since(last.At) >= gap) && time.Since(t.asked) >= gap {
		t.asked = time.Now()
		_, _ = t.price.Get(ctx, struct{}{}) // its failure is logged and counted there
		last, known = t.last(struct{}{})
	}
	if !known || time.Since(last.At) >= t.maxAge {
		return ""
	}
	text := t.symbol + " " + words.Say(t.language, chat.Price{Decimal: last.Value.Price})
	if change := last.Value.Change24h; change.Valid {
		text += " · " + words.Say(t.language, chat.Say("price.24h")) + " " + words.Say(t.language, chat.Change{Decimal: change.Decimal})
	}
	if last.Value.Old() {
		text += " · " + words.Say(t.language, chat.Moment{Time: last.Value.LastUpdated})
	}
	return text
}
