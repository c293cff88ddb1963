package members

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"herald/internal/chat"
)

// Place is a badge of a user in a community.
type ReleasedBadge struct {
	User      chat.User
	Community string
	Badge     string
}

// order is what Release saves for a user: the badges that the fuse is to let go.
type order struct {
	ID     string     `json:"u"`
	Badges []badgeKey `json:"b"`
}

// Release returns the badges that a fuse holds now, and saves orders to release exactly these. The next tick of the
// running bot carries them out. Release blocks while it reads all rows of the platforms whose tokens are set.
func (m *Members) Release(ctx context.Context) (all []ReleasedBadge, err error) {
	for _, p := range m.savingPlatforms() {
		places, err := p.saveRelease(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, places...)
	}
	return all, nil
}

// saveRelease is Release for one platform.
func (p *platform) saveRelease(ctx context.Context) (all []ReleasedBadge, err error) {
	n := newCensus()
	named := map[string][]badgeKey{} // by user ID
	_, err = p.rows.each(ctx, func(r Row) {
		n.add(p, r)
		for _, h := range r.Badges {
			if p.tiers.prospect(r, h) == lostUnlessHeld {
				named[r.User.ID] = append(named[r.User.ID], badgeKey{h.Community, h.Badge})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for id, badges := range named {
		badges = slices.DeleteFunc(badges, func(b badgeKey) bool {
			_, blown := n.blownFuse(b.Community)
			return !blown
		})
		if len(badges) == 0 {
			continue
		}
		if err := p.saveOrder(ctx, order{id, badges}); err != nil {
			return nil, err
		}
		for _, b := range badges {
			all = append(all, ReleasedBadge{chat.User{Platform: p.name, ID: id}, b.Community, b.Badge})
		}
	}
	slices.SortFunc(all, func(a, b ReleasedBadge) int { return compareUsers(a.User, b.User) })
	return all, nil
}

// saveOrder saves an order in place of an earlier one.
func (p *platform) saveOrder(ctx context.Context, r order) error {
	value, _ := json.Marshal(r) // Every order can be JSON.
	for range maxRaces {
		old, err := p.releases.Load(ctx, r.ID)
		if err != nil {
			return err
		}
		replaced, err := p.releases.Replace(ctx, r.ID, old, value)
		if replaced || err != nil {
			return err
		}
	}
	return ErrNotSaved
}

// carryOutReleases marks the badges in the saved orders as released, and deletes the orders. It leaves out badges that
// are not being lost any more.
func (m *Members) carryOutReleases(ctx context.Context, p *platform) {
	var values [][]byte
	err := p.releases.Each(ctx, func(value []byte) { values = append(values, value) })
	_, isPartly := errors.AsType[unreadableError](err)
	if err != nil && !isPartly {
		return // The next tick tries again.
	}
	users := 0
	for _, value := range values {
		var r order
		if json.Unmarshal(value, &r) != nil {
			continue
		}
		_, err := p.rows.update(ctx, r.ID, func(row *Row) *Row { return p.tiers.withReleased(row, r.Badges) })
		if err == nil {
			users++
			_, _ = p.releases.Replace(ctx, r.ID, value, nil) // An order that was saved meanwhile stays.
		}
	}
	if users > 0 {
		m.Log.InfoContext(ctx, "the fuse lets go of those whom bot members --release named", "platform", p.name,
			"users", users)
	}
}

// withReleased returns the row with badges that are being lost marked as released.
func (t tiers) withReleased(row *Row, badges []badgeKey) *Row {
	if row == nil {
		return nil
	}
	after := row.clone()
	for i := range after.Badges {
		h := &after.Badges[i]
		named := slices.Contains(badges, badgeKey{h.Community, h.Badge})
		if named && t.isLosing(*row, *h) {
			h.Released = true
		}
	}
	return &after
}
