// Package pricechart draws the price of a period as a picture: from the quotes that
// the bot saw, and from the newest quote's changes over an hour to 30 days.
//
// It makes no price up. Points far apart are not joined, and an estimate looks
// different from a price that was seen. It asks no service and sends nothing. Package belief
// decides which prices it gets.
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

// Charts draws the charts of one token. Safe for concurrent use.
type Charts struct {
	quotes   *Quotes
	symbol   string
	settings Settings
	calls    singleflight.Group
	drawing  *semaphore.Weighted
	drawn    *cache.Cache                  // a core.Chart for each key
	draw     func(picture) ([]byte, error) // picture.draw, but for tests
}

const (
	// drawTimeout bounds the wait and the drawing: an answer in text must still be
	// in time.
	drawTimeout = 3 * time.Second
	// maxDrawing pictures are drawn at once. Each keeps a processor busy for tens
	// of milliseconds.
	maxDrawing = 2
	// maxDrawn bounds the charts in memory, of some 40 KiB each.
	maxDrawn = 32
	// keepFor is how long a chart is kept.
	keepFor = time.Minute
)

// New makes the Charts of the token whose quotes are given.
func New(quotes *Quotes, symbol string, settings Settings) *Charts {
	return &Charts{
		quotes:   quotes,
		symbol:   symbol,
		settings: settings,
		drawing:  semaphore.NewWeighted(maxDrawing),
		drawn:    cache.New(keepFor, 0),
		draw:     picture.draw,
	}
}

// Chart returns the chart of the period that ends with the quote, signed with the
// name of the community or the bot, and the bot's handle. Chart blocks for at most 3 seconds. Simultaneous
// callers share one drawing, and later callers its chart for a minute: they must not
// change it.
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
	case result := <-c.calls.DoChan(key, func() (any, error) { return c.shared(key, p) }):
		chart, _ := result.Val.(core.Chart)
		return chart, result.Err
	case <-ctx.Done():
		return core.Chart{}, fmt.Errorf("wait for a chart: %w", ctx.Err())
	}
}

// shared returns the chart kept under key, or draws and keeps p. It outlives the callers,
// so that one who leaves does not end it for the others. It returns a panic as an error.
func (c *Charts) shared(key string, p picture) (chart core.Chart, err error) {
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
		c.drawn.Flush() // those still asked for are drawn again
	}
	c.drawn.SetDefault(key, chart)
	return chart, nil
}
