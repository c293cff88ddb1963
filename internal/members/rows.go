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
	"time"

	"herald/internal/chat"
)

const (
	// shards is the number of values that hold the rows. With 100,000 rows, a shard has some
	// 200 of them in 11 kB.
	shards = 512
	// maxRaces is how often a change is tried while others change the same value.
	maxRaces = 5
	// forever is the ttl of every value.
	forever = 100 * 365 * 24 * time.Hour
)

const (
	// countsKey is the key of the number of rows in each shard, by which missing rows are
	// noticed.
	countsKey = "members counts"
	// releasedKey is the key of the time of the last Release, in Unix seconds.
	releasedKey = "members released"
)

// rows are all rows, in a Store. It holds none in memory, and counts those of each shard as
// they were last read or written here.
type rows struct {
	Store
	rules rules

	mu     sync.Mutex
	counts [shards]census
}

// note counts the rows of a shard.
func (s *rows) note(shard int, list []Row) {
	counted := countRows(list, time.Now().Add(-s.rules.every-s.rules.late()))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[shard] = counted
}

// census returns the sum of the counts.
func (s *rows) census() (sum census) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.counts {
		sum.add(c)
	}
	return sum
}

// shardKey returns the key of a shard.
func shardKey(shard int) string { return "members " + strconv.Itoa(shard) }

// shardOf returns the shard of a user.
func shardOf(u chat.User) int {
	sum := sha256.Sum256([]byte(string(u.Platform) + ":" + u.ID))
	return int(binary.BigEndian.Uint16(sum[:])) % shards
}

// load returns a shard, as saved and as rows. If the shard is damaged, load saves it under
// another key, replaces it by one without rows, and fails.
func (s *rows) load(ctx context.Context, shard int) (saved []byte, list []Row, err error) {
	saved, err = s.Load(ctx, shardKey(shard))
	if err == nil {
		list, err = decodeShard(saved)
	}
	if errors.Is(err, errDamaged) && s.set(ctx, shardKey(shard)+" damaged", saved) == nil {
		s.Swap(ctx, shardKey(shard), saved, encodeShard(nil), forever)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read kept wallets: %w", err)
	}
	s.note(shard, list)
	return saved, list, nil
}

// set saves a value, whatever is saved under key. It fails unless the value can be read back:
// a Swap may succeed though the disk is full.
func (s *rows) set(ctx context.Context, key string, value []byte) error {
	for range maxRaces {
		before, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		if bytes.Equal(before, value) {
			return nil
		}
		s.Swap(ctx, key, before, value, forever)
	}
	return ErrNotKept
}

// change replaces the rows of a shard by what edit returns for them, which may be called
// several times. It fails unless the Store has the change.
func (s *rows) change(ctx context.Context, shard int, edit func([]Row) []Row) error {
	for range maxRaces {
		saved, list, err := s.load(ctx, shard)
		if err != nil {
			return err
		}
		edited := edit(slices.Clone(list))
		value := encodeShard(edited)
		if bytes.Equal(value, encodeShard(list)) {
			return nil
		}
		if !s.Swap(ctx, shardKey(shard), saved, value, forever) {
			continue
		}
		if written, err := s.Load(ctx, shardKey(shard)); err != nil || bytes.Equal(written, saved) {
			return ErrNotKept // The disk may be full.
		}
		s.note(shard, edited)
		if len(edited) != len(list) {
			s.saveCount(ctx, shard, len(edited))
		}
		return nil
	}
	return ErrNotKept
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

// put adds a row, or replaces the one of the same user. edit returns the row to put for the
// present one, which is nil if there is none.
func (s *rows) put(ctx context.Context, u chat.User, edit func(*Row) Row) error {
	return s.change(ctx, shardOf(u), func(list []Row) []Row {
		if i := indexOf(list, u); i >= 0 {
			list[i] = edit(&list[i])
			return list
		}
		return append(list, edit(nil))
	})
}

// replace replaces the row before by after, or deletes it if after is nil. It does nothing if
// the row is not as before, and reports whether it was.
func (s *rows) replace(ctx context.Context, before Row, after *Row) (unchanged bool, err error) {
	err = s.change(ctx, shardOf(before.User), func(list []Row) []Row {
		i := indexOf(list, before.User)
		if unchanged = i >= 0 && list[i].sameAs(before); !unchanged {
			return list
		}
		if after == nil {
			return slices.Delete(list, i, i+1)
		}
		list[i] = *after
		return list
	})
	return unchanged, err
}

// each calls f with the rows of each shard. It calls f for every shard that can be read, and
// then fails if another cannot be.
func (s *rows) each(ctx context.Context, f func(shard int, list []Row)) error {
	var failed error
	for shard := range shards {
		_, list, err := s.load(ctx, shard)
		if err != nil {
			failed = err
			continue
		}
		f(shard, list)
	}
	return failed
}

// saveCount saves the number of rows of a shard. A failure is made good by the next one.
func (s *rows) saveCount(ctx context.Context, shard, n int) {
	for range maxRaces {
		saved, err := s.Load(ctx, countsKey)
		if err != nil {
			return
		}
		counts := make([]byte, 2*shards)
		copy(counts, saved)
		binary.BigEndian.PutUint16(counts[2*shard:], uint16(n))
		if s.Swap(ctx, countsKey, saved, counts, forever) {
			return
		}
	}
}

// missing returns how many rows were kept and are not there any more, and counts anew. It
// fails if the Store cannot be read.
func (s *rows) missing(ctx context.Context) (n int, err error) {
	saved, err := s.Load(ctx, countsKey)
	if err != nil {
		// What was damaged is aside now.
		if saved, err = s.Load(ctx, countsKey); err != nil {
			return 0, err
		}
	}
	counts, found := make([]byte, 2*shards), make([]byte, 2*shards)
	copy(counts, saved)
	for shard := range shards {
		_, list, err := s.load(ctx, shard)
		if err != nil {
			if _, list, err = s.load(ctx, shard); err != nil {
				return 0, err
			}
		}
		n += max(0, int(binary.BigEndian.Uint16(counts[2*shard:]))-len(list))
		binary.BigEndian.PutUint16(found[2*shard:], uint16(len(list)))
	}
	return n, s.set(ctx, countsKey, found)
}

// released returns the time of the last Release, or zero.
func (s *rows) released(ctx context.Context) (time.Time, error) {
	saved, err := s.Load(ctx, releasedKey)
	seconds, invalid := strconv.ParseInt(string(saved), 10, 64)
	if err != nil || invalid != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, 0), nil
}
