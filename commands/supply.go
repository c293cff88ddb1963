package commands

import (
	"context"
	"sync"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

func supply(supplies core.Source[core.NoArgument, core.Supply], prices core.Source[core.NoArgument, core.Quote], token Token) chat.Command {
	return chat.Command{
		Name:       "supply",
		Summary:    "Total and circulating supply of " + token.Symbol,
		Visibility: chat.Public,
		Forms: []chat.Form{{Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			var quote core.Snapshot[core.Quote]
			var quoteErr error
			var pricing sync.WaitGroup
			pricing.Go(func() { quote, quoteErr = prices.Get(ctx, core.NoArgument{}) })
			supply, err := supplies.Get(ctx, core.NoArgument{})
			pricing.Wait()
			if err != nil {
				return chat.Reply{}, err
			}
			reply := supplyReply(supply, token)
			if quoteErr != nil {
				reply.Notes = append(reply.Notes, "What it is worth could not be checked: "+Explain(quoteErr))
				return reply, &chat.PartialError{Err: quoteErr}
			}
			return addWorth(reply, supply.Value, quote), nil
		}}},
	}
}

func supplyReply(supply core.Snapshot[core.Supply], token Token) chat.Reply {
	s := supply.Value
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	reply := chat.Reply{
		Title: token.Symbol + " supply",
		Sections: []chat.Section{{Fields: []chat.Field{
			{Name: "Total", Value: amount(s.Total, token)},
			{Name: "Circulating", Value: amount(s.Circulating, token)},
			{Name: "Share circulating", Value: share.StringFixed(2) + " %"},
		}}},
	}
	return markOld(reply, "supply host", supply.Stale, supply.At)
}

// addWorth adds what the supplies are worth at the quoted price.
func addWorth(reply chat.Reply, s core.Supply, quote core.Snapshot[core.Quote]) chat.Reply {
	at := quote.Value.Price
	reply.Sections = append(reply.Sections, chat.Section{
		Heading: "At " + usd(at) + " each",
		Fields: []chat.Field{
			{Name: "Total", Value: money(s.Total.Mul(at))},
			{Name: "Circulating", Value: money(s.Circulating.Mul(at))},
		},
	})
	return markOld(reply, "price provider", quote.Stale, quote.At)
}
