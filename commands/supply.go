package commands

import (
	"context"
	"time"

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
		withWorth(&reply, both.A.Value, both.B.Value)
		if !both.A.Stale {
			reply.Checked = both.Checked()
		}
		if !both.A.Stale && !both.B.Stale {
			reply.AsOf, reply.FreshUntil = both.AsOf(), both.FreshUntil()
		}
		if q := dated(both.B); q.Old() {
			reply.Tone, reply.Stale, reply.Checked = chat.Warning, reply.Stale || both.B.Stale, time.Time{}
			reply.Notes = append(reply.Notes, lastKnown("price", q.LastUpdated, both.B.Stale))
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
	reply := chat.Reply{
		Title: chat.SayWith("supply.title", chat.Values{"circulating": options.amount(s.Circulating, chat.Whole)}),
		Sections: []chat.Section{{Fields: []chat.Field{
			{Name: chat.Say("supply.total"), Value: options.amount(s.Total, chat.Whole)},
			{Name: chat.Say("supply.share"), Value: chat.Share{Decimal: s.Circulating.Shift(2).DivRound(s.Total, 2)}},
		}}},
		Actions: []chat.Action{refresh("supply")},
	}
	if supply.Stale {
		reply.Tone, reply.Stale, reply.Notes = chat.Warning, true, []chat.Text{lastKnown("supply", supply.At, true)}
	} else {
		reply.Checked = supply.At
	}
	return reply
}

// withWorth adds what the two supplies are worth, and what the provider says the market
// cap is where that differs by a tenth: it then counts another supply.
func withWorth(reply *chat.Reply, s core.Supply, q core.Quote) {
	worth := s.Circulating.Mul(q.Price)
	reply.Sections = append(reply.Sections, chat.Section{Fields: []chat.Field{
		{Name: chat.Say("price.cap"), Value: chat.Money{Decimal: worth}},
		{Name: chat.Say("supply.diluted"), Value: chat.Money{Decimal: s.Total.Mul(q.Price)}},
	}})
	if theirs := q.MarketCap.Decimal; q.MarketCap.Valid && theirs.Sub(worth).Abs().Shift(1).GreaterThanOrEqual(worth) {
		note := chat.SayWith("supply.cap_of", chat.Values{"source": chat.Plain(q.Source), "cap": chat.Money{Decimal: theirs}})
		reply.Notes = append(reply.Notes, note)
	}
}
