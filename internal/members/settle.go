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
	// settleLasts bounds how long a user is settled: a claim lasts for longer.
	settleLasts = claim.Lasts - 10*time.Second
)

// Change is what became of a badge of a user.
type Change struct {
	// Badge has no ID if nobody knows yet which badge it will be.
	Badge Badge
	// Removed says that the badge was removed, or was to be removed. Otherwise it was given, or was to be given.
	Removed bool
	// Problem is why that failed, or "".
	Problem chat.BadgeProblem
	// Later says that what becomes of it follows by itself: a call has to wait, or its outcome could not be saved.
	Later bool
}

// settle makes a community follow the row of a user, call by call, until nothing is left, the community refuses, or ctx
// is done. It alone makes calls that give or remove. The row says that a badge is unsure before its call is made, so
// that a process that is killed leaves a question and no guess. What follows a call:
//
//	the call                          the row                               settle
//	succeeded                         the badge is held, or gone            takes the next step
//	its outcome is not known (502)    the badge stays unsure                stops; the next settle asks
//	the user is no member, or can     their badges there are dropped,       stops
//	have no badge there               and the community is idle
//	the user has to accept rules      a give is dropped                     stops, until the next cycle or a command
//	the role is deleted               the badge is dropped                  tries another badge
//	the role is above the bot's, or   a removal notes since when it is      tries another badge, and this one
//	a right is missing for it         refused                               again in the next cycle
//	a right is missing for all        as above                              stops, until the next cycle
//	the community is unknown          as above; if the user asked to be     stops, until the next cycle; other
//	                                  forgotten, their badges there are     users are tried all the same
//	                                  dropped
//	failed for certain (429)          as before the call                    stops, until the pause is over
//
// What is left stays in the row, for the next tick. A claim lets one caller of all replicas at a time settle a user
// in a community; one that a killed process left ends after claim.Lasts.
func (m *Members) settle(ctx context.Context, c *community, user chat.User, by caller) (changes []Change) {
	ctx, cancel := context.WithTimeout(ctx, settleLasts)
	defer cancel()
	key := strings.Join([]string{"settle", c.bot, string(user.Platform), user.ID, c.id}, " ")
	for !m.claims(ctx, key) {
		if !transport.Sleep(ctx, claimPause) {
			return []Change{{Badge: c.badgeOf(""), Later: true}}
		}
	}
	defer m.Claims.Release(key)
	s := settling{m: m, c: c, user: user, by: by}
	for s.takeStep(ctx) == goOn {
	}
	return s.changes
}

// claims reports whether nobody else has claimed key, and claims it.
func (c *Config) claims(ctx context.Context, key string) bool {
	progress, _ := c.Claims.Claim(ctx, key)
	return progress == claim.New
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

// verdict is whether another step may follow.
type verdict int

const (
	stop verdict = iota
	goOn
)

// place returns the community as next sees it.
func (s *settling) place() place {
	return place{community: s.c.id, oneEach: s.c.adapter.OneEach(), hold: s.c.holds(), refused: s.refused}
}

// takeStep takes the next step of the row.
func (s *settling) takeStep(ctx context.Context) verdict {
	row, err := s.c.rows.load(ctx, s.user.ID)
	if err != nil {
		return s.waits(step{})
	}
	if row == nil {
		return stop
	}
	planned := s.c.tiers.next(*row, s.place())
	if planned.action == nothing {
		return stop
	}
	if problem := s.c.refusedBefore(s.user.ID, planned, s.by); problem != "" {
		return s.failsAgain(ctx, planned, problem)
	}
	if err := s.c.await(ctx); err != nil {
		return s.waits(planned)
	}
	if planned.action == ask {
		return s.ask(ctx)
	}
	if s.mayMeetForeign() {
		return s.askAndCall(ctx, *row, planned)
	}
	return s.call(ctx, *row, planned)
}

// waits notes that a step follows by itself.
func (s *settling) waits(planned step) verdict {
	s.changes = append(s.changes, Change{
		Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove, Later: true,
	})
	return stop
}

// fails notes that a step failed. Another badge may be tried if the problem concerns this one alone.
func (s *settling) fails(planned step, problem chat.BadgeProblem) verdict {
	if problem == chat.NotAMember || problem == chat.CommunityGone {
		return stop // Nobody is told of a community where they are not, or that is gone.
	}
	s.changes = append(s.changes, Change{
		Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove, Problem: problem,
	})
	if !concernsOneBadge(problem) || planned.action == ask {
		return stop
	}
	s.refused = append(s.refused, planned.badge)
	return goOn
}

// failsAgain notes that a step was not taken, because the platform refused the same a short time ago. The row of a
// user whose badge is to be removed learns since when that is refused.
func (s *settling) failsAgain(ctx context.Context, planned step, problem chat.BadgeProblem) verdict {
	if planned.action == remove {
		_ = s.save(ctx, planned, &chat.BadgeError{Problem: problem, Err: errRefusedBefore})
	}
	return s.fails(planned, problem)
}

var errRefusedBefore = errors.New("refused a short time ago")

// ask asks the platform which badges the user wears, and notes it in the row.
func (s *settling) ask(ctx context.Context) verdict {
	wears, failed := s.asked(ctx)
	if failed != nil {
		return s.fails(step{action: ask}, failed.Problem)
	}
	if s.noteWorn(ctx, wears) != nil {
		return s.waits(step{action: ask})
	}
	return goOn
}

// asked returns which badges the user wears. A failure is recorded, and saved in the row.
func (s *settling) asked(ctx context.Context) (wears []string, failed *chat.BadgeError) {
	s.c.forgetWorn(s.user.ID)
	wears, err := s.c.wears(ctx, s.user.ID)
	failed = badgeError(err)
	if failed != nil {
		s.c.record(ctx, s.user.ID, step{action: ask}, failed)
		_ = s.save(ctx, step{action: ask}, failed) // If that fails, the next tick asks again.
	}
	return wears, failed
}

// noteWorn notes in the row which badges the user wears. If an administrator has set a tag in place of one of ours,
// that tag stays until it is gone or the user presses.
func (s *settling) noteWorn(ctx context.Context, wears []string) error {
	_, err := s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil
		}
		if s.by != byPress && s.c.isForeign(*r, wears) {
			return new(r.away(s.c.id))
		}
		return new(r.seen(s.c.id, wears, time.Now()))
	})
	return err
}

// mayMeetForeign reports whether a step could replace or clear a tag that an administrator has set and that has to
// stay. A role replaces nothing. Whoever presses to save asks for the tag, and after /forget Remove leaves other tags
// alone.
func (s *settling) mayMeetForeign() bool { return s.c.adapter.OneEach() && s.by != byPress }

// askAndCall makes the call of a step unless the user wears a tag that an administrator has set.
func (s *settling) askAndCall(ctx context.Context, row Row, planned step) verdict {
	wears, failed := s.asked(ctx)
	if failed != nil {
		return s.fails(planned, failed.Problem)
	}
	if s.c.isForeign(row, wears) {
		_ = s.noteWorn(ctx, wears) // If that fails, the next tick asks again.
		return stop
	}
	return s.call(ctx, row, planned)
}

// call makes the call of a step, between two changes of the row. It makes none if the row has changed meanwhile.
func (s *settling) call(ctx context.Context, row Row, planned step) verdict {
	begun, err := s.begin(ctx, planned)
	if err != nil {
		return s.waits(planned)
	}
	if !begun {
		return goOn
	}
	do := s.c.adapter.Give
	if planned.action == remove {
		do = s.c.adapter.Remove
	}
	failed := badgeError(do(ctx, s.c.id, planned.badge, s.user.ID, s.reason(row, planned)))
	s.c.forgetWorn(s.user.ID)
	if failed == nil {
		s.c.succeeded(s.user.ID, planned)
	} else {
		s.c.record(ctx, s.user.ID, planned, failed)
	}
	if err := s.save(ctx, planned, failed); err != nil {
		return s.waits(planned) // Otherwise settle would ask at once.
	}
	if failed != nil {
		return s.fails(planned, failed.Problem)
	}
	s.changes = append(s.changes, Change{Badge: s.c.badgeOf(planned.badge), Removed: planned.action == remove})
	s.changes = append(s.changes, s.replacedBy(planned, row)...)
	return goOn
}

// begin saves that the call of a step is about to be made. It returns false if the step is not the next one of the
// row any more.
func (s *settling) begin(ctx context.Context, planned step) (begun bool, err error) {
	_, err = s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		begun = r != nil && s.c.tiers.next(*r, s.place()) == planned
		if !begun {
			return r
		}
		return new(r.begun(s.c.id, planned))
	})
	return begun, err
}

// save saves what became of a step. A nil failed is a success.
func (s *settling) save(ctx context.Context, planned step, failed *chat.BadgeError) error {
	ctx = context.WithoutCancel(ctx) // What was done must be saved, also at a stop.
	isDropped := false               // although it was to be removed
	_, err := s.c.rows.update(ctx, s.user.ID, func(r *Row) *Row {
		if r == nil {
			return nil // The store has lost it, with all others.
		}
		if failed == nil {
			return new(r.done(s.place(), planned, time.Now()))
		}
		after := r.failed(s.place(), planned, failed, time.Now())
		isDropped = planned.action == remove && r.index(s.c.id, planned.badge) >= 0 && after.index(s.c.id, planned.badge) < 0
		return &after
	})
	if err == nil && isDropped && !isNothingLeft(failed.Problem) {
		s.c.log.WarnContext(ctx, "a badge could not be removed, and is not saved any more", "problem", failed.Problem)
	}
	return err
}

// isNothingLeft reports whether a badge whose removal failed with this problem is not worn any more.
func isNothingLeft(p chat.BadgeProblem) bool {
	return p == chat.NotAMember || p == chat.CannotHave || p == chat.BadgeGone
}

// replacedBy returns what a user has lost because a lower badge was given in its place.
func (s *settling) replacedBy(planned step, before Row) (lost []Change) {
	if planned.action != give || !s.c.adapter.OneEach() {
		return nil
	}
	given := s.c.badgeOf(planned.badge)
	for _, h := range before.in(s.c.id) {
		old := s.c.badgeOf(h.Badge)
		if old.Amount.GreaterThan(given.Amount) {
			lost = append(lost, Change{Badge: old, Removed: true})
		}
	}
	return lost
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
