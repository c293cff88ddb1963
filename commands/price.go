package commands

import (
	"context"

	"herald/internal/chat"
	"herald/internal/core"
)

func price(prices core.Source[core.NoArgument, core.Quote], token Token) chat.Command {
	return chat.Command{
		Name:       "price",
		Summary:    "Price of " + token.Symbol + " in USD",
		Visibility: chat.Public,
		Forms: []chat.Form{{Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			quote, err := prices.Get(ctx, core.NoArgument{})
			if err != nil {
				return chat.Reply{}, err
			}
			return priceReply(quote, token), nil
		}}},
	}
}

func priceReply(quote core.Snapshot[core.Quote], token Token) chat.Reply {
	q := quote.Value
	fields := []chat.Field{{Name: "Price", Value: usd(q.Price)}}
	add := func(name, value string, known bool) {
		if known {
			fields = append(fields, chat.Field{Name: name, Value: value})
		}
	}
	add("1 h", change(q.Change1h.Decimal), q.Change1h.Valid)
	add("24 h", change(q.Change24h.Decimal), q.Change24h.Valid)
	add("7 d", change(q.Change7d.Decimal), q.Change7d.Valid)
	add("Market cap", money(q.MarketCap.Decimal), q.MarketCap.Valid)
	add("24 h volume", money(q.Volume24h.Decimal), q.Volume24h.Valid)

	reply := chat.Reply{Title: token.Symbol + " price", Sections: []chat.Section{{Fields: fields}}}
	if !q.LastUpdated.IsZero() {
		reply.Notes = append(reply.Notes, "Last updated by the provider: "+moment(q.LastUpdated))
	}
	return markOld(reply, "price provider", quote.Stale, quote.At)
}
