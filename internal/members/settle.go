package members

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/transport"
)

const (
	// claimPause is the wait between two attempts to claim a user.
	claimPause = 100 * time.Millisecond
	// settleLasts is the longest time for which a user is settled. It is shorter than a claim lasts.
	settleLasts = claim.Lasts - 10*time.Second
)

// Change is what became of a badge of a user.
type Change struct {
	// Badge has no ID if no change could be planned, because the platform has not said which badges the user wears, or
	// because the row could not be read.
	Badge Badge
	// Removed says that the badge was removed, or was to be removed. Otherwise it was given, or was to be given.
	Removed bool
	// Problem is why that failed, or "".
	Problem chat.BadgeProblem
	// Later says that the change is made later, and the user need do nothing: a call has to wait, or its outcome could
	// not be saved.
	Later bool
}

// settle gives and removes badges of a user in a community, call by call, until they wear what their row says. It stops
// early if the community refuses, or ctx is done. No other function makes calls that give or remove.
//
// Before a call, settle marks the badge in the row as unsure: perhaps the user has it, and perhaps not. So after a
// kill, the next settle asks the platform, and does not guess. After the call, settle changes the row again:
//
//	the call                               the row
//
//	succeeded                              the badge is held, or gone
//	its outcome is not known (502)         the badge stays unsure, and the next settle asks
//	a give failed                          the badge is dropped
//	a removal failed, the role is deleted  the badge is dropped
//	a removal failed for now (429)         the badge is kept
//	a removal was refused                  the badge is kept, and Held.Refused says since when removals are refused
//	the community is gone                  as after a refusal; for a forgotten user, all badges there are dropped
//	the user is no member, or can have     all their badges there are dropped. The community is idle: until the user
//	no badge there                         presses a button or sends a command there, settle makes no call for them.
//
// Once a removal has been refused for refusedFor, the badge is dropped from the row, and the user keeps it.
//
// After a success, settle takes the next step. If the platform refuses one role, because it is deleted, or is above the
// bot's own, or is one that the bot may not give, settle goes on with the other roles. After any other failure it
// stops. What is left stays in the row. The next tick tries again, unless a saved refusal concerns it (recordFailure).
//
// by is who causes the calls. A claim lets one caller of all replicas at a time settle a user in a community. A claim
// that a killed process left ends after claim.Lasts.
func (m *Members) settle(ctx context.Context, c *community, user chat.User, by caller) (changes []Change) {
	ctx, cancel := context.WithTimeout(ctx, settleLasts)
	defer cancel()
	key := strings.Join([]string{"settle", c.bot, string(user.Platform), user.ID, c.id}, " ")
	for !m.tryClaim(ctx, key) {
		if !transport.Sleep(ctx, claimPause) {
			return []Change{c.uncheckedLater()}
		}
	}
	defer m.Claims.Release(key)
	s := settling{m: m, c: c, user: user, by: by}
	// This ends: a step that makes a call first waits for its turn, and stops if ctx is done. A step that is skipped
	// stops, or adds its badge to refused.
	for {
		if s.takeStep(ctx) == stop {
			return s.changes
		}
	}
}

// uncheckedLater is the Change of a user for whom nothing could be planned yet.
func (c *community) uncheckedLater() Change { return Change{Badge: c.badgeOf(""), Later: true} }

// tryClaim claims key, unless somebody else has, and reports whether it did.
func (c *Config) tryClaim(ctx context.Context, key string) bool {
	progress, _ := c.Claims.Claim(ctx, key)
	return progress == claim.New
}

// settling is a user who is settled in a community.
type settling struct {
	m       *Members
	c       *community
	user    chat.User
	by      caller
	refused []string // the badges that the platform refused since settle began
	changes []Change
}

// verdict is whether another step may follow.
type verdict int

const (
	stop verdict = iota
	goOn
)

// place returns the community as next sees it. While its fuse has blown (census.go), lost badges are not removed.
func (s *settling) place() place {
	return place{community: s.c.id, oneEach: s.c.adapter.OneEach(), hold: s.c.isFuseBlown(), refused: s.refused}
}

// takeStep takes the next step of the row.
func (s *settling) takeStep(ctx context.Context) verdict {
	row, err := s.c.rows.load(ctx, s.user.ID)
	if err != nil {
		s.changes = append(s.changes, s.c.uncheckedLater())
		return stop
	}
	if row == nil {
		return stop
	}
	planned := s.c.tiers.next(*row, s.place())
	if planned.action == nothing {
		return stop
	}
	if problem := s.c.refusedBefore(s.user.ID, planned, s.by); problem != "" {
		return s.skipStep(ctx, planned, problem)
	}
	if err := s.c.await(ctx); err != nil {
		return s.noteLater(planned)
	}
	if planned.action == ask {
		return s.askWorn(ctx)
	}
	if s.mustSpareForeign() {
		// This question does not wait for a turn of its own. If an administrator has set a tag, the community becomes idle,
		// and call finds that the plan has changed.
		if s.askWorn(ctx) == stop {
			return stop
		}
	}
	return s.call(ctx, planned)
}

// noteLater reports that a step is postponed, and stops.
func (s *settling) noteLater(planned step) verdict {
	s.changes = append(s.changes, Change{
		Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove, Later: true,
	})
	return stop
}

// failStep reports that a step failed, and decides whether another one may follow. If the problem concerns only the
// badge of the step, other badges are tried. Where a member has one badge at a time, no other is tried.
func (s *settling) failStep(planned step, problem chat.BadgeProblem) verdict {
	// Users are not told of a community that they have left, or that is gone.
	isTold := problem != chat.NotAMember && problem != chat.CommunityGone
	if isTold {
		s.changes = append(s.changes, Change{
			Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove, Problem: problem,
		})
	}
	mayTryAnother := planned.action != ask && !s.c.adapter.OneEach() && concernsOneBadge(problem)
	if !mayTryAnother {
		return stop
	}
	s.refused = append(s.refused, planned.badge)
	return goOn
}

// skipStep fails a step without its call, because the platform refused the same call a short time ago. If the step
// removes a badge, the row notes since when that is refused.
func (s *settling) skipStep(ctx context.Context, planned step, problem chat.BadgeProblem) verdict {
	if planned.action == remove {
		// If that fails, the next cycle notes it.
		_ = s.saveOutcome(ctx, planned, &chat.BadgeError{Problem: problem, Err: errRefusedBefore})
	}
	return s.failStep(planned, problem)
}

var errRefusedBefore = errors.New("refused a short time ago")

// askWorn asks the platform which badges the user wears, and saves the answer in the row.
func (s *settling) askWorn(ctx context.Context) verdict {
	asking := step{action: ask}
	s.c.forgetWorn(s.user.ID)
	wears, err := s.c.wears(ctx, s.user.ID)
	if failed := badgeError(err); failed != nil {
		s.c.recordFailure(ctx, s.user.ID, asking, failed)
		_ = s.saveOutcome(ctx, asking, failed) // If that fails, the next tick asks again.
		return s.failStep(asking, failed.Problem)
	}
	if s.saveWorn(ctx, wears) != nil {
		return s.noteLater(asking)
	}
	return goOn
}

// saveWorn saves in the row which badges the user wears. If they wear a foreign tag that is to be spared, the community
// becomes idle instead.
func (s *settling) saveWorn(ctx context.Context, wears []string) error {
	_, err := s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		switch {
		case r == nil:
			return nil
		case s.mustSpareForeign() && s.c.wearsForeign(*r, wears):
			return new(r.idleIn(s.c.id))
		}
		return new(r.afterAnswer(s.c.id, wears, time.Now()))
	})
	return err
}

// mustSpareForeign reports whether a call must not replace a foreign tag, which an administrator has set. Only a press
// may replace one, because the user wants ours. Roles replace nothing.
func (s *settling) mustSpareForeign() bool { return s.c.adapter.OneEach() && s.by != byPress }

// call makes the call of a step, between two changes of the row. It makes none if the row has changed meanwhile.
func (s *settling) call(ctx context.Context, planned step) verdict {
	row, isNext, err := s.begin(ctx, planned)
	if err != nil {
		return s.noteLater(planned)
	}
	if !isNext {
		return goOn // The row has changed since the step was planned. The next step is planned anew.
	}
	do := s.c.adapter.Give
	if planned.action == remove {
		do = s.c.adapter.Remove
	}
	failed := badgeError(do(ctx, s.c.id, planned.badge, s.user.ID, s.reason(row, planned)))
	s.c.forgetWorn(s.user.ID)
	if failed == nil {
		s.c.recordSuccess(s.user.ID, planned)
	} else {
		s.c.recordFailure(ctx, s.user.ID, planned, failed)
	}
	if err := s.saveOutcome(ctx, planned, failed); err != nil {
		return s.noteLater(planned) // Stop here: the badge is still unsure in the row, so the next step would ask at once.
	}
	if failed != nil {
		return s.failStep(planned, failed.Problem)
	}
	s.changes = append(s.changes, Change{Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove})
	s.changes = append(s.changes, s.replacedBy(planned, row)...)
	return goOn
}

// begin saves that the call of a step is about to be made, and returns the row as it was before. isNext is false if the
// step is not the next one of the row any more; then begin saves nothing.
func (s *settling) begin(ctx context.Context, planned step) (before Row, isNext bool, err error) {
	_, err = s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		isNext = r != nil && s.c.tiers.next(*r, s.place()) == planned
		if !isNext {
			return r
		}
		before = *r
		return new(r.afterBegin(s.c.id, planned))
	})
	return before, isNext, err
}

// saveOutcome saves in the row what became of a step. A nil failed is a success. If the removal of a badge is given up,
// saveOutcome logs that.
func (s *settling) saveOutcome(ctx context.Context, planned step, failed *chat.BadgeError) error {
	ctx = context.WithoutCancel(ctx) // What was done must be saved, also at a stop.
	var before Row
	after, err := s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil // The row is gone: the store was emptied.
		}
		before = *r
		if failed == nil {
			return new(r.afterSuccess(s.place(), planned, time.Now()))
		}
		return new(r.afterFailure(s.place(), planned, failed, time.Now()))
	})
	if err != nil || failed == nil || after == nil {
		return err
	}
	if s.isGivenUp(before, *after, planned) && mayStillWear(failed.Problem) {
		s.c.log.WarnContext(ctx, "a badge could not be removed, and is not saved any more", "problem", failed.Problem)
	}
	return nil
}

// isGivenUp reports whether a step that should have removed a badge, and failed, dropped the badge from the row.
func (s *settling) isGivenUp(before, after Row, planned step) bool {
	isHeld := func(r Row) bool { return r.index(s.c.id, planned.badge) >= 0 }
	return planned.action == remove && isHeld(before) && !isHeld(after)
}

// mayStillWear reports whether the user may still wear a badge whose removal failed with this problem.
func mayStillWear(p chat.BadgeProblem) bool {
	switch p {
	case chat.NotAMember, chat.CannotHave, chat.BadgeGone:
		return false
	}
	return true
}

// replacedBy returns the higher tags that a lower one has just replaced. The user is told of these losses, and not of
// lower tags that a higher one replaces. before is the row before the call.
func (s *settling) replacedBy(planned step, before Row) (replaced []Change) {
	if planned.action != give || !s.c.adapter.OneEach() {
		return nil
	}
	given := s.c.badgeOf(planned.badge)
	for _, h := range before.in(s.c.id) {
		old := s.c.badgeOf(h.Badge)
		if old.Amount.GreaterThan(given.Amount) {
			replaced = append(replaced, Change{Badge: old, Removed: true})
		}
	}
	return replaced
}

// reason says in an audit log why a badge is given or removed.
func (s *settling) reason(r Row, planned step) string {
	pools := len(s.m.Pools)
	switch {
	case planned.action == give && r.Block.IsZero():
		return fmt.Sprintf("Herald: stakes enough (%d pools)", pools)
	case planned.action == give:
		return fmt.Sprintf("Herald: stakes enough (%d pools, block of %s UTC)", pools, clock(r.Block.Time))
	case r.Forgotten():
		return "Herald: the member asked to be forgotten"
	}
	if _, configured := s.c.tiers.find(s.c.id, planned.badge); !configured {
		return "Herald: the settings name another badge"
	}
	l := r.lost(s.c.id, planned.badge)
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
