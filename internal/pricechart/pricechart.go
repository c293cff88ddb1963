// Package pricechart draws the price of a period as a picture: from the quotes
// that the bot saw, and from what the newest of them says about the time before
// (it comes with its changes over an hour, up to 30 days).
//
// It makes no price up. Points far apart are not joined, and what was worked out
// looks different from what was seen. It asks no service and sends nothing: a
// picture is a core.Query, drawn once for all who ask for it.
package pricechart

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"herald/internal/chat"
	"herald/internal/core"
)

// Charts draws the charts of one token. Safe for concurrent use.
type Charts struct {
	quotes   *Quotes
	symbol   string
	settings Settings
	pictures *core.Query[subject, core.Chart]
	drawing  *semaphore.Weighted
	draw     func(picture) ([]byte, error)
}

// subject is what a chart shows. Language is part of the cache key, so that a
// picture is never served to readers of another language.
type subject struct {
	Quote    core.Quote
	Old      bool
	Period   time.Duration
	Language chat.Language
	Name     string
}

const (
	// drawTimeout bounds the wait and the drawing: an answer in text must still be
	// in time.
	drawTimeout = 3 * time.Second
	// maxDrawing pictures are drawn at once. Each keeps a processor busy for tens
	// of milliseconds.
	maxDrawing = 2
	// maxPictures are cached, at some 40 KiB each. The quote is part of the key, so
	// a newer quote has a new picture.
	maxPictures = 32
	pictureTTL  = time.Minute
)

// service has a cache of its own, so that it appears neither in /status nor in
// the metrics of services.
var service = &core.Service{Name: "charts", Title: "charts"}

// unobserved implements core.Observer.
type unobserved struct{}

func (unobserved) Call(*core.Service, string, time.Duration) {}
func (unobserved) Lookup(string, string, time.Duration)      {}

// New makes the Charts of the token whose quotes are given.
func New(quotes *Quotes, symbol string, settings Settings) *Charts {
	c := &Charts{quotes: quotes, symbol: symbol, settings: settings, drawing: semaphore.NewWeighted(maxDrawing), draw: picture.draw}
	cache := core.NewCache(core.CacheConfig{
		MaxItems: maxPictures, CallTimeout: drawTimeout, Timeout: drawTimeout, Observer: unobserved{},
	})
	c.pictures = core.NewQuery(core.NewUpstream(cache, service, pictureTTL, nil), &core.Query[subject, core.Chart]{
		Name: "chart", TTL: pictureTTL, Fetch: c.fetch,
	})
	return c
}

// Chart returns the chart of the period that ends with the quote, signed with the
// name of the community or the bot. Chart blocks for at most 3 seconds. The picture is
// shared: callers must not change it.
func (c *Charts) Chart(ctx context.Context, quote core.Quote, period time.Duration, l chat.Language, name string) (core.Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	drawn, err := c.pictures.Get(ctx, subject{Quote: quote, Old: quote.Old(), Period: period, Language: l, Name: name})
	return drawn.Value, err
}

func (c *Charts) fetch(ctx context.Context, s subject) (core.Chart, error) {
	if err := c.drawing.Acquire(ctx, 1); err != nil {
		return core.Chart{}, fmt.Errorf("wait until fewer charts are drawn: %w", err)
	}
	defer c.drawing.Release(1)
	to := s.Quote.LastUpdated
	if to.IsZero() {
		to = time.Now()
	}
	to = to.Truncate(time.Second) // as points are
	p := picture{
		Settings: c.settings, symbol: c.symbol, name: s.Name, language: s.Language, quote: s.Quote,
		from: to.Add(-s.Period), to: to,
	}
	p.points = known(c.quotes.all(), s.Quote, p.from, to)
	png, err := c.draw(p)
	if err != nil {
		return core.Chart{}, fmt.Errorf("draw a chart: %w", err)
	}
	drawn := core.Chart{
		PNG: png, Line: p.hasLine(), Spark: p.spark(), Seen: p.seen(), Since: to,
		First: s.Quote.Price, Last: s.Quote.Price, Change: p.change(),
	}
	if seen := p.recorded(); len(seen) > 0 {
		drawn.Since, drawn.First, drawn.Last = seen[0].At, seen[0].Price, seen[len(seen)-1].Price
	}
	drawn.Lowest, drawn.Highest = p.extremes()
	return drawn, nil
}

// Recorded is a source of the same prices that adds each fresh one to Quotes.
type Recorded struct {
	Prices core.Source[struct{}, core.Quote]
	Quotes *Quotes
}

// Get implements core.Source.
func (r Recorded) Get(ctx context.Context, none struct{}) (core.Snapshot[core.Quote], error) {
	quote, err := r.Prices.Get(ctx, none)
	if err == nil && !quote.Stale {
		r.Quotes.Add(quote.Value)
	}
	return quote, err
}
