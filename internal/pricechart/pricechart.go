// Package pricechart draws the price of a period as a picture: from the quotes
// that the bot saw, and from the changes that the newest of them tells, over an hour
// and up to 30 days.
//
// It makes no price up. Points far apart are not joined, and an estimate looks
// different from a price that was seen. It asks no service and sends nothing.
package pricechart

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

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
	draw     func(picture) ([]byte, error) // picture.draw, but for tests

	mu   sync.Mutex
	kept map[string]keptChart // by subject.key
}

// keptChart is a chart and the time at which it was drawn.
type keptChart struct {
	core.Chart
	at time.Time
}

// subject is what a chart shows. Language is part of its key, so that a picture is never
// served to readers of another language.
type subject struct {
	Quote    core.Quote
	Old      bool
	Period   time.Duration
	Language chat.Language
	Name     string
}

// key differs for subjects that look different. Name is last because it has any letters.
func (s subject) key() string { return fmt.Sprint(s) }

const (
	// drawTimeout bounds the wait and the drawing: an answer in text must still be
	// in time.
	drawTimeout = 3 * time.Second
	// maxDrawing pictures are drawn at once. Each keeps a processor busy for tens
	// of milliseconds.
	maxDrawing = 2
	// maxKept bounds the charts in memory, of some 35 KiB each.
	maxKept = 32
	// keepFor is how long a chart is kept.
	keepFor = time.Minute
)

// New makes the Charts of the token whose quotes are given.
func New(quotes *Quotes, symbol string, settings Settings) *Charts {
	return &Charts{
		quotes: quotes, symbol: symbol, settings: settings,
		drawing: semaphore.NewWeighted(maxDrawing), draw: picture.draw, kept: map[string]keptChart{},
	}
}

// Chart returns the chart of the period that ends with the quote, signed with the
// name of the community or the bot. Chart blocks for at most 3 seconds. Simultaneous
// callers share one drawing, and later ones its chart for a minute: they must not change
// it.
func (c *Charts) Chart(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name string) (core.Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	s := subject{Quote: quote, Old: quote.Old(), Period: period, Language: l, Name: name}
	select {
	case drawn := <-c.calls.DoChan(s.key(), func() (any, error) { return c.shared(s) }):
		chart, _ := drawn.Val.(core.Chart)
		return chart, drawn.Err
	case <-ctx.Done():
		return core.Chart{}, fmt.Errorf("wait for a chart: %w", ctx.Err())
	}
}

// shared returns the kept chart of s, or draws and keeps it. It runs apart from the
// callers: one that leaves does not end the drawing for the others. A panic is returned as
// an error, since no caller's recover would see it.
func (c *Charts) shared(s subject) (chart core.Chart, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = secret.PanicError(v)
		}
	}()
	if chart, ok := c.load(s.key()); ok {
		return chart, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drawTimeout)
	defer cancel()
	if err := c.drawing.Acquire(ctx, 1); err != nil {
		return core.Chart{}, fmt.Errorf("wait until fewer charts are drawn: %w", err)
	}
	defer c.drawing.Release(1)
	if chart, err = c.chart(s); err != nil {
		return core.Chart{}, fmt.Errorf("draw a chart: %w", err)
	}
	c.keep(s.key(), chart)
	return chart, nil
}

// load returns the chart kept under key, or false.
func (c *Charts) load(key string) (core.Chart, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.kept, func(_ string, k keptChart) bool { return time.Since(k.at) >= keepFor })
	found, ok := c.kept[key]
	return found.Chart, ok
}

// keep keeps a chart. A full map is emptied first: what is still asked for is drawn again.
func (c *Charts) keep(key string, chart core.Chart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxKept {
		clear(c.kept)
	}
	c.kept[key] = keptChart{Chart: chart, at: time.Now()}
}

// chart draws s. It blocks only for the stores of Quotes.
func (c *Charts) chart(s subject) (core.Chart, error) {
	to := s.Quote.LastUpdated
	if to.IsZero() {
		to = time.Now()
	}
	to = to.Truncate(time.Second) // as points are
	p := picture{
		Settings: c.settings, symbol: c.symbol, name: s.Name, language: s.Language, quote: s.Quote,
		from: to.Add(-s.Period), to: to,
	}
	p.points = pointsBetween(c.quotes.all(), s.Quote, p.from, to)
	png, err := c.draw(p)
	if err != nil {
		return core.Chart{}, err
	}
	chart := core.Chart{
		PNG: png, Line: p.hasLine(), Spark: p.spark(), Seen: p.seen(), Since: to,
		First: s.Quote.Price, Last: s.Quote.Price, Change: p.change(),
	}
	if seen := p.recorded(); len(seen) > 0 {
		chart.Since, chart.First, chart.Last = seen[0].At, seen[0].Price, seen[len(seen)-1].Price
	}
	chart.Lowest, chart.Highest = p.extremes()
	return chart, nil
}
