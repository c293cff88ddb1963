package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Store keeps answers, for replicas or for a later process. Answers hold no personal data. Its methods block for one
// call to Redis, or for one file.
type Store interface {
	// Load returns the value of key, or nil if there is none. The value may be older than its ttl. Load fails if it
	// cannot read the value.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save sets the value of key for at least ttl, if it can.
	Save(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// schema is the version of the saved answers. Increment it when the meaning of a saved answer changes.
const schema = 1

// maxLull is the maximum length of a lull, because a Budget has at least one credit per month. An answer may be held
// until the lull ends.
const maxLull = 31 * 24 * time.Hour

func (q *Query[K, V]) storeKey() string { return fmt.Sprintf("%s %d %s", q.Name, schema, q.SharedAs) }

// isSaved reports whether the answers of q are in the Store.
func (q *Query[K, V]) isSaved() bool { return q.isPublic() && q.cache.Store != nil }

// save saves a public answer for as long as it may be held or stand in.
func (q *Query[K, V]) save(ctx context.Context, s Snapshot[V]) {
	if !q.isSaved() {
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		return
	}
	q.cache.Store.Save(ctx, q.storeKey(), text, q.TTL+q.cache.StaleFor+maxLull)
}

// load returns the answer that a replica or an earlier process saved last. It returns false if there is none, or if
// this version cannot have saved it.
func (q *Query[K, V]) load(ctx context.Context) (s Snapshot[V], ok bool) {
	if !q.isSaved() {
		return s, false
	}
	saved, err := q.cache.Store.Load(ctx, q.storeKey())
	if err != nil || json.Unmarshal(saved, &s) != nil {
		return s, false
	}
	age := time.Since(s.At)
	if s.Stale || age < 0 || age > maxLull || q.Check(s.Value) != nil {
		return s, false
	}
	// Unmarshal also accepts missing and unknown members, which this version does not save.
	own, err := json.Marshal(s)
	return s, err == nil && bytes.Equal(own, saved)
}
