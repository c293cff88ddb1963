package members

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"herald/internal/chat"
)

// The fuse of a community holds badges while too many users would lose one at once: see census.go. If the users did
// stop staking, an operator runs "bot members --release". That is another process than the running bot, so it saves
// orders, which the next tick of the bot carries out.

// ReleasedBadge is a badge that the fuse of a community held, and that Release released.
type ReleasedBadge struct {
	User      chat.User
	Community string
	Badge     string
}

// order is what Release saves for a user: the badges that the fuse is no longer to hold.
type order struct {
	ID     string     `json:"u"`
	Badges []badgeKey `json:"b"`
}

// Release saves orders to release the badges that a fuse holds now, and returns these badges. The next tick of the
// running bot carries the orders out. Release blocks while it reads all rows of the platforms whose tokens are set.
func (m *Members) Release(ctx context.Context) (all []ReleasedBadge, err error) {
	for _, p := range m.savingPlatforms() {
		released, err := p.saveRelease(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, released...)
	}
	return all, nil
}

// saveRelease is Release for one platform.
func (p *platform) saveRelease(ctx context.Context) (all []ReleasedBadge, err error) {
	n := newCensus()
	heldIfBlown := map[string][]badgeKey{} // by user ID
	_, err = p.rows.each(ctx, func(r Row) {
		n.add(p, r)
		for _, h := range r.Badges {
			if p.tiers.prospect(r, h) == lostUnlessHeld {
				heldIfBlown[r.User.ID] = append(heldIfBlown[r.User.ID], badgeKey{h.Community, h.Badge})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for id, badges := range heldIfBlown {
		held := slices.DeleteFunc(badges, func(b badgeKey) bool {
			_, isBlown := n.blownFuse(b.Community)
			return !isBlown
		})
		if len(held) == 0 {
			continue
		}
		if err := p.saveOrder(ctx, order{ID: id, Badges: held}); err != nil {
			return nil, err
		}
		for _, b := range held {
			all = append(all, ReleasedBadge{chat.User{Platform: p.name, ID: id}, b.Community, b.Badge})
		}
	}
	slices.SortFunc(all, func(a, b ReleasedBadge) int { return compareUsers(a.User, b.User) })
	return all, nil
}

// saveOrder saves an order in place of an earlier one.
func (p *platform) saveOrder(ctx context.Context, o order) error {
	value, _ := json.Marshal(o) // An order can always be encoded.
	for range maxRaces {
		old, err := p.releases.Load(ctx, o.ID)
		if err != nil {
			return err
		}
		replaced, err := p.releases.Replace(ctx, o.ID, old, value)
		if replaced || err != nil {
			return err
		}
	}
	return ErrNotSaved
}

// carryOutReleases marks the badges in the saved orders as released, and deletes the orders. It leaves out badges that
// their users are not losing any more. Orders that it cannot read or carry out stay.
func (m *Members) carryOutReleases(ctx context.Context, p *platform) {
	var values [][]byte
	err := p.releases.Each(ctx, func(value []byte) { values = append(values, value) })
	_, areSomeRead := errors.AsType[unreadableError](err)
	if err != nil && !areSomeRead {
		return // The next tick tries again.
	}
	users := 0
	for _, value := range values {
		var o order
		if json.Unmarshal(value, &o) != nil {
			continue
		}
		_, err := p.rows.update(ctx, o.ID, func(row *Row) *Row { return p.tiers.withReleased(row, o.Badges) })
		if err == nil {
			users++
			_, _ = p.releases.Replace(ctx, o.ID, value, nil) // An order that was saved meanwhile stays.
		}
	}
	if users > 0 {
		m.Log.InfoContext(ctx, "the fuse lets go of those whom bot members --release named", "platform", p.name,
			"users", users)
	}
}

// withReleased returns the row with those of badges marked as released that its user is losing.
func (t tiers) withReleased(row *Row, badges []badgeKey) *Row {
	if row == nil {
		return nil
	}
	after := row.clone()
	for i := range after.Badges {
		h := &after.Badges[i]
		isOrdered := slices.Contains(badges, badgeKey{h.Community, h.Badge})
		if isOrdered && t.isLosing(*row, *h) {
			h.Released = true
		}
	}
	return &after
}
