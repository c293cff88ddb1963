package commands

import (
	"context"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

func price(prices core.Source[core.NoArgument, core.Quote], look Look) chat.Command {
	return chat.Command{
		Name:       "price",
		Summary:    chat.SayWith("command.price", look.symbol()),
		Visibility: chat.Public,
		Forms: []chat.Form{{Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			quote, err := prices.Get(ctx, core.NoArgument{})
			if err != nil {
				return chat.Reply{}, err
			}
			return priceReply(quote, look), nil
		}}},
	}
}

func priceReply(quote core.Snapshot[core.Quote], look Look) chat.Reply {
	q := quote.Value
	fields := []chat.Field{{Name: chat.Say("price.price"), Value: chat.Price{Decimal: q.Price}}}
	change := func(name string, percent decimal.NullDecimal) {
		if percent.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(name), Value: chat.Change{Decimal: percent.Decimal}})
		}
	}
	change("price.1h", q.Change1h)
	change("price.24h", q.Change24h)
	change("price.7d", q.Change7d)
	sum := func(name string, usd decimal.NullDecimal) {
		if usd.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(name), Value: chat.Money{Decimal: usd.Decimal}})
		}
	}
	sum("price.cap", q.MarketCap)
	sum("price.volume", q.Volume24h)

	reply := chat.Reply{
		Title:    chat.SayWith("price.title", look.symbol()),
		Sections: []chat.Section{{Fields: fields}},
		Actions:  []chat.Action{refresh("price")},
	}
	if !q.LastUpdated.IsZero() {
		reply.Notes = append(reply.Notes, chat.SayWith("price.updated", chat.Values{"when": chat.Moment{Time: q.LastUpdated}}))
	}
	return dated(reply, quote, "price")
}
