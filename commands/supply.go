package commands

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// supplyCommand answers /supply.
type supplyCommand inputs

func supply(from Sources, options Options) chat.Command {
	return chat.Command{
		Name:       "supply",
		Summary:    chat.SayWith("command.supply", options.symbol()),
		Topic:      chat.Say("topic.supply"),
		Visibility: chat.Public,
		Asks:       []string{"supply", "price", "chain"},
		Forms:      []chat.Form{{Inline: true, Run: supplyCommand{from, options}.answer}},
	}
}

// answer returns the supply. If the price is unknown, it also returns a PartialError. It waits for the staked sum for
// at most extraWait.
func (c supplyCommand) answer(ctx context.Context, _ *chat.Request) (*chat.Reply, error) {
	var f supplyFigures
	var asking sync.WaitGroup
	if c.Total != nil {
		ctx, cancel := context.WithTimeout(ctx, extraWait)
		defer cancel()
		asking.Go(func() { f.staked = query.Ask(ctx, c.Total, struct{}{}) })
	}
	if c.Price == nil {
		f.supply = query.Ask(ctx, c.Supply, struct{}{})
		f.price.Err = errNoPrices
	} else {
		f.supply, f.price = query.Both(ctx, c.Supply, struct{}{}, c.Price, struct{}{})
	}
	if f.supply.Err != nil {
		return nil, f.supply.Err
	}
	asking.Wait()
	f.price.Value = dated(f.price.Snapshot)
	if reply, isDoubtful := c.doubtful(f); isDoubtful {
		return reply, nil
	}
	if c.Price == nil {
		return c.reply(f), nil
	}
	// If the staked sum is not known, the reply does not mention it, so this is not a PartialError.
	return c.reply(f), partly(f.price.Err)
}

// errNoPrices is the Err of supplyFigures.price if there is no price provider.
var errNoPrices = errors.New("there is no price provider")

// supplyFigures are the answers to what /supply asks.
type supplyFigures struct {
	supply query.Answer[core.Supply]
	price  query.Answer[*core.Quote] // dated; Err is set if it is unknown
	staked query.Answer[core.Stake]  // of all wallets together; used only if stakeKnown
}

// stakeKnown reports whether every pool was read. It returns false if more is staked than there is.
func (f supplyFigures) stakeKnown() bool {
	s := f.staked.Value
	return f.staked.Err == nil && s.Checked > 0 && s.Complete() && !s.Total().GreaterThan(f.supply.Value.Total)
}

// counted returns the quote with the price provider's counts of tokens. known is false if there is no quote.
func (f supplyFigures) counted() (q core.Quote, known bool) {
	if doubt, isDoubt := doubtOf(f.price.Err); isDoubt {
		q = *doubt.Answer.Value
		q.MarketCap = decimal.NullDecimal{} // It may be as wrong as the price.
		return q, true
	}
	if f.price.Err != nil {
		return core.Quote{}, false
	}
	return *f.price.Value, true
}

// doubtful returns the reply to a supply that contradicts the price provider's count. The reply has nothing that is
// computed from the doubtful figure. isDoubtful is false if nothing contradicts the supply.
func (c supplyCommand) doubtful(f supplyFigures) (reply *chat.Reply, isDoubtful bool) {
	q, known := f.counted()
	if !known {
		return nil, false
	}
	doubt := belief.JudgeSupply(q, f.supply.Value)
	if doubt == nil {
		return nil, false
	}
	supply := chat.Values{
		"circulating": c.amount(f.supply.Value.Circulating, chat.Whole),
		"total":       c.amount(f.supply.Value.Total, chat.Whole),
	}
	count := chat.Values{"source": chat.Plain(q.Source), "amount": c.amount(doubt.Count, chat.Short)}
	title, text := "supply.doubtful", "supply.doubt"
	other := c.supplyFields(f)[0]
	if doubt.IsTotal {
		title, text = "supply.total_doubtful", "supply.total_doubt"
		other = chat.Field{Value: chat.SayWith("supply.title", supply)}
	}
	reply = &chat.Reply{
		Tone:     chat.Warning,
		Title:    chat.SayWith(title, supply),
		Text:     chat.SayWith(text, count),
		Sections: []chat.Section{{Fields: []chat.Field{other}}},
		Checked:  f.supply.At,
		Source:   chat.Source{Why: failureText(f.supply.Why), Stale: f.supply.Stale},
		Actions:  []chat.Action{refresh("supply")},
	}
	_, reply.Source.AsOf.Time, reply.Source.FreshUntil = f.times()
	if f.supply.Stale {
		reply.Footer = chat.Parts{failureText(f.supply.Why)}
	}
	return reply, true
}

// reply returns the circulating and the total supply, the staked sum, and what the supplies are worth. It leaves out
// unknown figures.
func (c supplyCommand) reply(f supplyFigures) *chat.Reply {
	s := f.supply.Value
	title := chat.Values{"circulating": c.amount(s.Circulating, chat.Whole), "age": chat.Age{Time: f.supply.At}}
	reply := &chat.Reply{
		Title:    chat.SayWith("supply.title", title),
		Subtitle: chat.SayWith("supply.part", chat.Values{"share": share(s.Circulating, s.Total)}),
		Sections: []chat.Section{{Row: true, Fields: c.supplyFields(f)}},
		Source: chat.Source{
			Why:   failureText(cmp.Or(f.supply.Why, f.price.Why)),
			Stale: f.supply.Stale || f.price.Stale,
		},
		Actions: []chat.Action{refresh("supply")},
	}
	reply.Checked, reply.Source.AsOf.Time, reply.Source.FreshUntil = f.times()
	if f.supply.Stale && time.Since(f.supply.At) >= oldAfter { // too old to be shown as current
		reply.Tone = chat.Warning
		reply.Title = chat.SayWith("supply.old", title)
		reply.Subtitle = nil
		reply.Checked = time.Time{}
		reply.Source.AsOf = chat.Version{} // The title prints its age.
	}
	switch {
	case errors.Is(f.price.Err, errNoPrices): // Nobody expects a worth then.
	case f.price.Err != nil:
		reply.Notes = []chat.Text{chat.Say("supply.unpriced"), Explain(f.price.Err)}
	default:
		reply.Sections = append(reply.Sections, chat.Section{Row: true, Fields: worthFields(s, *f.price.Value)})
		reply.Notes = otherCap(s, *f.price.Value)
	}
	reply.Footer = supplyFooter(f)
	return reply
}

// times returns three times of the Reply. Checked is when the oldest figure was read; it is zero if the price is old.
// AsOf is when the price was quoted; it is zero if there is no price, or an old one, which is shown with its age.
// FreshUntil is when the first of the figures expires; it is zero if the price could not be read.
func (f supplyFigures) times() (checked, asOf, freshUntil time.Time) {
	checked, freshUntil = f.supply.At, f.supply.FreshUntil
	if f.stakeKnown() {
		checked = core.Earlier(checked, cmp.Or(f.staked.Value.BlockTime, f.staked.At))
		freshUntil = core.Earlier(freshUntil, f.staked.FreshUntil)
	}
	if errors.Is(f.price.Err, errNoPrices) {
		return checked, time.Time{}, freshUntil
	}
	if f.price.Err != nil {
		return checked, time.Time{}, time.Time{}
	}
	q := f.price.Value
	quoted := cmp.Or(q.LastUpdated, f.price.At)
	freshUntil = core.Earlier(freshUntil, f.price.FreshUntil)
	if q.Old() {
		return time.Time{}, time.Time{}, freshUntil
	}
	// The price changes more often than the supply, so it says which of two answers is newer.
	return core.Earlier(checked, quoted), quoted, freshUntil
}

// share returns part as a share of whole, in per cent. whole must not be 0.
func share(part, whole decimal.Decimal) chat.Share {
	const digits = 40 // so that a share above 0 is not rounded to 0
	return chat.Share{Decimal: part.Shift(2).DivRound(whole, digits)}
}

// supplyFields returns the total supply and, if it is known, how much of that is staked.
func (c supplyCommand) supplyFields(f supplyFigures) []chat.Field {
	plain := c.Options
	plain.Symbol = "" // The title shows it.
	total := f.supply.Value.Total
	fields := []chat.Field{{Name: chat.Say("supply.total"), Value: chat.Strong{Value: plain.amount(total, chat.Whole)}}}
	if !f.stakeKnown() {
		return fields
	}
	staked := f.staked.Value.Total()
	return append(fields, chat.Field{
		Name: chat.Say("supply.staked"),
		Value: chat.SayWith("supply.amount_part", chat.Values{
			"amount": chat.Strong{Value: plain.amount(staked, chat.Short)},
			"share":  share(staked, total),
		}),
	})
}

// worthFields returns what both supplies are worth. If the price is old, only these fields are marked, because the
// supplies are current.
func worthFields(s core.Supply, q core.Quote) []chat.Field {
	name := chat.Say("price.cap")
	if q.Old() {
		name = chat.Say("supply.old_cap")
	}
	return []chat.Field{
		{Name: name, Value: chat.Strong{Value: chat.Money{Decimal: s.Circulating.Mul(q.Price)}}},
		{Name: chat.Say("supply.diluted"), Value: chat.Strong{Value: chat.Money{Decimal: s.Total.Mul(q.Price)}}},
	}
}

// otherCap returns a note with the provider's market cap if that is a tenth or more away from worth, the supply times
// the price: the provider then counts another supply. If worth is 100, that is at most 90 or at least 110. It
// returns no note if the price is old.
func otherCap(s core.Supply, q core.Quote) []chat.Text {
	worth, theirs := s.Circulating.Mul(q.Price), q.MarketCap.Decimal
	if q.Old() || !q.MarketCap.Valid || theirs.Sub(worth).Abs().Shift(1).LessThan(worth) {
		return nil
	}
	return []chat.Text{chat.SayWith("supply.cap_of", chat.Values{
		"source": chat.Plain(q.Source),
		"cap":    chat.Money{Decimal: theirs},
	})}
}

// supplyFooter returns the price that was used, and the provider or why there is no newer figure.
func supplyFooter(f supplyFigures) (footer chat.Parts) {
	if f.supply.Stale {
		footer = chat.Parts{failureText(f.supply.Why)}
	}
	if f.price.Err != nil {
		return footer
	}
	q := f.price.Value
	price := chat.Values{"price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated}}
	at := chat.SayWith("supply.at", price)
	if q.Old() {
		at = chat.SayWith("supply.at_old", price)
	}
	footer = append(chat.Parts{at}, footer...)
	if f.supply.Stale && !q.Old() && !f.price.Stale {
		return footer
	}
	return append(footer, priceSource(f.price.Snapshot))
}
