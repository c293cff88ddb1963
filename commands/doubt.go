package commands

import (
	"cmp"
	"errors"

	"github.com/shopspring/decimal"

	"herald/internal/belief"
	"herald/internal/chat"
)

// A price is doubtful if it differs too much from the last price that was believed, or contradicts the market cap. The
// price source then returns a belief.DoubtError, which holds the doubtful price.

// doubtOf returns the belief.DoubtError in err. isDoubt is false if there is none.
func doubtOf(err error) (doubt *belief.DoubtError, isDoubt bool) {
	return errors.AsType[*belief.DoubtError](err)
}

// DoubtfulPrice returns a headline with the price in a belief.DoubtError. isDoubt is false if err is another error.
func DoubtfulPrice(err error, symbol string) (headline chat.Text, isDoubt bool) {
	doubt, isDoubt := doubtOf(err)
	if !isDoubt {
		return chat.Text{}, false
	}
	return doubtTitle(doubt, symbol), true
}

// doubtTitle returns a headline with the doubtful price.
func doubtTitle(doubt *belief.DoubtError, symbol string) chat.Text {
	return chat.SayWith("doubt.title", chat.Values{
		"symbol": chat.Plain(symbol),
		"price":  chat.Price{Decimal: doubt.Answer.Value.Price},
	})
}

// WhyDoubtful explains why a price is doubtful.
func WhyDoubtful(doubt *belief.DoubtError) chat.Text {
	service := serviceText("price")
	contradictsCap := doubt.Last.Price.IsZero() // Otherwise the price contradicts the last one.
	if contradictsCap {
		return chat.SayWith("doubt.cap", chat.Values{"service": service})
	}
	key := "doubt.fall"
	factor, rises := doubt.Factor()
	if rises {
		key = "doubt.rise"
	}
	return chat.SayWith(key, chat.Values{
		"factor":  chat.Amount{Decimal: twoDigits(factor)},
		"price":   chat.Price{Decimal: doubt.Last.Price},
		"when":    chat.Moment{Time: doubt.Last.At},
		"service": service,
	})
}

// twoDigits rounds a number of at least 10 to two significant digits: 1234 to 1200.
func twoDigits(n decimal.Decimal) decimal.Decimal {
	wholeDigits := n.NumDigits() + int(n.Exponent())
	return n.Round(int32(2 - wholeDigits))
}

// doubtfulReply returns the reply to /price while the price is doubtful. It has the price and why it is doubtful, but
// nothing that is computed from it. argument is the requested period or amount, or noPeriod.
func (c *priceCommand) doubtfulReply(doubt *belief.DoubtError, argument string) *chat.Reply {
	answer := dated(doubt.Answer)
	q := answer.Value
	return &chat.Reply{
		Tone:    chat.Warning,
		Title:   doubtTitle(doubt, c.Symbol),
		Text:    WhyDoubtful(doubt),
		Footer:  chat.Parts{priceSource(answer)},
		Checked: cmp.Or(q.LastUpdated, answer.At),
		Source:  sourceOf(answer),
		Actions: append([]chat.Action{refreshPrice(argument)}, pageLink(*q)...),
	}
}

// doubtfulAmountReply returns the reply to /price <amount> while the price is doubtful. It does not convert the amount.
// argument is the amount in the form that buttons repeat.
func (c *priceCommand) doubtfulAmountReply(
	doubt *belief.DoubtError, amount chat.Value, argument string,
) *chat.Reply {
	reply := c.doubtfulReply(doubt, argument)
	price := doubtTitle(doubt, c.Symbol)
	reply.Title = chat.SayWith("doubt.amount", chat.Values{"amount": amount})
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: price}}}}
	reply.About = argument
	return reply
}

// doubtfulStatus says that the price provider works, and that its price is doubtful.
func doubtfulStatus(doubt *belief.DoubtError) serviceStatus {
	return serviceStatus{
		headline: chat.Say("doubt.headline"),
		state:    chat.Say("doubt.state"),
		notes:    []chat.Text{WhyDoubtful(doubt)},
	}
}
