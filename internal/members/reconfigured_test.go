package members

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// replaceDuringOutage restarts the bot with badge 7009 in place of 7001, which 15 users wear, while the node is
// unavailable for a day. Nobody may lose 7001 then. Once the node answers, everybody must get 7009 instead.
func replaceDuringOutage(t *testing.T, oneEach bool, reconfigure func(c *Config)) {
	t.Helper()
	const users = 15
	inBubble(t, func(m *membersTest) {
		allStake := func(amount int64) {
			for id := 1; id <= users; id++ {
				m.stakesNow(id, amount)
			}
		}
		m.change(func() { m.oneEach = oneEach })
		m.putStakers(users, 5, "7001")
		allStake(-1)
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{{Community: "9001", ID: "7009", Amount: decimal.NewFromInt(2)}, roles[2]})
			reconfigure(c)
		})
		m.cycles(4)
		m.equal("old badges during the outage", strings.Count(m.wornIn("9001"), ":7001"), users)
		allStake(5)
		m.cycles(2)
		m.equal("new badges after it", strings.Count(m.wornIn("9001"), ":7009"), users)
		m.equal("old badges after it", strings.Count(m.wornIn("9001"), "7001"), 0)
	})
}

func TestAReplacedBadgeIsKeptWhileTheNodeIsUnavailable(t *testing.T) {
	otherPools := func(c *Config) { c.Pools = poolList(22) }
	samePools := func(*Config) {}
	for _, oneEach := range []bool{false, true} {
		t.Run(fmt.Sprint("one each ", oneEach), func(t *testing.T) {
			replaceDuringOutage(t, oneEach, samePools)
			replaceDuringOutage(t, oneEach, otherPools)
		})
	}
}

// A press is a check under the new settings, too.
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
		m.restart(func(c *Config) { c.setBadges(roles[2:]) })
		m.ticks(1)
		m.equal("worn", m.wornIn("9001")+m.wornIn("9002"), "1:7003")
		m.stop()
		m.equal("notices", len(m.notices), 0)
	})
}
