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
		have   int
		losing int
		want   bool
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

// counts is a tally: how many users have a badge, would lose it, were checked within a cycle, and are held if the fuse
// blows.
type counts struct {
	have    int
	losing  int
	checked int
	held    int
}

// notCounted are the counts of a badge or a server without a tally.
var notCounted = counts{have: -1}

func countsOf(t *tally) counts {
	if t == nil {
		return notCounted
	}
	return counts{t.have, t.losing, t.checked, len(t.notReleased)}
}

// countedCase is a row of user 1, and how it counts.
type countedCase struct {
	reaches int64  // -1 is none
	badges  string // as heldOf reads them
	change  func(r *Row)

	lower  counts // for role 7001
	higher counts // for role 7002
	server counts // for server 9001
}

func runCounted(t *testing.T, table map[string]countedCase) {
	t.Helper()
	for name, c := range table {
		inBubble(t, func(m *membersTest) {
			r := m.row(1, c.reaches)
			r.Badges = heldOf(m.platform.tiers, c.badges)
			if c.change != nil {
				c.change(&r)
			}
			n := newCensus()
			n.add(m.platform, r)
			m.equal(name+": role 7001", countsOf(n.badges[badgeKey{"9001", "7001"}]), c.lower)
			m.equal(name+": role 7002", countsOf(n.badges[badgeKey{"9001", "7002"}]), c.higher)
			m.equal(name+": server 9001", countsOf(n.communities["9001"]), c.server)
			m.equal(name+": users", len(n.users), 1)
		})
	}
}

// Counts of one user who has a badge.
var (
	oneKept     = counts{have: 1, checked: 1}
	oneLosing   = counts{have: 1, checked: 1, losing: 1, held: 1}
	oneReleased = counts{have: 1, checked: 1, losing: 1}
)

func TestARowCountsForItsBadgesAndTheirServer(t *testing.T) {
	forget := func(r *Row) { *r = r.afterForget() }
	runCounted(t, map[string]countedCase{
		"a badge": {
			badges: "7001",
			lower:  oneKept,
			higher: notCounted,
			server: oneKept,
		},
		"no badge": {
			lower:  notCounted,
			higher: notCounted,
			server: notCounted,
		},
		"forgotten": {
			badges: "7001:goes",
			change: forget,
			lower:  notCounted,
			higher: notCounted,
			server: notCounted,
		},
	})
}

func TestALowCheckCountsAsLosing(t *testing.T) {
	runCounted(t, map[string]countedCase{
		"a first one": {
			badges: "7001 7002:low",
			lower:  oneKept,
			higher: oneLosing,
			server: oneLosing,
		},
		"a second one": {
			badges: "7001 7002:goes",
			lower:  oneKept,
			higher: oneLosing,
			server: oneLosing,
		},
		"under other settings": {
			badges: "7001 7002:goesElsewhere",
			lower:  oneKept,
			higher: oneKept,
			server: oneKept,
		},
	})
}

func TestTheFuseDoesNotHoldReleasedBadges(t *testing.T) {
	runCounted(t, map[string]countedCase{
		"the only badge": {
			reaches: -1,
			badges:  "7001:goes:released",
			lower:   oneReleased,
			higher:  notCounted,
			server:  oneReleased,
		},
		"one of two": {
			reaches: -1,
			badges:  "7001:low 7002:goes:released",
			lower:   oneLosing,
			higher:  oneReleased,
			server:  oneLosing,
		},
	})
}

// A tick may be a tick late.
func TestARowCountsAsCheckedForACycleAndATick(t *testing.T) {
	checkedAgo := func(d time.Duration) func(*Row) {
		return func(r *Row) { r.CheckedAt = timeOf(time.Now().Add(-d)) }
	}
	unchecked := counts{have: 1}
	runCounted(t, map[string]countedCase{
		"within": {
			badges: "7001",
			change: checkedAgo(cycle + tickEvery),
			lower:  oneKept,
			higher: notCounted,
			server: oneKept,
		},
		"later": {
			badges: "7001",
			change: checkedAgo(cycle + tickEvery + time.Second),
			lower:  unchecked,
			higher: notCounted,
			server: unchecked,
		},
	})
}

func TestARenamedBadgeCountsForItsServer(t *testing.T) {
	runCounted(t, map[string]countedCase{
		"its user reaches another": {
			badges: "6000",
			lower:  notCounted,
			higher: notCounted,
			server: oneKept,
		},
		"its user reaches none": {
			reaches: -1,
			badges:  "6000",
			lower:   notCounted,
			higher:  notCounted,
			server:  oneLosing,
		},
	})
}

func TestTheFuseOfABadgeHoldsOnlyItsCommunity(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 30; id++ {
			r := m.row(id, 0, "7001")
			r.set(Held{Community: "9002", Badge: "7003", Since: r.SavedAt})
			if id <= 11 {
				r.set(Held{Community: "9001", Badge: "7002", Since: r.SavedAt})
			}
			m.put(r)
			m.setWorn("9001", id, "7001", "7002")
			m.setWorn("9002", id, "7003")
			m.stakesNow(id, 5)
		}
		m.stakesNow(30, 0)
		m.run()
		m.cycles(8)
		m.equal("of the held badge", strings.Count(m.wornIn("9001"), "7002"), 30)
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
		m.equal("worn", strings.Count(m.wornIn("9001"), "7001"), 11)
	})
}

// renameHigherRole renames role 7002 to 7009 while 30 users wear it, whose stake is then read as an amount. It returns
// after a day.
func (m *membersTest) renameHigherRole(stake int64) {
	const users = 30
	m.putStakers(users, 1000, "7001", "7002")
	for id := range users {
		m.stakesNow(id+1, stake)
	}
	m.restart(func(c *Config) {
		renamed := chat.Badge{Community: "9001", ID: "7009", Amount: roles[1].Amount}
		c.setBadges([]chat.Badge{roles[0], renamed, roles[2]})
	})
	m.cycles(4)
}

// wearing returns how many users wear a badge of server 9001.
func (f *fake) wearing(badge string) int { return strings.Count(f.wornIn("9001"), badge) }

// To rename a role that many users wear is an exchange.
func TestARenameDoesNotBlowTheFuse(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.renameHigherRole(1000)
		m.equal("7001", m.wearing("7001"), 30)
		m.equal("7002", m.wearing("7002"), 0)
		m.equal("7009", m.wearing("7009"), 30)
		m.equal("blown", m.event("fuse_blown"), 0)
	})
}

func TestABadNodeBlowsTheFuseAfterARename(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.renameHigherRole(0)
		m.equal("7001", m.wearing("7001"), 30)
		m.equal("7002", m.wearing("7002"), 30)
		m.equal("7009", m.wearing("7009"), 30)
		m.equal("blown", m.event("fuse_blown"), 1)
	})
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
		m.equal("worn", strings.Count(m.wornIn("9001"), "7001"), n)
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
		m.equal("worn", strings.Count(m.wornIn("9001"), "7002"), 30)
		s, err := m.Status("discord", "9001")
		m.equal("error", err, nil)
		m.equal("have", s.Have, 30)
		m.equal("losing", s.Losing, 30)
		m.equal("held", s.HeldBack, 30)
		m.equal("named", len(s.FirstHeldBack), 10)
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
			time.Sleep(censusTTL + tickEvery)
			rows, _, _, _ := m.Census()
			_, err := m.Status("discord", "9001")
			m.equal(fmt.Sprint("rows while down is ", down), rows == 1, !down)
			m.equal(fmt.Sprint("status while down is ", down), err == nil, !down)
		}
	})
}

// vanish deletes the values of users 1 to n without the bot, as a store does that loses them.
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
	for _, c := range []struct {
		have    int
		vanish  int
		missing int
	}{
		{have: 10, vanish: 10, missing: 0},
		{have: 11, vanish: 11, missing: 11},
		{have: 230, vanish: 11, missing: 11},
		{have: 231, vanish: 11, missing: 0},
	} {
		inBubble(t, func(m *membersTest) {
			for id := range c.have {
				m.put(m.row(id+1, -1))
			}
			m.run()
			vanish(m, c.vanish)
			m.ticks(1)
			m.equal(fmt.Sprint(c.vanish, " of ", c.have), m.event("rows_missing"), c.missing)
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
		m.equal("worn", m.wornIn("9001"), "1:7001+7002")
		m.stakesNow(1, 5)
		m.cycles(4)
		m.equal("once less is staked", m.wornIn("9001"), "1:7001")
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
