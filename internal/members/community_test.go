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

// fails is a give of 7001 to user 1 that fails, so many times.
func fails(p chat.BadgeProblem, times int, pause time.Duration) happened {
	return func(c *community, ctx context.Context) {
		for range times {
			err := &chat.BadgeError{Problem: p, RetryAfter: pause, Err: errFault}
			c.record(ctx, "1", step{give, "7001"}, err)
		}
	}
}

func calls(c *community, ctx context.Context) { _ = c.await(ctx) }

func passes(d time.Duration) happened { return func(*community, context.Context) { time.Sleep(d) } }

func works(c *community, _ context.Context) { c.succeeded("1", step{give, "7001"}) }

// awaitCase is how long a call waits after what has happened in its community.
type awaitCase struct {
	before []happened
	within time.Duration // of a deadline, or settleLasts
	waits  time.Duration // -1: too long
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
					m.equal("error", err, errTooSoon)
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

// refusedCase is why a step for user 1 is not taken after what has happened.
type refusedCase struct {
	before []happened
	by     caller
	step   step // or to give 7001
	user   int  // or 1
	want   chat.BadgeProblem
}

func TestARefusedCallIsNotRepeatedForACycleOrByAPersonForAMinute(t *testing.T) {
	refused, roleAbove := fails(chat.MissingRight, 1, 0), fails(chat.RoleAbove, 1, 0)
	roleGone, serverGone := fails(chat.BadgeGone, 1, 0), fails(chat.CommunityGone, 1, 0)
	rules := fails(chat.RulesPending, 1, 0)
	other, removal := step{give, "7002"}, step{remove, "7001"}
	const right = chat.MissingRight
	for name, c := range map[string]refusedCase{
		"within the cycle":           {before: []happened{refused, passes(4 * time.Hour)}, want: right},
		"in the next cycle":          {before: []happened{refused, passes(5 * time.Hour)}},
		"within the minute":          {before: []happened{refused}, by: byPress, want: right},
		"after the minute":           {before: []happened{refused, passes(time.Minute)}, by: byPress},
		"by a command":               {before: []happened{refused, passes(time.Minute)}, by: byCommand},
		"after a success":            {before: []happened{refused, works}},
		"of another user":            {before: []happened{refused}, user: 2, want: right},
		"of a right; another":        {before: []happened{refused}, step: other, want: right},
		"of a right; a removal":      {before: []happened{refused}, step: removal, want: right},
		"of a role above":            {before: []happened{roleAbove}, want: chat.RoleAbove},
		"of a role above; another":   {before: []happened{roleAbove}, step: other},
		"of a role; a success":       {before: []happened{roleAbove, works}},
		"of a deleted role":          {before: []happened{roleGone}, want: chat.BadgeGone},
		"of that; a removal":         {before: []happened{roleGone}, step: removal},
		"of no server; another":      {before: []happened{serverGone}, step: other, want: chat.CommunityGone},
		"of no server; a removal":    {before: []happened{serverGone}, step: removal, want: chat.CommunityGone},
		"of no server; another user": {before: []happened{serverGone}, step: removal, user: 2},
		"of a right; a question":     {before: []happened{refused}, step: step{action: ask}},
		"before the rules":           {before: []happened{rules}, want: chat.RulesPending},
		"before the rules; another":  {before: []happened{rules}, user: 2},
		"before the rules; by press": {before: []happened{rules}, by: byPress},
		"not a member":               {before: []happened{fails(chat.NotAMember, 1, 0)}},
		"an administrator":           {before: []happened{fails(chat.CannotHave, 1, 0)}},
	} {
		inBubble(t, func(m *membersTest) {
			here := m.platform.community("9001")
			for _, happens := range c.before {
				happens(here, m.Context())
			}
			s := cmp.Or(c.step, step{give, "7001"})
			m.equal(name, here.refusedBefore(fmt.Sprint(cmp.Or(c.user, 1)), s, c.by), c.want)
		})
	}
}

// Nobody uses up the slots within a pause. Those who wait for its end then go a second apart, and so do those who wait
// for a slot when a pause begins.
func TestCallsAfterAPauseAreASecondApart(t *testing.T) {
	for name, isWaiting := range map[string]bool{"who come in the pause": false, "who wait for a slot": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here, began := m.platform.community("9001"), time.Now()
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
				m.equal("in all", at[0]+at[1]+at[2], 63*time.Second)
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
		m.equal("events", m.events, "map[badge_failed:1 badge_given:2 badge_refused:4 badge_removed:1]")
		m.equal("lines", m.log.Lines("may not give or remove"), 2)
		time.Sleep(5 * time.Hour)
		here.record(m.Context(), "1", step{give, "7002"}, failure(chat.RoleAbove))
		m.equal("lines in the next cycle", m.log.Lines("may not give or remove"), 3)
	})
}

// wornCase is what happens in the middle of a question for what user 1 wears.
type wornCase struct {
	isCancelled bool
	user        string        // is forgotten meanwhile, or nobody
	then        time.Duration // until the next question
	asked       int
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

func TestWhatACommunityRemembersIsBounded(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		for id := range maxRemembered + 1 {
			_, _ = here.wears(m.Context(), fmt.Sprint(id))
			here.refuse(about{user: fmt.Sprint(id)}, chat.RulesPending)
		}
		m.equal("remembered", fmt.Sprint(len(here.worn), len(here.refusals)), "1 1")
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
		var left []string
		for id := range 8 {
			left = append(left, shown(m.saved(id+1)))
		}
		m.equal("left", strings.Contains(fmt.Sprint(left), "6000"), false)
	})
}
