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
	"herald/internal/query"
)

var (
	// chartPeriods are the periods of pictures, as they are typed.
	chartPeriods = []string{"24h", "7d", "30d"}
	// changePeriods are the periods whose change is shown as text.
	changePeriods = []string{"1h", "24h", "7d"}
	// periodLengths holds the durations of chartPeriods and changePeriods.
	periodLengths = map[string]time.Duration{
		"1h":  time.Hour,
		"24h": 24 * time.Hour,
		"7d":  7 * 24 * time.Hour,
		"30d": 30 * 24 * time.Hour,
	}
)

var periodParam = chat.Param{
	Name:    "period",
	Summary: chat.Say("param.period"),
	Example: "7d",
	Choices: chartPeriods,
	Like:    regexp.MustCompile(`(?i)^(` + strings.Join(chartPeriods, "|") + `|` + notDrawn + `|` + anotherSymbol + `)$`),
}

// minCoverage is the part of a period, from 0 to 1, that must be recorded for a chart to
// need no explanation.
const minCoverage = 0.9

// priceCommand answers /price.
type priceCommand struct {
	inputs
	// last is the last reply of withoutChart to a current answer.
	last atomic.Pointer[textReply]
}

// textReply is the reply to an answer, without a picture.
type textReply struct {
	answer query.Snapshot[*core.Quote]
	reply  *chat.Reply
}

func price(from Sources, options Options) chat.Command {
	c := &priceCommand{inputs: inputs{from, options}}
	period := periodParam
	period.Problem = c.wrongArgument
	period.Tidy = c.tidy
	return chat.Command{
		Name:       "price",
		Aliases:    map[string][]string{"p": nil, "chart": {"24h"}},
		Summary:    chat.SayWith("command.price", options.symbol()),
		Topic:      chat.Say("topic.price"),
		Visibility: chat.Public,
		Asks:       []string{"price"},
		Forms: []chat.Form{
			{Inline: true, Run: c.run},
			{Params: []chat.Param{period}, Run: c.run},
			{Params: []chat.Param{amountParam}, Run: c.worth},
		},
	}
}

// run returns the price, with a picture of the period if one is asked for.
func (c *priceCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	answer, err := c.Price.Get(ctx, struct{}{})
	period := req.Args.Value(periodParam.Name)
	if doubt, is := doubtOf(err); is {
		return c.doubtful(doubt, strings.Fields(period)...), nil
	}
	if err != nil {
		return nil, err
	}
	answer.Value = dated(answer)
	if period != "" {
		return c.withChart(ctx, req, answer, period)
	}
	return c.withoutChart(answer), nil
}

// withoutChart returns the price without a picture. For one current answer it always returns the
// same reply, so that adapters render the reply once.
func (c *priceCommand) withoutChart(answer query.Snapshot[*core.Quote]) *chat.Reply {
	current := isCurrent(answer)
	if last := c.last.Load(); current && last != nil && last.answer == answer {
		reply := *last.reply // The Router sets its Language.
		return &reply
	}
	reply := c.priceReply(answer, "", "24h", answer.Value.Change24h)
	if current {
		reply.Rendered = new(chat.Rendered)
		kept := *reply
		c.last.Store(&textReply{answer: answer, reply: &kept})
	}
	return reply
}

// withChart returns the price with a picture of the period. If there is no picture, it also
// returns a *chat.PartialError.
func (c *priceCommand) withChart(
	ctx context.Context, req *chat.Request, answer query.Snapshot[*core.Quote], period string,
) (*chat.Reply, error) {
	quote, length := answer.Value, periodLengths[period]
	// With an err the chart may still have a Change.
	chart, err := c.Chart(ctx, *quote, length, req.Language, cmp.Or(c.ServiceName, req.BotName), req.BotHandle)
	over, change := period, cmp.Or(chart.Change, quote.Changes()[length])
	if err != nil && !change.Valid {
		over, change = "24h", quote.Change24h
	}
	reply := c.priceReply(answer, period, over, change)
	if err != nil {
		reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
		// A refresh must draw again, even if the price is the same.
		reply.Source = chat.Source{Stale: reply.Source.Stale, Why: reply.Source.Why}
		return reply, &chat.PartialError{Err: err}
	}
	// One line is enough, because the picture has the price and its change.
	figures := append(changeFields(*quote, over), marketFields(*quote, "price.cap_short", "price.volume_short")...)
	reply.Sections = []chat.Section{{Row: true, Fields: figures}}
	switch {
	case !chart.HasLine && chart.LineFrom.IsZero(): // Nobody knows when there will be one.
	case !chart.HasLine:
		reply.Notes = append(reply.Notes, chat.LineFrom(chart.LineFrom))
	case chart.Seen < minCoverage:
		reply.Notes = append(reply.Notes, chat.Say("chart.sparse"))
	}
	reply.Image = &chat.Image{
		Name:    "price-" + period + ".png",
		PNG:     chart.PNG,
		Caption: c.chartCaption(chart, *quote),
	}
	return reply, nil
}

// priceButtons returns a button for each period, one to refresh, and one to the provider's
// page. shown is the period of the picture, or "".
func priceButtons(quote core.Quote, shown string) []chat.Action {
	buttons := make([]chat.Action, 0, len(chartPeriods)+2)
	for _, p := range chartPeriods {
		buttons = append(buttons, chat.Action{
			Label: chat.Say("price." + p), Command: "price", Args: []string{p}, Edit: true, Current: p == shown,
		})
	}
	again := refresh("price", strings.Fields(shown)...)
	again.NewRow = true
	page := chat.SayWith("button.page", chat.Values{"source": chat.Plain(quote.Source)})
	return append(append(buttons, again), link(page, quote.Page)...)
}

// chartCaption describes a chart to those who do not see it. It ends with the age of an old price.
func (c *priceCommand) chartCaption(chart core.Chart, quote core.Quote) chat.Parts {
	caption := chat.Parts{chat.SayWith("chart.alt", chat.Values{
		"symbol": chat.Plain(c.Symbol),
		"since":  chat.Day{Time: chart.Since},
		"first":  chat.Price{Decimal: chart.First},
		"last":   chat.Price{Decimal: chart.Last},
	})}
	if chart.Lowest.IsPositive() {
		caption = append(caption, chat.SayWith("chart.range", chat.Values{
			"lowest": chat.Price{Decimal: chart.Lowest}, "highest": chat.Price{Decimal: chart.Highest},
		}))
	}
	if quote.Old() {
		caption = append(caption, chat.Age{Time: quote.LastUpdated})
	}
	return caption
}

// priceReply returns the price as a title, since a push notification shows no more. The
// subtitle is the change in per cent over a period. shown is the period of the picture, or "".
// The quote of answer must be dated.
func (c *priceCommand) priceReply(
	answer query.Snapshot[*core.Quote], shown, over string, change decimal.NullDecimal,
) *chat.Reply {
	q := answer.Value
	updated := cmp.Or(q.LastUpdated, answer.At)
	reply := &chat.Reply{
		Title: chat.SayWith("price.title", chat.Values{
			"symbol": chat.Plain(c.Symbol),
			"price":  chat.Price{Decimal: q.Price},
		}),
		Tone: chat.Change{Decimal: change.Decimal}.Tone(),
		Sections: []chat.Section{
			{Row: true, Fields: changeFields(*q, over)},
			{Fields: marketFields(*q, "price.cap", "price.volume")},
		},
		Footer:  chat.Parts{priceSource(answer)},
		Checked: updated,
		Source:  sourceOf(answer),
		Actions: priceButtons(*q, shown),
	}
	if q.Old() {
		reply.Tone = chat.Warning
		reply.Title = oldTitle(*q, c.Symbol)
		reply.Checked = time.Time{}
		reply.Source.AsOf = chat.Version{} // The title prints its age.
		return reply
	}
	if change.Valid {
		percent := chat.Change{Decimal: change.Decimal}
		reply.Subtitle = chat.SayWith("price.change", chat.Values{"change": percent, "period": chat.Say("price." + over)})
	}
	return reply
}

// sourceOf says how current a reply with the price is.
func sourceOf(answer query.Snapshot[*core.Quote]) chat.Source {
	return chat.Source{
		AsOf:       chat.Version{Time: cmp.Or(answer.Value.LastUpdated, answer.At)},
		FreshUntil: answer.FreshUntil,
		Stale:      answer.Stale,
		Why:        why(answer.Why),
	}
}

// changeFields returns the known changes over changePeriods, but for one period. It returns none
// for an old quote.
func changeFields(q core.Quote, except string) (fields []chat.Field) {
	if q.Old() {
		return nil
	}
	known := q.Changes()
	for _, over := range changePeriods {
		if change := known[periodLengths[over]]; change.Valid && over != except {
			fields = append(fields, chat.Field{Name: chat.Say("price." + over), Value: chat.Change{Decimal: change.Decimal}})
		}
	}
	return fields
}

// marketFields returns the known ones of market cap and volume, under these names.
func marketFields(q core.Quote, capKey, volumeKey string) (fields []chat.Field) {
	add := func(key string, sum decimal.NullDecimal) {
		if sum.Valid {
			fields = append(fields, chat.Field{Name: chat.Say(key), Value: chat.Money{Decimal: sum.Decimal}})
		}
	}
	add(capKey, q.MarketCap)
	add(volumeKey, q.Volume24h)
	return fields
}
