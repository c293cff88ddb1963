package members

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// happened is something that happens in a community.
type happened func(c *community, ctx context.Context)

// fails returns that a give of 7001 to user 1 fails, a number of times. The platform asks for a pause.
func fails(p chat.BadgeProblem, times int, pause time.Duration) happened {
	return func(c *community, ctx context.Context) {
		for range times {
			err := &chat.BadgeError{Problem: p, RetryAfter: pause, Err: errFault}
			c.record(ctx, "1", step{give, "7001"}, err)
		}
	}
}

// calls is a call that waits for its slot.
func calls(c *community, ctx context.Context) { _ = c.await(ctx) }

// passes returns that time passes.
func passes(d time.Duration) happened { return func(*community, context.Context) { time.Sleep(d) } }

// works is a give of 7001 to user 1 that succeeds.
func works(c *community, _ context.Context) { c.succeeded("1", step{give, "7001"}) }

// awaitCase is a call after what has happened in its community.
type awaitCase struct {
	before []happened
	within time.Duration // until its deadline; 0: settleLasts
	waits  time.Duration // how long it waits; -1: it fails at once, because it would wait too long
}

func runAwait(t *testing.T, table map[string]awaitCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				ctx, cancel := context.WithTimeout(m.Context(), 24*time.Hour)
				defer cancel()
				for _, happens := range c.before {
					happens(here, ctx)
				}
				ctx, cancel = context.WithTimeout(m.Context(), cmp.Or(c.within, settleLasts))
				defer cancel()
				began := time.Now()
				err := here.await(ctx)
				waited := time.Since(began)
				if c.waits < 0 {
					m.equal("error", err, errWaitTooLong)
					m.equal("waited in vain", waited, 0*time.Second)
					return
				}
				m.equal("error", err, nil)
				m.equal("waited", waited, c.waits)
			})
		})
	}
}

func TestCallsOfACommunityAreASecondApart(t *testing.T) {
	runAwait(t, map[string]awaitCase{
		"nothing before":      {},
		"a call":              {before: []happened{calls}, waits: time.Second},
		"two calls":           {before: []happened{calls, calls}, waits: time.Second},
		"a call, and no time": {before: []happened{calls}, within: callTime + time.Second/2, waits: -1},
	})
}

func TestAPauseIsKept(t *testing.T) {
	pause := func(d time.Duration) []happened { return []happened{fails(chat.BadgeFailed, 1, d)} }
	runAwait(t, map[string]awaitCase{
		"none":                {before: pause(0)},
		"of 20 seconds":       {before: pause(20 * time.Second), waits: 20 * time.Second},
		"beyond the deadline": {before: pause(settleLasts), waits: -1},
		"that is not shortened": {
			before: []happened{fails(chat.BadgeFailed, 1, 20*time.Second), fails(chat.BadgeFailed, 1, 0)},
			waits:  20 * time.Second,
		},
	})
}

func TestAHundredFailuresAnHourAreEnough(t *testing.T) {
	runAwait(t, map[string]awaitCase{
		"99":               {before: []happened{fails(chat.BadgeFailed, 99, 0)}},
		"100":              {before: []happened{fails(chat.BadgeFailed, 100, 0)}, waits: -1},
		"100, and an hour": {before: []happened{fails(chat.BadgeFailed, 100, 0), passes(time.Hour)}},
	})
}

// refusedCase is a step for user 1 after what has happened.
type refusedCase struct {
	before []happened
	by     caller
	step   step              // zero: to give 7001
	user   int               // 0: user 1
	want   chat.BadgeProblem // why the step is not taken; empty: it is taken
}

func runRefused(t *testing.T, table map[string]refusedCase) {
	t.Helper()
	for name, c := range table {
		inBubble(t, func(m *membersTest) {
			here := m.platform.community("9001")
			for _, happens := range c.before {
				happens(here, m.Context())
			}
			user := fmt.Sprint(cmp.Or(c.user, 1))
			next := cmp.Or(c.step, step{give, "7001"})
			m.equal(name, here.refusedBefore(user, next, c.by), c.want)
		})
	}
}

// Refusals of a give of 7001 to user 1, and other steps.
var (
	missingRight = fails(chat.MissingRight, 1, 0)
	roleAbove    = fails(chat.RoleAbove, 1, 0)
	roleDeleted  = fails(chat.BadgeGone, 1, 0)
	serverGone   = fails(chat.CommunityGone, 1, 0)
	rulesPending = fails(chat.RulesPending, 1, 0)

	giveOther = step{give, "7002"}
	removal   = step{remove, "7001"}
)

func TestARefusedCallIsNotRepeatedForACycle(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"within the cycle":  {before: []happened{missingRight, passes(4 * time.Hour)}, want: chat.MissingRight},
		"in the next cycle": {before: []happened{missingRight, passes(5 * time.Hour)}},
		"after a success":   {before: []happened{missingRight, works}},
	})
}

func TestAUserRepeatsARefusedCallAfterAMinute(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"within the minute": {before: []happened{missingRight}, by: byPress, want: chat.MissingRight},
		"by a press":        {before: []happened{missingRight, passes(time.Minute)}, by: byPress},
		"by a command":      {before: []happened{missingRight, passes(time.Minute)}, by: byCommand},
	})
}

func TestAMissingRightRefusesAllChanges(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"another user":  {before: []happened{missingRight}, user: 2, want: chat.MissingRight},
		"another badge": {before: []happened{missingRight}, step: giveOther, want: chat.MissingRight},
		"a removal":     {before: []happened{missingRight}, step: removal, want: chat.MissingRight},
		"a question":    {before: []happened{missingRight}, step: step{action: ask}},
	})
}

func TestARoleAboveRefusesOnlyThatRole(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"the same role":   {before: []happened{roleAbove}, want: chat.RoleAbove},
		"another role":    {before: []happened{roleAbove}, step: giveOther},
		"after a success": {before: []happened{roleAbove, works}},
	})
}

func TestADeletedRoleRefusesOnlyToBeGiven(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"a give":    {before: []happened{roleDeleted}, want: chat.BadgeGone},
		"a removal": {before: []happened{roleDeleted}, step: removal},
	})
}

func TestAnUnknownServerRefusesOnlyItsUser(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"another badge": {before: []happened{serverGone}, step: giveOther, want: chat.CommunityGone},
		"a removal":     {before: []happened{serverGone}, step: removal, want: chat.CommunityGone},
		"another user":  {before: []happened{serverGone}, step: removal, user: 2},
	})
}

func TestPendingRulesRefuseTheUserUntilAPress(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"the user":     {before: []happened{rulesPending}, want: chat.RulesPending},
		"another user": {before: []happened{rulesPending}, user: 2},
		"a press":      {before: []happened{rulesPending}, by: byPress},
	})
}

func TestAUserWhoCannotHaveABadgeIsNotRefused(t *testing.T) {
	runRefused(t, map[string]refusedCase{
		"not a member":     {before: []happened{fails(chat.NotAMember, 1, 0)}},
		"an administrator": {before: []happened{fails(chat.CannotHave, 1, 0)}},
	})
}

// Calls that wait for the end of a pause are then made a second apart, and so are calls that wait for a slot when a
// pause begins. No slot is used up within a pause.
func TestCallsAfterAPauseAreASecondApart(t *testing.T) {
	for name, isWaiting := range map[string]bool{"calls within the pause": false, "calls that wait for a slot": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				began := time.Now()
				ctx, cancel := context.WithTimeout(m.Context(), settleLasts)
				defer cancel()
				pause := fails(chat.BadgeFailed, 1, 20*time.Second)
				if isWaiting {
					calls(here, ctx)
				} else {
					pause(here, ctx)
				}
				at := make([]time.Duration, 3)
				var calling sync.WaitGroup
				for i := range at {
					calling.Go(func() {
						m.equal("allowed", here.await(ctx), nil)
						at[i] = time.Since(began)
					})
				}
				synctest.Wait()
				if isWaiting {
					pause(here, ctx)
				}
				calling.Wait()
				m.equal("the sum of 20, 21 and 22 s", at[0]+at[1]+at[2], 63*time.Second)
			})
		})
	}
}

func TestOutcomesAreCountedAndRefusalsLoggedOnceACycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		here.succeeded("1", step{give, "7001"})
		here.succeeded("1", step{give, "7001"})
		here.succeeded("1", step{remove, "7001"})
		for _, p := range []chat.BadgeProblem{
			chat.BadgeFailed, chat.MissingRight, chat.CommunityGone, chat.RoleAbove, chat.RoleAbove,
			chat.NotAMember, chat.CannotHave,
		} {
			here.record(m.Context(), "1", step{give, "7002"}, failure(p))
		}
		m.equal("events", m.events, map[string]int{
			"badge_given":   2,
			"badge_removed": 1,
			"badge_failed":  1,
			"badge_refused": 4,
		})
		m.equal("lines", m.log.Lines("may not give or remove"), 2)
		time.Sleep(5 * time.Hour)
		here.record(m.Context(), "1", step{give, "7002"}, failure(chat.RoleAbove))
		m.equal("lines in the next cycle", m.log.Lines("may not give or remove"), 3)
	})
}

// wornCase is two questions about what user 1 wears.
type wornCase struct {
	isCancelled bool          // the caller of the first question gives up
	user        string        // a call for this user is made during the first question; empty: none
	then        time.Duration // until the second question
	asked       int           // how often the platform is asked
}

func TestAnAnswerIsRememberedForAMinute(t *testing.T) {
	for name, c := range map[string]wornCase{
		"a minute later":       {then: wornTTL, asked: 2},
		"within the minute":    {then: wornTTL - 1, asked: 1},
		"a caller gives up":    {isCancelled: true, asked: 2},
		"overtaken by a call":  {user: "1", asked: 2},
		"a call for another":   {user: "2", asked: 1},
		"of two at a time":     {asked: 1},
		"of two, a day apart":  {then: 24 * time.Hour, asked: 2},
		"overtaken, and later": {user: "1", then: time.Second, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				ctx, cancel := context.WithCancel(m.Context())
				defer cancel()
				m.change(func() {
					m.fault = func(call) error {
						m.fault = nil
						here.forgetWorn(c.user)
						return nil
					}
				})
				if c.isCancelled {
					cancel()
				}
				_, _ = here.wears(ctx, "1")
				time.Sleep(c.then)
				_, err := here.wears(m.Context(), "1")
				m.equal("answer", err, nil)
				m.equal("asked", m.asked, c.asked)
			})
		})
	}
}

func TestACommunityRemembersALimitedNumber(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		for id := range maxRemembered + 1 {
			_, _ = here.wears(m.Context(), fmt.Sprint(id))
			here.refuse(subject{user: fmt.Sprint(id)}, chat.RulesPending)
		}
		m.equal("answers", len(here.worn), 1)
		m.equal("refusals", len(here.refusals), 1)
	})
}

// unlocked is a Limiter that fails the test if it is called while a community is locked, because a shared one blocks.
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
			here.record(m.Context(), "1", step{give, "7001"}, failure(p))
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
