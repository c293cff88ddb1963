package commands

import (
	"context"
	"sync"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

func supply(supplies core.Source[struct{}, core.Supply], prices core.Source[struct{}, core.Quote], look Options) chat.Command {
	return chat.Command{
		Name:       "supply",
		Summary:    chat.SayWith("command.supply", look.symbol()),
		Visibility: chat.Public,
		Forms: []chat.Form{{Inline: true, Run: func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
			var quote core.Snapshot[core.Quote]
			var quoteErr error
			var pricing sync.WaitGroup
			pricing.Go(func() { quote, quoteErr = prices.Get(ctx, struct{}{}) })
			supply, err := supplies.Get(ctx, struct{}{})
			pricing.Wait()
			if err != nil {
				return chat.Reply{}, err
			}
			reply := supplyReply(supply, look)
			if quoteErr != nil {
				reply.Notes = append(reply.Notes, chat.SayWith("supply.unpriced", chat.Values{"why": Explain(quoteErr)}))
				return reply, &chat.PartialError{Err: quoteErr}
			}
			return withWorth(reply, supply, quote), nil
		}}},
	}
}

func supplyReply(supply core.Snapshot[core.Supply], look Options) chat.Reply {
	s := supply.Value
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	reply := chat.Reply{
		Title: chat.SayWith("supply.title", look.symbol()),
		Sections: []chat.Section{{Fields: []chat.Field{
			{Name: chat.Say("supply.total"), Value: look.amount(s.Total)},
			{Name: chat.Say("supply.circulating"), Value: look.amount(s.Circulating)},
			{Name: chat.Say("supply.share"), Value: chat.Share{Decimal: share}},
		}}},
		Actions: []chat.Action{refresh("supply")},
	}
	if !supply.Stale {
		reply.Notes = []chat.Text{checked(supply.At)}
	}
	return markOld(reply, supply, "supply")
}

// withWorth adds what the supplies are worth at the quoted price. What is said to
// be checked at a time is no older: neither the supplies nor the price.
func withWorth(reply chat.Reply, supply core.Snapshot[core.Supply], quote core.Snapshot[core.Quote]) chat.Reply {
	at := quote.Value.Price
	reply.Sections = append(reply.Sections, chat.Section{
		Heading: chat.SayWith("supply.worth", chat.Values{"price": chat.Price{Decimal: at}}),
		Fields: []chat.Field{
			{Name: chat.Say("supply.total"), Value: chat.Money{Decimal: supply.Value.Total.Mul(at)}},
			{Name: chat.Say("supply.circulating"), Value: chat.Money{Decimal: supply.Value.Circulating.Mul(at)}},
		},
	})
	reply = markOld(reply, quote, "price")
	if supply.Stale || quote.Stale {
		return reply
	}
	if quote.At.Before(supply.At) {
		reply.Notes = []chat.Text{checked(quote.At)}
	}
	// It has changed when either has, and is fresh while both are.
	reply.AsOf, reply.FreshUntil = supply.At, supply.FreshUntil
	if quote.At.After(supply.At) {
		reply.AsOf = quote.At
	}
	if quote.FreshUntil.Before(supply.FreshUntil) {
		reply.FreshUntil = quote.FreshUntil
	}
	return reply
}
