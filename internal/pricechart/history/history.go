// Package history remembers the quotes that the bot saw, for charts: those of
// the last 90 days, the finer the younger they are.
//
// Memory holds all of them and answers. Each core.Store has a copy, which outlives
// the process and which replicas may share: it is loaded and merged with memory
// before it is saved. So a store that is slow or gone costs the copy, not the
// answer.
package history

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
)

const (
	// maxAhead is how far a quote's time may be ahead of this machine's clock.
	maxAhead = time.Minute
	// maxWait is how long somebody waits for the store.
	maxWait = 100 * time.Millisecond
)

// Config is where the quotes of one token are kept.
type Config struct {
	// Source names the token at its provider. Quotes of another source are never
	// among its own. It is not empty and not personal.
	Source string
	// Stores keep the quotes; none: memory alone.
	Stores []core.Store
	// OldFile is where earlier versions kept them. It is read, and never changed,
	// while a Store has none; empty is nowhere.
	OldFile string
	Log     *slog.Logger
}

// History is the quotes seen of one token. It is safe for concurrent use.
type History struct {
	config Config
	first  sync.Once // has the stored quotes loaded

	mu   sync.Mutex
	seen series

	syncing chan struct{} // holds a token while the Stores are asked
	saving  sync.WaitGroup
}

// New makes a History. The Stores are first asked when the History is.
func New(config Config) *History { return &History{config: config, syncing: make(chan struct{}, 1)} }

// Add remembers the quote unless it has no time, no price, is older than 90
// days, or its time is more than a minute ahead. A quote that is kept is saved,
// for which Add waits 100 ms at most.
func (h *History) Add(q core.Quote) {
	p := Point{At: q.LastUpdated.UTC().Truncate(time.Second), Price: q.Price}
	if now := time.Now(); !p.Price.IsPositive() || !p.At.After(now.Add(-Kept)) || ahead(p, now) {
		return
	}
	h.mu.Lock()
	kept := h.seen.add(p)
	h.mu.Unlock()
	if kept {
		h.first.Do(func() {}) // What is stored is loaded now in any case.
		h.sync()
	}
}

// ahead reports whether the time cannot be, by this machine's clock. That may be
// wrong itself, so such a point is not shown, but not deleted either.
func ahead(p Point, now time.Time) bool { return p.At.After(now.Add(maxAhead)) }

// Since returns the points from t on, oldest first, without those whose time
// cannot be. They are the caller's own.
func (h *History) Since(t time.Time) []Point {
	h.first.Do(h.sync)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return slices.DeleteFunc(h.seen.since(t), func(p Point) bool { return ahead(p, now) })
}

// Close saves what is not saved yet. It is called once, after the last Add.
func (h *History) Close() {
	h.sync()
	h.saving.Wait()
}

// sync brings memory and the Stores up to date with each other. What takes longer
// than maxWait goes on in the background.
func (h *History) sync() {
	if len(h.config.Stores) == 0 {
		return
	}
	waiting, done := context.WithTimeout(context.Background(), maxWait)
	h.saving.Go(func() {
		defer done()
		h.syncing <- struct{}{}
		h.exchange(context.Background(), "quotes "+h.config.Source)
		<-h.syncing
	})
	<-waiting.Done()
}

// exchange merges into memory what is stored under key, and saves what each Store
// lacks.
func (h *History) exchange(ctx context.Context, key string) {
	stored, complete := make([][]byte, len(h.config.Stores)), true
	for i, store := range h.config.Stores {
		value, found := store.Load(ctx, key)
		h.takeOver(decode(value))
		stored[i], complete = value, complete && found
	}
	if !complete {
		h.takeOver(readOld(h.config.OldFile, h.config.Source))
		h.config.OldFile = ""
	}
	h.mu.Lock()
	merged := encode(h.seen)
	h.mu.Unlock()
	for i, store := range h.config.Stores {
		if merged != nil && !bytes.Equal(merged, stored[i]) {
			store.Save(ctx, key, merged, Kept)
		}
	}
}

// takeOver merges into memory what was kept, unless that could not be read.
func (h *History) takeOver(points []Point, err error) {
	if err != nil {
		h.config.Log.Warn("the quotes that were kept cannot be read", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.merge(points)
}

// storedPoint is the form in which a Point is kept.
type storedPoint struct {
	At    int64           `json:"t"` // Unix seconds
	Price decimal.Decimal `json:"p"`
}

// encode returns nil if there are no points.
func encode(points []Point) []byte {
	var stored []storedPoint
	for _, p := range points {
		stored = append(stored, storedPoint{p.At.Unix(), p.Price})
	}
	if len(stored) == 0 {
		return nil
	}
	text, _ := json.Marshal(stored) // which fails for no such list
	return text
}

func decode(text []byte) ([]Point, error) {
	var stored []storedPoint
	if len(text) > 0 && json.Unmarshal(text, &stored) != nil {
		return nil, errors.New("not a list of points")
	}
	points := make([]Point, len(stored))
	for i, p := range stored {
		if !p.Price.IsPositive() {
			return nil, errors.New("a price that is not above zero")
		}
		points[i] = Point{At: time.Unix(p.At, 0).UTC(), Price: p.Price}
	}
	return points, nil
}
