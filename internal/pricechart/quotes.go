package pricechart

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/mirror"
	"herald/internal/query"
)

// maxAhead is how far a point's time may be ahead of this machine's clock.
const maxAhead = time.Minute

// Quotes records the prices of one token: one per 15 minutes, for 31 days. Memory has all of them, and each store has
// a copy. Quotes implements belief.Series. It is safe for concurrent use, and must be closed.
type Quotes struct {
	*mirror.Mirror
	series *series
}

// NewQuotes returns Quotes with a copy in each store. source identifies the token at its provider, and is part of the
// key in the stores, so that quotes from another source are not mixed in. NewQuotes does not read the stores; the
// first use does.
func NewQuotes(source string, stores []query.Store, log *slog.Logger) *Quotes {
	s := new(series)
	return &Quotes{Mirror: mirror.New("quotes", "quotes "+source, maxAge, s, stores, log), series: s}
}

// Add records the price of the quote. It ignores a quote that lacks a price or a time, or whose time is more than a
// minute in the future. If there is a new point, Add saves it, and blocks for at most 100 ms.
func (q *Quotes) Add(quote core.Quote) {
	p := pointOf(quote)
	if !p.isPossible() || isAhead(p) {
		return
	}
	isNew := q.series.add([]point{p})
	if isNew {
		q.Sync()
	}
}

// Prices implements belief.Series. It omits prices from the future: see isAhead.
func (q *Quotes) Prices() []core.PricedAt {
	points := q.all()
	prices := make([]core.PricedAt, len(points))
	for i, p := range points {
		prices[i] = core.PricedAt{At: p.At, Price: p.Price}
	}
	return prices
}

// all returns a copy of the points, sorted by time. It omits points from the future.
func (q *Quotes) all() []point {
	q.Load()
	return slices.DeleteFunc(q.series.copy(), isAhead)
}

// isAhead reports whether the point is more than maxAhead ahead of this machine's clock. Quotes does not return such
// points, but keeps them, because the clock may be wrong.
func isAhead(p point) bool { return p.At.After(time.Now().Add(maxAhead)) }

// series is a list of points. A mirror.Mirror copies it to the stores.
type series struct {
	mu     sync.Mutex
	points []point // sorted by time
}

// copy returns a copy of the points, sorted by time.
func (s *series) copy() []point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.points)
}

// add adds points, if there is none in their steps yet, and reports whether the series has changed.
func (s *series) add(points []point) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	merged := thinned(slices.Concat(s.points, points))
	changed = !slices.EqualFunc(merged, s.points, func(a, b point) bool { return a.At.Equal(b.At) })
	s.points = merged
	return changed
}

// Merge implements mirror.Value.
func (s *series) Merge(stored []byte) error {
	points, err := decode(stored)
	s.add(points)
	return err
}

// Encode implements mirror.Value.
func (s *series) Encode() []byte {
	points := s.copy()
	if len(points) == 0 {
		return nil
	}
	return encode(points)
}

// storedPoint is the form of a point in stores.
type storedPoint struct {
	At    int64           `json:"t"` // Unix seconds
	Price decimal.Decimal `json:"p"`
}

// encode returns points in the form of stores.
func encode(points []point) []byte {
	stored := make([]storedPoint, len(points))
	for i, p := range points {
		stored[i] = storedPoint{At: p.At.Unix(), Price: p.Price}
	}
	text, _ := json.Marshal(stored) // cannot fail
	return text
}

// decode returns the points of a text that encode returned. An empty text has no points. decode returns an error for
// any other text, and if a point is not possible.
func decode(text []byte) ([]point, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var stored []storedPoint
	if json.Unmarshal(text, &stored) != nil {
		return nil, errors.New("not a list of points")
	}
	var points []point
	for _, s := range stored {
		p := point{At: time.Unix(s.At, 0).UTC(), Price: s.Price}
		if !p.isPossible() {
			return nil, errors.New("a point without a possible time and price")
		}
		points = append(points, p)
	}
	return points, nil
}
