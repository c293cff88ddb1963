package members

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
)

// A process may end after it has saved a check, and before it has made the calls.
func TestTheCallsOfAKilledProcessAreMadeAtOnceAfterARestart(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 5; id++ {
			m.put(m.row(id, 0))
			m.setWorn("9001", id)
		}
		m.memory.Reserve(m.Context(), 0, m.platform.tickLimit()) // The killed process has taken the turn.
		m.run()
		time.Sleep(10 * time.Second)
		m.equal("worn", m.wornIn("9001"), "1:7001 2:7001 3:7001 4:7001 5:7001")
	})
}

func TestAUserWhomAKilledProcessClaimedIsSettledAtTheNextTick(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		m.memory.Claim(m.Context(), "settle 42 discord 1 9001")
		m.run()
		m.ticks(2)
		m.equal("worn", m.wornIn("9001"), "1:7001")
	})
}

// readOldBlock returns a Config.Stakes that reads a block of an hour ago, at which no wallet stakes anything.
func readOldBlock() func(context.Context, []common.Address) []query.Answer[core.Stake] {
	block := time.Now().Add(-time.Hour)
	return func(_ context.Context, wallets []common.Address) []query.Answer[core.Stake] {
		all := make([]query.Answer[core.Stake], len(wallets))
		for i := range all {
			all[i].Value = stakeOf(0, block)
		}
		return all
	}
}

// The answer of such a node never counts as too low a stake.
func TestAFailingNodeRemovesNothing(t *testing.T) {
	for name, fails := range map[string]func(m *membersTest){
		"unavailable": func(m *membersTest) { m.stakesNow(1, -1) },
		"without the time of a block": func(m *membersTest) {
			m.stakesNow(1, 0)
			m.change(func() { m.frozen = true })
		},
		"set back to an old block": func(m *membersTest) { m.Members.Stakes = readOldBlock() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.put(m.row(1, 0, "7001"))
				m.setWorn("9001", 1, "7001")
				fails(m)
				m.run()
				m.cycles(8)
				m.equal("worn after two days", m.wornIn("9001"), "1:7001")
			})
		})
	}
}

// The platform says that it does not know the server, but only in calls for user 1.
func TestAnUnknownServerDelaysOnlyItsUser(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(8, 5, "7001")
		for id := range 8 {
			m.stakesNow(id+1, 0)
		}
		m.change(func() {
			m.fault = func(c call) error {
				if c.user == "1" && c.community == "9001" {
					return failure(chat.CommunityGone)
				}
				return nil
			}
		})
		m.run()
		m.cycles(20)
		m.equal("worn five days later", m.wornIn("9001"), "1:7001")
	})
}

// Reading stakes takes almost all the time that a tick has for its checks.
func TestSlowReadingDelaysNoRemovalOfAShortCycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Every = 10 * time.Minute
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			time.Sleep(maxCheckTime - time.Second)
			return m.readStakes(ctx, wallets)
		}
		m.use(c)
		m.put(m.row(1, 0, "7001"))
		m.setWorn("9001", 1, "7001")
		m.stakesNow(1, 0)
		m.run()
		time.Sleep(2 * time.Hour)
		m.equal("worn", m.wornIn("9001"), "")
	})
}

// A row whose stake could not be read in time stays as it was. Its user is still settled.
func TestATickWhoseTimeIsUpSettles(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			<-ctx.Done()
			all := m.readStakes(ctx, wallets)
			for i := range all {
				all[i].Err = ctx.Err()
			}
			return all
		}
		m.use(c)
		r := m.row(1, 0)
		r.Due = Time{}
		m.put(r)
		m.run()
		time.Sleep(maxCheckTime + time.Minute)
		m.equal("worn", m.wornIn("9001"), "1:7001")
		m.equal("checked", m.saved(1).CheckedAt, r.CheckedAt)
		m.equal("due", m.saved(1).Due.IsZero(), true)
	})
}

func TestShutdownKeepsTheFirstLowCheck(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.Badges[0].Low = MissedCheck{r.Block, underOf(m.platform.tiers, "7001")}
		r.Due = Time{}
		m.put(r)
		m.stakesNow(1, -1)
		ctx, cancel := context.WithCancel(m.Context())
		m.Members.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			cancel()
			return m.readStakes(ctx, wallets)
		}
		m.Members.Run(ctx)
		m.equal("row", shown(m.saved(1)), "7001 low")
	})
}

// A full disk can be read, but not written.
func TestAFullDiskDelaysAndRemovesNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(3, 5, "7001")
		m.stakesNow(1, 0)
		fill(m)
		m.run()
		m.cycles(6)
		m.equal("worn while it is full", m.wornIn("9001"), "1:7001 2:7001 3:7001")
		m.equal("calls", m.called(), "")
		m.change(func() { m.full = false })
		time.Sleep(2*cycle + time.Hour)
		m.equal("worn after it was full", m.wornIn("9001"), "2:7001 3:7001")
	})
}

func TestAnUnavailableStoreRemovesNothingAndIsLoggedOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(3, 0, "7001")
		m.change(func() { m.down = true })
		m.run()
		m.cycles(6)
		m.equal("calls", m.called(), "")
		m.equal("lines", m.log.Lines("saved addresses cannot be read"), 1)
	})
}

func TestATickThatCannotReadTheRowsIsRepeatedSoon(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(3, 0, "7001")
		m.change(func() { m.down = true })
		m.run()
		m.cycles(6)
		m.change(func() { m.down = false })
		time.Sleep(2 * retryTick)
		m.equal("checked soon", m.number(&m.checked), 3)
		rows, _, _, _ := m.Census()
		m.equal("counted soon", rows, 3)
	})
}

// Calls in server 9001 fail with a long pause. In server 9002, users get the badges that they earn.
func TestACommunityThatPausesDelaysNoOther(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		isFailing := true
		m.change(func() {
			m.fault = func(c call) error {
				if isFailing && c.community == "9001" {
					return &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: time.Hour, Err: errFault}
				}
				return nil
			}
		})
		for id := 1; id <= 3; id++ {
			m.put(m.row(id, 0))
			m.setWorn("9001", id)
			m.setWorn("9002", id)
			m.stakesNow(id, 5)
		}
		m.run()
		time.Sleep(time.Minute)
		m.equal("worn in 9002", m.wornIn("9002"), "1:7003 2:7003 3:7003")
		m.change(func() { isFailing = false })
		m.cycles(1)
		m.equal("worn in 9001 in the end", m.wornIn("9001"), "1:7001 2:7001 3:7001")
	})
}

// A call that is being made when the bot ends is carried out and saved.
func TestRunEndsAfterItsCalls(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		m.change(func() { m.during = func(call) { time.Sleep(2 * time.Second) } })
		m.run()
		m.stop()
		m.equal("a call was made", m.called() != "", true)
		m.stop = func() {}
		isUnsure := strings.Contains(shown(m.saved(1)), "unsure")
		m.equal("its outcome is unsure", isUnsure, false)
	})
}

func TestAPanicInACheckIsCountedAndDelaysIt(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(1, 5, "7001")
		m.stakesNow(1, 0)
		panics := 3
		c := m.config()
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			if panics > 0 {
				panics--
				panic("on purpose")
			}
			return m.readStakes(ctx, wallets)
		}
		m.use(c)
		m.run()
		m.cycles(4)
		m.equal("panics", m.event("panic"), 3)
		m.equal("worn", m.wornIn("9001"), "")
	})
}

func TestAPanicInACallIsCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.change(func() { m.during = func(call) { panic("on purpose") } })
		m.presses(wallet(1), 5)
		m.equal("panics", m.event("panic"), 1)
	})
}
