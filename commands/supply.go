package commands

import (
	"cmp"
	"context"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
)

// supplyCommand answers /supply.
type supplyCommand struct {
	Sources
	Options
}

func supply(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "supply",
		Summary:    chat.SayWith("command.supply", options.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Inline: true, Run: supplyCommand{from, options}.answer}},
	}
}

func (c supplyCommand) answer(ctx context.Context, _ chat.Request) (chat.Reply, error) {
	var staked core.Answer[core.Stake]
	var asking sync.WaitGroup
	if c.Total != nil {
		ctx, cancel := context.WithTimeout(ctx, extraWait)
		defer cancel()
		asking.Go(func() { staked = core.Ask(ctx, c.Total, struct{}{}) })
	}
	supply, price := core.Both(ctx, c.Supply, struct{}{}, c.Price, struct{}{})
	if supply.Err != nil {
		return chat.Reply{}, supply.Err
	}
	reply, err := c.reply(supply, price)
	asking.Wait()
	// Without the total the reply does not speak of it, so this is no PartialError.
	c.addTotal(&reply, supply.Value, staked)
	return reply, err
}

// addTotal adds what all wallets have staked to a reply. It adds nothing unless every pool
// was read and they have at most the total supply.
func (c supplyCommand) addTotal(reply *chat.Reply, s core.Supply, staked core.Answer[core.Stake]) {
	total := staked.Value.Total()
	if staked.Err != nil || staked.Value.Checked == 0 || !staked.Value.Complete() || total.GreaterThan(s.Total) {
		return
	}
	share := chat.SayWith("supply.of_total", chat.Values{"share": chat.Share{Decimal: total.Shift(2).DivRound(s.Total, 1)}})
	fields := &reply.Sections[0].Fields
	*fields = append(*fields, chat.Field{Name: chat.Say("supply.staked"), Value: chat.Parts{c.amount(total, chat.Short), share}})
	reply.Checked = core.Earlier(reply.Checked, cmp.Or(staked.Value.BlockTime, staked.At))
	if !reply.FreshUntil.IsZero() {
		reply.AsOf, reply.FreshUntil = core.Later(reply.AsOf, staked.At), core.Earlier(reply.FreshUntil, staked.FreshUntil)
	}
}

// reply returns both supplies, and what they are worth. It returns a PartialError too if the
// price is not known.
func (c supplyCommand) reply(supply core.Answer[core.Supply], price core.Answer[core.Quote]) (chat.Reply, error) {
	reply := supplyReply(supply.Snapshot, c.Options)
	if price.Err != nil {
		reply.Notes = append(reply.Notes, chat.Say("supply.unpriced"), Explain(price.Err))
		return reply, &chat.PartialError{Err: price.Err}
	}
	withWorth(&reply, supply.Value, price.Value)
	if !supply.Stale {
		reply.Checked = core.Earlier(supply.At, price.At)
	}
	if !supply.Stale && !price.Stale {
		reply.AsOf, reply.FreshUntil = core.Later(supply.At, price.At), core.Earlier(supply.FreshUntil, price.FreshUntil)
	}
	if q := dated(price.Snapshot); q.Old() {
		reply.Tone, reply.Stale, reply.Checked = chat.Warning, reply.Stale || price.Stale, time.Time{}
		reply.Notes = append(reply.Notes, lastKnown("price", q.LastUpdated, price.Stale))
	}
	return reply, nil
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

// withWorth adds what both supplies are worth. If the provider's market cap differs by a
// tenth or more, it adds that too: the provider then counts another supply.
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
