package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/transport"
)

const (
	// refusedFor is how long the removal of a badge is tried while the platform refuses it.
	refusedFor = 30 * 24 * time.Hour
	// claimPause is the wait between two attempts to claim a user.
	claimPause = 100 * time.Millisecond
)

// step is a call that brings a community closer to what a row says.
type step struct {
	badge  string
	remove bool
	// doubt says that the outcome of an earlier call for the badge is not known.
	doubt bool
}

// next returns the next step for a row in a community, or false if none is left. With oneEach, a
// member has one badge there at a time. With hold, too low a stake removes no badge unless the row is
// Released. Badges that are refused are neither given nor removed.
//
// A badge is given before another is removed. Whoever falls to a lower badge always has one, unless
// the lower one is refused. With oneEach the call that gives the lower one is the only one.
func (l levels) next(r Row, community string, oneEach, hold bool, refused ...string) (s step, left bool) {
	if r.index(community, "") >= 0 { // Absent
		return s, false
	}
	isRefused := func(badge string) bool { return slices.Contains(refused, badge) }
	want := slices.DeleteFunc(l.wanted(r, community), isRefused)
	if oneEach && len(want) > 1 {
		want = want[len(want)-1:] // The one with the highest amount.
	}
	goes := func(g Given) bool {
		held := hold && !r.Released && l.losing(r, g)
		return g.Community == community && !held && !slices.Contains(want, g.Badge) && !isRefused(g.Badge)
	}
	stays := func(g Given) bool { return g.Community == community && g.State == Had && !goes(g) }
	if !oneEach || !slices.ContainsFunc(r.Given, stays) {
		s, left = l.nextGive(r, community, want)
	}
	if !left {
		s, left = r.nextRemoval(goes)
	}
	return s, left
}

// nextGive returns the step that gives the first badge of want that is reached and that the user may
// not have yet.
func (l levels) nextGive(r Row, community string, want []string) (s step, left bool) {
	for _, badge := range want {
		b, _ := l.badge(community, badge)
		i := r.index(community, badge)
		missing := i < 0 || r.Given[i].State == Doubt
		if missing && l.of(b.Amount) <= l.reached(r) {
			return step{badge: badge, doubt: i >= 0}, true
		}
	}
	return s, false
}

// nextRemoval returns the step that removes the last badge that goes.
func (r Row) nextRemoval(goes func(Given) bool) (s step, left bool) {
	for _, g := range slices.Backward(r.Given) {
		if goes(g) {
			return step{badge: g.Badge, remove: true, doubt: g.State == Doubt}, true
		}
	}
	return s, false
}

// wanted returns the badges of a community that a row's user may be given or may keep, by
// ascending amount.
func (l levels) wanted(r Row, community string) (ids []string) {
	level, reached := l.level(r), l.reached(r)
	for _, b := range l.badges {
		needs := l.of(b.Amount)
		keeps := needs <= level && r.index(community, b.ID) >= 0
		if b.Community == community && !r.Forgotten() && (needs <= reached || keeps) {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// losing reports whether the user of a row has lost a badge of the settings by their stake, or loses
// it if the next check finds what the last one did.
func (l levels) losing(r Row, g Given) bool {
	b, named := l.badge(g.Community, g.Badge)
	return named && !r.Forgotten() && l.of(b.Amount) > l.expected(r)
}

// done returns the row after the call of a step. err is nil if the call succeeded.
func (r Row) done(community string, s step, err *chat.BadgeError, oneEach bool, now time.Time) Row {
	here := func(g Given) bool { return g.Community == community }
	this := func(g Given) bool { return here(g) && g.Badge == s.badge }
	switch {
	case err == nil && s.remove:
		r.drop(this)
	case err == nil:
		if oneEach {
			r.drop(here)
		}
		r.set(Given{Community: community, Badge: s.badge, Since: timeOf(now)})
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		r.drop(here)
		if !r.Forgotten() {
			r.set(Given{Community: community, State: Absent})
		}
	case err.Problem == chat.CommunityGone:
		r.drop(here)
	case err.Problem == chat.BadgeGone:
		r.drop(this)
	case err.OutcomeUnknown, !s.remove && s.doubt:
		// The badge stays in doubt.
	case s.remove:
		r.notRemoved(community, s, err.Problem, now)
	default: // It was certainly not given.
		r.drop(this)
	}
	return r
}

// notRemoved notes that a badge was certainly not removed by a step. It drops the badge if the
// platform has refused that for longer than refusedFor.
func (r *Row) notRemoved(community string, s step, problem chat.BadgeProblem, now time.Time) {
	i := r.index(community, s.badge)
	if i < 0 {
		return
	}
	g := r.Given[i]
	if !s.doubt {
		g.State = Had
	}
	refused := problem != chat.BadgeFailed
	if refused && g.RefusedAt.IsZero() {
		g.RefusedAt = timeOf(now)
	}
	r.set(g)
	if refused && now.Sub(g.RefusedAt.Time) > refusedFor {
		r.drop(func(other Given) bool { return other == g })
	}
}

// Change is a call that gives a user a badge or, with Removed, removes one.
type Change struct {
	// Badge has no ID if Later, and if nobody knows yet which badge it will be.
	Badge   Badge
	Removed bool
	// Problem is why the call failed, or "".
	Problem chat.BadgeProblem
	// Later says that the call is not made yet, because it has to wait.
	Later bool
}

// settle makes a community follow the row of a user, call by call, until nothing is left, the
// community refuses, or ctx is done. A refusal of one badge does not stop the others. settle alone
// makes calls that give or remove. What is left stays in the row, for the next cycle.
//
// The claim lets one caller of all replicas at a time settle a user in a community, so that no
// badge is given behind a removal.
func (m *Members) settle(ctx context.Context, c *community, user chat.User, by caller) (changes []Change) {
	key := strings.Join([]string{m.Bot, "settle", string(user.Platform), user.ID, c.id}, " ")
	claimed := func() bool {
		progress, _ := m.Claims.Claim(ctx, key)
		return progress == chat.New
	}
	for !claimed() {
		if !transport.Sleep(ctx, claimPause) {
			return []Change{{Badge: c.badgeOf(c.id, ""), Later: true}}
		}
	}
	defer m.Claims.Release(key) // Not as done: the user may be settled again at once.
	var refused []string        // the badges that were refused just now
	for {
		row, err := m.rows.find(ctx, user)
		if err != nil {
			return append(changes, Change{Badge: c.badgeOf(c.id, ""), Later: true})
		}
		if row == nil {
			return changes
		}
		s, left := c.next(*row, c.id, c.OneEach(), m.fuseHolds(c), refused...)
		if !left {
			return changes
		}
		change, again := m.carryOut(ctx, c, *row, s, by, refused)
		if again {
			continue
		}
		if change.Problem == chat.NotAMember || change.Problem == chat.CommunityGone {
			return changes // Nobody is told of a community where they are not, or that is gone.
		}
		changes = append(changes, change)
		switch {
		case change.Later || change.Problem != "" && !concernsOneBadge(change.Problem):
			return changes
		case change.Problem != "":
			refused = append(refused, s.badge)
		default:
			changes = append(changes, c.replacedBy(change, *row)...)
		}
	}
}

// replacedBy returns what a user has lost because change gave a lower badge in its place.
func (p *platform) replacedBy(change Change, before Row) (lost []Change) {
	replaces := p.OneEach() && !change.Removed
	for _, g := range before.Given {
		old := p.badgeOf(g.Community, g.Badge)
		if replaces && g.Community == change.Badge.Community && old.Amount.GreaterThan(change.Badge.Amount) {
			lost = append(lost, Change{Badge: old, Removed: true})
		}
	}
	return lost
}

// carryOut makes the call of a step, and saves what became of it. again is true if the row has
// changed: no call was made.
func (m *Members) carryOut(ctx context.Context, c *community, row Row, s step, by caller, refused []string) (change Change, again bool) {
	change = Change{Badge: c.badgeOf(c.id, s.badge), Removed: s.remove}
	err := c.await(ctx, s.badge, by)
	if failed, is := errors.AsType[*chat.BadgeError](err); is {
		change.Problem = failed.Problem
		if s.remove { // The row notes since when the removal is refused.
			_ = m.finish(ctx, c, row.User, s, failed)
		}
		return change, false
	}
	if err != nil {
		change.Later = true
		return change, false
	}
	begun, err := m.begin(ctx, c, row.User, s, refused)
	if err != nil {
		change.Problem = chat.BadgeFailed
		return change, false
	}
	if !begun {
		return change, true
	}
	failed := m.perform(ctx, c, row, s)
	c.record(ctx, row.User.ID, s, failed)
	change.Later = m.finish(ctx, c, row.User, s, failed) != nil // Otherwise settle would call again at once.
	if failed != nil {
		change.Problem = failed.Problem
	}
	return change, false
}

// begin saves that the call of a step is about to be made, so that its badge is in doubt. It returns
// false if the step is not the next one of the row any more.
func (m *Members) begin(ctx context.Context, c *community, user chat.User, s step, refused []string) (begun bool, err error) {
	_, err = m.rows.update(ctx, user, func(r *Row) *Row {
		begun = false // An earlier attempt of update may have set it.
		if r == nil {
			return nil
		}
		next, left := c.next(*r, c.id, c.OneEach(), m.fuseHolds(c), refused...)
		if !left || next != s {
			return r
		}
		begun = true
		g := Given{Community: c.id, Badge: s.badge}
		if i := r.index(c.id, s.badge); i >= 0 {
			g = r.Given[i]
		}
		g.State = Doubt
		r.set(g)
		return r
	})
	return begun, err
}

// finish saves what became of a step. If it fails, the next cycle takes the step again.
func (m *Members) finish(ctx context.Context, c *community, user chat.User, s step, failed *chat.BadgeError) error {
	had := false
	after, err := m.rows.update(ctx, user, func(r *Row) *Row {
		if r == nil { // It was deleted during the call. The user may have the badge all the same.
			r = &Row{User: user, Given: []Given{{Community: c.id, Badge: s.badge, State: Doubt}}}
		}
		had = r.index(c.id, s.badge) >= 0
		done := r.done(c.id, s, failed, c.OneEach(), time.Now())
		if done.Forgotten() && len(done.Given) == 0 {
			return nil
		}
		return &done
	})
	notRemoved := s.remove && failed != nil && failed.Problem != chat.NotAMember
	dropped := had && (after == nil || after.index(c.id, s.badge) < 0)
	if err == nil && notRemoved && dropped {
		c.log.WarnContext(ctx, "a badge could not be removed, and is not saved any more", "problem", failed.Problem)
	}
	return err
}

// perform makes the call of a step, and returns nil if it succeeded. The outcome of a call that fails
// with anything but a *chat.BadgeError is not known.
func (m *Members) perform(ctx context.Context, c *community, row Row, s step) *chat.BadgeError {
	do := c.Give
	if s.remove {
		do = c.Remove
	}
	err := do(ctx, c.id, s.badge, row.User.ID, m.reason(c, row, s))
	if err == nil {
		return nil
	}
	failed, is := errors.AsType[*chat.BadgeError](err)
	if !is {
		failed = &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: err}
	}
	return failed
}

// reason says in an audit log why a badge is given or removed.
func (m *Members) reason(c *community, r Row, s step) string {
	_, named := c.badge(c.id, s.badge)
	switch {
	case !s.remove:
		return fmt.Sprintf("Herald: stakes enough (%d pools, block of %s UTC)", len(m.Pools), clock(r.Block.Time))
	case r.Forgotten():
		return "Herald: the member asked to be forgotten"
	case !named:
		return "Herald: the settings name another badge"
	case r.Lost == nil:
		return "Herald: too little staked for this badge, or the member has another one"
	case r.Lost.Disowned:
		return "Herald: the wallet is not the member's any more"
	}
	return fmt.Sprintf("Herald: too little staked at %s and at %s UTC (%d pools)", clock(r.Lost.First.Time), clock(r.Lost.Second.Time), len(m.Pools))
}

// clock returns a date and time of day in UTC.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
