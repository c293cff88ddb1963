// Package mirror keeps a value of this process also in stores, which outlive the process and which replicas may share.
//
// Memory is merged with each store's copy before the copy is saved, so nobody's part of the value is lost.
package mirror

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"herald/internal/query"
)

// maxWait is how long Sync blocks its caller, who may be a command.
const maxWait = 100 * time.Millisecond

// Value is a value in memory. Its methods are safe for concurrent use.
type Value interface {
	// Merge adds a stored copy to the value. It fails if this is not a copy; the value may then replace it.
	Merge(stored []byte) error
	// Encode returns a copy to store, or nil if there is nothing to save.
	Encode() []byte
}

// Mirror keeps a Value in stores. It is safe for concurrent use.
type Mirror struct {
	name   string
	key    string
	ttl    time.Duration
	value  Value
	stores []query.Store
	log    *slog.Logger

	load    sync.Once
	syncing chan struct{} // holds a token during an exchange
	running sync.WaitGroup

	mu       sync.Mutex
	isLoaded bool
}

// New returns a Mirror that keeps value in the stores, under key, for at least ttl. name names the value in the log.
// New asks no store.
func New(name, key string, ttl time.Duration, value Value, stores []query.Store, log *slog.Logger) *Mirror {
	return &Mirror{
		name:     name,
		key:      key,
		ttl:      ttl,
		value:    value,
		stores:   stores,
		log:      log,
		syncing:  make(chan struct{}, 1),
		isLoaded: len(stores) == 0,
	}
}

// Load is Sync at its first call. Later calls do nothing.
func (m *Mirror) Load() { m.load.Do(m.Sync) }

// IsLoaded reports whether every store was read in the same exchange, once at least.
func (m *Mirror) IsLoaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isLoaded
}

// Sync merges the stores' copies into the value, and saves it where a copy differs. It blocks for at most maxWait; a
// slower exchange goes on in the background.
func (m *Mirror) Sync() {
	if len(m.stores) == 0 {
		return
	}
	waiting, done := context.WithTimeout(context.Background(), maxWait)
	m.running.Go(func() {
		defer done()
		m.syncing <- struct{}{}
		m.exchange(context.Background())
		<-m.syncing
	})
	<-waiting.Done()
}

// Close saves what is not saved yet. It is called once, after the last call of Sync.
func (m *Mirror) Close() {
	m.Sync()
	m.running.Wait()
}

// exchange merges all copies before it saves any.
func (m *Mirror) exchange(ctx context.Context) {
	copies := m.merge(ctx)
	if len(copies) == len(m.stores) {
		m.mu.Lock()
		m.isLoaded = true
		m.mu.Unlock()
	}
	merged := m.value.Encode()
	if merged == nil {
		return
	}
	for _, c := range copies {
		if !bytes.Equal(merged, c.stored) {
			c.store.Save(ctx, m.key, merged, m.ttl)
		}
	}
}

// storedCopy is what a store holds of the value.
type storedCopy struct {
	store  query.Store
	stored []byte
}

// merge merges the stores' copies into the value, and returns them. It leaves out a store that could not be read: to
// save there would overwrite its copy.
func (m *Mirror) merge(ctx context.Context) (copies []storedCopy) {
	for _, store := range m.stores {
		stored, err := m.read(ctx, store)
		if err != nil {
			continue
		}
		copies = append(copies, storedCopy{store, stored})
		if err := m.value.Merge(stored); err != nil {
			m.log.Warn("a stored value cannot be read", "value", m.name, "err", err)
		}
	}
	return copies
}

// read reads the copy in a store. It tries twice, because the store may have been unavailable for a moment.
func (m *Mirror) read(ctx context.Context, store query.Store) (stored []byte, err error) {
	stored, err = store.Load(ctx, m.key)
	if err != nil {
		stored, err = store.Load(ctx, m.key)
	}
	return stored, err
}
