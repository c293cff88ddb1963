package members

import (
	"context"
	"fmt"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/transport"
)

const (
	// claimPause is the wait between two attempts to claim a user.
	claimPause = 100 * time.Millisecond
	// settleLasts bounds how long a user is settled: a claim lasts for longer.
	settleLasts = chat.ClaimLasts - 10*time.Second
)

// Change is what became of a badge of a user.
type Change struct {
	// Badge has no ID if nobody knows yet which badge it will be.
	Badge Badge
	// Removed says that the badge was removed, or was to be removed. Otherwise it was given, or was to be
	// given.
	Removed bool
	// Problem is why that failed, or "".
	Problem chat.BadgeProblem
	// Later says that what becomes of it follows by itself: a call has to wait, or could not be saved.
	Later bool
}

// settle makes a community follow the row of a user, call by call, until nothing is left, the community refuses, or ctx
// is done. It alone makes calls that give or remove. Each call is noted in the row before and after it is made. What is
// left stays in the row, for the next tick.
//
// A claim lets one caller of all replicas at a time settle a user in a community.
func (m *Members) settle(ctx context.Context, c *community, user chat.User, by caller) (changes []Change) {
	ctx, cancel := context.WithTimeout(ctx, settleLasts)
	defer cancel()
	key := strings.Join([]string{"settle", c.bot, string(user.Platform), user.ID, c.id}, " ")
	for {
		progress, _ := m.Claims.Claim(ctx, key)
		if progress == chat.New {
			break
		}
		if !transport.Sleep(ctx, claimPause) {
			return []Change{{Badge: c.badgeOf(""), Later: true}}
		}
	}
	defer m.Claims.Release(key)
	s := settling{m: m, c: c, user: user, by: by}
	for s.again(ctx) {
	}
	return s.changes
}

// settling is a user who is settled in a community.
type settling struct {
	m       *Members
	c       *community
	user    chat.User
	by      caller
	refused []string // the badges that the platform refused just now
	changes []Change
}

// place returns the community as next sees it.
func (s *settling) place() place {
	return place{community: s.c.id, oneEach: s.c.adapter.OneEach(), hold: s.c.holds(), refused: s.refused}
}

// again takes the next step of the row. It returns false if no other step follows.
func (s *settling) again(ctx context.Context) bool {
	row, err := s.c.rows.load(ctx, s.user.ID)
	if err != nil {
		return s.later(step{})
	}
	if row == nil {
		return false
	}
	next := s.c.tiers.next(*row, s.place())
	if next.action == nothing {
		return false
	}
	if err := s.c.await(ctx, s.user.ID, next.badge, s.by); err != nil {
		return s.waits(ctx, next, err)
	}
	if next.action == ask {
		return s.ask(ctx, next)
	}
	if isForeign, known := s.wearsForeign(ctx, *row, next); isForeign || !known {
		return false
	}
	return s.call(ctx, *row, next)
}

// later notes that a step follows by itself. It returns false, like all that end settle.
func (s *settling) later(next step) bool {
	s.changes = append(s.changes, Change{Badge: s.c.badgeOf(next.badge), Removed: next.action == remove, Later: true})
	return false
}

// waits notes that a step was not taken, because await failed with err.
func (s *settling) waits(ctx context.Context, next step, err error) bool {
	failed, is := err.(*chat.BadgeError)
	if !is {
		return s.later(next)
	}
	if next.action == remove && failed.Problem != chat.CommunityGone && failed.Problem != chat.BadgeGone {
		// The row notes since when the removal is refused. A badge or a community that is gone is believed only
		// of the user for whom the call was made.
		_ = s.save(ctx, next, failed)
	}
	return s.fails(next, failed.Problem)
}

// fails notes that a step failed, and reports whether another badge may be tried.
func (s *settling) fails(next step, problem chat.BadgeProblem) bool {
	if problem == chat.NotAMember || problem == chat.CommunityGone {
		return false // Nobody is told of a community where they are not, or that is gone.
	}
	s.changes = append(s.changes, Change{
		Badge: s.c.badgeOf(next.badge), Removed: next.action == remove, Problem: problem,
	})
	if !concernsOneBadge(problem) || next.action == ask {
		return false
	}
	s.refused = append(s.refused, next.badge)
	return true
}

// ask asks the platform which badges the user wears, and notes it in the row.
func (s *settling) ask(ctx context.Context, next step) bool {
	s.c.forgetWorn(s.user.ID)
	wears, err := s.c.wears(ctx, s.user.ID)
	if failed := badgeError(err); failed != nil {
		s.c.record(ctx, s.user.ID, next, failed)
		if err := s.save(ctx, next, failed); err != nil {
			return s.later(next)
		}
		return s.fails(next, failed.Problem)
	}
	_, err = s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil
		}
		return s.c.afterSeen(*r, s.c.id, wears, s.by)
	})
	if err != nil {
		return s.later(next)
	}
	return true
}

// afterSeen returns the row of a user who wears badges in a community. If an administrator has set a tag in place of
// one of ours, that tag stays until it is gone or the user presses.
func (p *platform) afterSeen(r Row, community string, wears []string, by caller) *Row {
	isForeign := p.adapter.OneEach() && p.tiers.isForeign(r, community, wears)
	r = r.seen(community, wears, time.Now())
	if isForeign && by != byPress {
		r = r.away(community)
	}
	return &r
}

// wearsForeign reports whether a step would replace a tag that an administrator has set. known is false if the platform
// did not say. A press replaces such a tag.
func (s *settling) wearsForeign(ctx context.Context, row Row, next step) (isForeign, known bool) {
	if !s.c.adapter.OneEach() || s.by == byPress {
		return false, true
	}
	s.c.forgetWorn(s.user.ID)
	wears, err := s.c.wears(ctx, s.user.ID)
	if failed := badgeError(err); failed != nil {
		s.c.record(ctx, s.user.ID, next, failed)
		failed.OutcomeUnknown = false // Nothing was changed.
		_ = s.save(ctx, step{action: ask}, failed)
		s.fails(next, failed.Problem)
		return false, false
	}
	if !s.c.tiers.isForeign(row, s.c.id, wears) {
		return false, true
	}
	_, _ = s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil
		}
		return s.c.afterSeen(*r, s.c.id, wears, s.by)
	})
	return true, true
}

// call makes the call of a step, between two changes of the row. It makes none if the row has changed meanwhile.
func (s *settling) call(ctx context.Context, row Row, next step) bool {
	begun, err := s.begin(ctx, next)
	if err != nil {
		return s.fails(next, chat.BadgeFailed)
	}
	if !begun {
		return true
	}
	do := s.c.adapter.Give
	if next.action == remove {
		do = s.c.adapter.Remove
	}
	failed := badgeError(do(ctx, s.c.id, next.badge, s.user.ID, s.reason(row, next)))
	s.c.forgetWorn(s.user.ID)
	if failed == nil {
		s.c.succeeded(s.user.ID, next)
	} else {
		s.c.record(ctx, s.user.ID, next, failed)
	}
	if err := s.save(ctx, next, failed); err != nil {
		return s.later(next) // Otherwise settle would call again at once.
	}
	if failed != nil {
		return s.fails(next, failed.Problem)
	}
	s.changes = append(s.changes, Change{Badge: s.c.badgeOf(next.badge), Removed: next.action == remove})
	s.changes = append(s.changes, s.replacedBy(next, row)...)
	return true
}

// begin saves that the call of a step is about to be made. It returns false if the step is not the next one of the row
// any more.
func (s *settling) begin(ctx context.Context, next step) (begun bool, err error) {
	_, err = s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		begun = false // An earlier attempt of update may have set it.
		if r == nil || s.c.tiers.next(*r, s.place()) != next {
			return r
		}
		begun = true
		return new(r.begun(s.c.id, next))
	})
	return begun, err
}

// save saves what became of a step. A nil failed is a success.
func (s *settling) save(ctx context.Context, next step, failed *chat.BadgeError) error {
	ctx = context.WithoutCancel(ctx) // What was done must be saved, also at a stop.
	gaveUp := false
	_, err := s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil // The store has lost it, with all others.
		}
		var after Row
		if failed == nil {
			after = r.done(s.place(), next, time.Now())
		} else {
			after = r.failed(s.place(), next, failed, time.Now())
		}
		gaveUp = next.action == remove && failed != nil && failed.Problem != chat.NotAMember &&
			r.index(s.c.id, next.badge) >= 0 && after.index(s.c.id, next.badge) < 0
		return &after
	})
	if err == nil && gaveUp {
		s.c.log.WarnContext(ctx, "a badge could not be removed, and is not saved any more", "problem", failed.Problem)
	}
	return err
}

// replacedBy returns what a user has lost because a lower badge was given in its place.
func (s *settling) replacedBy(next step, before Row) (lost []Change) {
	if next.action != give || !s.c.adapter.OneEach() {
		return nil
	}
	given := s.c.badgeOf(next.badge)
	for _, h := range before.in(s.c.id) {
		old := s.c.badgeOf(h.Badge)
		if old.Amount.GreaterThan(given.Amount) {
			lost = append(lost, Change{Badge: old, Removed: true})
		}
	}
	return lost
}

// reason says in an audit log why a badge is given or removed.
func (s *settling) reason(r Row, next step) string {
	pools := len(s.m.Pools)
	if next.action == give {
		return fmt.Sprintf("Herald: stakes enough (%d pools, block of %s UTC)", pools, clock(r.Block.Time))
	}
	if r.Forgotten() {
		return "Herald: the member asked to be forgotten"
	}
	if _, configured := s.c.tiers.find(s.c.id, next.badge); !configured {
		return "Herald: the settings name another badge"
	}
	l := r.lost(s.c.id, next.badge)
	switch {
	case l == nil:
		return "Herald: too little staked for this badge"
	case l.Disowned:
		return "Herald: the wallet is not the member's any more"
	}
	first, second := clock(l.First.Time), clock(l.Second.Time)
	return fmt.Sprintf("Herald: too little staked at %s and at %s UTC (%d pools)", first, second, pools)
}

// clock returns a date and time of day in UTC.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
