package commands

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// periods are how far back a picture can show the price, as they are typed, and lengths
// how long each is.
var (
	periods = []string{"24h", "7d", "30d"}
	lengths = map[string]time.Duration{"24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}
)

func price(prices core.Source[struct{}, core.Quote], chart Chart, options Options) chat.Command {
	param := chat.Param{Name: "period", Summary: chat.Say("param.period"), Example: "7d", Check: chat.Say("check.period"),
		Choices: periods, Synonyms: map[string]string{"1d": "24h", "day": "24h", "week": "7d", "month": "30d"}}
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		quote, err := prices.Get(ctx, struct{}{})
		if err != nil {
			return chat.Reply{}, err
		}
		shown := req.Args.Value(param.Name)
		reply := priceReply(quote, options)
		for _, p := range periods {
			reply.Actions = append(reply.Actions, chat.Action{
				Label: chat.Say("price." + p), Command: "price", Args: []string{p}, Edit: true, Shown: p == shown,
			})
		}
		again := refresh("price", strings.Fields(shown)...)
		again.NewRow = true
		reply.Actions = append(reply.Actions, again)
		reply.Actions = append(reply.Actions, link("button.page", quote.Value.Page)...)
		if shown == "" {
			return reply, nil
		}
		c, err := chart(ctx, quote.Value, lengths[shown], req.Language, cmp.Or(options.ServiceName, req.BotName))
		about := chat.Values{"period": chat.Say("price." + shown), "since": chat.Date{Time: c.Since}}
		switch {
		case err != nil:
			reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
			reply.AsOf, reply.FreshUntil = time.Time{}, time.Time{}
			return reply, &chat.PartialError{Err: err}
		case !c.Line:
			reply.Notes = append(reply.Notes, chat.SayWith("chart.none", about))
		case c.Seen < minCoverage:
			reply.Notes = append(reply.Notes, chat.SayWith("chart.sparse", about))
		}
		reply.Image = &chat.Image{Name: "price-" + shown + ".png", PNG: c.PNG, Alt: chartAlt(c, options), Spark: c.Spark}
		return reply, nil
	}
	return chat.Command{
		Name:       "price",
		Aliases:    map[string][]string{"p": nil, "chart": {"24h"}},
		Summary:    chat.SayWith("command.price", options.symbol()),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Inline: true, Run: run}, {Params: []chat.Param{param}, Run: run}},
	}
}

// minCoverage is the part of a period that must be recorded for a chart to need no
// explanation.
const minCoverage = 0.9

// chartAlt describes a chart to those who do not see it.
func chartAlt(c core.Chart, options Options) chat.Text {
	change := c.Last.Sub(c.First).Mul(decimal.NewFromInt(100)).DivRound(c.First, 2)
	return chat.SayWith("chart.alt", chat.Values{
		"symbol": chat.Plain(options.Symbol), "since": chat.Date{Time: c.Since},
		"first": chat.Price{Decimal: c.First}, "last": chat.Price{Decimal: c.Last}, "change": chat.Change{Decimal: change},
		"lowest": chat.Price{Decimal: c.Lowest}, "highest": chat.Price{Decimal: c.Highest},
	})
}

// priceReply has the price as its title, since that is all that a push notification
// shows.
func priceReply(quote core.Snapshot[core.Quote], options Options) chat.Reply {
	q := quote.Value
	reply := chat.Reply{
		Title:   chat.SayWith("price.title", chat.Values{"symbol": chat.Plain(options.Symbol), "price": chat.Price{Decimal: q.Price}}),
		Tone:    []chat.Tone{chat.Falling, chat.Neutral, chat.Rising}[q.Change24h.Decimal.Sign()+1],
		Footer:  chat.Parts{chat.Plain(q.Source)},
		Checked: cmp.Or(q.LastUpdated, quote.At),
	}
	var changes, sums []chat.Field
	for _, change := range []struct {
		name    string
		percent decimal.NullDecimal
	}{{"price.1h", q.Change1h}, {"price.24h", q.Change24h}, {"price.7d", q.Change7d}} {
		if change.percent.Valid {
			shown := chat.Change{Decimal: change.percent.Decimal}
			changes = append(changes, chat.Field{Name: chat.Say(change.name), Value: shown, InTitle: change.name == "price.24h"})
		}
	}
	if q.Change24h.Valid {
		reply.Beside = chat.Change{Decimal: q.Change24h.Decimal}
	}
	if q.MarketCap.Valid {
		sums = append(sums, chat.Field{Name: chat.Say("price.cap"), Value: chat.Money{Decimal: q.MarketCap.Decimal}})
	}
	if q.Volume24h.Valid {
		sums = append(sums, chat.Field{Name: chat.Say("price.volume"), Value: chat.Money{Decimal: q.Volume24h.Decimal}})
	}
	reply.Sections = []chat.Section{{Layout: chat.Row, Fields: changes}, {Layout: chat.Grid, Fields: sums}}
	if !quote.Stale {
		reply.AsOf, reply.FreshUntil = quote.At, quote.FreshUntil
	}
	return withOldPrice(reply, quote)
}
