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

// lastPrice returns the time of the last price, however old, and the price or the doubt about it.
// The time is zero if there is none.
type lastPrice func() (at time.Time, price query.Answer[*core.Quote])

// ticker returns a function that returns the price for Discord's member list: with its
// change over 24 hours, or with its age if it is old, or marked if it is doubtful, or nothing if it
// is older than StaleFor allows. The function takes the price that commands have fetched. It asks
// the provider only if that is older than the interval, at most once in an interval, and blocks
// meanwhile, until ctx is done. The function is not safe for concurrent use.
func ticker(cfg *Config, interval func() time.Duration, price query.Source[struct{}, *core.Quote],
	last lastPrice) func(ctx context.Context) string {
	var asked time.Time
	return func(ctx context.Context) string {
		gap := interval()
		at, quote := last()
		if time.Since(at) >= gap && time.Since(asked) >= gap {
			asked = time.Now()
			_, _ = price.Get(ctx, struct{}{}) // its failure is logged and counted there
			at, quote = last()
		}
		if time.Since(at) >= cfg.Market.TTL+cfg.StaleFor {
			return ""
		}
		say := func(v chat.Value) string { return words.Say(cfg.Language, v) }
		if doubtful, is := commands.DoubtfulPrice(quote.Err, cfg.Market.Symbol); is {
			return "⚠️ " + say(doubtful)
		}
		quote.Stale = time.Since(at) >= gap // nobody could learn a newer one
		if old, is := commands.OldPrice(quote.Snapshot, cfg.Market.Symbol); is {
			return "⚠️ " + say(old)
		}
		text := cfg.Market.Symbol + " " + say(chat.Price{Decimal: quote.Value.Price})
		if change := quote.Value.Change24h; change.Valid {
			text += " ·\u00a0" + say(chat.Say("price.24h")) + " " + say(chat.Change{Decimal: change.Decimal})
		}
		return text
	}
}
