package app

import (
	"context"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// ticker returns a function that returns the price for Discord's member list: with its
// change over 24 hours, or with its age if it is old, or nothing if it is older than
// StaleFor allows. The function takes the price that commands have fetched. It asks the
// provider only if that is older than the interval, at most once in an interval, and blocks
// meanwhile, until ctx is done. last returns the last price, however old. The function is not safe
// for concurrent use.
func ticker(cfg *Config, interval func() time.Duration, price core.Source[struct{}, core.Quote],
	last func(struct{}) (core.Snapshot[core.Quote], bool)) func(ctx context.Context) string {
	var asked time.Time
	return func(ctx context.Context) string {
		gap := interval()
		quote, known := last(struct{}{})
		if (!known || time.Since(quote.At) >= gap) && time.Since(asked) >= gap {
			asked = time.Now()
			_, _ = price.Get(ctx, struct{}{}) // its failure is logged and counted there
			quote, known = last(struct{}{})
		}
		if !known || time.Since(quote.At) >= cfg.Market.TTL+cfg.StaleFor {
			return ""
		}
		say := func(v chat.Value) string { return words.Say(cfg.Language, v) }
		quote.Stale = time.Since(quote.At) >= gap // nobody could learn a newer one
		if old, is := commands.OldPrice(quote, cfg.Market.Symbol); is {
			return "⚠️ " + say(old)
		}
		text := cfg.Market.Symbol + " " + say(chat.Price{Decimal: quote.Value.Price})
		if change := quote.Value.Change24h; change.Valid {
			text += " ·\u00a0" + say(chat.Say("price.24h")) + " " + say(chat.Change{Decimal: change.Decimal})
		}
		return text
	}
}
