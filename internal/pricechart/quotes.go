package pricechart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/ratelimit"
)

const (
	// maxAhead is how far a point's time may be ahead of this machine's clock.
	maxAhead = time.Minute
	// maxWait is how long a command waits for the stores.
	maxWait = 100 * time.Millisecond
	// loadEvery is how often a store that failed at the start is asked again, at most.
	loadEvery = time.Minute
)

// Quotes remembers the quotes seen of one token in the last 31 days, one in 15
// minutes, and which price was believed last. Safe for concurrent use.
//
// Memory holds all quotes. Each store has a copy, which outlives the process and which
// replicas may share. The copy is merged with memory before it is saved. A slow store
// costs callers 100 ms.
type Quotes struct {
	key, beliefKey string
	stores         []core.Store
	log            *slog.Logger
	load           sync.Once

	mu     sync.Mutex
	points []point
	belief belief
	last   verdict // about the newest answer
	loaded bool    // whether every store was read
	// loads limits how often a store that failed at the start is asked again.
	loads *ratelimit.Memory

	syncing chan struct{} // holds a token while the stores are asked
	saving  sync.WaitGroup
}

// NewQuotes makes Quotes that are kept in memory and in the stores. source names the
// token at its provider, and keeps quotes of another source apart. It is not personal. No
// store is asked before the first use.
func NewQuotes(source string, stores []core.Store, log *slog.Logger) *Quotes {
	return &Quotes{
		key:       "quotes " + source,
		beliefKey: "belief " + source,
		stores:    stores,
		log:       log,
		loaded:    len(stores) == 0,
		syncing:   make(chan struct{}, 1),
		loads:     ratelimit.NewMemory(),
	}
}

// Add remembers the quote unless its price or time is missing, or its time is more
// than a minute ahead. Add saves what is new, and blocks for at most 100 ms.
func (q *Quotes) Add(quote core.Quote) {
	p := pointOf(quote)
	if p.plausible() && !ahead(p) && q.merge([]point{p}) {
		q.sync()
	}
}

// ahead reports whether the point is more than a minute ahead of this machine's clock.
// Such points are hidden but kept, since the clock may be wrong.
func ahead(p point) bool { return p.At.After(time.Now().Add(maxAhead)) }

// merge adds points and reports whether any of them was new and is kept.
func (q *Quotes) merge(points []point) (changed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	merged := thinned(slices.Concat(q.points, points))
	changed = !slices.EqualFunc(merged, q.points, func(a, b point) bool { return a.At.Equal(b.At) })
	q.points = merged
	return changed
}

// all returns a copy of the points, oldest first, without those ahead of the clock.
func (q *Quotes) all() []point {
	q.load.Do(q.sync)
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(q.points), ahead)
}

// Close saves what is not saved yet. It is called once, after the last Add.
func (q *Quotes) Close() {
	q.sync()
	q.saving.Wait()
}

// sync exchanges points with the stores. It blocks for at most maxWait; a slower exchange
// goes on in the background.
func (q *Quotes) sync() {
	if len(q.stores) == 0 {
		return
	}
	waiting, done := context.WithTimeout(context.Background(), maxWait)
	q.saving.Go(func() {
		defer done()
		q.syncing <- struct{}{}
		q.exchange(context.Background())
		<-q.syncing
	})
	<-waiting.Done()
}

// exchange merges the stores' points into memory, and saves the result in each store that
// differs.
func (q *Quotes) exchange(ctx context.Context) {
	stored, unread := make([][]byte, len(q.stores)), make([]error, len(q.stores))
	for i, store := range q.stores {
		stored[i], unread[i] = store.Load(ctx, q.key)
		if unread[i] != nil { // It may have been away for a moment.
			stored[i], unread[i] = store.Load(ctx, q.key)
		}
		points, err := decode(stored[i])
		if err != nil {
			q.log.Warn("the stored quotes cannot be read", "err", err)
		}
		q.merge(points)
	}
	q.mu.Lock()
	merged, empty := encode(q.points), len(q.points) == 0
	q.mu.Unlock()
	if q.exchangeBelief(ctx) && errors.Join(unread...) == nil {
		q.mu.Lock()
		q.loaded = true
		q.mu.Unlock()
	}
	for i, store := range q.stores {
		// To save in a store that was not read would replace its points.
		if !empty && unread[i] == nil && !bytes.Equal(merged, stored[i]) {
			store.Save(ctx, q.key, merged, maxAge)
		}
	}
}

// storedPoint is the form of a point in stores.
type storedPoint struct {
	At    int64           `json:"t"` // Unix seconds
	Price decimal.Decimal `json:"p"`
}

func encode(points []point) []byte {
	stored := make([]storedPoint, len(points))
	for i, p := range points {
		stored[i] = storedPoint{At: p.At.Unix(), Price: p.Price}
	}
	text, _ := json.Marshal(stored) // cannot fail
	return text
}

func decode(text []byte) ([]point, error) {
	var stored []storedPoint
	if len(text) > 0 && json.Unmarshal(text, &stored) != nil {
		return nil, errors.New("not a list of points")
	}
	var points []point
	for _, s := range stored {
		p := point{At: time.Unix(s.At, 0).UTC(), Price: s.Price}
		if !p.plausible() {
			return nil, errors.New("a point without a possible time and price")
		}
		points = append(points, p)
	}
	return points, nil
}
