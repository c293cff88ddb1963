package commands

import (
	"cmp"
	"errors"

	"github.com/shopspring/decimal"

	"herald/internal/belief"
	"herald/internal/chat"
)

// doubtOf returns the belief.DoubtError in err, and false if there is none.
func doubtOf(err error) (*belief.DoubtError, bool) { return errors.AsType[*belief.DoubtError](err) }

// DoubtfulPrice returns a headline with a price that err says is doubtful, or false for another
// error.
func DoubtfulPrice(err error, symbol string) (headline chat.Text, doubtful bool) {
	doubt, is := doubtOf(err)
	if !is {
		return chat.Text{}, false
	}
	return chat.SayWith("doubt.title", chat.Values{
		"symbol": chat.Plain(symbol), "price": chat.Price{Decimal: doubt.Answer.Value.Price},
	}), true
}

// WhyDoubtful returns a sentence about what a doubtful price contradicts.
func WhyDoubtful(doubt *belief.DoubtError) chat.Text {
	service := serviceText("price")
	if doubt.Last.Price.IsZero() {
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

// twoDigits returns a number of at least 10, rounded to two significant digits.
func twoDigits(n decimal.Decimal) decimal.Decimal {
	whole := n.NumDigits() + int(n.Exponent())
	return n.Round(int32(2 - whole))
}

// doubtful returns the reply to /price while the price is doubtful: the price, what it
// contradicts, and nothing that depends on it. period is the period asked for, or nothing.
func (c *priceCommand) doubtful(doubt *belief.DoubtError, period ...string) *chat.Reply {
	answer := doubt.Answer
	answer.Value = dated(answer)
	q := answer.Value
	updated := cmp.Or(q.LastUpdated, answer.At)
	reply := &chat.Reply{
		Tone:    chat.Warning,
		Text:    WhyDoubtful(doubt),
		Footer:  chat.Parts{priceSource(answer)},
		Checked: updated,
		Source:  sourceOf(answer),
		Actions: []chat.Action{refresh("price", period...)},
	}
	reply.Title, _ = DoubtfulPrice(doubt, c.Symbol)
	page := chat.SayWith("button.page", chat.Values{"source": chat.Plain(q.Source)})
	reply.Actions = append(reply.Actions, link(page, q.Page)...)
	return reply
}

// unvalued returns the reply to /price <amount> while the price is doubtful. argument is the
// amount as the argument of a button.
func (c *priceCommand) unvalued(doubt *belief.DoubtError, amount chat.Value, argument string) *chat.Reply {
	reply := c.doubtful(doubt, argument)
	price := reply.Title
	reply.Title = chat.SayWith("doubt.amount", chat.Values{"amount": amount})
	reply.Sections = []chat.Section{{Fields: []chat.Field{{Value: price}}}}
	reply.About = argument
	return reply
}

// doubtfulStatus says that the service works, and that its price is doubtful.
func doubtfulStatus(doubt *belief.DoubtError) serviceStatus {
	return serviceStatus{
		headline: chat.Say("doubt.headline"), state: chat.Say("doubt.state"), notes: []chat.Text{WhyDoubtful(doubt)},
	}
}
