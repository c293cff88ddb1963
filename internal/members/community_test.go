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

// awaitCase is what has happened in server 9001, and how a call of user 1 for role 7001 waits then.
type awaitCase struct {
	before []happened
	by     caller
	action action        // or give
	badge  string        // or 7001
	within time.Duration // or no deadline
	want   string        // "" is allowed
	waits  time.Duration
}

type happened func(c *community, ctx context.Context)

func fails(p chat.BadgeProblem, times int, pause time.Duration) happened {
	return func(c *community, ctx context.Context) {
		for range times {
			err := &chat.BadgeError{Problem: p, RetryAfter: pause, Err: errFault}
			c.record(ctx, "1", step{give, "7001"}, err)
		}
	}
}

func calls(by caller) happened {
	return func(c *community, ctx context.Context) { _ = c.await(ctx, "1", step{give, "7001"}, by) }
}

func passes(d time.Duration) happened { return func(*community, context.Context) { time.Sleep(d) } }

func works(c *community, _ context.Context) { c.succeeded("1", step{give, "7001"}) }

func runAwait(t *testing.T, table map[string]awaitCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				for _, happens := range c.before {
					happens(here, m.Context())
				}
				ctx := m.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				if c.badge == "" {
					c.badge = "7001"
				}
				began, got := time.Now(), ""
				err := here.await(ctx, "1", step{cmp.Or(c.action, give), c.badge}, c.by)
				if failed := badgeError(err); failed != nil {
					got = string(failed.Problem)
				}
				if err == errTooSoon {
					got = "too soon"
				}
				m.equal("allowed", got, c.want)
				m.equal("waited", time.Since(began), c.waits)
			})
		})
	}
}

func TestCallsOfACommunityAreASecondApart(t *testing.T) {
	const half = time.Second / 2
	runAwait(t, map[string]awaitCase{
		"nothing before":      {},
		"a call":              {before: []happened{calls(byPress)}, waits: time.Second},
		"a call, and no time": {before: []happened{calls(byPress)}, within: half, want: "too soon"},
		"two calls": {
			before: []happened{calls(byPress), calls(byPress)}, within: 2 * time.Second, waits: time.Second,
		},
	})
}

func TestARefusedCallIsNotRepeatedForACycleOrByAPersonForAMinute(t *testing.T) {
	right, above, gone := string(chat.MissingRight), string(chat.RoleAbove), string(chat.CommunityGone)
	refused := fails(chat.MissingRight, 1, 0)
	roleAbove := fails(chat.RoleAbove, 1, 0)
	runAwait(t, map[string]awaitCase{
		"within the cycle":         {before: []happened{refused, passes(4 * time.Hour)}, want: right},
		"in the next cycle":        {before: []happened{refused, passes(5 * time.Hour)}},
		"within the minute":        {before: []happened{refused}, by: byPress, want: right},
		"after the minute":         {before: []happened{refused, passes(time.Minute)}, by: byPress},
		"by a command":             {before: []happened{refused, passes(time.Minute)}, by: byCommand},
		"after a success":          {before: []happened{refused, works}},
		"of a role above":          {before: []happened{roleAbove}, want: above},
		"of a role above; another": {before: []happened{roleAbove}, badge: "7002"},
		"of a right; another":      {before: []happened{refused}, badge: "7002", want: right},
		"of no server; another":    {before: []happened{fails(chat.CommunityGone, 1, 0)}, badge: "7002", want: gone},
		"of a role; a success":     {before: []happened{roleAbove, works}},
		"of a removal":             {before: []happened{refused}, action: remove, want: right},
		"of a deleted role":        {before: []happened{fails(chat.BadgeGone, 1, 0)}, want: string(chat.BadgeGone)},
		"of that; a removal":       {before: []happened{fails(chat.BadgeGone, 1, 0)}, action: remove},
		"of no server; a removal":  {before: []happened{fails(chat.CommunityGone, 1, 0)}, action: remove},
	})
}

func TestRefusalsOfOneUserHoldNobodyElse(t *testing.T) {
	runAwait(t, map[string]awaitCase{
		"not a member":            {before: []happened{fails(chat.NotAMember, 200, 0)}},
		"an administrator":        {before: []happened{fails(chat.CannotHave, 200, 0)}},
		"before the rules":        {before: []happened{fails(chat.RulesPending, 1, 0)}, want: string(chat.RulesPending)},
		"before the rules; press": {before: []happened{fails(chat.RulesPending, 1, 0)}, by: byPress},
	})
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		fails(chat.RulesPending, 200, 0)(here, m.Context())
		m.equal("another user", here.await(m.Context(), "2", step{give, "7001"}, byCycle), nil)
	})
}

func TestAPauseIsKept(t *testing.T) {
	pause := func(d time.Duration) []happened { return []happened{fails(chat.BadgeFailed, 1, d)} }
	runAwait(t, map[string]awaitCase{
		"none":                {before: pause(0)},
		"of 20 seconds":       {before: pause(20 * time.Second), waits: 20 * time.Second},
		"of a minute":         {before: pause(time.Minute), waits: time.Minute},
		"of more":             {before: pause(time.Minute + time.Second), want: "too soon"},
		"beyond the deadline": {before: pause(20 * time.Second), within: 10 * time.Second, want: "too soon"},
		"that is not shortened": {
			before: []happened{fails(chat.BadgeFailed, 1, 20*time.Second), fails(chat.BadgeFailed, 1, 0)},
			waits:  20 * time.Second,
		},
	})
}

func TestAHundredFailuresAnHourAreEnough(t *testing.T) {
	failed := string(chat.BadgeFailed)
	runAwait(t, map[string]awaitCase{
		"99":               {before: []happened{fails(chat.BadgeFailed, 99, 0)}},
		"100":              {before: []happened{fails(chat.BadgeFailed, 100, 0)}, by: byPress, want: failed},
		"100, and an hour": {before: []happened{fails(chat.BadgeFailed, 100, 0), passes(time.Hour)}},
	})
}

// Nobody uses up the slots within a pause. Those who wait for its end then go a second apart, and so do those who wait
// for a slot when a pause begins.
func TestCallsAfterAPauseAreASecondApart(t *testing.T) {
	for name, isWaiting := range map[string]bool{"who come in the pause": false, "who wait for a slot": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here, began := m.platform.community("9001"), time.Now()
				pause := fails(chat.BadgeFailed, 1, 20*time.Second)
				if isWaiting {
					_ = here.await(m.Context(), "1", step{give, "7001"}, byPress)
				} else {
					pause(here, m.Context())
				}
				at := make([]time.Duration, 3)
				var calling sync.WaitGroup
				for i := range at {
					calling.Go(func() {
						m.equal("allowed", here.await(m.Context(), "1", step{give, "7001"}, byPress), nil)
						at[i] = time.Since(began)
					})
				}
				synctest.Wait()
				if isWaiting {
					pause(here, m.Context())
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
			here.refuse(aboutUser(fmt.Sprint(id)), chat.RulesPending)
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
		for _, p := range []chat.BadgeProblem{chat.BadgeFailed, chat.MissingRight} {
			here.record(m.Context(), "1", step{give, "7001"}, failure(p))
			_ = here.await(m.Context(), "1", step{give, "7001"}, byPress)
		}
	})
}

// A role that is deleted on the platform is dropped from every row that holds it.
func TestADeletedRoleIsDroppedFromEveryRow(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(8, 5, "6000")
		m.failWith("9001", failure(chat.BadgeGone))
		m.run()
		m.cycles(4)
		var left []string
		for id := range 8 {
			left = append(left, shown(m.saved(id+1)))
		}
		m.equal("left", strings.Contains(fmt.Sprint(left), "6000"), false)
	})
}
