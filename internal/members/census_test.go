package members

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

func TestTheFuseBlowsAboveTenAndOneInTwenty(t *testing.T) {
	for _, c := range []struct {
		have, losing int
		want         bool
	}{
		{0, 0, false},
		{10, 10, false},
		{11, 11, true},
		{219, 11, true},
		{220, 11, false},
		{240, 12, false},
		{240, 13, true},
		{10_000, 501, true},
	} {
		if got := (tally{have: c.have, losing: c.losing}).isBlown(); got != c.want {
			t.Errorf("%d of %d: %t", c.losing, c.have, got)
		}
	}
}

// countedCase is a row of user 1, and how it counts for role 7001, role 7002, and server 9001.
type countedCase struct {
	reaches int64
	badges  string
	change  func(r *Row)
	want    string
}

// tallied returns "have losing checked held" of a tally.
func tallied(t *tally) string {
	if t == nil {
		return "-"
	}
	return fmt.Sprint(t.have, t.losing, t.checked, len(t.held))
}

func TestEachRowCountsForItsBadges(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		late := func(d time.Duration) func(*Row) {
			return func(r *Row) { r.CheckedAt = timeOf(time.Now().Add(-d)) }
		}
		for name, c := range map[string]countedCase{
			"has its badge":              {0, "7001", nil, "1 0 1 0, -, 1 0 1 0"},
			"has none":                   {0, "", nil, "-, -, -"},
			"a first low check":          {0, "7001 7002:low", nil, "1 0 1 0, 1 1 1 1, 1 1 1 1"},
			"two":                        {0, "7001 7002:goes", nil, "1 0 1 0, 1 1 1 1, 1 1 1 1"},
			"two under other settings":   {0, "7001 7002:goesElsewhere", nil, "1 0 1 0, 1 0 1 0, 1 0 1 0"},
			"is released":                {-1, "7001:goes:released", nil, "1 1 1 0, -, 1 1 1 0"},
			"one of two is released":     {-1, "7001:low 7002:goes:released", nil, "1 1 1 1, 1 1 1 0, 1 1 1 1"},
			"not checked for a cycle":    {0, "7001", late(cycle + tickEvery + time.Second), "1 0 0 0, -, 1 0 0 0"},
			"checked as a tick is late":  {0, "7001", late(cycle + tickEvery), "1 0 1 0, -, 1 0 1 0"},
			"is forgotten":               {0, "7001:goes", func(r *Row) { *r = r.afterForget() }, "-, -, -"},
			"renamed, and others remain": {0, "6000", nil, "-, -, 1 0 1 0"},
			"renamed, and none remains":  {-1, "6000", nil, "-, -, 1 1 1 1"},
		} {
			r := m.row(1, c.reaches)
			r.Badges = heldOf(m.platform.tiers, c.badges)
			if c.change != nil {
				c.change(&r)
			}
			n := newCensus()
			n.add(m.platform, r)
			got := tallied(n.badges[badgeKey{"9001", "7001"}]) + ", " + tallied(n.badges[badgeKey{"9001", "7002"}]) +
				", " + tallied(n.communities["9001"])
			m.equal(name, got, c.want)
			m.equal(name+": users", len(n.users), 1)
		}
	})
}

func TestTheFuseOfABadgeHoldsItsCommunityAlone(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 30; id++ {
			r := m.row(id, 0, "7001")
			r.set(Held{Community: "9002", Badge: "7003", Since: r.SavedAt})
			if id <= 11 {
				r.set(Held{Community: "9001", Badge: "7002", Since: r.SavedAt})
			}
			m.put(r)
			m.wears("9001", id, "7001", "7002")
			m.wears("9002", id, "7003")
			m.stakesNow(id, 5)
		}
		m.stakesNow(30, 0)
		m.run()
		m.cycles(8)
		m.equal("of the held badge", strings.Count(m.seen("9001"), "7002"), 30)
		m.equal("of user 30 in 9001", m.saved(30).index("9001", "7001") >= 0, true)
		m.equal("of user 30 in 9002", m.saved(30).index("9002", "7003"), -1)
		m.equal("blown", m.event("fuse_blown"), 1)
		m.equal("lines", m.log.Lines("losing=11 of=11"), 1)
	})
}

func TestAFuseThatBlowsAgainIsToldAgain(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(11, 5, "7001")
		m.run()
		for round := range 2 {
			for id := range 11 {
				m.stakesNow(id+1, 0)
			}
			m.cycles(4)
			m.equal("blown", m.event("fuse_blown"), round+1)
			for id := range 11 {
				m.stakesNow(id+1, 5)
			}
			m.cycles(2)
			_, _, held, _ := m.Census()
			m.equal("held once all stake again", held, 0)
		}
		m.equal("worn", strings.Count(m.seen("9001"), "7001"), 11)
	})
}

// To rename a role that many users wear is an exchange. A bad node that would take it from them is not.
func TestARenameDoesNotBlowTheFuseAndABadNodeDoes(t *testing.T) {
	renamed := []chat.Badge{roles[0], {Community: "9001", ID: "7009", Amount: roles[1].Amount}, roles[2]}
	for name, c := range map[string]struct {
		stake int64
		after string // the number of 7001, 7002 and 7009 that are worn
		blown int
	}{
		"all reach the new one":  {1000, "30 0 30", 0},
		"the node finds nothing": {0, "30 30 30", 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.putStakers(30, 1000, "7001", "7002")
				for id := range 30 {
					m.stakesNow(id+1, c.stake)
				}
				m.restart(func(c *Config) { c.setBadges(renamed) })
				m.cycles(4)
				worn := m.seen("9001")
				got := fmt.Sprint(strings.Count(worn, "7001"), strings.Count(worn, "7002"), strings.Count(worn, "7009"))
				m.equal("worn", got, c.after)
				m.equal("blown", m.event("fuse_blown"), c.blown)
			})
		})
	}
}

// The new role and the new pools come in one change, and the node reads no stake in these. Each tick checks a few.
func TestAReplacedRoleIsHeldIfTheNewPoolsReadNothing(t *testing.T) {
	replaced := []chat.Badge{{Community: "9001", ID: "7009"}, roles[2]}
	inBubble(t, func(m *membersTest) {
		const n = 60
		m.putStakers(n, 5, "7001")
		for id := range n {
			m.stakesNow(id+1, 0)
			row := m.saved(id + 1)
			row.Due = timeOf(time.Now().Add(time.Duration(id) * cycle / n))
			m.put(row)
		}
		m.restart(func(c *Config) {
			c.setBadges(replaced)
			c.Pools = poolList(3)
		})
		m.cycles(4)
		m.equal("worn", strings.Count(m.seen("9001"), "7001"), n)
		m.equal("blown", m.event("fuse_blown"), 1)
	})
}

func TestATagThatManyWouldLoseIsHeld(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.oneEach = true })
		m.putStakers(30, 1000, "7002")
		for id := range 30 {
			m.stakesNow(id+1, 5)
		}
		m.run()
		m.cycles(4)
		m.equal("worn", strings.Count(m.seen("9001"), "7002"), 30)
		s, err := m.Status("discord", "9001")
		m.equal("status", fmt.Sprint(s.Have, s.Losing, s.Held, len(s.FirstHeld), err), "30 30 30 10 <nil>")
	})
}

func TestNothingIsRemovedBeforeAllRowsAreCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		settleCase{reaches: -1, badges: "7001:goes"}.prepare(m)
		m.use(m.config())
		m.settle(m.Context(), m.platform.community("9001"), user(1), byPress)
		m.equal("calls", m.called(), "")
		rows, checked, held, unreadable := m.Census()
		m.equal("census", []float64{rows, checked, held, unreadable}, "[NaN NaN NaN NaN]")
		_, err := m.Status("discord", "9001")
		m.equal("status", err, errUnread)
	})
}

func TestTheCensusIsUnknownWhileTheRowsCannotBeRead(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0, "7001"))
		m.run()
		for _, down := range []bool{false, true, false} {
			m.change(func() { m.down = down })
			time.Sleep(censusLasts + tickEvery)
			rows, _, _, _ := m.Census()
			_, err := m.Status("discord", "9001")
			m.equal(fmt.Sprint("rows while down is ", down), rows == 1, !down)
			m.equal(fmt.Sprint("status while down is ", down), err == nil, !down)
		}
	})
}

// vanish deletes the values of users 1 to n behind the bot.
func vanish(m *membersTest, n int) {
	b := m.memory.Bucket("members/discord-42")
	for id := 1; id <= n; id++ {
		value, _ := b.Load(m.Context(), fmt.Sprint(id))
		_, _ = b.Replace(m.Context(), fmt.Sprint(id), value, nil)
	}
}

func TestRowsThatVanishAreCountedExactly(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(30, 5, "7001")
		m.run()
		vanish(m, 24)
		m.presses(wallet(1), 5) // User 1 presses again: 23 are missing.
		m.ticks(1)
		m.equal("missing", m.event("rows_missing"), 23)
		m.equal("lines", m.log.Lines("missing=23 left=7"), 1)
		m.ticks(2)
		m.equal("and no more", m.event("rows_missing"), 23)
	})
}

func TestRowsThatAreForgottenHereAreNotMissing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(30, 5, "7001")
		m.run()
		for id := 1; id <= 24; id++ {
			_, err := m.Forget(m.Context(), user(id))
			m.equal("forget", err, nil)
		}
		m.cycles(1)
		m.equal("missing", m.event("rows_missing"), 0)
		rows, _, _, _ := m.Census()
		m.equal("left", rows, 6)
	})
}

func TestAFewRowsThatOtherReplicasDeleteAreNotMissing(t *testing.T) {
	for name, c := range map[string]struct{ have, vanish, missing int }{
		"ten":            {10, 10, 0},
		"eleven":         {11, 11, 11},
		"eleven of many": {231, 11, 0},
		"one in twenty":  {230, 11, 11},
	} {
		inBubble(t, func(m *membersTest) {
			for id := range c.have {
				m.put(m.row(id+1, -1))
			}
			m.run()
			vanish(m, c.vanish)
			m.ticks(1)
			m.equal(name, m.event("rows_missing"), c.missing)
		})
	}
}

// Redis comes back with yesterday's rows.
func TestYesterdaysRowsLeaveNoBadgeWrong(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		yesterday := valueOf(m, "1")
		time.Sleep(time.Hour)
		m.presses(wallet(1), 1000)
		time.Sleep(24 * time.Hour)
		putValue(m, "1", yesterday)
		m.cycles(2)
		m.equal("worn", m.seen("9001"), "1:7001+7002")
		m.stakesNow(1, 5)
		m.cycles(4)
		m.equal("once less is staked", m.seen("9001"), "1:7001")
	})
}

func TestCommandsOfStrangersLoadNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.equal("before a press", m.platform.latest.knows("1"), false)
		m.presses(wallet(1), 0)
		m.equal("after it", m.platform.latest.knows("1"), true)
		m.ticks(2)
		m.equal("after a tick", m.platform.latest.knows("1"), true)
		_, _ = m.Forget(m.Context(), user(1))
		m.equal("after /forget", m.platform.latest.knows("1"), false)
	})
}
