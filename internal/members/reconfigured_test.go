package members

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// In these tests, the roles are 7001 for any stake and 7002 for 1,000 tokens in server 9001, and 7003 for any stake in
// server 9002. A cycle checks everybody, and a tick makes the calls.

// In replaceDuringOutage, 15 users stake 5 tokens and wear badge 7001. The bot restarts with badge 7009, which needs 2
// tokens, in place of 7001, and the node fails for a day. During the outage nobody may lose 7001. After it, everybody
// gets 7009 instead. oneEach says that a user wears one badge at a time, as with tags. reconfigure changes the Config
// further.
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

// 7009 needs any stake, and the saved row says that this is reached, so the restart gives it. 7001 stays until a check
// under the new settings, which is the press.
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

// The user stakes 5 tokens, and 7002 needs 1,000: its removal was decided, and the platform refused it. The restart
// raises 7002 to 2,000 tokens. That ends the decision: two new misses are needed.
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
