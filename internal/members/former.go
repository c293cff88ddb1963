package members

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"herald/internal/chat"
)

// formerShards is the number of values of format 1.
const formerShards = 512

// former are the rows of format 1, which name no bot. In a folder, all are this bot's. In one Redis, several bots may
// have theirs. There, a bot takes a row that holds a badge in a community of its settings. It copies a row that holds
// no badge, because the row may be another bot's: /forget deletes both. It leaves any other row alone. A nil former has
// no rows.
type former struct {
	platform chat.Platform
	store    Store // only Load and Replace are used
	shared   bool  // with other bots
	// names reports whether the settings name a community.
	names func(community string) bool

	mu sync.Mutex
	// state has what is known of each shard.
	state [formerShards]formerShardState
}

type formerShardState int

const (
	shardUnread formerShardState = iota
	shardEmpty
	shardHasRows
	shardUnreadable
)

// shardOf returns the shard of a user.
func shardOf(u chat.User) int {
	sum := sha256.Sum256([]byte(string(u.Platform) + ":" + u.ID))
	return int(binary.BigEndian.Uint16(sum[:])) % formerShards
}

// shardKey returns the key of a shard.
func shardKey(shard int) string { return "members " + strconv.Itoa(shard) }

// isOurs reports whether this bot may have saved a row.
func (f *former) isOurs(r formerRow) bool {
	isHere := func(g formerBadge) bool { return f.names(g.Community) }
	return !f.shared || r.holdsNone() || slices.ContainsFunc(r.Given, isHere)
}

// holdsNone reports whether a row holds no badge, so that it may be of any bot.
func (r formerRow) holdsNone() bool {
	return !slices.ContainsFunc(r.Given, func(g formerBadge) bool { return g.State != formerAbsent })
}

// read returns the rows of a shard, and its value.
func (f *former) read(ctx context.Context, shard int) (list []formerRow, saved []byte, err error) {
	f.mu.Lock()
	known := f.state[shard]
	f.mu.Unlock()
	if known == shardEmpty {
		return nil, nil, nil // Nobody writes this format any more.
	}
	saved, err = f.store.Load(ctx, shardKey(shard))
	if err != nil {
		return nil, nil, fmt.Errorf("read saved addresses of an earlier version: %w", err)
	}
	list, err = decodeFormer(saved)
	state := shardHasRows
	switch {
	case err != nil:
		state = shardUnreadable
	case len(list) == 0:
		state = shardEmpty
	}
	f.mu.Lock()
	f.state[shard] = state
	f.mu.Unlock()
	return list, saved, err
}

// load returns the converted row of a user, or nil if there is none of this bot.
func (f *former) load(ctx context.Context, id string) (*Row, error) {
	if f == nil {
		return nil, nil
	}
	user := chat.User{Platform: f.platform, ID: id}
	list, _, err := f.read(ctx, shardOf(user))
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.User == user && f.isOurs(r) {
			return new(r.convert()), nil
		}
	}
	return nil, nil
}

// remove deletes the row of a user, if it may be this bot's.
func (f *former) remove(ctx context.Context, id string) error {
	if f == nil {
		return nil
	}
	user := chat.User{Platform: f.platform, ID: id}
	return f.removeFrom(ctx, shardOf(user), func(r formerRow) bool { return r.User == user && f.isOurs(r) })
}

// removeFrom deletes the rows of a shard that match.
func (f *former) removeFrom(ctx context.Context, shard int, match func(formerRow) bool) error {
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

// unreadable counts the shards that could not be read as rows.
func (f *former) unreadable() (n int) {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, state := range f.state {
		if state == shardUnreadable {
			n++
		}
	}
	return n
}

// convert rewrites the rows of format 1 that are this bot's. It returns how many it rewrote. It skips a shard that is
// unreadable, and stops at a failure of the Store.
func (s *rows) convert(ctx context.Context) (converted int, err error) {
	if s.former == nil {
		return 0, nil
	}
	for shard := range formerShards {
		n, err := s.convertShard(ctx, shard)
		converted += n
		if err != nil {
			return converted, err
		}
	}
	return converted, nil
}

// convertShard rewrites those of the rows of a shard that are this bot's. It skips a shard that is unreadable.
func (s *rows) convertShard(ctx context.Context, shard int) (converted int, err error) {
	list, saved, err := s.former.read(ctx, shard)
	if errors.Is(err, ErrUnreadable) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	taken := map[string]bool{}
	for _, r := range list {
		if r.User.Platform != s.platform || !s.former.isOurs(r) {
			continue
		}
		current, err := s.former.store.Load(ctx, shardKey(shard))
		if err != nil {
			return converted, fmt.Errorf("read saved addresses of an earlier version: %w", err)
		}
		if !bytes.Equal(current, saved) { // Somebody may have been forgotten meanwhile. Their row must not come back.
			n, err := s.convertShard(ctx, shard)
			return converted + n, err
		}
		// A row that is there already is newer. After a race it is, too.
		replaced, err := s.store.Replace(ctx, r.User.ID, nil, encode(r.convert()))
		if err != nil {
			return converted, fmt.Errorf("rewrite a saved address of an earlier version: %w", err)
		}
		if replaced {
			converted++
		}
		taken[r.User.ID] = !s.former.shared || !r.holdsNone()
	}
	return converted, s.former.removeFrom(ctx, shard, func(r formerRow) bool {
		return r.User.Platform == s.platform && taken[r.User.ID]
	})
}
