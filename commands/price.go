package commands

import (
	"context"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// period is how far back a picture can show the price.
type period struct {
	name   string // as it is typed
	label  chat.Text
	length time.Duration
}

var periods = []period{
	{name: "24h", label: chat.Say("price.24h"), length: 24 * time.Hour},
	{name: "7d", label: chat.Say("price.7d"), length: 7 * 24 * time.Hour},
	{name: "30d", label: chat.Say("price.30d"), length: 30 * 24 * time.Hour},
}

func price(prices core.Source[struct{}, core.Quote], chart Chart, options Options) chat.Command {
	param := chat.Param{Name: "period", Summary: chat.Say("param.period"), Example: periods[1].name, Check: chat.Say("check.period")}
	for _, p := range periods {
		param.Choices = append(param.Choices, p.name)
	}
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		quote, err := prices.Get(ctx, struct{}{})
		if err != nil {
			return chat.Reply{}, err
		}
		name := req.Args.Value(param.Name)
		reply := priceReply(quote, options)
		reply.Actions = []chat.Action{refresh("price", strings.Fields(name)...)}
		var shown *period
		for _, p := range periods {
			if p.name == name {
				shown = &p
				continue
			}
			reply.Actions = append(reply.Actions, chat.Action{Label: p.label, Command: "price", Args: []string{p.name}, Edit: true})
		}
		if shown == nil {
			return reply, nil
		}
		c, err := chart(ctx, quote.Value, shown.length, req.Language, options.ServiceName)
		about := chat.Values{"period": shown.label}
		switch {
		case err != nil:
			reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
			reply.AsOf, reply.FreshUntil = time.Time{}, time.Time{}
			return reply, &chat.PartialError{Err: err}
		case c.PNG == nil:
			reply.Notes = append(reply.Notes, chat.SayWith("chart.none", about))
			return reply, nil
		case c.Seen < minCoverage:
			reply.Notes = append(reply.Notes, chat.SayWith("chart.sparse", about))
		}
		change := c.Last.Sub(c.First).Mul(decimal.NewFromInt(100)).DivRound(c.First, 2)
		alt := chat.SayWith("chart.alt", chat.Values{
			"symbol": chat.Plain(options.Symbol), "since": chat.Date{Time: c.Since},
			"first": chat.Price{Decimal: c.First}, "last": chat.Price{Decimal: c.Last}, "change": chat.Change{Decimal: change},
			"lowest": chat.Price{Decimal: c.Lowest}, "highest": chat.Price{Decimal: c.Highest},
		})
		reply.Image = &chat.Image{Name: "price-" + shown.name + ".png", PNG: c.PNG, Alt: alt}
		return reply, nil
	}
	return chat.Command{
		Name:       "price",
		Summary:    chat.SayWith("command.price", options.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Inline: true, Run: run}, {Params: []chat.Param{param}, Run: run}},
	}
}

// minCoverage is the part of a period that must be known for a chart to need no
// explanation.
const minCoverage = 0.9

func priceReply(quote core.Snapshot[core.Quote], options Options) chat.Reply {
	q := quote.Value
	fields := []chat.Field{{Name: chat.Say("price.price"), Value: chat.Price{Decimal: q.Price}}}
	add := func(name string, d decimal.NullDecimal, value chat.Value) {
		if d.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(name), Value: value})
		}
	}
	add("price.1h", q.Change1h, chat.Change{Decimal: q.Change1h.Decimal})
	add("price.24h", q.Change24h, chat.Change{Decimal: q.Change24h.Decimal})
	add("price.7d", q.Change7d, chat.Change{Decimal: q.Change7d.Decimal})
	add("price.cap", q.MarketCap, chat.Money{Decimal: q.MarketCap.Decimal})
	add("price.volume", q.Volume24h, chat.Money{Decimal: q.Volume24h.Decimal})
	reply := chat.Reply{Title: chat.SayWith("price.title", options.symbol()), Sections: []chat.Section{{Fields: fields}}}
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
