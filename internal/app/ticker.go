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

// ticker writes the price for Discord's member list. It shows the last price that a command or the ticker has fetched.
// If that price is at least a refresh interval old, the ticker asks the provider for another one, but at most once per
// interval. A ticker is not safe for concurrent use.
type ticker struct {
	language chat.Language
	symbol   string
	// maxAge is the age at which a price is too old to be shown. If the refresh interval is longer, a price is shown
	// until the interval has passed, because the ticker may not ask for another one before.
	maxAge time.Duration
	// interval returns the refresh interval.
	interval func() time.Duration
	// source asks the provider. If it gets a price, last returns that price afterwards. If it fails, it logs and counts
	// the failure.
	source query.Source[struct{}, *core.Quote]
	// last returns the last price that a command or the ticker has fetched.
	last func() lastPrice

	askedAt time.Time // when the ticker last asked the provider; zero before the first time
}

// lastPrice is the last price that the provider gave to a command or to the ticker.
type lastPrice struct {
	// At is when the provider gave it. That may be long ago. It is zero if there is no price.
	At time.Time
	// Quote is the price. Its Err is nil, or a *belief.DoubtError if the price is doubtful.
	Quote query.Answer[*core.Quote]
}

// hasAge reports whether the last price is at least d old. It returns true if there is no price.
func (p lastPrice) hasAge(d time.Duration) bool { return time.Since(p.At) >= d }

// Text returns one of these texts:
//
//	HRLD $0.04173 · 24h ▲ 2.72%      the price, with its change over 24 hours if that is known
//	⚠️ HRLD $0.04173 (3 days old)     an old price
//	⚠️ HRLD $894,000.00 (doubtful)    a doubtful price
//	""                                no price, or one that is too old to be shown: see maxAge
//
// It blocks while it asks the provider, until ctx is done.
func (t *ticker) Text(ctx context.Context) string {
	interval := t.interval()
	price := t.last()
	if price.hasAge(interval) && time.Since(t.askedAt) >= interval {
		t.askedAt = time.Now()
		_, _ = t.source.Get(ctx, struct{}{}) // last returns the result.
		price = t.last()
	}
	if price.hasAge(max(t.maxAge, interval)) {
		return ""
	}
	if headline, isDoubtful := commands.DoubtfulPrice(price.Quote.Err, t.symbol); isDoubtful {
		return warningSign + t.say(headline)
	}
	quote := price.Quote.Snapshot
	// If the price is older than the interval, the ticker has asked for another one within the interval, and failed.
	quote.Stale = price.hasAge(interval)
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
