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

var periodParam = chat.Param{
	Name:    "period",
	Summary: chat.Say("param.period"),
	Example: "7d",
	Choices: drawnNames,
	// Like also matches two kinds of words that are not Choices: notDrawn, which tidy puts in place of a period that is
	// not drawn, and other tokens' symbols. The user then reads what wrongArgument says about them.
	Like: regexp.MustCompile(`(?i)^(` + strings.Join(drawnNames, "|") + `|` + notDrawn + `|` + anotherSymbol + `)$`),
}

// minCoverage is the minimum part of a period, from 0 to 1, for which prices are known. If prices are known for less,
// the reply says that the chart has gaps.
const minCoverage = 0.9

// noPeriod is the name of the requested period if the user requested none.
const noPeriod = ""

// priceCommand answers /price.
type priceCommand struct {
	inputs
	// shared has the reply of plainReply to the latest current answer, so that adapters render it once for everybody.
	shared sharedReply
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

// run returns the price, with a chart if the arguments name a period.
func (c *priceCommand) run(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
	requested := req.Args.Value(periodParam.Name)
	latest, err := c.Price.Get(ctx, struct{}{})
	if doubt, isDoubt := doubtOf(err); isDoubt {
		return c.doubtfulReply(doubt, requested), nil
	}
	if err != nil {
		return nil, err
	}
	if requested != noPeriod {
		return c.chartReply(ctx, req, dated(latest), periodNamed(requested))
	}
	return c.plainReply(dated(latest)), nil
}

// plainReply returns the price without a chart. While the answer is current, every call returns a copy of the same
// reply.
func (c *priceCommand) plainReply(answer datedQuote) *chat.Reply {
	isShared := answer.isCurrent()
	if isShared {
		if reply := c.shared.get(answer); reply != nil {
			return reply
		}
	}
	reply := c.priceReply(answer, dayChange(answer.Value), noPeriod)
	if isShared {
		c.shared.put(answer, reply)
	}
	return reply
}

// sharedReply caches the latest reply that many requests get. It is safe for concurrent use. Its zero value is ready to
// use.
type sharedReply struct{ latest atomic.Pointer[replyTo] }

// replyTo is the reply that shows an answer.
type replyTo struct {
	answer datedQuote
	reply  chat.Reply
}

// get returns a shallow copy of the latest reply if it shows this answer, and nil otherwise. Copies share Rendered and
// all slices; each has its own Language.
func (s *sharedReply) get(answer datedQuote) *chat.Reply {
	latest := s.latest.Load()
	if latest == nil || !latest.shows(answer) {
		return nil
	}
	reply := latest.reply
	return &reply
}

// shows reports whether r shows this answer. It compares the pointers of quotes: as long as the cached quote does not
// change, every request gets the same pointer.
func (r *replyTo) shows(answer datedQuote) bool { return r.answer == answer }

// put makes a shallow copy of reply the latest. Both share a new Rendered, so that adapters render them once.
func (s *sharedReply) put(answer datedQuote, reply *chat.Reply) {
	reply.Rendered = new(chat.Rendered)
	s.latest.Store(&replyTo{answer: answer, reply: *reply})
}

// priceChange is how much the price has changed over a period.
type priceChange struct {
	over    period
	percent decimal.NullDecimal // unknown if it is not Valid
}

// dayChange returns the change over the last day.
func dayChange(q *core.Quote) priceChange { return priceChange{over: lastDay, percent: q.Change24h} }

// changeInChart returns the change over the requested period: the chart's or, if the chart has none, the quote's.
func changeInChart(chart core.Chart, q *core.Quote, requested period) priceChange {
	if chart.Change.Valid {
		return priceChange{over: requested, percent: chart.Change}
	}
	return priceChange{over: requested, percent: q.Changes()[requested.length]}
}

// text returns the change and its period, such as "+1.2% (24 h)". The change must be known.
func (c priceChange) text() chat.Text {
	percent := chat.Change{Decimal: c.percent.Decimal}
	return chat.SayWith("price.change", chat.Values{"change": percent, "period": c.over.label()})
}

// chartReply returns the price with a chart of the requested period. If the chart cannot be drawn, it returns the price
// without a chart, and a *chat.PartialError.
func (c *priceCommand) chartReply(
	ctx context.Context, req *chat.Request, answer datedQuote, requested period,
) (*chat.Reply, error) {
	signature := cmp.Or(c.ServiceName, req.BotName)
	chart, err := c.Chart(ctx, *answer.Value, requested.length, req.Language, signature, req.BotHandle)
	if err != nil {
		return c.failedChartReply(answer, chart, requested), &chat.PartialError{Err: err}
	}
	return c.drawnReply(answer, chart, requested), nil
}

// failedChartReply returns the price and a note that the chart failed. Its change is over the requested period or, if
// that change is unknown, over lastDay. The chart has no picture, but may have a Change.
func (c *priceCommand) failedChartReply(answer datedQuote, chart core.Chart, requested period) *chat.Reply {
	change := changeInChart(chart, answer.Value, requested)
	if !change.percent.Valid {
		change = dayChange(answer.Value)
	}
	reply := c.priceReply(answer, change, requested.name)
	reply.Notes = append(reply.Notes, chat.Say("chart.failed"))
	// A press on Refresh must draw again, even if the price is the same. If AsOf were set, the press would only be
	// answered with "nothing new". FreshUntil would promise that a refresh finds the same reply.
	reply.Source.AsOf = chat.Version{}
	reply.Source.FreshUntil = time.Time{}
	return reply
}

// drawnReply returns the price and the chart. Its change is over the requested period.
func (c *priceCommand) drawnReply(answer datedQuote, chart core.Chart, requested period) *chat.Reply {
	quote := *answer.Value
	reply := c.priceReply(answer, changeInChart(chart, answer.Value, requested), requested.name)
	// One line is enough, because the picture has the price and its change.
	figures := append(changeFields(quote, requested), marketFields(quote, "price.cap_short", "price.volume_short")...)
	reply.Sections = []chat.Section{{Row: true, Fields: figures}}
	reply.Notes = append(reply.Notes, chartNotes(chart)...)
	reply.Image = &chat.Image{
		Name:    "price-" + requested.name + ".png",
		PNG:     chart.PNG,
		Caption: c.chartCaption(chart, quote),
	}
	return reply
}

// chartNotes returns a note if the chart's line has gaps, or if the chart has no line but it is known when it will have
// one.
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
// page. requested is the name of the requested period, or noPeriod.
func priceButtons(quote core.Quote, requested string) []chat.Action {
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
			Current: p.name == requested,
		})
	}
	again := refreshPrice(requested)
	again.NewRow = true
	return append(append(buttons, again), pageLink(quote)...)
}

// refreshPrice returns the button that runs /price again. argument is the name of a period, an amount, or noPeriod. For
// noPeriod, /price runs without an argument.
func refreshPrice(argument string) chat.Action {
	if argument == noPeriod {
		return refresh("price")
	}
	return refresh("price", argument)
}

// pageLink returns the button that opens the provider's page about the token, or no button.
func pageLink(quote core.Quote) []chat.Action {
	label := chat.SayWith("button.page", chat.Values{"source": chat.Plain(quote.Source)})
	return link(label, quote.Page)
}

// chartCaption describes a chart to readers who cannot see it. If the price is old, the caption ends with its age.
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

// priceReply returns a reply with the price as its title, because push notifications show only the title. If change is
// known, it is the subtitle. If the price is old, the title has its age, and the reply shows no change. requested is
// the name of the requested period, or noPeriod.
func (c *priceCommand) priceReply(answer datedQuote, change priceChange, requested string) *chat.Reply {
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
		Actions: priceButtons(*q, requested),
	}
	if q.Old() {
		reply.Tone = chat.Warning
		reply.Title = oldTitle(*q, c.Symbol)
		reply.Checked = time.Time{}
		reply.Source.AsOf = chat.Version{} // The title prints an age, which changes while the price stays.
		return reply
	}
	if change.percent.Valid {
		reply.Subtitle = change.text()
	}
	return reply
}

// sourceOf says how current a reply with the price is.
func sourceOf(answer datedQuote) chat.Source {
	return chat.Source{
		AsOf:       chat.Version{Time: cmp.Or(answer.Value.LastUpdated, answer.At)},
		FreshUntil: answer.FreshUntil,
		Stale:      answer.Stale,
		Why:        failureText(answer.Why),
	}
}

// changeFields returns the known changes over the listed periods other than except. It returns nil if the quote is old.
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

// marketFields returns the market cap and the volume, each if it is known. capKey and volumeKey are the messages with
// the fields' names.
func marketFields(q core.Quote, capKey, volumeKey string) (fields []chat.Field) {
	if q.MarketCap.Valid {
		fields = append(fields, moneyField(capKey, q.MarketCap.Decimal))
	}
	if q.Volume24h.Valid {
		fields = append(fields, moneyField(volumeKey, q.Volume24h.Decimal))
	}
	return fields
}

// moneyField returns a sum in USD. nameKey is the message with the field's name.
func moneyField(nameKey string, sum decimal.Decimal) chat.Field {
	return chat.Field{Name: chat.Say(nameKey), Value: chat.Money{Decimal: sum}}
}
