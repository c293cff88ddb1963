// Package history remembers the quotes that the bot saw, for charts: those of
// the last 90 days, the finer the younger they are.
//
// Memory holds all of them and answers; the file, where there is one, is a copy
// that outlives the process and is read only when it is opened. So a damaged
// file, a full disk or a folder that cannot be written costs the copy, not the
// answer.
package history

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"herald/internal/config"
	"herald/internal/core"
)

// maxAhead is how far a quote's time may be ahead of this machine's clock.
const maxAhead = time.Minute

// History is the quotes seen of one token. It is safe for concurrent use.
type History struct {
	log    *slog.Logger
	source string

	mu   sync.Mutex
	seen series

	// Of the writer:
	file    *file // nil: memory alone
	failing bool
	changed chan struct{}
	closing chan struct{}
	closed  chan struct{}
}

// Open makes the History of the token that source names; quotes of another
// source are never among its own. source is not empty and not personal. If dir
// is not empty, the quotes are also kept in a file in it. Open makes the folder
// if its parent exists, and fails with config.Mistakes if there then is none; what
// else is wrong with it is logged, and costs only the file. It waits at most a
// second for another process to let go of the file, and takes it over later if
// that does by then.
func Open(dir, source string, log *slog.Logger) (*History, error) {
	h := &History{log: log, source: source}
	if dir == "" {
		return h, nil
	}
	if err := makeDir(dir); err != nil {
		return nil, config.Mistakes{fmt.Sprintf("DATA_DIR: %v; for example DATA_DIR=%s", err, exampleDir)}
	}
	h.file = newFile(dir, log)
	h.changed, h.closing, h.closed = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	h.save()
	go h.write()
	return h, nil
}

// Add remembers the quote unless it has no time, no price, is older than 90
// days, or its time is more than a minute ahead. It does not block: the file
// follows.
func (h *History) Add(q core.Quote) {
	p := Point{At: q.LastUpdated.UTC().Truncate(time.Second), Price: q.Price}
	if !plausible(p) {
		return
	}
	h.mu.Lock()
	kept := h.seen.add(p)
	h.mu.Unlock()
	if !kept || h.file == nil {
		return
	}
	select {
	case h.changed <- struct{}{}:
	default: // The writer is yet to look, and will find it.
	}
}

func plausible(p Point) bool {
	now := time.Now()
	return p.Price.IsPositive() && !p.At.After(now.Add(maxAhead)) && p.At.After(now.Add(-Kept))
}

// Since returns the points from t on, oldest first. They are the caller's own.
func (h *History) Since(t time.Time) []Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen.since(t)
}

// Close writes what the file does not hold yet and closes it. It is called once,
// after the last Add.
func (h *History) Close() {
	if h.file == nil {
		return
	}
	close(h.closing)
	<-h.closed
}

// write saves after each change, until Close.
func (h *History) write() {
	defer close(h.closed)
	for {
		select {
		case <-h.changed:
			h.save()
		case <-h.closing:
			h.save()
			h.file.close()
			return
		}
	}
}

// save brings the file up to date, and logs when that begins to fail and when it
// works again.
func (h *History) save() {
	err := h.trySave()
	switch {
	case err != nil && !h.failing && errors.Is(err, errLocked):
		h.log.Warn("another process has the file of quotes; they are kept in memory until it lets go", "file", fileName)
	case err != nil && !h.failing:
		h.log.Warn("cannot write the file of quotes; they are kept in memory", "file", fileName, "err", err)
	case err == nil && h.failing:
		h.log.Info("the file of quotes is written again", "file", fileName)
	}
	h.failing = err != nil
}

func (h *History) trySave() error {
	if !h.file.isOpen() {
		stored, err := h.file.open(h.source)
		if err != nil {
			return err
		}
		h.mu.Lock()
		for _, p := range stored {
			if plausible(p) {
				h.seen.add(p)
			}
		}
		h.mu.Unlock()
	}
	return h.file.save(h.source, h.Since(time.Time{}))
}
