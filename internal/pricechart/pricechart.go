// Package pricechart draws the price of a period, from the quotes that the bot
// saw and what the newest of them implies, with words and numbers in a language.
//
// It joins package history, which remembers, words, which says, and chart, which
// draws; none of those knows another.
package pricechart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/pricechart/chart"
	"herald/internal/pricechart/history"
	"herald/internal/words"
)

// Charts draw one token's price. Safe for concurrent use.
type Charts struct {
	history  *history.History
	pictures *core.Cached[subject, core.Chart]
	draw     func(chart.Picture) ([]byte, error)
	turns    chan struct{}
	symbol   string
}

// subject is what a chart shows. Language is part of it, so that a picture is
// never served to readers of another language.
type subject struct {
	Quote    core.Quote
	Period   time.Duration
	Language chat.Language
}

const (
	// drawTime bounds the drawing with the wait for its turn. An answer in text
	// must still be in time.
	drawTime = 3 * time.Second
	// atATime is how many pictures are drawn at once: each keeps a processor
	// busy for tens of milliseconds.
	atATime = 2
	// The charts kept, at some 30 KiB each. The quote is part of what is asked,
	// so that a newer one has a new picture.
	keptCharts = 32
	keptFor    = time.Minute
)

// drawing is described as a service is. Its cache is its own, so that it stands
// neither in /status nor in the metrics of services.
var drawing = &core.Service{Name: "charts", Title: "charts"}

// unobserved implements core.Observer.
type unobserved struct{}

func (unobserved) Call(*core.Service, string, time.Duration) {}
func (unobserved) Lookup(string, string, time.Duration)      {}

// New makes the Charts of the token whose quotes h remembers.
func New(h *history.History, symbol string) *Charts {
	c := &Charts{history: h, draw: chart.Draw, turns: make(chan struct{}, atATime), symbol: symbol}
	cache := core.NewCache(core.CacheConfig{MaxItems: keptCharts, CallTimeout: drawTime, Timeout: drawTime, Observer: unobserved{}})
	c.pictures = core.NewCached(core.NewBreaker(cache, drawing, keptFor, nil), core.Query[subject, core.Chart]{
		Name:      "chart",
		TTL:       keptFor,
		Fetch:     c.drawOnce,
		Cacheable: func(drawn core.Chart) bool { return drawn.PNG != nil },
	})
	return c
}

// Chart draws the period that ends with the quote, once for all who ask for it.
// Without two prices in it, the Chart has no picture. It takes at most 3 seconds.
// The picture is not the caller's to change.
func (c *Charts) Chart(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language) (core.Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, drawTime)
	defer cancel()
	drawn, err := c.pictures.Get(ctx, subject{quote, period, l})
	return drawn.Value, err
}

// drawOnce draws a chart when it is its turn.
func (c *Charts) drawOnce(ctx context.Context, s subject) (core.Chart, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return core.Chart{}, fmt.Errorf("wait for a turn to draw: %w", ctx.Err())
	}
	to := endOf(s.Quote)
	from := to.Add(-s.Period)
	points := history.Joined(c.history.Since(from), s.Quote, from, to)
	picture := c.picture(points, from, to, s.Language)
	png, err := c.draw(picture)
	switch {
	case errors.Is(err, chart.ErrTooFewPoints):
		return core.Chart{}, nil
	case err != nil:
		return core.Chart{}, fmt.Errorf("draw the chart: %w", err)
	}
	drawn := core.Chart{
		PNG: png, From: from, Since: points[0].At, Seen: picture.Covered(),
		First: points[0].Price, Last: points[len(points)-1].Price, Lowest: points[0].Price, Highest: points[0].Price,
	}
	for _, p := range points {
		drawn.Lowest, drawn.Highest = decimal.Min(drawn.Lowest, p.Price), decimal.Max(drawn.Highest, p.Price)
	}
	return drawn, nil
}

// endOf is the quote's time in whole seconds, as points have it: what its changes
// imply for the very beginning of the period must not fall before it.
func endOf(quote core.Quote) time.Time {
	now := time.Now()
	if quote.LastUpdated.IsZero() || quote.LastUpdated.After(now) {
		return now.Truncate(time.Second)
	}
	return quote.LastUpdated.Truncate(time.Second)
}

// day is the length up to which the axis tells hours, above it days.
const day = 24 * time.Hour

func (c *Charts) picture(points []history.Point, from, to time.Time, l chat.Language) chart.Picture {
	layout := l.Info().Day
	if to.Sub(from) <= day {
		layout = "15:04"
	}
	p := chart.Picture{
		Title:     drawable(l, chat.SayWith("chart.title", chat.Values{"symbol": chat.Plain(c.symbol)})),
		Seen:      drawable(l, chat.Say("chart.seen")),
		Estimated: drawable(l, chat.Say("chart.estimated")),
		From:      from,
		To:        to,
		Money:     func(usd float64) string { return words.AxisPrice(l, decimal.NewFromFloat(usd)) },
		Moment:    func(t time.Time) string { return t.UTC().Format(layout) },
	}
	for _, point := range points {
		p.Points = append(p.Points, chart.Point{At: point.At, Price: point.Price.InexactFloat64(), Estimated: point.Estimated})
	}
	return p
}

// drawable says a text in English where the pictures' font lacks the letters of
// its language.
func drawable(l chat.Language, t chat.Text) string {
	if said := words.Say(l, t); chart.CanDraw(said) {
		return said
	}
	return words.Say(chat.English, t)
}

// Recorded is a source of prices whose fresh answers h remembers.
func Recorded(prices core.Source[struct{}, core.Quote], h *history.History) core.Source[struct{}, core.Quote] {
	return recorded{prices, h}
}

type recorded struct {
	prices  core.Source[struct{}, core.Quote]
	history *history.History
}

// Get implements core.Source.
func (r recorded) Get(ctx context.Context, none struct{}) (core.Snapshot[core.Quote], error) {
	quote, err := r.prices.Get(ctx, none)
	if err == nil && !quote.Stale {
		r.history.Add(quote.Value)
	}
	return quote, err
}
