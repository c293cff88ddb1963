package commands

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

var (
	// periods are those of pictures, as they are typed.
	periods = []string{"24h", "7d", "30d"}
	// changes are the times over which the text tells changes.
	changes = []string{"1h", "24h", "7d"}
	// lengths maps each of periods and changes to its duration.
	lengths = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}
)

var periodParam = chat.Param{
	Name: "period", Summary: chat.Say("param.period"), Example: "7d", Choices: periods,
	Like: regexp.MustCompile(`(?i)^(` + strings.Join(periods, "|") + `|` + notDrawn + `|` + anotherSymbol + `)$`),
}

// minCoverage is the part of a period, from 0 to 1, that must be recorded for a chart to
// need no explanation.
const minCoverage = 0.9

// priceCommand answers /price.
type priceCommand struct {
	inputs
	// current is the reply to the last answer of which isCurrent is true.
	current atomic.Pointer[replyTo]
}

// replyTo is an answer, and the reply without a picture that tells it.
type replyTo struct {
	answer core.Snapshot[core.Quote]
	reply  chat.Reply
}

func price(from Sources, options Options) chat.Command {
	c := &priceCommand{inputs: inputs{from, options}}
	period := periodParam
	period.Problem, period.Tidy = c.wrongArgument, c.tidy
	return chat.Command{
		Name:       "price",
		Aliases:    map[string][]string{"p": nil, "chart": {"24h"}},
		Summary:    chat.SayWith("command.price", options.symbol()),
		Visibility: chat.Public,
		Asks:       []string{"price"},
		Forms: []chat.Form{
			{Inline: true, Run: c.answer},
			{Params: []chat.Param{period}, Run: c.answer},
			{Params: []chat.Param{amountParam}, Run: c.worth},
		},
	}
}

// answer returns the price, with a picture of the period if one is asked for.
func (c *priceCommand) answer(ctx context.Context, req chat.Request) (chat.Reply, error) {
	answer, err := c.Price.Get(ctx, struct{}{})
	if err != nil {
		return chat.Reply{}, err
	}
	answer.Value = dated(answer)
	if period := req.Args.Value(periodParam.Name); period != "" {
		return c.withChart(ctx, req, answer, period)
	}
	return c.withoutChart(answer), nil
}

// withoutChart returns the price without a picture. While an answer is current, all who ask get
// the same reply.
func (c *priceCommand) withoutChart(answer core.Snapshot[core.Quote]) chat.Reply {
	current := isCurrent(answer)
	if last := c.current.Load(); current && last != nil && last.answer == answer {
		return last.reply
	}
	reply := c.reply(answer, "", "24h", answer.Value.Change24h)
	if current {
		reply.Rendered = new(chat.Rendered)
		c.current.Store(&replyTo{answer, reply})
	}
	return reply
}

// withChart returns the price with a picture of the period. Without the picture it returns
// a *chat.PartialError too.
func (c *priceCommand) withChart(ctx context.Context, req chat.Request, answer core.Snapshot[core.Quote], period string) (chat.Reply, error) {
	quote := answer.Value
	chart, err := c.Chart(ctx, quote, lengths[period], req.Language, cmp.Or(c.ServiceName, req.BotName))
	over, change := period, cmp.Or(chart.Change, quote.Changes()[lengths[period]])
	if err != nil && !change.Valid {
		over, change = "24h", quote.Change24h
	}
	reply := c.reply(answer, period, over, change)
	if err != nil {
		reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
		reply.AsOf, reply.FreshUntil = time.Time{}, time.Time{}
		return reply, &chat.PartialError{Err: err}
	}
	// One line: the picture shows what is most asked for.
	below := append(changeFields(quote, over), marketFields(quote, "price.cap_short", "price.volume_short")...)
	reply.Sections = []chat.Section{{Row: true, Fields: below}}
	about := chat.Values{"period": chat.Say("price." + period), "since": chat.Day{Time: chart.Since}}
	if !chart.HasLine {
		reply.Notes = append(reply.Notes, chat.SayWith("chart.none", about))
	} else if chart.Seen < minCoverage {
		reply.Notes = append(reply.Notes, chat.SayWith("chart.sparse", about))
	}
	alt := c.chartAlt(chart, quote, reply.Subtitle)
	reply.Image = &chat.Image{Name: "price-" + period + ".png", PNG: chart.PNG, Alt: alt, Spark: chart.Spark}
	return reply, nil
}

// priceButtons returns a button for each period, one to refresh, and one to the provider's
// page. current is the period shown, or "".
func priceButtons(quote core.Quote, current string) []chat.Action {
	buttons := make([]chat.Action, 0, len(periods)+2)
	for _, p := range periods {
		buttons = append(buttons, chat.Action{
			Label: chat.Say("price." + p), Command: "price", Args: []string{p}, Edit: true, Current: p == current,
		})
	}
	again := refresh("price", strings.Fields(current)...)
	again.NewRow = true
	return append(append(buttons, again), pageLink(quote)...)
}

// pageLink returns a button that opens the provider's page of the token, or none.
func pageLink(quote core.Quote) []chat.Action {
	if quote.Page == "" {
		return nil
	}
	return []chat.Action{{Label: chat.SayWith("button.page", chat.Values{"source": chat.Plain(quote.Source)}), URL: quote.Page}}
}

// chartAlt describes a chart to those who do not see it. It ends with the reply's
// subtitle, or with the age of an old price.
func (c *priceCommand) chartAlt(chart core.Chart, quote core.Quote, subtitle chat.Value) chat.Parts {
	if quote.Old() {
		subtitle = chat.Age{Time: quote.LastUpdated}
	}
	alt := chat.Parts{chat.SayWith("chart.alt", chat.Values{
		"symbol": chat.Plain(c.Symbol), "since": chat.Day{Time: chart.Since},
		"first": chat.Price{Decimal: chart.First}, "last": chat.Price{Decimal: chart.Last},
	}), subtitle}
	if chart.Lowest.IsPositive() {
		alt = append(alt, chat.SayWith("chart.range", chat.Values{
			"lowest": chat.Price{Decimal: chart.Lowest}, "highest": chat.Price{Decimal: chart.Highest},
		}))
	}
	return alt
}

// reply returns the price as a title, since a push notification shows no more, and the
// change over a time as its subtitle, in per cent. period is the button's that is current,
// or "". The quote of the answer is dated.
func (c *priceCommand) reply(answer core.Snapshot[core.Quote], period, over string, change decimal.NullDecimal) chat.Reply {
	q := answer.Value
	updated := cmp.Or(q.LastUpdated, answer.At)
	reply := chat.Reply{
		Title:      chat.SayWith("price.title", chat.Values{"symbol": chat.Plain(c.Symbol), "price": chat.Price{Decimal: q.Price}}),
		Tone:       []chat.Tone{chat.Falling, chat.Neutral, chat.Rising}[change.Decimal.Round(2).Sign()+1],
		Sections:   []chat.Section{{Row: true, Fields: changeFields(q, over)}, {Fields: marketFields(q, "price.cap", "price.volume")}},
		Footer:     chat.Parts{priceSource(answer)},
		Checked:    updated,
		AsOf:       updated,
		FreshUntil: answer.FreshUntil,
		Why:        why(answer.Why),
		Stale:      answer.Stale,
		Actions:    priceButtons(q, period),
	}
	if change.Valid {
		percent := chat.Change{Decimal: change.Decimal}
		reply.Subtitle = chat.SayWith("price.change", chat.Values{"change": percent, "period": chat.Say("price." + over)})
	}
	if title, old := OldPrice(answer, c.Symbol); old {
		reply.Tone, reply.Title, reply.Subtitle = chat.Warning, title, nil
		reply.Checked, reply.AsOf = time.Time{}, chat.Aged(updated)
	}
	return reply
}

// changeFields returns the known changes over all times but one. It returns none of an old
// quote.
func changeFields(q core.Quote, except string) (fields []chat.Field) {
	if q.Old() {
		return nil
	}
	known := q.Changes()
	for _, over := range changes {
		if change := known[lengths[over]]; change.Valid && over != except {
			fields = append(fields, chat.Field{Name: chat.Say("price." + over), Value: chat.Change{Decimal: change.Decimal}})
		}
	}
	return fields
}

// marketFields returns the market cap and the volume under these names, as far as they are
// known.
func marketFields(q core.Quote, capKey, volumeKey string) (fields []chat.Field) {
	for _, sum := range []struct {
		key   string
		value decimal.NullDecimal
	}{{capKey, q.MarketCap}, {volumeKey, q.Volume24h}} {
		if sum.value.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(sum.key), Value: chat.Money{Decimal: sum.value.Decimal}})
		}
	}
	return fields
}
