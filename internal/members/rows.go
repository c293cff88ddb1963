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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/chat"
)

const (
	// shards is the number of values that hold the rows: 8 for each tick of a cycle. With
	// 100,000 rows, a shard has some 200 of them in 60 kB.
	shards = 8 * ticks
	// maxRaces is how often a change is tried while other replicas change the same value.
	maxRaces = 20
)

// Store keeps the rows. *store.Folder and *store.Redis implement it.
type Store interface {
	// Load returns the value of key, or nil if there is none. It fails if that is not known.
	Load(ctx context.Context, key string) ([]byte, error)
	// Replace saves value under key until it is replaced, if old is saved there now. An empty
	// old stands for nothing, and an empty value deletes. It returns false without an error if
	// something else is saved there. After an error that is not known.
	Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error)
}

// ErrNotSaved is the error of a row that could not be written.
var ErrNotSaved = errors.New("the saved addresses cannot be written")

// rows are all rows, in Config.Store. It holds none in memory.
type rows struct {
	*Config
	// countRows returns the counts of a shard's rows.
	countRows func([]Row) tallies
	// locks are held while this process changes a shard.
	locks [shards]sync.Mutex

	// complete says that all rows were read once, so that counts has them.
	complete atomic.Bool
	mu       sync.Mutex
	counts   [shards]tallies
	total    tallies // the sums of counts, without held
	// readAt is when a shard was last read or written.
	readAt time.Time
	// missing counts the rows that vanished within a cycle while nobody here deleted them, and
	// told says that this was told.
	missing      int
	missingSince time.Time
	told         bool
}

// shardKey returns the key of a shard.
func shardKey(shard int) string { return "members " + strconv.Itoa(shard) }

// shardOf returns the shard of a user.
func shardOf(u chat.User) int {
	sum := sha256.Sum256([]byte(string(u.Platform) + ":" + u.ID))
	return int(binary.BigEndian.Uint16(sum[:])) % shards
}

// load returns a shard, as saved and as rows. If the shard is damaged, load saves it under
// another key, deletes it, and fails.
func (s *rows) load(ctx context.Context, shard int) (saved []byte, list []Row, err error) {
	saved, err = s.Store.Load(ctx, shardKey(shard))
	if err == nil {
		list, err = decodeShard(saved)
	}
	if errors.Is(err, errDamaged) {
		s.setAside(ctx, shard, saved)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the saved addresses: %w", err)
	}
	s.note(shard, list, false)
	return saved, list, nil
}

// setAside moves a damaged shard to a key of its own, and logs that.
func (s *rows) setAside(ctx context.Context, shard int, saved []byte) {
	aside := fmt.Sprintf("%s damaged %d", shardKey(shard), time.Now().UnixNano())
	if ok, err := s.Store.Replace(ctx, aside, nil, saved); !ok || err != nil {
		return
	}
	if ok, err := s.Store.Replace(ctx, shardKey(shard), saved, nil); ok && err == nil {
		s.Log.ErrorContext(ctx, "a damaged value of saved addresses was set aside; nobody loses a badge by it", "part", shard)
	}
}

// maxMissing is how many rows other replicas may delete within a cycle, at least, before they
// count as lost.
const maxMissing = 10

// note counts the rows of a shard, which this process has just read or written. It tells once a
// cycle of rows that vanished between one reading and the next, if they are many.
func (s *rows) note(shard int, list []Row, written bool) {
	counted := s.countRows(list)
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.missingSince) > s.Every {
		s.missing, s.missingSince, s.told = 0, time.Now(), false
	}
	if !written {
		s.missing += max(0, s.counts[shard][""].have-counted[""].have)
	}
	s.total.add(s.counts[shard], -1)
	s.total.add(counted, 1)
	s.counts[shard], s.readAt = counted, time.Now()
	if !s.told && s.missing > maxMissing && s.missing*maxLosingPart > s.total[""].have {
		s.told = true
		s.Count("rows_missing")
		s.Log.Error("saved addresses are gone from the store, and their people keep their badges: does Redis write to disk, or is DATA_DIR another folder?",
			"missing", s.missing, "left", s.total[""].have)
	}
}

// known reports whether all rows were read once, and some within a cycle: the Store is not away.
func (s *rows) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete.Load() && time.Since(s.readAt) <= s.Every
}

// tally returns the counts of a community, or with "" those of all rows.
func (s *rows) tally(community string) tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total[community]
}

// blown returns the counts for which the fuse of a community blows, or false.
func (s *rows) blown(community string) (t tally, blown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.total[community]; t.blown() {
		return t, true
	}
	for key, t := range s.total {
		if strings.HasPrefix(key, badgeKey(community, "")) && t.blown() {
			return t, true
		}
	}
	return tally{}, false
}

// held returns the users whom the fuse of a community holds, sorted.
func (s *rows) held(community string) (users []chat.User) {
	if _, blown := s.blown(community); !blown {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, counted := range s.counts[:] {
		users = append(users, counted[community].held...)
	}
	slices.SortFunc(users, compare)
	return users
}

// updateShard replaces the rows of a shard by what edit returns for them. edit may be called
// several times, and must not change its argument. updateShard blocks for a call to the Store, or
// some, and fails unless the Store has the change.
func (s *rows) updateShard(ctx context.Context, shard int, edit func([]Row) []Row) error {
	s.locks[shard].Lock()
	defer s.locks[shard].Unlock()
	for range maxRaces {
		saved, list, err := s.load(ctx, shard)
		if err != nil {
			return err
		}
		edited := edit(list)
		value := encodeShard(edited)
		if bytes.Equal(value, saved) {
			return nil
		}
		replaced, err := s.Store.Replace(ctx, shardKey(shard), saved, value)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		}
		if replaced {
			s.note(shard, edited, true)
			return nil
		}
	}
	return ErrNotSaved
}

// find returns the row of a user, or nil if there is none.
func (s *rows) find(ctx context.Context, u chat.User) (*Row, error) {
	_, list, err := s.load(ctx, shardOf(u))
	if i := indexOf(list, u); i >= 0 {
		return &list[i], nil
	}
	return nil, err
}

func indexOf(list []Row, u chat.User) int {
	return slices.IndexFunc(list, func(r Row) bool { return r.User == u })
}

// update changes the row of a user. edit gets the row, which is nil if there is none, and
// changes and returns it; nil deletes the row. update returns the row as saved. It is
// updateShard for one row.
func (s *rows) update(ctx context.Context, u chat.User, edit func(*Row) *Row) (updated *Row, err error) {
	err = s.updateShard(ctx, shardOf(u), func(list []Row) []Row {
		list = slices.Clone(list)
		i := indexOf(list, u)
		if i < 0 {
			if updated = edit(nil); updated != nil {
				list = append(list, *updated)
			}
			return list
		}
		if updated = edit(&list[i]); updated == nil {
			return slices.Delete(list, i, i+1)
		}
		list[i] = *updated
		return list
	})
	return updated, err
}

// updateAll calls edit for every row, which edit may change. It stops at a shard that fails.
func (s *rows) updateAll(ctx context.Context, edit func(*Row)) error {
	for shard := range shards {
		if err := s.updateIn(ctx, shard, edit); err != nil {
			return err
		}
	}
	return nil
}

// updateIn calls edit for each row of a shard, which edit may change.
func (s *rows) updateIn(ctx context.Context, shard int, edit func(*Row)) error {
	return s.updateShard(ctx, shard, func(list []Row) []Row {
		list = slices.Clone(list)
		for i := range list {
			edit(&list[i])
		}
		return list
	})
}

// readers is how many shards each reads at a time.
const readers = 8

// each calls f with the rows of each shard, one call at a time and in no order. It skips a shard
// that is damaged or of a newer version, and stops at any other error. It returns the last error,
// also that of a skipped shard.
func (s *rows) each(ctx context.Context, f func(list []Row)) error {
	var reading sync.WaitGroup
	var away atomic.Bool // the Store
	var mu sync.Mutex
	var failed error
	for first := range readers {
		reading.Go(func() {
			for shard := first; shard < shards && !away.Load(); shard += readers {
				_, list, err := s.load(ctx, shard)
				mu.Lock()
				if err == nil {
					f(list)
				} else if failed = err; !errors.Is(err, errDamaged) && !errors.Is(err, errNewer) {
					away.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	reading.Wait()
	if failed == nil {
		s.complete.Store(true)
	}
	return failed
}
