package members

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// replaceDuringOutage restarts the bot with badge 7009 in place of 7001, which 15 users wear, while the node is
// unavailable for a day. Nobody may lose 7001 then. Once the node answers, everybody must get 7009 instead: they stake
// 5 tokens, and it needs 2. oneEach says that a user wears one badge at a time, as with tags.
func replaceDuringOutage(t *testing.T, oneEach bool, reconfigure func(c *Config)) {
	t.Helper()
	const users = 15
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.oneEach = oneEach })
		m.putStakers(users, 5, "7001")
		const unreadable = -1
		m.allStake(users, unreadable)
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{{Community: "9001", ID: "7009", Amount: decimal.NewFromInt(2)}, roles[2]})
			reconfigure(c)
		})
		m.cycles(4)
		m.equal("old badges during the outage", m.wearing("7001"), users)
		m.allStake(users, 5)
		m.cycles(2)
		m.equal("new badges after it", m.wearing("7009"), users)
		m.equal("old badges after it", m.wearing("7001"), 0)
	})
}

func TestAReplacedBadgeIsKeptWhileTheNodeIsUnavailable(t *testing.T) {
	samePools := func(*Config) {}
	otherPools := func(c *Config) { c.Pools = poolList(22) }
	for name, oneEach := range map[string]bool{"roles": false, "tags": true} {
		t.Run(name, func(t *testing.T) {
			replaceDuringOutage(t, oneEach, samePools)
			replaceDuringOutage(t, oneEach, otherPools)
		})
	}
}

// The restart gives 7009, because the saved row says that any stake was reached. 7001 stays until a check under the new
// settings, which is the press.
func TestAPressRemovesAReplacedBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{{Community: "9001", ID: "7009"}, roles[2]})
		})
		time.Sleep(time.Minute)
		m.equal("before the press", m.wornIn("9001"), "1:7001+7009")
		m.equal("the press", m.presses(wallet(1), 5), "-7001")
	})
}

func TestABadgeOfARemovedCommunityIsRemoved(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		only9002 := roles[2:]
		m.restart(func(c *Config) { c.setBadges(only9002) })
		m.ticks(1)
		m.equal("worn", m.wornIn("9001")+m.wornIn("9002"), "1:7003")
		m.stop()
		m.equal("notices", len(m.notices), 0)
	})
}

// Under the old settings, 7002 was to go, and the platform refused its removal. Raised to 2,000 tokens, it needs two
// new misses.
func TestADecisionEndsWithTheSettingsThatMadeIt(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(1, 5, "7001", "7002")
		m.failWith(failure(chat.NotAllowed))
		m.run()
		m.cycles(3)
		m.equal("before the restart", shown(m.saved(1)), "7001, 7002 low goes refused, 7003")
		m.failWith(nil)
		m.restart(func(c *Config) {
			raised := chat.Badge{Community: "9001", ID: "7002", Amount: decimal.NewFromInt(2000)}
			c.setBadges([]chat.Badge{roles[0], raised, roles[2]})
		})
		m.equal("after it", shown(m.saved(1)), "7001, 7002, 7003")
		m.cycles(1)
		m.equal("after one check", m.wornIn("9001"), "1:7001+7002")
		m.cycles(1)
		m.equal("after two", m.wornIn("9001"), "1:7001")
	})
}

// The saved row reaches the amounts of 7002 and 7003, but in other pools. So neither is given.
func TestWhatOtherPoolsReachedIsNotKnownAfterARestart(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(1, 1000, "7001")
		m.restart(func(c *Config) {
			c.Pools = poolList(22)
			c.Stakes = nil // nobody is checked
		})
		m.ticks(2)
		m.equal("calls", m.called(), "")
	})
}

func TestNoBadgeIsAtRiskBeforeACheckOfTheNewPools(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(1, 5, "7001")
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{{Community: "9001", ID: "7009"}})
			c.Pools = poolList(22)
			c.Stakes = nil // nobody is checked
		})
		s, err := m.Saved(m.Context(), user(1))
		if err != nil || len(s.Given) != 1 || len(s.AtRisk) != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
