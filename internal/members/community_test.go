package members

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// communityEvent is something that happens in a community.
type communityEvent func(c *community, ctx context.Context)

// giveFails is a number of calls that give 7001 to user 1, and fail. The platform asks for a pause.
func giveFails(p chat.BadgeProblem, times int, pause time.Duration) communityEvent {
	return func(c *community, ctx context.Context) {
		for range times {
			err := &chat.BadgeError{Problem: p, RetryAfter: pause, Err: errFault}
			c.recordFailure(ctx, "1", step{give, "7001"}, err)
		}
	}
}

// giveSucceeds is a call that gives 7001 to user 1.
func giveSucceeds(c *community, _ context.Context) { c.recordSuccess("1", step{give, "7001"}) }

// slotIsTaken is a call that waits for its slot.
func slotIsTaken(c *community, ctx context.Context) { _ = c.await(ctx) }

// timePasses lets time pass.
func timePasses(d time.Duration) communityEvent {
	return func(*community, context.Context) { time.Sleep(d) }
}

// awaitCase is a call of await after some events in its community.
type awaitCase struct {
	before    []communityEvent
	deadline  time.Duration // from now; settleLasts if it is 0
	waits     time.Duration
	isRefused bool // await fails at once, because the wait would be too long
}

func runAwait(t *testing.T, table map[string]awaitCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				ctx, cancel := context.WithTimeout(m.Context(), 24*time.Hour)
				defer cancel()
				for _, event := range c.before {
					event(here, ctx)
				}
				ctx, cancel = context.WithTimeout(m.Context(), cmp.Or(c.deadline, settleLasts))
				defer cancel()
				began := time.Now()
				err := here.await(ctx)
				m.equal("waited", time.Since(began), c.waits)
				var want error
				if c.isRefused {
					want = errWaitTooLong
				}
				m.equal("error", err, want)
			})
		})
	}
}

func TestCallsOfACommunityAreASecondApart(t *testing.T) {
	runAwait(t, map[string]awaitCase{
		"the first call":  {},
		"after a call":    {before: []communityEvent{slotIsTaken}, waits: time.Second},
		"after two calls": {before: []communityEvent{slotIsTaken, slotIsTaken}, waits: time.Second},
		"with a close deadline": {
			before:    []communityEvent{slotIsTaken},
			deadline:  callTime + time.Second/2,
			isRefused: true,
		},
	})
}

func TestAPauseIsKept(t *testing.T) {
	pause := func(d time.Duration) communityEvent { return giveFails(chat.BadgeFailed, 1, d) }
	const long = 20 * time.Second
	runAwait(t, map[string]awaitCase{
		"no pause":                    {before: []communityEvent{pause(0)}},
		"a pause":                     {before: []communityEvent{pause(long)}, waits: long},
		"a pause past the deadline":   {before: []communityEvent{pause(settleLasts)}, isRefused: true},
		"a pause, then a shorter one": {before: []communityEvent{pause(long), pause(0)}, waits: long},
	})
}

func TestAHundredFailuresAnHourAreEnough(t *testing.T) {
	runAwait(t, map[string]awaitCase{
		"after 99":          {before: []communityEvent{giveFails(chat.BadgeFailed, 99, 0)}},
		"after 100":         {before: []communityEvent{giveFails(chat.BadgeFailed, 100, 0)}, isRefused: true},
		"an hour after 100": {before: []communityEvent{giveFails(chat.BadgeFailed, 100, 0), timePasses(time.Hour)}},
	})
}

// refusedCase is a call of refusedBefore after some events in the community.
type refusedCase struct {
	before []communityEvent
	by     caller
	step   step              // if zero: to give 7001
	user   int               // if zero: user 1
	want   chat.BadgeProblem // empty if the step may be taken
}

func runRefused(t *testing.T, table map[string]refusedCase) {
	t.Helper()
	for name, c := range table {
		inBubble(t, func(m *membersTest) {
			here := m.platform.community("9001")
			for _, event := range c.before {
				event(here, m.Context())
			}
			user := fmt.Sprint(cmp.Or(c.user, 1))
			next := cmp.Or(c.step, step{give, "7001"})
			m.equal(name, here.refusedBefore(user, next, c.by), c.want)
		})
	}
}

// Refusals of a give of 7001 to user 1, and other steps.
var (
	missingRight = giveFails(chat.MissingRight, 1, 0)
	roleAbove    = giveFails(chat.RoleAbove, 1, 0)
	roleDeleted  = giveFails(chat.BadgeGone, 1, 0)
	serverGone   = giveFails(chat.CommunityGone, 1, 0)
	rulesPending = giveFails(chat.RulesPending, 1, 0)

	giveOther = step{give, "7002"}
	removal   = step{remove, "7001"}
)

// The cycle tries again after three quarters of a cycle: 4 hours and a half.
func TestARefusedCallIsNotRepeatedForACycle(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"within the cycle":  {before: []communityEvent{missingRight, timePasses(4 * time.Hour)}, want: chat.MissingRight},
		"in the next cycle": {before: []communityEvent{missingRight, timePasses(5 * time.Hour)}},
		"after a success":   {before: []communityEvent{missingRight, giveSucceeds}},
	})
}

func TestAUserRepeatsARefusedCallAfterAMinute(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"within the minute": {before: []communityEvent{missingRight}, by: byPress, want: chat.MissingRight},
		"by a press":        {before: []communityEvent{missingRight, timePasses(time.Minute)}, by: byPress},
		"by a command":      {before: []communityEvent{missingRight, timePasses(time.Minute)}, by: byCommand},
	})
}

func TestAMissingRightRefusesAllChanges(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"another user":  {before: []communityEvent{missingRight}, user: 2, want: chat.MissingRight},
		"another badge": {before: []communityEvent{missingRight}, step: giveOther, want: chat.MissingRight},
		"a removal":     {before: []communityEvent{missingRight}, step: removal, want: chat.MissingRight},
		"a question":    {before: []communityEvent{missingRight}, step: step{action: ask}},
	})
}

func TestARoleAboveRefusesOnlyThatRole(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"the same role":   {before: []communityEvent{roleAbove}, want: chat.RoleAbove},
		"another role":    {before: []communityEvent{roleAbove}, step: giveOther},
		"after a success": {before: []communityEvent{roleAbove, giveSucceeds}},
	})
}

func TestADeletedRoleRefusesOnlyToBeGiven(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"a give":    {before: []communityEvent{roleDeleted}, want: chat.BadgeGone},
		"a removal": {before: []communityEvent{roleDeleted}, step: removal},
	})
}

func TestAnUnknownServerRefusesOnlyItsUser(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"another badge": {before: []communityEvent{serverGone}, step: giveOther, want: chat.CommunityGone},
		"a removal":     {before: []communityEvent{serverGone}, step: removal, want: chat.CommunityGone},
		"another user":  {before: []communityEvent{serverGone}, step: removal, user: 2},
	})
}

func TestPendingRulesRefuseTheUserUntilAPress(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"the user":     {before: []communityEvent{rulesPending}, want: chat.RulesPending},
		"another user": {before: []communityEvent{rulesPending}, user: 2},
		"a press":      {before: []communityEvent{rulesPending}, by: byPress},
	})
}

func TestAUserWhoCannotHaveABadgeIsNotRefused(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"not a member":     {before: []communityEvent{giveFails(chat.NotAMember, 1, 0)}},
		"an administrator": {before: []communityEvent{giveFails(chat.CannotHave, 1, 0)}},
	})
}

// awaitThrice calls await three times at once. wait blocks until all have returned, and returns when that was, sorted.
func awaitThrice(m *membersTest, ctx context.Context, here *community) (wait func() []time.Duration) {
	began := time.Now()
	at := make([]time.Duration, 3)
	var calling sync.WaitGroup
	for i := range at {
		calling.Go(func() {
			m.equal("error", here.await(ctx), nil)
			at[i] = time.Since(began)
		})
	}
	return func() []time.Duration {
		calling.Wait()
		slices.Sort(at)
		return at
	}
}

// Whether a pause begins before the calls or while they wait for a slot, they are a second apart after it. No slot is
// used up within the pause.
func TestCallsAfterAPauseAreASecondApart(t *testing.T) {
	pause := giveFails(chat.BadgeFailed, 1, 20*time.Second)
	want := []time.Duration{20 * time.Second, 21 * time.Second, 22 * time.Second}
	t.Run("the pause begins before the calls", func(t *testing.T) {
		inBubble(t, func(m *membersTest) {
			here := m.platform.community("9001")
			ctx, cancel := context.WithTimeout(m.Context(), settleLasts)
			defer cancel()
			pause(here, ctx)
			wait := awaitThrice(m, ctx, here)
			m.equal("calls at", wait(), want)
		})
	})
	t.Run("the pause begins while they wait for a slot", func(t *testing.T) {
		inBubble(t, func(m *membersTest) {
			here := m.platform.community("9001")
			ctx, cancel := context.WithTimeout(m.Context(), settleLasts)
			defer cancel()
			slotIsTaken(here, ctx)
			wait := awaitThrice(m, ctx, here)
			synctest.Wait()
			pause(here, ctx)
			m.equal("calls at", wait(), want)
		})
	})
}

func TestOutcomesAreCountedAndRefusalsLoggedOnceACycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		here.recordSuccess("1", step{give, "7001"})
		here.recordSuccess("1", step{give, "7001"})
		here.recordSuccess("1", step{remove, "7001"})
		for _, p := range []chat.BadgeProblem{
			chat.BadgeFailed, chat.MissingRight, chat.CommunityGone, chat.RoleAbove, chat.RoleAbove,
			chat.NotAMember, chat.CannotHave,
		} {
			here.recordFailure(m.Context(), "1", step{give, "7002"}, failure(p))
		}
		m.equal("events", m.events, map[string]int{
			"badge_given":   2,
			"badge_removed": 1,
			"badge_failed":  1,
			"badge_refused": 4,
		})
		m.equal("lines", m.log.Lines("may not give or remove"), 2)
		time.Sleep(5 * time.Hour)
		here.recordFailure(m.Context(), "1", step{give, "7002"}, failure(chat.RoleAbove))
		m.equal("lines in the next cycle", m.log.Lines("may not give or remove"), 3)
	})
}

// wornCase is two calls of wears for user 1, one after the other.
type wornCase struct {
	isCancelled bool          // the context of the first call is done
	forgotten   string        // during the first call, forgetWorn is called for this user
	pause       time.Duration // between the two calls
	asked       int           // how often the platform is asked
}

func TestAnAnswerIsCachedForAMinute(t *testing.T) {
	for name, c := range map[string]wornCase{
		"at once":                   {asked: 1},
		"within the minute":         {pause: wornTTL - 1, asked: 1},
		"a minute later":            {pause: wornTTL, asked: 2},
		"a day later":               {pause: 24 * time.Hour, asked: 2},
		"the first call gave up":    {isCancelled: true, asked: 2},
		"forgotten":                 {forgotten: "1", asked: 2},
		"forgotten, a second later": {forgotten: "1", pause: time.Second, asked: 2},
		"of another, forgotten":     {forgotten: "2", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				ctx, cancel := context.WithCancel(m.Context())
				defer cancel()
				m.change(func() {
					m.fault = func(call) error {
						m.fault = nil
						here.forgetWorn(c.forgotten)
						return nil
					}
				})
				if c.isCancelled {
					cancel()
				}
				_, _ = here.wears(ctx, "1")
				time.Sleep(c.pause)
				_, err := here.wears(m.Context(), "1")
				m.equal("answer", err, nil)
				m.equal("asked", m.asked, c.asked)
			})
		})
	}
}

func TestACommunityCachesALimitedNumber(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		for id := range maxCached + 1 {
			_, _ = here.wears(m.Context(), fmt.Sprint(id))
			here.refuse(subject{user: fmt.Sprint(id)}, chat.RulesPending)
		}
		m.equal("answers", len(here.worn), 1)
		m.equal("refusals", len(here.refusals), 1)
	})
}

// unlocked is a Limiter that fails the test if it is called while a community is locked. A Limiter that replicas share
// blocks, and the lock would delay others for as long.
type unlocked struct {
	ratelimit.Limiter
	*testing.T
	here *community
}

func (u unlocked) Reserve(ctx context.Context, within time.Duration, l ...ratelimit.Limit) (time.Duration, bool) {
	if !u.here.mu.TryLock() {
		u.Error("the community is locked")
		return 0, true
	}
	u.here.mu.Unlock()
	return u.Limiter.Reserve(ctx, within, l...)
}

func TestNoLockIsHeldWhileALimiterBlocks(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		m.Config.Limiter = unlocked{m.Config.Limiter, m.T, here}
		ctx, cancel := context.WithTimeout(m.Context(), settleLasts)
		defer cancel()
		for _, p := range []chat.BadgeProblem{chat.BadgeFailed, chat.MissingRight} {
			here.recordFailure(m.Context(), "1", step{give, "7001"}, failure(p))
			_ = here.await(ctx)
		}
	})
}

// A role that is deleted on the platform is dropped from every row that holds it.
func TestADeletedRoleIsDroppedFromEveryRow(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(8, 5, "6000")
		m.change(func() {
			m.fault = func(c call) error {
				if c.badge == "6000" {
					return failure(chat.BadgeGone)
				}
				return nil
			}
		})
		m.run()
		m.cycles(4)
		for id := range 8 {
			m.equal("left", strings.Contains(shown(m.saved(id+1)), "6000"), false)
		}
	})
}
