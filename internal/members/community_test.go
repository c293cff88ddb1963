package members

import (
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

// TestAwait has what may be called after what has happened, and how long that waits.
func TestAwait(t *testing.T) {
	type happened = func(c *community, ctx context.Context)
	fails := func(p chat.BadgeProblem, times int, pause time.Duration) happened {
		return func(c *community, ctx context.Context) {
			for range times {
				c.record(ctx, "1", step{badge: "7001"}, &chat.BadgeError{Problem: p, RetryAfter: pause, Err: errFault})
			}
		}
	}
	succeeds := func(c *community, ctx context.Context) { c.record(ctx, "1", step{badge: "7001"}, nil) }
	calls := func(by caller) happened {
		return func(c *community, ctx context.Context) { _ = c.await(ctx, "7001", by) }
	}
	passes := func(d time.Duration) happened { return func(*community, context.Context) { time.Sleep(d) } }
	const right, later = string(chat.MissingRight), "too soon"
	for name, c := range map[string]struct {
		before []happened
		by     caller
		badge  string        // or 7001
		within time.Duration // or no deadline
		want   string
		waits  time.Duration
	}{
		"nothing":                            {},
		"a call":                             {before: []happened{calls(byPerson)}, waits: time.Second},
		"two calls":                          {before: []happened{calls(byPerson), calls(byPerson)}, within: 2 * time.Second, waits: time.Second},
		"a call, and no time":                {before: []happened{calls(byPerson)}, within: time.Second / 2, want: later},
		"a refusal":                          {before: []happened{fails(chat.MissingRight, 1, 0)}, want: right},
		"a refusal; a person":                {before: []happened{fails(chat.MissingRight, 1, 0)}, by: byPerson},
		"another person within the minute":   {before: []happened{fails(chat.MissingRight, 1, 0), calls(byPerson)}, by: byPerson, want: right},
		"another person after the minute":    {before: []happened{fails(chat.MissingRight, 1, 0), calls(byPerson), passes(time.Minute)}, by: byPerson},
		"a person after the cycle":           {before: []happened{fails(chat.MissingRight, 1, 0), calls(byCycle)}, by: byPerson},
		"the cycle before":                   {before: []happened{fails(chat.MissingRight, 1, 0), passes(4 * time.Hour)}, want: right},
		"the next cycle":                     {before: []happened{fails(chat.MissingRight, 1, 0), passes(5 * time.Hour)}},
		"a refusal and a success":            {before: []happened{fails(chat.MissingRight, 1, 0), succeeds}},
		"a refused role":                     {before: []happened{fails(chat.RoleAbove, 1, 0)}, want: string(chat.RoleAbove)},
		"a refused role; another":            {before: []happened{fails(chat.RoleAbove, 1, 0)}, badge: "7002"},
		"a missing right; another role":      {before: []happened{fails(chat.MissingRight, 1, 0)}, badge: "7002", want: right},
		"no server; another role":            {before: []happened{fails(chat.CommunityGone, 1, 0)}, badge: "7002", want: string(chat.CommunityGone)},
		"a refused role that is given again": {before: []happened{fails(chat.RoleAbove, 1, 0), succeeds}},
		"no member":                          {before: []happened{fails(chat.NotAMember, 200, 0)}},
		"before the rules":                   {before: []happened{fails(chat.RulesPending, 200, 0)}},
		"an administrator":                   {before: []happened{fails(chat.CannotHave, 200, 0)}},
		"a failure":                          {before: []happened{fails(chat.BadgeFailed, 1, 0)}},
		"a pause":                            {before: []happened{fails(chat.BadgeFailed, 1, 20*time.Second)}, waits: 20 * time.Second},
		"a pause of a minute":                {before: []happened{fails(chat.BadgeFailed, 1, time.Minute)}, waits: time.Minute},
		"a longer pause":                     {before: []happened{fails(chat.BadgeFailed, 1, time.Minute+time.Second)}, want: later},
		"a pause beyond the deadline":        {before: []happened{fails(chat.BadgeFailed, 1, 20*time.Second)}, within: 10 * time.Second, want: later},
		"a failure within a pause":           {before: []happened{fails(chat.BadgeFailed, 1, 20*time.Second), fails(chat.BadgeFailed, 1, 0)}, waits: 20 * time.Second},
		"99 failures":                        {before: []happened{fails(chat.BadgeFailed, 99, 0)}},
		"100 failures":                       {before: []happened{fails(chat.BadgeFailed, 100, 0)}, by: byPerson, want: string(chat.BadgeFailed)},
		"100 failures, and an hour":          {before: []happened{fails(chat.BadgeFailed, 100, 0), passes(time.Hour)}},
	} {
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
				if err := here.await(ctx, c.badge, c.by); err == errTooSoon {
					got = later
				} else if err != nil {
					got = string(err.(*chat.BadgeError).Problem)
				}
				m.equal("allowed", got, c.want)
				m.equal("waited", time.Since(began), c.waits)
			})
		})
	}
}

// Nobody uses up the slots within a pause: those who wait for its end then go a second apart. So
// do those who wait for a slot when a pause begins.
func TestCallsAfterAPauseAreASecondApart(t *testing.T) {
	for name, waiting := range map[string]bool{"who come in the pause": false, "who wait for a slot": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here, began := m.platform.community("9001"), time.Now()
				pause := func() {
					here.record(m.Context(), "1", step{badge: "7001"}, &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: 20 * time.Second, Err: errFault})
				}
				if waiting {
					_ = here.await(m.Context(), "7001", byPerson)
				} else {
					pause()
				}
				var mu sync.Mutex
				var at []time.Duration
				var calling sync.WaitGroup
				for range 3 {
					calling.Go(func() {
						if err := here.await(m.Context(), "7001", byPerson); err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						at = append(at, time.Since(began))
					})
				}
				synctest.Wait()
				if waiting {
					pause()
				}
				calling.Wait()
				m.equal("calls", at, "[20s 21s 22s]")
			})
		})
	}
}

// What fails is counted, and a refusal is logged once a cycle.
func TestOutcomesAreCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		note := func(s step, p chat.BadgeProblem) {
			err := &chat.BadgeError{Problem: p, Err: errFault}
			if p == "" {
				err = nil
			}
			here.record(m.Context(), "1", s, err)
		}
		note(step{}, "")
		note(step{}, "")
		note(step{remove: true}, "")
		for _, p := range []chat.BadgeProblem{chat.BadgeFailed, chat.MissingRight, chat.CommunityGone, chat.RoleAbove, chat.RoleAbove, chat.NotAMember, chat.CannotHave} {
			note(step{badge: "7002"}, p)
		}
		m.equal("events", m.events, "map[badge_failed:1 badge_given:2 badge_refused:4 badge_removed:1]")
		s, err := m.Status("discord", "9001")
		if err != nil || s.Gives != 2 || s.Removals != 1 || s.Refused != chat.CommunityGone {
			t.Errorf("status %+v, %v", s, err)
		}
		m.equal("warnings", strings.Count(m.log.String(), "may not give or remove"), 2)
		time.Sleep(5 * time.Hour)
		note(step{badge: "7002"}, chat.RoleAbove)
		m.equal("warnings in the next cycle", strings.Count(m.log.String(), "may not give or remove"), 3)
	})
}

// TestStatusOfRefusals has what moderators of server 9001 see after refused calls.
func TestStatusOfRefusals(t *testing.T) {
	type call struct {
		community, badge string
		problem          chat.BadgeProblem // "" is a success
	}
	for name, c := range map[string]struct {
		calls []call
		want  chat.BadgeProblem
	}{
		"none":                     {},
		"the server":               {[]call{{"9001", "7001", chat.MissingRight}}, chat.MissingRight},
		"the first role":           {[]call{{"9001", "7001", chat.RoleAbove}}, chat.RoleAbove},
		"the second role":          {[]call{{"9001", "7002", chat.BadgeGone}}, chat.BadgeGone},
		"a role and the server":    {[]call{{"9001", "7001", chat.RoleAbove}, {"9001", "7002", chat.MissingRight}}, chat.MissingRight},
		"a role, and then another": {[]call{{"9001", "7001", chat.RoleAbove}, {"9001", "7002", ""}}, chat.RoleAbove},
		"a role, and then it":      {[]call{{"9001", "7001", chat.RoleAbove}, {"9001", "7001", ""}}, ""},
		"one of another server":    {[]call{{"9002", "7003", chat.RoleAbove}}, ""},
		"one that is taken out":    {[]call{{"9001", "6000", chat.RoleAbove}}, ""},
	} {
		inBubble(t, func(m *membersTest) {
			for _, call := range c.calls {
				var err *chat.BadgeError
				if call.problem != "" {
					err = &chat.BadgeError{Problem: call.problem, Err: errFault}
				}
				m.platform.community(call.community).record(m.Context(), "1", step{badge: call.badge}, err)
			}
			s, err := m.Status("discord", "9001")
			m.equal(name, fmt.Sprint(s.Refused, err), string(c.want)+"<nil>")
		})
	}
}

func TestStatusCountsEachBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		old := m.current(3, 1, "7001")
		old.CheckedAt = timeOf(time.Now().Add(-24 * time.Hour))
		m.put(m.current(1, 2, "7001", "7002"), m.current(2, 1, "7001"), old)
		m.platform.community("9001").record(m.Context(), "1", step{badge: "7002"}, &chat.BadgeError{Problem: chat.RoleAbove, Err: errFault})
		s, err := m.Status("discord", "9001")
		var got []string
		for _, each := range s.Each {
			got = append(got, fmt.Sprint(each.ID, " ", each.Have, " ", each.Checked, " ", each.Refused))
		}
		m.equal("the badges", fmt.Sprint(strings.Join(got, "; "), err), "7001 3 2 ; 7002 1 1 role_above<nil>")
	})
}

// unlocked is a Limiter that fails the test if it is called while a community is locked, because a
// shared one blocks.
type unlocked struct {
	ratelimit.Limiter
	*testing.T
	here *community
}

func (u unlocked) Reserve(ctx context.Context, within time.Duration, limits ...ratelimit.Limit) (time.Duration, bool) {
	if !u.here.mu.TryLock() {
		u.Error("the community is locked")
		return 0, true
	}
	u.here.mu.Unlock()
	return u.Limiter.Reserve(ctx, within, limits...)
}

func TestNoLockIsHeldWhileALimiterBlocks(t *testing.T) {
	m := newMembersTest(t)
	here := m.platform.community("9001")
	m.Config.Limiter = unlocked{m.Config.Limiter, t, here}
	for _, p := range []chat.BadgeProblem{chat.BadgeFailed, chat.MissingRight} {
		here.record(t.Context(), "1", step{badge: "7001"}, &chat.BadgeError{Problem: p, Err: errFault})
		_ = here.await(t.Context(), "7001", byPerson)
	}
}
