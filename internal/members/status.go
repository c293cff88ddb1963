package members

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"herald/internal/chat"
)

// Status is what moderators see.
type Status struct {
	// Rows counts the kept wallets, and Looked those whose stake was known within the last
	// Every.
	Rows, Looked int
	// Given, Taken and Unknown count badges given, badges taken, and looks without a result,
	// since the start of this process.
	Given, Taken, Unknown int64
	Held                  []Held
	Worn                  []Worn
}

// Held says that nobody on a platform loses a badge, because too many would.
type Held struct {
	Platform chat.Platform
	// Losing of Holders would lose it.
	Losing, Holders int
}

// Worn says how many users wear the badge of a community, as the platform tells.
type Worn struct {
	Badge   chat.Untrusted
	Wearers int
	// Holders counts the rows of the platform whose users may wear it.
	Holders int
}

// Status returns what is known of the rows without reading them: what other replicas changed
// is counted within Every. It asks the platform p how many wear its badges, and blocks for
// that. It leaves out what p does not tell. It fails if the rows cannot be read.
func (m *Members) Status(ctx context.Context, p chat.Platform) (Status, error) {
	if !m.counted.Load() {
		return Status{}, errUnread
	}
	now := m.rows.census()
	s := Status{Rows: now.rows, Looked: now.looked, Given: m.given.Load(), Taken: m.taken.Load(), Unknown: m.unknown.Load()}
	for i, t := range now.tallies {
		if t.held() && m.wears(platforms[i]) {
			s.Held = append(s.Held, Held{Platform: platforms[i], Losing: t.losing, Holders: t.holders})
		}
	}
	b := m.on(p)
	if b == nil {
		return s, nil
	}
	for _, community := range b.Communities() {
		if n, err := b.wearing(ctx, community); err == nil {
			s.Worn = append(s.Worn, Worn{Badge: b.BadgeName(community), Wearers: n, Holders: now.tallies[indexOfPlatform(p)].holders})
		}
	}
	return s, nil
}

// Census returns how many wallets are kept, how many of these were looked at within Every, and
// how many users would lose a badge that nobody loses. It does not block.
func (m *Members) Census() (rows, looked, held int) {
	now := m.rows.census()
	for i, t := range now.tallies {
		if t.held() && m.wears(platforms[i]) {
			held += t.losing
		}
	}
	return now.rows, now.looked, held
}

// All returns every row, sorted by platform and user. It fails if one cannot be read, and then
// returns the others.
func (m *Members) All(ctx context.Context) ([]Row, error) {
	var all []Row
	err := m.rows.each(ctx, func(_ int, list []Row) { all = append(all, list...) })
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.User.Platform, b.User.Platform), cmp.Compare(len(a.User.ID), len(b.User.ID)), cmp.Compare(a.User.ID, b.User.ID))
	})
	return all, err
}

// Release lets the next looks take the badges of all who have a first "no" now, however many
// they are. It returns their number.
func (m *Members) Release(ctx context.Context) (n int, err error) {
	if err := m.rows.each(ctx, func(int, []Row) {}); err != nil {
		return 0, err
	}
	for _, t := range m.rows.census().tallies {
		n += t.losing
	}
	return n, m.rows.set(ctx, releasedKey, strconv.AppendInt(nil, time.Now().Unix(), 10))
}
