package commands

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// period is a length of time of which the price can be shown as a picture.
type period struct {
	name   string // as it is typed
	label  chat.Text
	length time.Duration
}

var periods = []period{
	{"24h", chat.Say("price.24h"), 24 * time.Hour},
	{"7d", chat.Say("price.7d"), 7 * 24 * time.Hour},
	{"30d", chat.Say("price.30d"), 30 * 24 * time.Hour},
}

func price(prices core.Source[struct{}, core.Quote], charts Charts, look Options) chat.Command {
	param := chat.Param{Name: "period", Summary: chat.Say("param.period"), Example: periods[1].name, Check: chat.Say("check.period")}
	for _, p := range periods {
		param.Choices = append(param.Choices, p.name)
	}
	title := chat.SayWith("price.title", look.symbol())
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		quote, err := prices.Get(ctx, struct{}{})
		if err != nil {
			return chat.Reply{}, err
		}
		reply := priceReply(quote, title)
		i := slices.IndexFunc(periods, func(p period) bool { return p.name == req.Args.Value(param.Name) })
		if i < 0 {
			reply.Actions = append([]chat.Action{refresh("price")}, otherPeriods("")...)
			return reply, nil
		}
		shown := periods[i]
		reply.Actions = append([]chat.Action{refresh("price", shown.name)}, otherPeriods(shown.name)...)
		chart, err := charts.Chart(ctx, quote.Value, shown.length, req.Language)
		if err != nil {
			reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
			reply.AsOf, reply.FreshUntil = time.Time{}, time.Time{}
			return reply, &chat.PartialError{Err: err}
		}
		return withChart(reply, chart, shown, look), nil
	}
	return chat.Command{
		Name:       "price",
		Summary:    chat.SayWith("command.price", look.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: run}, {Params: []chat.Param{param}, Run: run}},
	}
}

// otherPeriods are buttons to pictures of other periods than the one shown.
func otherPeriods(shown string) []chat.Action {
	var actions []chat.Action
	for _, p := range periods {
		if p.name != shown {
			actions = append(actions, chat.Action{Label: p.label, Command: "price", Args: []string{p.name}, Edit: true})
		}
	}
	return actions
}

// wellSeen is the part of a period from which on a chart needs no explanation.
const wellSeen = 0.9

// lateStart is the part of a period, one in so many, that may lie before the first
// price of what is called the change over the period.
const lateStart = 12

// withChart adds a chart, or says that there is none.
func withChart(reply chat.Reply, c core.Chart, shown period, look Options) chat.Reply {
	if c.PNG == nil {
		reply.Notes = append(reply.Notes, chat.SayWith("chart.none", chat.Values{"period": shown.label}))
		return reply
	}
	change := c.Last.Sub(c.First).Mul(decimal.NewFromInt(100)).DivRound(c.First, 2)
	alt := chat.SayWith("chart.alt", chat.Values{
		"symbol": chat.Plain(look.Symbol), "period": shown.label, "change": chat.Change{Decimal: change},
		"first": chat.Price{Decimal: c.First}, "last": chat.Price{Decimal: c.Last},
		"lowest": chat.Price{Decimal: c.Lowest}, "highest": chat.Price{Decimal: c.Highest},
	})
	if c.Since.Sub(c.From) > shown.length/lateStart {
		alt.Key, alt.Args["since"] = "chart.alt_since", chat.Date{Time: c.Since}
	}
	reply.Image = &chat.Image{Name: "price-" + shown.name + ".png", PNG: c.PNG, Alt: alt}
	if c.Seen < wellSeen {
		reply.Notes = append(reply.Notes, chat.SayWith("chart.sparse", chat.Values{"period": shown.label}))
	}
	return reply
}

func priceReply(quote core.Snapshot[core.Quote], title chat.Text) chat.Reply {
	q := quote.Value
	fields := []chat.Field{{Name: chat.Say("price.price"), Value: chat.Price{Decimal: q.Price}}}
	change := func(name string, percent decimal.NullDecimal) {
		if percent.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(name), Value: chat.Change{Decimal: percent.Decimal}})
		}
	}
	change("price.1h", q.Change1h)
	change("price.24h", q.Change24h)
	change("price.7d", q.Change7d)
	sum := func(name string, usd decimal.NullDecimal) {
		if usd.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(name), Value: chat.Money{Decimal: usd.Decimal}})
		}
	}
	sum("price.cap", q.MarketCap)
	sum("price.volume", q.Volume24h)

	reply := chat.Reply{
		Title:    title,
		Sections: []chat.Section{{Fields: fields}},
	}
	switch {
	case q.Old():
		reply.Tone, reply.Notes = chat.Warning, append(reply.Notes, oldQuote(q))
	case !q.LastUpdated.IsZero():
		reply.Notes = append(reply.Notes, chat.SayWith("price.updated", chat.Values{"when": chat.Moment{Time: q.LastUpdated}}))
	case !quote.Stale:
		reply.Notes = append(reply.Notes, checked(quote.At))
	}
	if !quote.Stale {
		reply.AsOf, reply.FreshUntil = quote.At, quote.FreshUntil
	}
	return markOld(reply, quote, "price")
}
