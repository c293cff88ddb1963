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
			reply.Notes = append(reply.Notes, chat.Say("supply.unpriced"), Explain(both.ErrB))
			return reply, &chat.PartialError{Err: both.ErrB}
		}
		reply.Sections = append(reply.Sections, chat.Section{Layout: chat.Grid, Fields: worthFields(both.A.Value, both.B.Value)})
		if !both.A.Stale {
			reply.Checked = both.Checked()
		}
		if !both.A.Stale && !both.B.Stale {
			reply.AsOf, reply.FreshUntil = both.AsOf(), both.FreshUntil()
		}
		return withOldPrice(reply, both.B), nil
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
	share := s.Circulating.Mul(hundred).DivRound(s.Total, 2)
	reply := chat.Reply{
		Title: chat.SayWith("supply.title", chat.Values{"circulating": options.amount(s.Circulating, chat.Whole)}),
		Sections: []chat.Section{{Fields: []chat.Field{
			{Name: chat.Say("supply.total"), Value: options.amount(s.Total, chat.Whole)},
			{Name: chat.Say("supply.share"), Value: chat.Share{Decimal: share}},
		}}},
		Actions: []chat.Action{refresh("supply")},
	}
	if !supply.Stale {
		reply.Checked = supply.At
	}
	return markOld(reply, supply, "supply", supply.At)
}

var hundred = decimal.NewFromInt(100)

// worthFields say what the two supplies are worth, and what the provider says the
// market cap is where that differs by more than one per cent: it may count another
// supply.
func worthFields(s core.Supply, q core.Quote) []chat.Field {
	worth := s.Circulating.Mul(q.Price)
	fields := []chat.Field{
		{Name: chat.Say("price.cap"), Value: chat.Money{Decimal: worth}},
		{Name: chat.Say("supply.diluted"), Value: chat.Money{Decimal: s.Total.Mul(q.Price)}},
	}
	if theirs := q.MarketCap.Decimal; q.MarketCap.Valid && theirs.Sub(worth).Abs().Mul(hundred).GreaterThan(worth) {
		name := chat.SayWith("supply.cap_of", chat.Values{"source": chat.Plain(q.Source)})
		fields = append(fields, chat.Field{Name: name, Value: chat.Money{Decimal: theirs}})
	}
	return fields
}
