package members

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"herald/internal/chat"
)

// Store keeps values by key. Package store implements it.
type Store interface {
	// Load returns the value of key, or nil if there is none. It fails if that is not known.
	Load(ctx context.Context, key string) ([]byte, error)
	// Replace sets key to value if its current value is old, and reports whether it did. An empty old means that key
	// has no value, and an empty value deletes key. After an error, key may have either value.
	Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error)
	// Each calls f with each value, one at a time and in no order. It fails if it cannot read all. If it can read
	// some and not others, its error is an unreadable.
	Each(ctx context.Context, f func(value []byte)) error
}

// unreadable is the error of a Store that answers, but cannot read some of its values.
type unreadableError interface {
	error
	// Unreadable returns how many values cannot be read.
	Unreadable() int
}

// ErrNotSaved is returned if a row could not be written.
var ErrNotSaved = errors.New("a saved address cannot be written")

// maxRaces is how many times a change of a row is attempted while others change the same row.
const maxRaces = 20

// rows loads and saves the rows of a platform's users. Each row is one value of the Store. It caches none.
type rows struct {
	platform chat.Platform
	store    Store
	former   *former       // may be nil, which has no rows
	latest   *latestCensus // learns of rows that are saved and deleted
}

// load returns the row of a user, or nil if nothing is saved. It fails with ErrUnreadable if what is saved
// is no row, and otherwise as the Store does.
func (s *rows) load(ctx context.Context, id string) (*Row, error) {
	row, _, err := s.read(ctx, id)
	return row, err
}

// read is load, and also returns the saved value of the row. If there is none, it first looks for a row of format 1 and
// rewrites it. That blocks while somebody else rewrites rows of the same shard.
func (s *rows) read(ctx context.Context, id string) (row *Row, saved []byte, err error) {
	row, saved, err = s.readValue(ctx, id)
	if row != nil || err != nil {
		return row, saved, err
	}
	if err := s.rewriteOne(ctx, id); err != nil {
		return nil, nil, err
	}
	return s.readValue(ctx, id)
}

// readValue is read without a look at format 1.
func (s *rows) readValue(ctx context.Context, id string) (row *Row, saved []byte, err error) {
	saved, err = s.store.Load(ctx, id)
	if _, is := errors.AsType[unreadableError](err); is {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read a saved address: %w", err)
	}
	if saved == nil {
		return nil, nil, nil
	}
	r, err := decode(s.platform, saved)
	if err == nil && r.User.ID != id {
		err = ErrUnreadable
	}
	if err != nil {
		return nil, saved, err
	}
	return &r, saved, nil
}

// update calls edit with the row of a user, which is nil if there is none, and saves the row that edit returns. If that
// is nil, update deletes the row. It calls edit again if somebody else has changed the row meanwhile. It returns the
// row as saved, blocks until the Store has the change, and fails with ErrNotSaved or as load does.
func (s *rows) update(ctx context.Context, id string, edit func(*Row) *Row) (updated *Row, err error) {
	for range maxRaces {
		before, saved, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		updated = edit(before)
		replaced, err := s.replace(ctx, id, saved, updated)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSaved, err)
		}
		if replaced {
			return updated, nil
		}
	}
	return nil, ErrNotSaved
}

// replace writes a row in place of the value saved, and reports whether that was still there. A nil row deletes it. If
// nothing changes, it writes nothing and returns true.
//
// If the row is deleted or forgotten, replace first deletes the user's row of format 1. It holds the shard of that row
// until the value is replaced, so that nobody rewrites the old row meanwhile.
func (s *rows) replace(ctx context.Context, id string, saved []byte, updated *Row) (replaced bool, err error) {
	var value []byte
	if updated != nil {
		value = encode(*updated)
	}
	isForgotten := updated == nil || updated.Forgotten()
	if isForgotten {
		unlock, err := s.former.forget(ctx, id)
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	if bytes.Equal(value, saved) {
		return true, nil
	}
	replaced, err = s.store.Replace(ctx, id, saved, value)
	if replaced {
		s.latest.note(id, value != nil)
	}
	return replaced, err
}

// each calls f with each row, one at a time and in no order. It returns how many values are no rows. It fails if the
// Store cannot be read. It does not look at format 1.
func (s *rows) each(ctx context.Context, f func(Row)) (noRows int, err error) {
	err = s.store.Each(ctx, func(value []byte) {
		r, err := decode(s.platform, value)
		if err != nil {
			noRows++
			return
		}
		f(r)
	})
	if skipped, is := errors.AsType[unreadableError](err); is {
		return noRows + skipped.Unreadable(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the saved addresses: %w", err)
	}
	return noRows, nil
}

// all returns each row, including those of format 1, and how many values are no rows. It changes nothing.
func (s *rows) all(ctx context.Context) (all []Row, noRows int, err error) {
	// The rows of format 1 come first: otherwise a row that is rewritten meanwhile might be missed.
	former, err := s.former.all(ctx)
	isRewritten := map[string]bool{}
	noRows, failed := s.each(ctx, func(r Row) {
		all = append(all, r)
		isRewritten[r.User.ID] = true
	})
	for _, r := range former {
		if !isRewritten[r.User.ID] {
			all = append(all, r.convert())
		}
	}
	return all, noRows + s.former.unreadable(), cmp.Or(failed, err)
}
