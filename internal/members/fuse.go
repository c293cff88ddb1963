package members

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"herald/internal/chat"
	"herald/internal/transport"
)

// tally counts the users who have, or may have, a badge that the settings name in a community.
type tally struct {
	have int
	// losing counts those of have who lose a badge if the next check finds what the last one did.
	losing int
	// checked counts those of have whose last check is no older than a cycle plus levels.late.
	checked int
	// held are those of losing who are not Released. A blown fuse holds them.
	held []chat.User
}

// The fuse of a community blows while more than maxLosing users, and more than one in maxLosingPart
// of those with a badge there, would lose one. It also blows if that holds for the users of a single
// badge.
const (
	maxLosing     = 10
	maxLosingPart = 20
)

// blown reports whether the fuse blows, so that too low a stake removes no badge in the community
// unless the row is Released.
func (t tally) blown() bool { return t.losing > maxLosing && t.losing*maxLosingPart > t.have }

// tallies maps a community's ID to its tally, and a badgeKey to the tally of one badge, in which
// held is not set. The key "" has all rows with a wallet; only have and checked are set there.
type tallies map[string]tally

// add adds the counts of others, multiplied by times, and leaves held alone.
func (all tallies) add(others tallies, times int) {
	for key, t := range others {
		sum := all[key]
		sum.have, sum.losing, sum.checked = sum.have+times*t.have, sum.losing+times*t.losing, sum.checked+times*t.checked
		all[key] = sum
	}
}

// badgeKey returns the key of a badge in tallies.
func badgeKey(community, badge string) string { return community + " " + badge }

// countRows returns the tallies of rows.
func (m *Members) countRows(list []Row) tallies {
	all := tallies{}
	for _, r := range list {
		counted := m.platforms[r.User.Platform].countRow(r)
		all.add(counted, 1)
		for key, t := range counted {
			sum := all[key]
			sum.held = append(sum.held, t.held...)
			all[key] = sum
		}
	}
	return all
}

// countRow returns the tallies of one row. A forgotten row does not count.
func (p *platform) countRow(r Row) tallies {
	if r.Forgotten() {
		return nil
	}
	row := tally{have: 1}
	if time.Since(r.CheckedAt.Time) <= p.every+p.late() {
		row.checked = 1
	}
	all := tallies{"": row}
	for _, g := range r.Given {
		if _, named := p.badge(g.Community, g.Badge); !named {
			continue
		}
		here, each := all[g.Community], row
		here.have, here.checked = row.have, row.checked
		if p.losing(r, g) { // A user who loses two badges there counts once.
			here.losing, each.losing = 1, 1
			if !r.Released {
				here.held = []chat.User{r.User}
			}
		}
		all[g.Community], all[badgeKey(g.Community, g.Badge)] = here, each
	}
	return all
}

// fuseHolds reports whether too low a stake removes no badge in a community: its fuse has blown, or
// not all rows were read yet.
func (m *Members) fuseHolds(c *community) bool {
	_, blown := m.rows.blown(c.id)
	return blown || !m.rows.complete.Load()
}

// reportFuse logs and counts a fuse of the platform that has blown since the last reportFuse.
func (m *Members) reportFuse(p *platform) {
	for _, id := range p.named() {
		c := p.community(id)
		t, blown := m.rows.blown(id)
		if before := c.blown.Swap(blown); blown && !before {
			m.Count("fuse_blown")
			c.log.Error("too many would lose a badge at once, so nobody does: check the pools and the node; only if so many did stop staking, run bot members --release",
				"losing", t.losing, "of", t.have)
		}
	}
}

// Place is a user in a community.
type Place struct {
	User      chat.User
	Community string
}

// Release returns the users whom a fuse holds now, and where. If it holds somebody, Release saves that
// the running bot is to release them. Within releasePause the bot marks the rows that a fuse holds then
// as Released. Release blocks while it reads all rows.
func (m *Members) Release(ctx context.Context) (released []Place, err error) {
	all, err := m.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		for _, community := range m.heldIn(r) {
			released = append(released, Place{User: r.User, Community: community})
		}
	}
	if len(released) == 0 {
		return nil, nil
	}
	for _, name := range platforms {
		if err := m.saveRelease(ctx, name); err != nil {
			return nil, err
		}
	}
	return released, nil
}

// heldIn returns the communities whose fuse holds the user of a row.
func (m *Members) heldIn(r Row) (communities []string) {
	for community, t := range m.platforms[r.User.Platform].countRow(r) {
		if _, blown := m.rows.blown(community); blown && len(t.held) > 0 {
			communities = append(communities, community)
		}
	}
	slices.Sort(communities)
	return communities
}

// releaseKey returns the key of the time of a Release, in Unix seconds.
func releaseKey(p chat.Platform) string { return "members release " + string(p) }

// errRaced is the error of a Release that met another one.
var errRaced = errors.New("an earlier release was carried out just now: try again")

// saveRelease saves that a Release on a platform is to be carried out.
func (m *Members) saveRelease(ctx context.Context, p chat.Platform) error {
	old, err := m.Store.Load(ctx, releaseKey(p))
	if err != nil {
		return err
	}
	replaced, err := m.Store.Replace(ctx, releaseKey(p), old, strconv.AppendInt(nil, time.Now().Unix(), 10))
	if err == nil && !replaced {
		return errRaced
	}
	return err
}

// releasePause is the wait before each look for a Release.
const releasePause = time.Minute

// watchReleases carries out each Release. It blocks until ctx is done.
func (m *Members) watchReleases(ctx context.Context) {
	for transport.Sleep(ctx, releasePause) {
		for _, p := range m.on() {
			m.guard(func() { m.carryOutRelease(ctx, p) })
		}
	}
}

// carryOutRelease marks the rows on a platform that a fuse holds as Released, if a fresh Release is
// saved. Then it deletes the saved Release, fresh or not. If the Store fails, the next call tries again.
// The fuse counts marked rows as before. It blocks while it reads all rows.
func (m *Members) carryOutRelease(ctx context.Context, p *platform) {
	if !m.rows.complete.Load() {
		return
	}
	saved, err := m.Store.Load(ctx, releaseKey(p.name))
	if err != nil || saved == nil {
		return
	}
	if m.isFresh(saved) {
		// Another process may have changed rows since this one read them.
		err = m.rows.each(ctx, func([]Row) {})
		held := false
		if err == nil {
			err = m.rows.updateAll(ctx, func(r *Row) {
				if r.User.Platform == p.name && len(m.heldIn(*r)) > 0 {
					r.Released, held = true, true
				}
			})
		}
		if err != nil {
			return
		}
		if held {
			m.Log.Info("the fuse is released for all whom it held", "platform", p.name)
		}
	} else {
		m.Log.Warn("a release was dropped because it is old, or a clock is wrong: run bot members --release again", "platform", p.name)
	}
	_, _ = m.Store.Replace(ctx, releaseKey(p.name), saved, nil) // If another was saved meanwhile, it stays.
}

// isFresh reports whether a saved Release is at most two cycles old. It may be a minute in the future,
// because another process saved it and its clock may be ahead.
func (m *Members) isFresh(saved []byte) bool {
	seconds, err := strconv.ParseInt(string(saved), 10, 64)
	age := time.Since(time.Unix(seconds, 0))
	return err == nil && -time.Minute <= age && age <= 2*m.Every
}
