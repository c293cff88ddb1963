// Package pricechart draws the price of a token over a period as a picture. It uses the quotes that the bot has
// received. A quote is what a provider says about the token at a time: the price, and its changes over periods from an
// hour to 30 days.
//
// The package does not invent prices: it does not join points that are far apart, and a line to an estimate is dashed.
// It calls no service. Package belief decides which quotes it gets.
//
// The words of the package:
//
//   - A point is a price at a time. It is recorded if a quote had the price, and an estimate if the price was computed
//     from a later quote's change.
//   - Two neighboring points are joined by a line if they are close, or if one of them is an estimate.
//   - The time between two points is seen if they are joined and both are recorded.
//   - A picture is a chart if enough of the period is seen. A chart has a plot with a line. Otherwise the picture is a
//     card, with tiles that show changes.
//   - The pill is the box beside the price, and the tag the box at the right end of the line. The extremes are the
//     highest and the lowest price of the period.
//
// The files, in reading order: pricechart.go (Charts), quotes.go and points.go (the points), picture.go (what a picture
// shows, and cards), chart.go (charts), axis.go (the prices beside a plot), format.go (prices as text),
// canvas.go (texts, lines and areas), settings.go.
package pricechart

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/patrickmn/go-cache"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/secret"
)

// Charts draws the charts of one token. It is safe for concurrent use.
type Charts struct {
	quotes   *Quotes
	symbol   string
	settings Settings
	calls    singleflight.Group
	permits  *semaphore.Weighted           // one for each picture that is being drawn
	kept     *cache.Cache                  // core.Chart values by the key of Chart
	draw     func(picture) ([]byte, error) // picture.draw, except in tests
}

const (
	// drawTimeout limits how long Chart blocks. After it, there must be time left for an answer in text.
	drawTimeout = 3 * time.Second
	// maxDrawing is the maximum number of pictures that are drawn at a time. Each uses a processor for tens of
	// milliseconds.
	maxDrawing = 2
	// maxKept is the maximum number of charts in memory. Each takes about 40 KiB.
	maxKept = 32
	// keptTTL is how long a chart stays in memory.
	keptTTL = time.Minute
)

// New returns the Charts of the token with these quotes and this symbol.
func New(quotes *Quotes, symbol string, settings Settings) *Charts {
	return &Charts{
		quotes:   quotes,
		symbol:   symbol,
		settings: settings,
		permits:  semaphore.NewWeighted(maxDrawing),
		kept:     cache.New(keptTTL, 0),
		draw:     picture.draw,
	}
}

// Chart returns the chart of the period that ends at the time of the quote, or now if the quote has no time. Its footer
// shows the name of the community or the bot, and the handle of the bot, such as "@herald_bot". Both may be empty.
// Chart blocks for at most drawTimeout. Callers that ask for the same chart within keptTTL share it, so they must not
// change it.
func (c *Charts) Chart(
	ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name, handle string,
) (core.Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	// Old is part of the key, because it changes with time, and then the picture changes. Sprint does not put a space
	// between two strings, so name and handle need one.
	key := fmt.Sprint(quote, quote.Old(), period, l, name, " ", handle)
	to := cmp.Or(quote.LastUpdated, time.Now()).Truncate(time.Second) // Points have whole seconds.
	p := picture{
		Settings: c.settings,
		symbol:   c.symbol,
		name:     name,
		handle:   handle,
		language: l,
		quote:    quote,
		from:     to.Add(-period),
		to:       to,
		now:      time.Now(),
	}
	select {
	case result := <-c.calls.DoChan(key, func() (any, error) { return c.keptOrDrawn(key, p) }):
		if result.Err != nil {
			return core.Chart{}, result.Err
		}
		return result.Val.(core.Chart), nil
	case <-ctx.Done():
		return core.Chart{}, fmt.Errorf("wait for a chart: %w", ctx.Err())
	}
}

// keptOrDrawn returns the chart that is kept under key. If there is none, it draws the chart of p and keeps it. It has
// a deadline of its own, because the chart is shared, and its first caller may give up. It returns a panic as an error.
func (c *Charts) keptOrDrawn(key string, p picture) (chart core.Chart, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = secret.PanicError(v)
		}
	}()
	if kept, found := c.kept.Get(key); found {
		return kept.(core.Chart), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drawTimeout)
	defer cancel()
	if err := c.permits.Acquire(ctx, 1); err != nil {
		return core.Chart{}, fmt.Errorf("wait until fewer charts are drawn: %w", err)
	}
	defer c.permits.Release(1)
	p.points = pointsBetween(c.quotes.all(), p.quote, p.from, p.to)
	png, err := c.draw(p)
	if err != nil {
		return core.Chart{}, fmt.Errorf("draw a chart: %w", err)
	}
	chart = p.chart(png)
	c.keep(key, chart)
	return chart, nil
}

// keep keeps a chart for keptTTL. If there are already maxKept charts, it first discards all of them: a chart that is
// still requested is drawn again.
func (c *Charts) keep(key string, chart core.Chart) {
	c.kept.DeleteExpired()
	if c.kept.ItemCount() >= maxKept {
		c.kept.Flush()
	}
	c.kept.SetDefault(key, chart)
}
