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

// periods are how far back a picture can show the price, as they are typed; changes are
// told of those in the text. lengths has how long each is.
var (
	periods = []string{"24h", "7d", "30d"}
	changes = []string{"1h", "24h", "7d"}
	lengths = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}
)

func price(prices core.Source[struct{}, core.Quote], chart Chart, options Options) chat.Command {
	param := chat.Param{Name: "period", Summary: chat.Say("param.period"), Example: "7d", Check: chat.Say("check.period"),
		Choices: periods, Synonyms: map[string]string{"1d": "24h", "day": "24h", "week": "7d", "month": "30d"}}
	run := func(ctx context.Context, req chat.Request) (chat.Reply, error) {
		answer, err := prices.Get(ctx, struct{}{})
		if err != nil {
			return chat.Reply{}, err
		}
		answer.Value = dated(answer)
		quote, shown := answer.Value, req.Args.Value(param.Name)
		over, percent := "24h", quote.Change24h
		var c core.Chart
		if shown != "" {
			c, err = chart(ctx, quote, lengths[shown], req.Language, cmp.Or(options.ServiceName, req.BotName))
			if told := cmp.Or(c.Change, quote.Changes()[lengths[shown]]); err == nil || told.Valid {
				over, percent = shown, told
			}
		}
		reply := priceReply(answer, over, percent, options)
		for _, p := range periods {
			reply.Actions = append(reply.Actions, chat.Action{
				Label: chat.Say("price." + p), Command: "price", Args: []string{p}, Edit: true, Shown: p == shown,
			})
		}
		again := refresh("price", strings.Fields(shown)...)
		again.NewRow = true
		reply.Actions = append(reply.Actions, again)
		reply.Actions = append(reply.Actions, link("button.page", quote.Page)...)
		if shown == "" {
			return reply, nil
		}
		about := chat.Values{"period": chat.Say("price." + shown), "since": chat.Day{Time: c.Since}}
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
		alt := chartAlt(c, quote, reply.Beside, options)
		reply.Image = &chat.Image{Name: "price-" + shown + ".png", PNG: c.PNG, Alt: alt, Spark: c.Spark}
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

// chartAlt describes a chart to those who do not see it, with the change beside its
// headline or the age of an old price.
func chartAlt(c core.Chart, quote core.Quote, beside chat.Value, options Options) chat.Parts {
	if quote.Old() {
		beside = chat.Age{Time: quote.LastUpdated}
	}
	alt := chat.Parts{chat.SayWith("chart.alt", chat.Values{
		"symbol": chat.Plain(options.Symbol), "since": chat.Day{Time: c.Since},
		"first": chat.Price{Decimal: c.First}, "last": chat.Price{Decimal: c.Last},
	}), beside}
	if c.Lowest.IsPositive() {
		alt = append(alt, chat.SayWith("chart.range", chat.Values{
			"lowest": chat.Price{Decimal: c.Lowest}, "highest": chat.Price{Decimal: c.Highest},
		}))
	}
	return alt
}

// priceReply has the price as its title, since that is all that a push notification
// shows, and beside it the change in per cent over the period shown.
func priceReply(answer core.Snapshot[core.Quote], over string, percent decimal.NullDecimal, options Options) chat.Reply {
	q := answer.Value
	told := chat.Values{"symbol": chat.Plain(options.Symbol), "price": chat.Price{Decimal: q.Price}}
	reply := chat.Reply{
		Title:      chat.SayWith("price.title", told),
		Tone:       []chat.Tone{chat.Falling, chat.Neutral, chat.Rising}[percent.Decimal.Round(2).Sign()+1],
		Footer:     chat.Parts{chat.Plain(q.Source)},
		Checked:    cmp.Or(q.LastUpdated, answer.At),
		AsOf:       cmp.Or(q.LastUpdated, answer.At),
		FreshUntil: answer.FreshUntil,
	}
	if percent.Valid {
		shown := chat.Change{Decimal: percent.Decimal}
		reply.Beside = chat.SayWith("price.change", chat.Values{"change": shown, "period": chat.Say("price." + over)})
	}
	var others, sums []chat.Field
	for _, period := range changes {
		if other := q.Changes()[lengths[period]]; other.Valid && period != over {
			others = append(others, chat.Field{Name: chat.Say("price." + period), Value: chat.Change{Decimal: other.Decimal}})
		}
	}
	if q.MarketCap.Valid {
		sums = append(sums, chat.Field{Name: chat.Say("price.cap"), Value: chat.Money{Decimal: q.MarketCap.Decimal}})
	}
	if q.Volume24h.Valid {
		sums = append(sums, chat.Field{Name: chat.Say("price.volume"), Value: chat.Money{Decimal: q.Volume24h.Decimal}})
	}
	reply.Sections = []chat.Section{{Row: true, Fields: others}, {Fields: sums}}
	if title, old := OldPrice(answer, options.Symbol); old {
		reply.Tone, reply.Title, reply.Beside, reply.Sections = chat.Warning, title, nil, reply.Sections[1:]
		reply.Notes, reply.Checked, reply.Stale = []chat.Text{whyOld("price", answer.Stale)}, time.Time{}, answer.Stale
		// Newer than the same quote before it was old. Buttons tell whole seconds.
		reply.AsOf = reply.AsOf.Add(time.Second)
	}
	if answer.Stale {
		reply.AsOf, reply.FreshUntil = time.Time{}, time.Time{}
	}
	return reply
}
