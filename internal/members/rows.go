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
	// Load returns the value of key, or nil if key has no value. It fails if it cannot tell.
	Load(ctx context.Context, key string) ([]byte, error)
	// Replace sets key to value if its current value is old, and reports whether it did. An empty old means that key
	// has no value, and an empty value deletes key. After an error, key may have either value.
	Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error)
	// Each calls f with each value, one at a time and in no order. It fails if it cannot read all of them. If it has
	// called f with all that can be read, its error is an unreadableError.
	Each(ctx context.Context, f func(value []byte)) error
}

// unreadableError is the error of a Store that answers, but cannot read some of its values.
type unreadableError interface {
	error
	// Unreadable returns how many values cannot be read.
	Unreadable() int
}

// ErrNotSaved is returned if a row could not be written.
var ErrNotSaved = errors.New("a saved address cannot be written")

// maxRaces is how many times a change of a row is attempted while others change the same row.
const maxRaces = 20

// rows loads and saves the rows of a platform's users. Each row is one value of the Store, and its key is the user's
// ID. rows caches none of them.
type rows struct {
	platform chat.Platform
	store    Store
	tiers    tiers
	former   *former       // the rows of format 1; nil if there are none
	latest   *latestCensus // is told of rows that are saved and deleted
}

// load returns the row of a user, or nil if nothing is saved. It fails with ErrUnreadable if the saved value cannot be
// read as a row of this user, and otherwise as the Store does.
func (s *rows) load(ctx context.Context, id string) (*Row, error) {
	row, _, err := s.read(ctx, id)
	return row, err
}

// read is load, and also returns the saved value of the row. If nothing is saved, read looks for a row of format 1, and
// rewrites it in the present format. That blocks while others rewrite rows of format 1 from the same value.
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

// readValue is read, but does not look for a row of format 1.
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
	r, err := s.decode(saved)
	if err == nil && r.User.ID != id {
		err = ErrUnreadable
	}
	if err != nil {
		return nil, saved, err
	}
	return &r, saved, nil
}

// decode returns the row of a value, without what is void. It fails with ErrUnreadable.
func (s *rows) decode(value []byte) (Row, error) {
	r, err := decode(s.platform, value)
	return s.tiers.withoutVoid(r), err
}

// update calls edit with the row of a user, saves the row that edit returns, and returns it. A nil row stands for no
// row: if edit returns nil, update deletes the row. If others have changed the row meanwhile, update calls edit again.
// update blocks until the Store has the change. It fails with ErrNotSaved or as load does.
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

// replace writes the row updated in place of the value saved. It returns false, and writes nothing, if saved is not the
// present value any more. A nil row deletes the value. If the value stays the same, replace writes nothing and returns
// true.
//
// If the row is deleted or forgotten, replace first deletes the user's row of format 1. Until the value is replaced, it
// prevents others from rewriting that row, which would save the deleted address again.
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

// each calls f with each row, one at a time and in no order, and returns how many values cannot be read as rows. It
// fails if the Store cannot be read. It leaves out the rows of format 1.
func (s *rows) each(ctx context.Context, f func(Row)) (unreadable int, err error) {
	err = s.store.Each(ctx, func(value []byte) {
		r, err := s.decode(value)
		if err != nil {
			unreadable++
			return
		}
		f(r)
	})
	if partly, is := errors.AsType[unreadableError](err); is {
		return unreadable + partly.Unreadable(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the saved addresses: %w", err)
	}
	return unreadable, nil
}

// all returns each row, including those of format 1, and how many values cannot be read as rows. It changes nothing. If
// the Store fails, all returns an error and the rows that it could read.
func (s *rows) all(ctx context.Context) (all []Row, unreadable int, err error) {
	// Read the rows of format 1 first. Otherwise a row could be missed that is rewritten in between.
	former, formerErr := s.former.all(ctx)
	isInPresentFormat := map[string]bool{} // by user ID
	unreadable, err = s.each(ctx, func(r Row) {
		all = append(all, r)
		isInPresentFormat[r.User.ID] = true
	})
	for _, r := range former {
		if !isInPresentFormat[r.User.ID] {
			all = append(all, s.tiers.withoutVoid(r.convert()))
		}
	}
	return all, unreadable + s.former.unreadable(), cmp.Or(err, formerErr)
}
