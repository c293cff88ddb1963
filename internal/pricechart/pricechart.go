// Package pricechart draws the price of a token over a period as a picture. It uses the quotes that the
// bot has received, and the latest quote's changes over periods from an hour to 30 days.
//
// It does not invent prices: it does not join points that are far apart, and draws estimates differently
// from prices that a quote had. It calls no service. Package belief decides which prices it gets.
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
	drawing  *semaphore.Weighted
	drawn    *cache.Cache                  // core.Chart values by the key of Chart
	draw     func(picture) ([]byte, error) // picture.draw, except in tests
}

const (
	// drawTimeout limits how long Chart blocks. After it, there must be time left for an answer in text.
	drawTimeout = 3 * time.Second
	// maxDrawing is the maximum number of pictures that are drawn at a time. Each uses a processor for tens
	// of milliseconds.
	maxDrawing = 2
	// maxDrawn is the maximum number of charts in memory. Each takes about 40 KiB.
	maxDrawn = 32
	// drawnTTL is how long a chart stays in memory.
	drawnTTL = time.Minute
)

// New returns the Charts of the token with these quotes and this symbol.
func New(quotes *Quotes, symbol string, settings Settings) *Charts {
	return &Charts{
		quotes:   quotes,
		symbol:   symbol,
		settings: settings,
		drawing:  semaphore.NewWeighted(maxDrawing),
		drawn:    cache.New(drawnTTL, 0),
		draw:     picture.draw,
	}
}

// Chart returns the chart of the period that ends at the time of the quote. Its footer shows name, the
// community or the bot, and handle, such as "@herald_bot"; both may be empty. Chart blocks for at most 3
// seconds. Callers that ask for the same chart within a minute share it, so they must not change it.
func (c *Charts) Chart(
	ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name, handle string,
) (core.Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	key := fmt.Sprint(quote, quote.Old(), period, l, name, " ", handle)
	to := cmp.Or(quote.LastUpdated, time.Now()).Truncate(time.Second) // as points are
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
	case result := <-c.calls.DoChan(key, func() (any, error) { return c.drawOnce(key, p) }):
		chart, _ := result.Val.(core.Chart)
		return chart, result.Err
	case <-ctx.Done():
		return core.Chart{}, fmt.Errorf("wait for a chart: %w", ctx.Err())
	}
}

// drawOnce returns the chart of p from memory, or draws it and keeps it under key. It has its own
// deadline, because the callers that share the chart may have given up. It returns a panic as an error.
func (c *Charts) drawOnce(key string, p picture) (chart core.Chart, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = secret.PanicError(v)
		}
	}()
	if kept, found := c.drawn.Get(key); found {
		return kept.(core.Chart), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drawTimeout)
	defer cancel()
	if err := c.drawing.Acquire(ctx, 1); err != nil {
		return core.Chart{}, fmt.Errorf("wait until fewer charts are drawn: %w", err)
	}
	defer c.drawing.Release(1)
	p.points = pointsBetween(c.quotes.all(), p.quote, p.from, p.to)
	png, err := c.draw(p)
	if err != nil {
		return core.Chart{}, fmt.Errorf("draw a chart: %w", err)
	}
	chart = p.chart(png)
	c.drawn.DeleteExpired()
	if c.drawn.ItemCount() >= maxDrawn {
		c.drawn.Flush() // A chart that is still requested is drawn again.
	}
	c.drawn.SetDefault(key, chart)
	return chart, nil
}
