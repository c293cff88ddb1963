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
		losing  int
		have    int
		isBlown bool
	}{
		{losing: 0, have: 0, isBlown: false},
		{losing: 10, have: 10, isBlown: false},
		{losing: 11, have: 11, isBlown: true},
		{losing: 11, have: 219, isBlown: true},
		{losing: 11, have: 220, isBlown: false},
		{losing: 12, have: 240, isBlown: false},
		{losing: 13, have: 240, isBlown: true},
		{losing: 501, have: 10_000, isBlown: true},
	} {
		if got := (tally{have: c.have, losing: c.losing}).isBlown(); got != c.isBlown {
			t.Errorf("%d of %d: blown %t, want %t", c.losing, c.have, got, c.isBlown)
		}
	}
}

// counts are the numbers of a tally.
type counts struct {
	have    int
	losing  int
	checked int
	held    int // if the fuse blows
}

// notCounted are the counts of a badge or a server without a tally.
var notCounted = counts{have: -1}

func countsOf(t *tally) counts {
	if t == nil {
		return notCounted
	}
	return counts{have: t.have, losing: t.losing, checked: t.checked, held: len(t.notReleased)}
}

// countedCase is a row of user 1, and how a census counts it.
type countedCase struct {
	reaches int64        // as row takes it
	badges  string       // as heldOf reads them, such as "7001 7002:low"
	change  func(r *Row) // what else is different in the row

	lower  counts // of role 7001
	higher counts // of role 7002
	server counts // of server 9001
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
			n.add(m.platform, m.platform.tiers.withoutVoid(r))
			m.equal(name+": role 7001", countsOf(n.badges[badgeKey{"9001", "7001"}]), c.lower)
			m.equal(name+": role 7002", countsOf(n.badges[badgeKey{"9001", "7002"}]), c.higher)
			m.equal(name+": server 9001", countsOf(n.communities["9001"]), c.server)
			m.equal(name+": users", len(n.users), 1)
		})
	}
}

// The counts of one user who has a badge.
var (
	oneKeeping  = counts{have: 1, checked: 1}
	oneLosing   = counts{have: 1, checked: 1, losing: 1, held: 1}
	oneReleased = counts{have: 1, checked: 1, losing: 1}
)

func TestARowCountsForItsBadgesAndTheirServer(t *testing.T) {
	forget := func(r *Row) { *r = r.afterForget() }
	runCounted(t, map[string]countedCase{
		"a badge": {
			badges: "7001",
			lower:  oneKeeping,
			higher: notCounted,
			server: oneKeeping,
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
			lower:  oneKeeping,
			higher: oneLosing,
			server: oneLosing,
		},
		"a second one": {
			badges: "7001 7002:goes",
			lower:  oneKeeping,
			higher: oneLosing,
			server: oneLosing,
		},
		"under other settings": {
			badges: "7001 7002:goesElsewhere",
			lower:  oneKeeping,
			higher: oneKeeping,
			server: oneKeeping,
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

// A check may be a tick late.
func TestARowCountsAsCheckedForACycleAndATick(t *testing.T) {
	checkedAgo := func(d time.Duration) func(*Row) {
		return func(r *Row) { r.CheckedAt = timeOf(time.Now().Add(-d)) }
	}
	unchecked := counts{have: 1}
	runCounted(t, map[string]countedCase{
		"in time": {
			badges: "7001",
			change: checkedAgo(cycle + tickEvery),
			lower:  oneKeeping,
			higher: notCounted,
			server: oneKeeping,
		},
		"a second later": {
			badges: "7001",
			change: checkedAgo(cycle + tickEvery + time.Second),
			lower:  unchecked,
			higher: notCounted,
			server: unchecked,
		},
	})
}

// The settings do not name 6000.
func TestARenamedBadgeCountsForItsServer(t *testing.T) {
	runCounted(t, map[string]countedCase{
		"its user earns another badge": {
			badges: "6000",
			lower:  notCounted,
			higher: notCounted,
			server: oneKeeping,
		},
		"its user earns none": {
			reaches: -1,
			badges:  "6000",
			lower:   notCounted,
			higher:  notCounted,
			server:  oneLosing,
		},
	})
}

// All 11 users who hold role 7002 in server 9001 are losing it, so the fuse of that server blows. User 30 stakes
// nothing: the fuse also holds their role 7001 there, but not role 7003 in server 9002.
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
		m.equal("users who wear 7002", m.wearing("7002"), 30)
		m.equal("user 30 holds 7001", m.saved(30).index("9001", "7001") >= 0, true)
		m.equal("user 30 holds 7003", m.saved(30).index("9002", "7003") >= 0, false)
		m.equal("blown", m.event("fuse_blown"), 1)
		m.equal("lines", m.log.Lines("losing=11 of=11"), 1)
	})
}

// wearing returns how many users wear a badge of server 9001.
func (f *fake) wearing(badge string) int { return strings.Count(f.wornIn("9001"), badge) }

func TestAFuseThatBlowsAgainIsReportedAgain(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(11, 5, "7001")
		m.run()
		for round := range 2 {
			m.allStake(11, 0)
			m.cycles(4)
			m.equal("blown", m.event("fuse_blown"), round+1)
			m.allStake(11, 5)
			m.cycles(2)
			_, _, held, _ := m.Census()
			m.equal("held once all stake again", held, 0)
		}
		m.equal("worn", m.wearing("7001"), 11)
	})
}

// renameHigherRole replaces role 7002 by 7009 in the settings. 30 users wear 7002, and from then on the node reports
// this stake for each. renameHigherRole returns after a day.
func (m *membersTest) renameHigherRole(stake int64) {
	const users = 30
	m.putStakers(users, 1000, "7001", "7002")
	m.allStake(users, stake)
	m.restart(func(c *Config) {
		renamed := chat.Badge{Community: "9001", ID: "7009", Amount: roles[1].Amount}
		c.setBadges([]chat.Badge{roles[0], renamed, roles[2]})
	})
	m.cycles(4)
}

// A role is exchanged for the new one, and that is no loss.
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

// A restart brings a new role and new pools, and the node reads no stake in these. Each tick checks only a few rows.
func TestAReplacedRoleIsHeldIfTheNewPoolsReadNothing(t *testing.T) {
	replaced := []chat.Badge{{Community: "9001", ID: "7009"}, roles[2]}
	inBubble(t, func(m *membersTest) {
		const users = 60
		m.putStakers(users, 5, "7001")
		m.allStake(users, 0)
		for id := range users {
			row := m.saved(id + 1)
			row.Due = timeOf(time.Now().Add(time.Duration(id) * cycle / users))
			m.put(row)
		}
		m.restart(func(c *Config) {
			c.setBadges(replaced)
			c.Pools = poolList(3)
		})
		m.cycles(4)
		m.equal("worn", m.wearing("7001"), users)
		m.equal("blown", m.event("fuse_blown"), 1)
	})
}

func TestATagThatManyWouldLoseIsHeld(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.oneEach = true })
		m.putStakers(30, 1000, "7002")
		m.allStake(30, 5)
		m.run()
		m.cycles(4)
		m.equal("worn", m.wearing("7002"), 30)
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
		for _, isDown := range []bool{false, true, false} {
			m.change(func() { m.down = isDown })
			time.Sleep(censusTTL + tickEvery)
			rows, _, _, _ := m.Census()
			_, err := m.Status("discord", "9001")
			m.equal(fmt.Sprint("the row is counted while down is ", isDown), rows == 1, !isDown)
			m.equal(fmt.Sprint("there is a status while down is ", isDown), err == nil, !isDown)
		}
	})
}

// vanish deletes the values of users 1 to n behind the back of the bot, as if the store had lost them.
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

// The store comes back with yesterday's row of user 1, from before they earned 7002.
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

// Seen asks latest.knows, and loads no row if that returns false.
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
