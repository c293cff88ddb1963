package app

import (
	"context"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/words"
)

// ticker writes the price for Discord's member list. Most of the time, it shows the price that commands have fetched
// last. It asks the provider itself only if that price is at least a refresh interval old, and then at most once per
// interval. A ticker is not safe for concurrent use.
type ticker struct {
	language chat.Language
	symbol   string
	// maxAge is the age at which a price is no longer shown.
	maxAge time.Duration
	// interval returns the refresh interval.
	interval func() time.Duration
	// source asks the provider.
	source query.Source[struct{}, *core.Quote]
	// last returns the last price.
	last func() lastPrice

	askedAt time.Time // when the ticker last asked the provider; zero before the first time
}

// lastPrice is the last price that the provider gave to a command or to the ticker.
type lastPrice struct {
	// At is when the provider gave it, however long ago. It is zero if there is no price.
	At time.Time
	// Quote is the price. Its Err is a *belief.DoubtError if the price is doubtful.
	Quote query.Answer[*core.Quote]
}

// isOlder reports whether the last price is at least d old. It returns true if there is no price.
func (p lastPrice) isOlder(d time.Duration) bool { return time.Since(p.At) >= d }

// Text returns one of these texts:
//
//	HRLD $0.04173 · 24h ▲ 2.72%      the price, with its change over 24 hours if that is known
//	⚠️ HRLD $0.04173 (3 days old)     an old price
//	⚠️ HRLD $894,000.00 (doubtful)    a doubtful price
//	""                                no price, or one older than maxAge
//
// It blocks while it asks the provider, until ctx is done. A failure of the provider is logged and counted there.
func (t *ticker) Text(ctx context.Context) string {
	interval := t.interval()
	price := t.last()
	if price.isOlder(interval) && time.Since(t.askedAt) >= interval {
		t.askedAt = time.Now()
		_, _ = t.source.Get(ctx, struct{}{})
		price = t.last()
	}
	if price.isOlder(t.maxAge) {
		return ""
	}
	if headline, isDoubtful := commands.DoubtfulPrice(price.Quote.Err, t.symbol); isDoubtful {
		return warningSign + t.say(headline)
	}
	quote := price.Quote.Snapshot
	quote.Stale = price.isOlder(interval) // Then no newer one could be fetched.
	if headline, isOld := commands.OldPrice(quote, t.symbol); isOld {
		return warningSign + t.say(headline)
	}
	text := t.symbol + " " + t.say(chat.Price{Decimal: quote.Value.Price})
	if change := quote.Value.Change24h; change.Valid {
		text += " ·\u00a0" + t.say(chat.Say("price.24h")) + " " + t.say(chat.Change{Decimal: change.Decimal})
	}
	return text
}

const warningSign = "⚠️ "

// say returns v in the ticker's language.
func (t *ticker) say(v chat.Value) string { return words.Say(t.language, v) }
