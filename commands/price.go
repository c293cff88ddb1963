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

var periodParam = chat.Param{
	Name:    "period",
	Summary: chat.Say("param.period"),
	Example: "7d",
	Choices: drawnNames,
	Like:    regexp.MustCompile(`(?i)^(` + strings.Join(drawnNames, "|") + `|` + notDrawn + `|` + anotherSymbol + `)$`),
}

// minCoverage is the part of a period, from 0 to 1, for which prices should be known. If less is known, the reply says
// that the chart has gaps.
const minCoverage = 0.9

// noChart takes the place of a period's name if no period is drawn.
const noChart = ""

// priceCommand answers /price.
type priceCommand struct {
	inputs
	// latest is the reply of withoutChart to the latest current answer.
	latest atomic.Pointer[textReply]
}

// textReply is a reply without a picture, and the answer that it shows.
type textReply struct {
	answer query.Snapshot[*core.Quote]
	reply  *chat.Reply
}

func price(from Sources, options Options) chat.Command {
	c := &priceCommand{inputs: inputs{from, options}}
	period := periodParam
	period.ChoiceProblem = c.wrongArgument
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
			{Params: []chat.Param{amountParam}, Run: c.convert},
		},
	}
}

// run returns the price, with a picture of the period if the arguments name one.
func (c *priceCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	answer, err := c.Price.Get(ctx, struct{}{})
	drawnName := req.Args.Value(periodParam.Name)
	if doubt, isDoubt := doubtOf(err); isDoubt {
		return c.doubtfulReply(doubt, drawnName), nil
	}
	if err != nil {
		return nil, err
	}
	answer.Value = dated(answer)
	if drawnName != noChart {
		return c.withChart(ctx, req, answer, periodNamed(drawnName))
	}
	return c.withoutChart(answer), nil
}

// withoutChart returns the price without a picture. The quote of answer must be dated. As long as an
// answer is current, withoutChart returns copies of one reply, so that adapters render it once.
func (c *priceCommand) withoutChart(answer query.Snapshot[*core.Quote]) *chat.Reply {
	if !isCurrent(answer) {
		return c.priceReply(answer, dayChange(answer.Value), noChart)
	}
	// The quotes are compared by their pointers: all callers get the same answer from the cache.
	if latest := c.latest.Load(); latest != nil && latest.answer == answer {
		reply := *latest.reply // The Router sets its Language.
		return &reply
	}
	reply := c.priceReply(answer, dayChange(answer.Value), noChart)
	reply.Rendered = new(chat.Rendered)
	kept := *reply
	c.latest.Store(&textReply{answer: answer, reply: &kept})
	return reply
}

// priceChange is how much the price has changed over a period.
type priceChange struct {
	over    period
	percent decimal.NullDecimal // not Valid: unknown
}

// dayChange returns the change over the last day.
func dayChange(q *core.Quote) priceChange { return priceChange{over: lastDay, percent: q.Change24h} }

// changeInChart returns the change over the drawn period: as the chart shows it, or else as the quote has it.
func changeInChart(chart core.Chart, q *core.Quote, drawn period) priceChange {
	if chart.Change.Valid {
		return priceChange{over: drawn, percent: chart.Change}
	}
	return priceChange{over: drawn, percent: q.Changes()[drawn.length]}
}

// text returns the change and its period, such as "+1.2% (24 h)". The change must be known.
func (c priceChange) text() chat.Text {
	percent := chat.Change{Decimal: c.percent.Decimal}
	return chat.SayWith("price.change", chat.Values{"change": percent, "period": c.over.label()})
}

// withChart returns the price with a picture of a period. The quote of answer must be dated. If the picture cannot be
// drawn, withChart returns the price without it, and a *chat.PartialError. The change in the reply is the change over
// the period. If there is no picture and that change is unknown, it is the change over lastDay.
func (c *priceCommand) withChart(
	ctx context.Context, req *chat.Request, answer query.Snapshot[*core.Quote], drawn period,
) (*chat.Reply, error) {
	quote := answer.Value
	signature := cmp.Or(c.ServiceName, req.BotName)
	chart, err := c.Chart(ctx, *quote, drawn.length, req.Language, signature, req.BotHandle)
	change := changeInChart(chart, quote, drawn) // If err is set, the chart may still have a Change.
	if err != nil && !change.percent.Valid {
		change = dayChange(quote)
	}
	reply := c.priceReply(answer, change, drawn.name)
	if err != nil {
		reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
		// A refresh must draw again, even if the price is the same.
		reply.Source.AsOf = chat.Version{}
		reply.Source.FreshUntil = time.Time{}
		return reply, &chat.PartialError{Err: err}
	}
	// One line is enough, because the picture has the price and its change.
	figures := append(changeFields(*quote, change.over), marketFields(*quote, "price.cap_short", "price.volume_short")...)
	reply.Sections = []chat.Section{{Row: true, Fields: figures}}
	reply.Notes = append(reply.Notes, chartNotes(chart)...)
	reply.Image = &chat.Image{
		Name:    "price-" + drawn.name + ".png",
		PNG:     chart.PNG,
		Caption: c.chartCaption(chart, *quote),
	}
	return reply, nil
}

// chartNotes says when the chart will have a line, or that the line has gaps. It returns nil if neither applies, or if
// it is not known when there will be a line.
func chartNotes(chart core.Chart) []chat.Text {
	isLineDue := !chart.HasLine && !chart.LineFrom.IsZero()
	hasGaps := chart.HasLine && chart.Seen < minCoverage
	switch {
	case isLineDue:
		return []chat.Text{chat.LineFrom(chart.LineFrom)}
	case hasGaps:
		return []chat.Text{chat.Say("chart.sparse")}
	}
	return nil
}

// priceButtons returns a button for each period that can be drawn, one to refresh, and one that opens the provider's
// page. drawnName is the name of the period in the picture, or noChart.
func priceButtons(quote core.Quote, drawnName string) []chat.Action {
	var buttons []chat.Action
	for _, p := range periods {
		if !p.isDrawn {
			continue
		}
		buttons = append(buttons, chat.Action{
			Label:   p.label(),
			Command: "price",
			Args:    []string{p.name},
			Edit:    true,
			Current: p.name == drawnName,
		})
	}
	again := refreshPrice(drawnName)
	again.NewRow = true
	return append(append(buttons, again), pageLink(quote)...)
}

// refreshPrice returns the button that runs /price again. argument is the name of a period or an amount. If it is "",
// which is also noChart, /price runs without an argument.
func refreshPrice(argument string) chat.Action {
	if argument == "" {
		return refresh("price")
	}
	return refresh("price", argument)
}

// pageLink returns the button that opens the provider's page about the token, or no button.
func pageLink(quote core.Quote) []chat.Action {
	label := chat.SayWith("button.page", chat.Values{"source": chat.Plain(quote.Source)})
	return link(label, quote.Page)
}

// chartCaption describes a chart to readers who cannot see it. If the price is old, the caption ends
// with its age.
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

// priceReply returns a reply with the price as its title, because push notifications show only the title. The subtitle
// is change, if that is known. If the price is old, the title has its age, and there are no changes. drawnName is the
// name of the period in the picture, or noChart. The quote of answer must be dated.
func (c *priceCommand) priceReply(
	answer query.Snapshot[*core.Quote], change priceChange, drawnName string,
) *chat.Reply {
	q := answer.Value
	reply := &chat.Reply{
		Title: chat.SayWith("price.title", chat.Values{
			"symbol": chat.Plain(c.Symbol),
			"price":  chat.Price{Decimal: q.Price},
		}),
		Tone: chat.Change{Decimal: change.percent.Decimal}.Tone(),
		Sections: []chat.Section{
			{Row: true, Fields: changeFields(*q, change.over)},
			{Fields: marketFields(*q, "price.cap", "price.volume")},
		},
		Footer:  chat.Parts{priceSource(answer)},
		Checked: cmp.Or(q.LastUpdated, answer.At),
		Source:  sourceOf(answer),
		Actions: priceButtons(*q, drawnName),
	}
	if q.Old() {
		reply.Tone = chat.Warning
		reply.Title = oldTitle(*q, c.Symbol)
		reply.Checked = time.Time{}
		reply.Source.AsOf = chat.Version{} // The title prints its age.
		return reply
	}
	if change.percent.Valid {
		reply.Subtitle = change.text()
	}
	return reply
}

// sourceOf says how current a reply with the price is.
func sourceOf(answer query.Snapshot[*core.Quote]) chat.Source {
	return chat.Source{
		AsOf:       chat.Version{Time: cmp.Or(answer.Value.LastUpdated, answer.At)},
		FreshUntil: answer.FreshUntil,
		Stale:      answer.Stale,
		Why:        failureText(answer.Why),
	}
}

// changeFields returns the known changes over the listed periods, without the period except. It returns none for an
// old quote.
func changeFields(q core.Quote, except period) (fields []chat.Field) {
	if q.Old() {
		return nil
	}
	changes := q.Changes()
	for _, p := range periods {
		if change := changes[p.length]; change.Valid && p.isListed && p != except {
			fields = append(fields, chat.Field{Name: p.label(), Value: chat.Change{Decimal: change.Decimal}})
		}
	}
	return fields
}

// marketFields returns the market cap and the volume, each if it is known. The keys name the fields.
func marketFields(q core.Quote, capKey, volumeKey string) (fields []chat.Field) {
	if q.MarketCap.Valid {
		fields = append(fields, moneyField(capKey, q.MarketCap.Decimal))
	}
	if q.Volume24h.Valid {
		fields = append(fields, moneyField(volumeKey, q.Volume24h.Decimal))
	}
	return fields
}

// moneyField returns a sum in USD under the name of key.
func moneyField(key string, sum decimal.Decimal) chat.Field {
	return chat.Field{Name: chat.Say(key), Value: chat.Money{Decimal: sum}}
}
