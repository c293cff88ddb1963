package members

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"herald/internal/chat"
	"herald/internal/transport"
)

// This file rewrites the rows of format 1 in the present format. Format 1 has 512 values, the shards, with the rows of
// many users each. Each bot rewrites the rows that are its own, and deletes them from the shard.
//
// A row of format 1 does not name its bot. If the Store is a folder, all rows belong to the one bot that uses it.
// Several bots may share a Redis. Then the badges of the row decide:
//
//	the row holds                             a bot that shares the Store
//
//	a badge in a community of its settings    rewrites the row and deletes it from the shard
//	no badge                                  copies the row, which stays in the shard for the other bots
//	badges in other communities only          leaves the row alone: it is another bot's
//
// If a row holds badges in communities of two bots, the bot that reads it first rewrites it. /forget deletes this bot's
// row and the row of format 1. A copy that another bot has made stays.

// formerShards is the number of values of format 1.
const formerShards = 512

// former are the rows of format 1. A nil former has no rows.
//
// Whoever changes a shard holds a claim on it, so that one caller of all replicas at a time changes its rows. Otherwise
// a row could be rewritten while /forget deletes it.
type former struct {
	platform chat.Platform
	bot      string
	store    Store // only Load and Replace are used
	isShared bool  // with other bots
	// namesAny reports whether the settings name a badge of a community.
	namesAny func(community string) bool
	// tryClaim claims a key, unless somebody else has, and reports whether it did. release ends a claim.
	tryClaim func(ctx context.Context, key string) bool
	release  func(key string)

	mu sync.Mutex
	// states has what is known of each shard since it was last read.
	states [formerShards]shardState
}

// shardState is what is known of a shard. A shard that is empty stays empty, because no version writes format 1 any
// more.
type shardState int

const (
	shardUnread shardState = iota
	shardEmpty
	shardHasRows
	shardUnreadable
)

// rewriteAll rewrites all rows of format 1 that this bot takes, and returns how many. It skips shards that cannot be
// read, and stops if the Store fails.
func (s *rows) rewriteAll(ctx context.Context) (rewritten int, err error) {
	if s.former == nil {
		return 0, nil
	}
	for shard := range formerShards {
		list, _, err := s.former.read(ctx, shard)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			return rewritten, err
		}
		if len(list) == 0 {
			continue
		}
		fromShard, err := s.rewrite(ctx, shard, func(formerRow) bool { return true })
		rewritten += fromShard
		if err != nil {
			return rewritten, err
		}
	}
	return rewritten, nil
}

// rewriteOne rewrites the row of a user, if there is one of format 1 that this bot takes.
func (s *rows) rewriteOne(ctx context.Context, id string) error {
	if s.former == nil {
		return nil
	}
	shard := s.former.shard(id)
	isTheirs := func(r formerRow) bool { return r.User.ID == id && s.former.takes(r) }
	list, _, err := s.former.read(ctx, shard)
	switch {
	case errors.Is(err, ErrUnreadable):
		return nil
	case err != nil:
		return err
	case !slices.ContainsFunc(list, isTheirs):
		return nil
	}
	_, err = s.rewrite(ctx, shard, isTheirs)
	return err
}

// rewrite rewrites or copies those rows of a shard that match and that this bot takes, and returns how many.
func (s *rows) rewrite(
	ctx context.Context, shard int, match func(formerRow) bool,
) (rewritten int, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleLasts) // A claim lasts longer, so nothing is written after its end.
	defer cancel()
	unlock, err := s.former.lock(ctx, shard)
	if err != nil {
		return 0, err
	}
	defer unlock()
	list, _, err := s.former.read(ctx, shard)
	if err != nil {
		return 0, err
	}
	toDelete := map[string]bool{} // by user ID
	for _, r := range list {
		if !match(r) || !s.former.takes(r) {
			continue
		}
		isNew, err := s.add(ctx, r.convert())
		if errors.Is(err, ErrUnreadable) {
			continue // The user's value in the present format cannot be read, so the row of format 1 stays.
		}
		if err != nil {
			return rewritten, err
		}
		if isNew {
			rewritten++
		}
		toDelete[r.User.ID] = !s.former.copies(r)
	}
	return rewritten, s.former.deleteRows(ctx, shard, func(r formerRow) bool {
		return r.User.Platform == s.platform && toDelete[r.User.ID]
	})
}

// add saves a row unless its user has one already, and reports whether it did. It fails with ErrUnreadable if the user
// has a value that cannot be read as a row.
func (s *rows) add(ctx context.Context, r Row) (isNew bool, err error) {
	isNew, err = s.store.Replace(ctx, r.User.ID, nil, encode(r))
	if err != nil {
		return false, fmt.Errorf("rewrite a saved address of an earlier version: %w", err)
	}
	if !isNew {
		_, _, err = s.readValue(ctx, r.User.ID)
		return false, err
	}
	s.latest.note(r.User.ID, true)
	return true, nil
}

// forget deletes the row of a user. It locks the shard until unlock, so that nobody rewrites the row. It leaves a shard
// that cannot be read as it is.
func (f *former) forget(ctx context.Context, id string) (unlock func(), err error) {
	if f == nil || f.state(f.shard(id)) == shardEmpty {
		return func() {}, nil
	}
	unlock, err = f.lock(ctx, f.shard(id))
	if err != nil {
		return nil, err
	}
	err = f.deleteRows(ctx, f.shard(id), func(r formerRow) bool { return r.User.ID == id && f.takes(r) })
	if err != nil && !errors.Is(err, ErrUnreadable) {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// deleteRows deletes the rows of a shard that match. Another bot, which has another claim, may change the shard at the
// same time: then deleteRows tries again.
func (f *former) deleteRows(ctx context.Context, shard int, match func(formerRow) bool) error {
	for range maxRaces {
		list, saved, err := f.read(ctx, shard)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, match) {
			return nil
		}
		left := slices.DeleteFunc(list, match)
		replaced, err := f.store.Replace(ctx, shardKey(shard), saved, encodeFormer(left))
		if err != nil {
			return fmt.Errorf("delete a saved address of an earlier version: %w", err)
		}
		if replaced {
			return nil
		}
	}
	return ErrNotSaved
}

// lock blocks until nobody else holds the claim on a shard, or until ctx is done. The caller then holds it until
// unlock.
func (f *former) lock(ctx context.Context, shard int) (unlock func(), err error) {
	key := fmt.Sprint("members ", f.platform, " ", f.bot, " format 1 ", shard)
	for !f.tryClaim(ctx, key) {
		if !transport.Sleep(ctx, claimPause) {
			return nil, ctx.Err()
		}
	}
	return func() { f.release(key) }, nil
}

// all returns the rows that this bot takes. It skips shards that cannot be read. If the Store fails for some shards, it
// returns the rows of the others, and the first error.
func (f *former) all(ctx context.Context) (all []formerRow, err error) {
	if f == nil {
		return nil, nil
	}
	for shard := range formerShards {
		list, _, failed := f.read(ctx, shard)
		if !errors.Is(failed, ErrUnreadable) {
			err = cmp.Or(err, failed)
		}
		for _, r := range list {
			if f.takes(r) {
				all = append(all, r)
			}
		}
	}
	return all, err
}

// takes reports whether this bot rewrites or copies a row: see the table at the top of this file.
func (f *former) takes(r formerRow) bool {
	if r.User.Platform != f.platform {
		return false
	}
	if !f.isShared || r.holdsNone() {
		return true
	}
	return slices.ContainsFunc(r.Given, func(g formerBadge) bool {
		return g.State != formerAbsent && f.namesAny(g.Community)
	})
}

// copies reports whether this bot copies a row that it takes, so that it stays for other bots.
func (f *former) copies(r formerRow) bool { return f.isShared && r.holdsNone() }

// holdsNone reports whether a row holds no badge.
func (r formerRow) holdsNone() bool {
	return !slices.ContainsFunc(r.Given, func(g formerBadge) bool { return g.State != formerAbsent })
}

// read returns the rows of a shard, and its value. It fails with ErrUnreadable if the value cannot be read as rows.
func (f *former) read(ctx context.Context, shard int) (list []formerRow, saved []byte, err error) {
	if f.state(shard) == shardEmpty {
		return nil, nil, nil
	}
	saved, err = f.store.Load(ctx, shardKey(shard))
	if _, isUnreadable := errors.AsType[unreadableError](err); isUnreadable {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err == nil {
		list, err = decodeFormer(saved)
	}
	switch {
	case errors.Is(err, ErrUnreadable):
		f.setState(shard, shardUnreadable)
	case err != nil:
		err = fmt.Errorf("read saved addresses of an earlier version: %w", err)
	case len(list) == 0:
		f.setState(shard, shardEmpty)
	default:
		f.setState(shard, shardHasRows)
	}
	return list, saved, err
}

func (f *former) state(shard int) shardState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[shard]
}

func (f *former) setState(shard int, s shardState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[shard] = s
}

// unreadable counts the shards that cannot be read as rows.
func (f *former) unreadable() (n int) {
	if f == nil {
		return 0
	}
	for shard := range formerShards {
		if f.state(shard) == shardUnreadable {
			n++
		}
	}
	return n
}

// mayBeUnreadable reports whether the user may have a row of format 1 that cannot be read, because its shard cannot.
func (f *former) mayBeUnreadable(id string) bool {
	return f != nil && f.state(f.shard(id)) == shardUnreadable
}

// shard returns the shard of a user of the platform.
func (f *former) shard(id string) int { return shardOf(chat.User{Platform: f.platform, ID: id}) }

// shardKey returns the key of a shard.
func shardKey(shard int) string { return "members " + strconv.Itoa(shard) }

// shardOf returns the shard of a user.
func shardOf(u chat.User) int {
	sum := sha256.Sum256([]byte(string(u.Platform) + ":" + u.ID))
	return int(binary.BigEndian.Uint16(sum[:])) % formerShards
}
