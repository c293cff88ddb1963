package members

import (
	"context"
	"slices"
	"strconv"
	"time"

	"herald/internal/chat"
)

// tally counts the users who have a badge of a community. Of these, losing would lose it, and
// checked were checked within a cycle.
type tally struct{ have, losing, checked int }

// The fuse of a community blows while more than maxLosing, and more than one in maxLosingPart,
// would lose a badge there.
const (
	maxLosing     = 10
	maxLosingPart = 20
)

// blown reports whether nobody loses a badge in the community, because too many would.
func (t tally) blown() bool { return t.losing > maxLosing && t.losing*maxLosingPart > t.have }

func (t tally) plus(other tally) tally {
	return tally{have: t.have + other.have, losing: t.losing + other.losing, checked: t.checked + other.checked}
}

// tallies are by community. That of "" counts all rows.
type tallies map[string]tally

// countRows returns the counts of rows. Forgotten ones are not counted.
func (m *Members) countRows(list []Row) tallies {
	all, now := tallies{}, time.Now()
	for _, r := range list {
		p := m.platforms[r.User.Platform]
		if r.Forgotten() || p == nil {
			continue
		}
		row := tally{have: 1}
		if now.Sub(r.CheckedAt.Time) <= p.every+p.late() {
			row.checked = 1
		}
		one := tallies{"": row}
		for _, g := range r.Given {
			if _, named := p.badge(g.Community, g.Badge); !named {
				continue
			}
			t := row
			if p.losing(r, g) {
				t.losing = 1
			}
			if one[g.Community].losing == 0 { // One user counts once.
				one[g.Community] = t
			}
		}
		for community, t := range one {
			all[community] = all[community].plus(t)
		}
	}
	return all
}

// held reports whether the fuse of a community has blown, or whether that is not known yet. It
// logs and counts when the fuse blows.
func (m *Members) held(c *community) bool {
	if !m.rows.complete.Load() {
		return true
	}
	t := m.rows.tally(c.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.blown() && !c.blownTold {
		m.Count("fuse_blown")
		c.log.Error("too many would lose a badge at once, so nobody does: check the pools and the node, then run bot members --release",
			"losing", t.losing, "of", t.have)
	}
	c.blownTold = t.blown()
	return t.blown()
}

// releaseKey returns the key of the time of a Release, in Unix seconds.
func releaseKey(p chat.Platform) string { return "members release " + string(p) }

// Place is a user in a community.
type Place struct {
	User      chat.User
	Community string
}

// Release lets all go whom a fuse holds now, and returns each with the community of the fuse. A
// running bot carries that out within maxPause. Release blocks while it reads all rows.
func (m *Members) Release(ctx context.Context) (held []Place, err error) {
	all, err := m.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		for _, community := range m.heldIn(r) {
			held = append(held, Place{User: r.User, Community: community})
		}
	}
	for name := range m.platforms {
		old, err := m.Store.Load(ctx, releaseKey(name))
		if err == nil && len(held) > 0 {
			_, err = m.Store.Replace(ctx, releaseKey(name), old, strconv.AppendInt(nil, time.Now().Unix(), 10))
		}
		if err != nil {
			return held, err
		}
	}
	return held, nil
}

// heldIn returns the communities whose fuse holds a badge of a row.
func (m *Members) heldIn(r Row) (in []string) {
	p := m.platforms[r.User.Platform]
	for _, g := range r.Given {
		if p != nil && !r.Released && p.losing(r, g) && !slices.Contains(in, g.Community) && m.rows.tally(g.Community).blown() {
			in = append(in, g.Community)
		}
	}
	return in
}

// carryOutRelease marks the rows that a Release on the platform lets go, and deletes the
// Release. One from the future, or older than two cycles, marks nothing. What fails is done
// by the next call. A mark does not change what the fuse counts.
func (m *Members) carryOutRelease(ctx context.Context, p *platform) {
	saved, err := m.Store.Load(ctx, releaseKey(p.name))
	if err != nil || saved == nil || !m.rows.complete.Load() {
		return
	}
	seconds, invalid := strconv.ParseInt(string(saved), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); invalid == nil && age >= -time.Minute && age <= 2*m.Every {
		err := m.rows.updateAll(ctx, func(r *Row) {
			if r.User.Platform == p.name && len(m.heldIn(*r)) > 0 {
				r.Released = true
			}
		})
		if err != nil {
			return
		}
		m.Log.Info("the fuse is released for all whom it held", "platform", p.name)
	}
	_, _ = m.Store.Replace(ctx, releaseKey(p.name), saved, nil)
}
