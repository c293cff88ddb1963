package commands

import (
	"context"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

func supply(from Sources, options Options) chat.Command {
	run := func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
		both := core.Join(ctx, from.Supply, struct{}{}, from.Price, struct{}{})
		if both.ErrA != nil {
			return chat.Reply{}, both.ErrA
		}
		reply := supplyReply(both.A, options)
		if both.ErrB != nil {
			reply.Notes = append(reply.Notes, chat.SayWith("supply.unpriced", chat.Values{"why": Explain(both.ErrB)}))
			return reply, &chat.PartialError{Err: both.ErrB}
		}
		supply, quote := both.A.Value, both.B.Value
		reply.Sections = append(reply.Sections, chat.Section{
			Heading: chat.SayWith("supply.worth", chat.Values{"price": chat.Price{Decimal: quote.Price}}),
			Fields: []chat.Field{
				{Name: chat.Say("supply.total"), Value: chat.Money{Decimal: supply.Total.Mul(quote.Price)}},
				{Name: chat.Say("supply.circulating"), Value: chat.Money{Decimal: supply.Circulating.Mul(quote.Price)}},
			},
		})
		reply = markOld(reply, both.B, "price")
		if !both.A.Stale && !both.B.Stale {
			reply.Notes = []chat.Text{checked(both.Checked())}
			reply.AsOf, reply.FreshUntil = both.AsOf(), both.FreshUntil()
		}
		if quote.Old() {
			reply.Tone, reply.Notes = chat.Warning, append(reply.Notes, oldQuote(quote))
		}
		return reply, nil
	}
	return chat.Command{
		Name:       "supply",
		Summary:    chat.SayWith("command.supply", options.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Inline: true, Run: run}},
	}
}

func supplyReply(supply core.Snapshot[core.Supply], options Options) chat.Reply {
	s := supply.Value
	share := s.Circulating.Mul(decimal.NewFromInt(100)).DivRound(s.Total, 2)
	reply := chat.Reply{
		Title: chat.SayWith("supply.title", options.symbol()),
		Sections: []chat.Section{{Fields: []chat.Field{
			{Name: chat.Say("supply.total"), Value: options.amount(s.Total)},
			{Name: chat.Say("supply.circulating"), Value: options.amount(s.Circulating)},
			{Name: chat.Say("supply.share"), Value: chat.Share{Decimal: share}},
		}}},
		Actions: []chat.Action{refresh("supply")},
	}
	if !supply.Stale {
		reply.Notes = []chat.Text{checked(supply.At)}
	}
	return markOld(reply, supply, "supply")
}
