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

// answer returns the supply with the staked sum and what the supply is worth. It leaves out the staked sum if the chain
// does not answer within extraWait. If the price provider gives no price, it also returns a PartialError. If the supply
// contradicts the price provider's count of the tokens, it returns doubtfulReply.
func (c supplyCommand) answer(ctx context.Context, _ *chat.Request) (*chat.Reply, error) {
	var f supplyFigures
	var asking sync.WaitGroup
	if c.Total != nil {
		extra, cancel := context.WithTimeout(ctx, extraWait)
		defer cancel()
		asking.Go(func() { f.staked = query.Ask(extra, c.Total, struct{}{}) })
	}
	if c.Price == nil {
		f.supply = query.Ask(ctx, c.Supply, struct{}{})
		f.price.Err = errNoPrices
	} else {
		f.supply, f.price = query.Both(ctx, c.Supply, struct{}{}, c.Price, struct{}{})
	}
	if f.supply.Err != nil {
		return nil, f.supply.Err // The deferred cancel ends the other call.
	}
	asking.Wait()
	f.price.Snapshot = dated(f.price.Snapshot).Snapshot // An overdue price counts as old.
	if q, known := f.quoteForCounts(); known {
		if doubt := belief.JudgeSupply(q, f.supply.Value); doubt != nil {
			return c.doubtfulReply(f, doubt, q.Source), nil
		}
	}
	if !f.hasProvider() {
		return c.reply(f), nil
	}
	// An unknown price is a PartialError. An unknown staked sum is not one, because the reply does not mention it.
	return c.reply(f), asPartialError(f.price.Err)
}

// supplyFigures are the answers to what /supply asks.
type supplyFigures struct {
	supply query.Answer[core.Supply]
	price  query.Answer[*core.Quote] // dated; its Err is errNoPrices if there is no price provider
	staked query.Answer[core.Stake]  // of all wallets together; used only if stakeKnown
}

var errNoPrices = errors.New("there is no price provider")

// hasProvider reports whether there is a price provider. It may have failed.
func (f supplyFigures) hasProvider() bool { return !errors.Is(f.price.Err, errNoPrices) }

// stakeKnown reports whether the staked sum is known: every pool was read, and the sum is not more than the total
// supply.
func (f supplyFigures) stakeKnown() bool {
	s := f.staked.Value
	return f.staked.Err == nil && s.Checked > 0 && s.Complete() && !s.Total().GreaterThan(f.supply.Value.Total)
}

// quoteForCounts returns the quote by which belief judges the supply. The quote has the price provider's own counts of
// the tokens. If the price is doubtful, quoteForCounts leaves out the market cap, which may be wrong, too. known is
// false if there is no quote.
func (f supplyFigures) quoteForCounts() (q core.Quote, known bool) {
	if doubt, isDoubt := doubtOf(f.price.Err); isDoubt {
		q = *doubt.Answer.Value
		q.MarketCap = decimal.NullDecimal{}
		return q, true
	}
	if f.price.Err != nil {
		return core.Quote{}, false
	}
	return *f.price.Value, true
}

// doubtfulReply returns the reply if the circulating or the total supply contradicts the count of the price provider,
// whose name is source. The reply shows the other supply, and nothing that is computed from the doubtful one.
func (c supplyCommand) doubtfulReply(f supplyFigures, doubt *belief.SupplyDoubt, source string) *chat.Reply {
	values := chat.Values{
		"circulating": c.amount(f.supply.Value.Circulating, chat.Whole),
		"total":       c.amount(f.supply.Value.Total, chat.Whole),
	}
	var title, text string
	var otherSupply chat.Field
	if doubt.IsTotal {
		title, text = "supply.total_doubtful", "supply.total_doubt"
		otherSupply = chat.Field{Value: chat.SayWith("supply.title", values)}
	} else {
		title, text = "supply.doubtful", "supply.doubt"
		otherSupply = c.totalField(f)
	}
	// The quote has the count, so its time decides which of two replies is newer. A doubtful or old price has none.
	times := f.times()
	reply := &chat.Reply{
		Tone:  chat.Warning,
		Title: chat.SayWith(title, values),
		Text: chat.SayWith(text, chat.Values{
			"source": chat.Plain(source),
			"amount": c.amount(doubt.Count, chat.Short),
		}),
		Sections: []chat.Section{{Fields: []chat.Field{otherSupply}}},
		Checked:  f.supply.At,
		Source: chat.Source{
			Why:        failureText(f.supply.Why),
			Stale:      f.supply.Stale,
			AsOf:       chat.Version{Time: times.priceAsOf},
			FreshUntil: times.freshUntil,
		},
		Actions: []chat.Action{refresh("supply")},
	}
	if f.supply.Stale {
		reply.Footer = chat.Parts{failureText(f.supply.Why)}
	}
	return reply
}

// reply returns the circulating and the total supply, the staked sum, and what the supplies are worth. It leaves out
// unknown figures.
func (c supplyCommand) reply(f supplyFigures) *chat.Reply {
	s := f.supply.Value
	titleValues := chat.Values{"circulating": c.amount(s.Circulating, chat.Whole), "age": chat.Age{Time: f.supply.At}}
	times := f.times()
	reply := &chat.Reply{
		Title:    chat.SayWith("supply.title", titleValues),
		Subtitle: chat.SayWith("supply.part", chat.Values{"share": share(s.Circulating, s.Total)}),
		Sections: []chat.Section{{Row: true, Fields: c.supplyFields(f)}},
		Checked:  times.checked,
		Source: chat.Source{
			Why:        failureText(cmp.Or(f.supply.Why, f.price.Why)),
			Stale:      f.supply.Stale || f.price.Stale,
			AsOf:       chat.Version{Time: times.priceAsOf},
			FreshUntil: times.freshUntil,
		},
		Actions: []chat.Action{refresh("supply")},
	}
	isOld := f.supply.Stale && time.Since(f.supply.At) >= oldAfter
	if isOld { // The title shows the age of the supply, in place of Checked.
		reply.Tone = chat.Warning
		reply.Title = chat.SayWith("supply.old", titleValues)
		reply.Subtitle = nil
		reply.Checked = time.Time{}
		reply.Source.AsOf = chat.Version{}
	}
	switch {
	case !f.hasProvider(): // The reply does not mention a price.
	case f.price.Err != nil:
		reply.Notes = []chat.Text{chat.Say("supply.unpriced"), Explain(f.price.Err)}
	default:
		reply.Sections = append(reply.Sections, chat.Section{Row: true, Fields: worthFields(s, *f.price.Value)})
		reply.Notes = otherCap(s, *f.price.Value)
	}
	reply.Footer = supplyFooter(f)
	return reply
}

// supplyTimes are the times of a Reply. A zero time is left out of the Reply.
type supplyTimes struct {
	// checked is when the oldest figure was read. It is zero if the price is old, because the footer shows its age.
	checked time.Time
	// priceAsOf is when the price was quoted. It decides which of two replies is newer, because the price changes more
	// often than the supply. It is zero if the price is unknown or old.
	priceAsOf time.Time
	// freshUntil is when the first of the figures expires. It is zero if the provider failed, or if its price is doubtful.
	freshUntil time.Time
}

// times returns the times of a reply with these figures.
func (f supplyFigures) times() supplyTimes {
	checked, freshUntil := f.supply.At, f.supply.FreshUntil
	if f.stakeKnown() {
		checked = core.Earlier(checked, cmp.Or(f.staked.Value.BlockTime, f.staked.At))
		freshUntil = core.Earlier(freshUntil, f.staked.FreshUntil)
	}
	switch {
	case !f.hasProvider():
		return supplyTimes{checked: checked, freshUntil: freshUntil}
	case f.price.Err != nil:
		return supplyTimes{checked: checked}
	}
	freshUntil = core.Earlier(freshUntil, f.price.FreshUntil)
	if f.price.Value.Old() {
		return supplyTimes{freshUntil: freshUntil}
	}
	quoted := cmp.Or(f.price.Value.LastUpdated, f.price.At)
	return supplyTimes{checked: core.Earlier(checked, quoted), priceAsOf: quoted, freshUntil: freshUntil}
}

// share returns part as a share of whole in percent: 50 of 200 is 25. whole must not be 0; the Total of a core.Supply
// never is.
func share(part, whole decimal.Decimal) chat.Share {
	const digits = 40 // so that a share above 0 is not rounded to 0
	return chat.Share{Decimal: part.Shift(2).DivRound(whole, digits)}
}

// supplyFields returns the total supply and, if it is known, how much of it is staked.
func (c supplyCommand) supplyFields(f supplyFigures) []chat.Field {
	fields := []chat.Field{c.totalField(f)}
	if f.stakeKnown() {
		fields = append(fields, c.stakedField(f))
	}
	return fields
}

// totalField returns the total supply.
func (c supplyCommand) totalField(f supplyFigures) chat.Field {
	total := c.withoutSymbol().amount(f.supply.Value.Total, chat.Whole)
	return chat.Field{Name: chat.Say("supply.total"), Value: chat.Strong{Value: total}}
}

// stakedField returns the staked sum and its share of the total supply.
func (c supplyCommand) stakedField(f supplyFigures) chat.Field {
	staked := f.staked.Value.Total()
	return chat.Field{
		Name: chat.Say("supply.staked"),
		Value: chat.SayWith("supply.amount_part", chat.Values{
			"amount": chat.Strong{Value: c.withoutSymbol().amount(staked, chat.Short)},
			"share":  share(staked, f.supply.Value.Total),
		}),
	}
}

// worthFields returns what the circulating and the total supply are worth. If the price is old, the name of the first
// field says so.
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

// otherCap returns a note with the provider's market cap if it differs by a tenth or more from the worth of the
// circulating supply: the provider then counts another supply. For example, if the worth is 100, there is a note about
// a market cap of 90 or 110, but not about 95. There is no note if the price is old.
func otherCap(s core.Supply, q core.Quote) []chat.Text {
	if q.Old() || !q.MarketCap.Valid {
		return nil
	}
	worth, theirs := s.Circulating.Mul(q.Price), q.MarketCap.Decimal
	tenfoldDifference := theirs.Sub(worth).Abs().Shift(1)
	if tenfoldDifference.LessThan(worth) {
		return nil
	}
	return []chat.Text{chat.SayWith("supply.cap_of", chat.Values{
		"source": chat.Plain(q.Source),
		"cap":    chat.Money{Decimal: theirs},
	})}
}

// supplyFooter returns the price that was used, why there is no newer supply if the supply is Stale, and then the
// price's provider or why there is no newer price. If only the supply is Stale, it leaves out the provider.
func supplyFooter(f supplyFigures) (footer chat.Parts) {
	hasPrice := f.price.Err == nil
	if hasPrice {
		footer = append(footer, usedPrice(*f.price.Value))
	}
	if f.supply.Stale {
		footer = append(footer, failureText(f.supply.Why))
	}
	if !hasPrice {
		return footer
	}
	isOnlySupplyStale := f.supply.Stale && !f.price.Stale && !f.price.Value.Old()
	if isOnlySupplyStale {
		return footer
	}
	return append(footer, priceSource(datedQuote{f.price.Snapshot}))
}

// usedPrice returns the price by which the worth was computed and, if the price is old, its age.
func usedPrice(q core.Quote) chat.Text {
	values := chat.Values{"price": chat.Price{Decimal: q.Price}, "age": chat.Age{Time: q.LastUpdated}}
	if q.Old() {
		return chat.SayWith("supply.at_old", values)
	}
	return chat.SayWith("supply.at", values)
}
