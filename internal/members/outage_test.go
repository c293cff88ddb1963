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
			m.put(m.row(id, 5))
			m.setWorn("9001", id)
		}
		m.memory.Reserve(m.Context(), 0, m.platform.tickLimit()) // The killed process has taken the tick.
		m.run()
		time.Sleep(10 * time.Second)
		m.equal("worn", m.wornIn("9001"), "1:7001 2:7001 3:7001 4:7001 5:7001")
	})
}

func TestAUserWhomAKilledProcessClaimedIsSettledAtTheNextTick(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 5))
		m.memory.Claim(m.Context(), "settle 42 discord 1 9001")
		m.run()
		m.ticks(2)
		m.equal("worn", m.wornIn("9001"), "1:7001")
	})
}

// oldBlock returns a Stakes of a node that is set back to a block before now. No wallet stakes anything there.
func oldBlock() func(context.Context, []common.Address) []query.Answer[core.Stake] {
	block := time.Now().Add(-time.Hour)
	return func(_ context.Context, wallets []common.Address) []query.Answer[core.Stake] {
		all := make([]query.Answer[core.Stake], len(wallets))
		for i := range all {
			all[i].Value = stakeOf(0, block)
		}
		return all
	}
}

// The answer of a node that is unavailable, frozen or set back never counts as too low a stake.
func TestAFailingNodeRemovesNothing(t *testing.T) {
	for name, fails := range map[string]func(m *membersTest){
		"unavailable": func(m *membersTest) { m.stakesNow(1, -1) },
		"frozen": func(m *membersTest) {
			m.stakesNow(1, 0)
			m.change(func() { m.frozen = true })
		},
		"set back": func(m *membersTest) { m.Members.Stakes = oldBlock() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.put(m.row(1, 5, "7001"))
				m.setWorn("9001", 1, "7001")
				fails(m)
				m.run()
				m.cycles(8)
				m.equal("worn after two days", m.wornIn("9001"), "1:7001")
			})
		})
	}
}

// The platform does not know the server in a call for one user.
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
		m.equal("five days later", m.wornIn("9001"), "1:7001")
	})
}

// Reading stakes takes as long as the checks of a tick may.
func TestSlowReadingDelaysNoRemovalOfAShortCycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := m.config()
		c.Every = 10 * time.Minute
		c.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			time.Sleep(maxCheckTime - time.Second)
			return m.readStakes(ctx, wallets)
		}
		m.use(c)
		m.put(m.row(1, 5, "7001"))
		m.setWorn("9001", 1, "7001")
		m.stakesNow(1, 0)
		m.run()
		time.Sleep(2 * time.Hour)
		m.equal("worn", m.wornIn("9001"), "")
	})
}

// A row that could not be read in time stays as it was, and calls that are left for it are made.
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
		r := m.row(1, 5)
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
		r := m.row(1, 5, "7001")
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
		m.equal("and then", m.wornIn("9001"), "2:7001 3:7001")
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

// One community does not answer. In the other, users get the badges that they reach.
func TestACommunityThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		hangs := true
		m.change(func() {
			m.fault = func(c call) error {
				if hangs && c.community == "9001" {
					return &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: time.Hour, Err: errFault}
				}
				return nil
			}
		})
		for id := 1; id <= 3; id++ {
			m.put(m.row(id, 5))
			m.setWorn("9001", id)
			m.setWorn("9002", id)
			m.stakesNow(id, 5)
		}
		m.run()
		time.Sleep(time.Minute)
		m.equal("in the other", m.wornIn("9002"), "1:7003 2:7003 3:7003")
		m.change(func() { hangs = false })
		m.cycles(1)
		m.equal("in the end", m.wornIn("9001"), "1:7001 2:7001 3:7001")
	})
}

// A call that is being made when the bot ends is carried out and saved.
func TestRunEndsAfterItsCalls(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		m.change(func() { m.during = func(call) { time.Sleep(2 * time.Second) } })
		m.run()
		m.stop()
		m.equal("first call", len(m.called()) > 0, true)
		m.stop = func() {}
		held := shown(m.saved(1))
		m.equal("unsure", strings.Contains(held, "unsure"), false)
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
