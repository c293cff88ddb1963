package app

import (
	"context"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// ticker returns the price for Discord's member list with its change over 24 hours or,
// if it is old, with its age. It returns nothing if the price is older than a stale one
// may be. Commands keep the price up to date: the provider is asked only where they do
// not, and once in a gap at most. last returns the last price there is, however old, and
// asks nobody. One goroutine at a time may call the ticker; it returns when ctx is done.
func ticker(cfg *Config, gap time.Duration, price core.Source[struct{}, core.Quote],
	last func(struct{}) (core.Snapshot[core.Quote], bool)) func(ctx context.Context) string {
	var asked time.Time
	return func(ctx context.Context) string {
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
			text += " · " + say(chat.Say("price.24h")) + " " + say(chat.Change{Decimal: change.Decimal})
		}
		return text
	}
}
