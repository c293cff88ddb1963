// Package mirror keeps copies of a value in stores. Stores outlive the process, and replicas may share them.
//
// A Mirror first merges the copies into the value, and then replaces them with the merged value. So it keeps what other
// processes have added. If another process saves an addition after the merge and before the replacement, the addition
// is lost in the store, until that process adds it again at its next Sync.
package mirror

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/query"
)

// maxWait is the maximum time for which Sync blocks. Its caller may be a command.
const maxWait = 100 * time.Millisecond

// Value is a value in memory that a Mirror copies. Its methods are safe for concurrent use.
type Value interface {
	// Merge adds the content of a stored copy to the value. The copy is empty if nothing is stored. If the copy is
	// invalid, Merge returns an error. The Mirror then logs the error, and replaces the copy.
	Merge(stored []byte) error
	// Encode returns a copy to store, or nil if there is nothing to save.
	Encode() []byte
}

// Mirror copies a Value to stores. It is safe for concurrent use.
type Mirror struct {
	name   string
	key    string
	ttl    time.Duration
	value  Value
	stores []query.Store
	log    *slog.Logger

	load     sync.Once
	isLoaded atomic.Bool
	running  sync.WaitGroup // counts the exchanges in flight, including those that wait for another one
	// exchanging allows one exchange at a time. It is a channel and not a Mutex, because package synctest does not count a
	// goroutine that waits for a Mutex as blocked.
	exchanging chan struct{}
}

// New returns a Mirror that saves value in the stores, under key, for at least ttl. name identifies the value in
// the log. New does not read the stores.
func New(name, key string, ttl time.Duration, value Value, stores []query.Store, log *slog.Logger) *Mirror {
	m := &Mirror{
		name:       name,
		key:        key,
		ttl:        ttl,
		value:      value,
		stores:     stores,
		log:        log,
		exchanging: make(chan struct{}, 1),
	}
	m.isLoaded.Store(len(stores) == 0)
	return m
}

// Load calls Sync, the first time that it is called. A later call does nothing, but blocks while the first one does.
func (m *Mirror) Load() { m.load.Do(m.Sync) }

// IsLoaded reports whether an exchange has read every store. If there are no stores, it returns true.
func (m *Mirror) IsLoaded() bool { return m.isLoaded.Load() }

// Sync exchanges the value with the stores: it merges their copies into the value, and saves the value in each store
// whose copy differs. It blocks for at most maxWait. If the exchange takes longer, it continues in the background.
func (m *Mirror) Sync() {
	if len(m.stores) == 0 {
		return
	}
	finished := make(chan struct{})
	m.running.Go(func() {
		defer close(finished)
		m.exchange(context.Background())
	})
	select {
	case <-finished:
	case <-time.After(maxWait):
	}
}

// Close saves the value, and blocks until no exchange is in flight. Call it once, after the last call of Sync.
func (m *Mirror) Close() {
	m.Sync()
	m.running.Wait()
}

// exchange merges all copies into the value, and then replaces the copies that differ from the value.
func (m *Mirror) exchange(ctx context.Context) {
	m.exchanging <- struct{}{}
	defer func() { <-m.exchanging }()
	copies := m.readAndMerge(ctx)
	hasReadAll := len(copies) == len(m.stores)
	if hasReadAll {
		m.isLoaded.Store(true)
	}
	merged := m.value.Encode()
	if merged == nil {
		return
	}
	for _, c := range copies {
		if !bytes.Equal(merged, c.data) {
			c.store.Save(ctx, m.key, merged, m.ttl)
		}
	}
}

// storedCopy is the copy of the value in a store.
type storedCopy struct {
	store query.Store
	data  []byte
}

// readAndMerge merges the stores' copies into the value, and returns the copies. It omits the stores that could not be
// read, because saving there would overwrite unknown copies.
func (m *Mirror) readAndMerge(ctx context.Context) (copies []storedCopy) {
	for _, store := range m.stores {
		data, err := m.read(ctx, store)
		if err != nil {
			continue
		}
		copies = append(copies, storedCopy{store, data})
		err = m.value.Merge(data)
		if err != nil {
			m.log.Warn("a stored value cannot be read", "value", m.name, "err", err)
		}
	}
	return copies
}

// read reads the copy in a store. If that fails, it retries once, because the store may have been unavailable only
// briefly.
func (m *Mirror) read(ctx context.Context, store query.Store) (data []byte, err error) {
	data, err = store.Load(ctx, m.key)
	if err != nil {
		data, err = store.Load(ctx, m.key)
	}
	return data, err
}
