package members

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"
)

// putHolder saves the row of user 1, who holds and wears 7001 in server 9001 and 7003 in server 9002.
func (m *membersTest) putHolder() {
	m.Helper()
	r := m.row(1, 0, "7001")
	r.set(Held{Community: "9002", Badge: "7003", Since: r.SavedAt})
	m.put(r)
	m.setWorn("9001", 1, "7001")
	m.setWorn("9002", 1, "7003")
}

// verifies makes user 1 send /verify in a community, or in a private chat if here is empty.
func (m *membersTest) verifies(here string, wallet common.Address, stake int64) {
	m.Helper()
	_, err := m.Refresh(m.Context(), user(1), here, wallet, stakeOf(stake, time.Now()))
	m.equal("error", err, nil)
}

func TestVerifyGivesBackABadgeThatIsMissing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putHolder()
		m.setWorn("9002", 1)
		m.verifies("", wallet(1), 5)
		m.equal("calls", m.called(), "give 7003 1")
		m.equal("questions", m.asked, 3)
		m.verifies("", wallet(1), 5)
		m.equal("calls within the minute", m.called(), "")
		m.equal("questions, one more where a badge was given", m.asked, 4)
	})
}

func TestVerifyAsksEachCommunityOnceAMinute(t *testing.T) {
	for name, stake := range map[string]int64{"as before": 5, "less": 0} {
		inBubble(t, func(m *membersTest) {
			m.putHolder()
			for range 2 {
				m.verifies("", wallet(1), stake)
				m.equal(name+" staked: calls", m.called(), "")
				m.equal(name+" staked: questions", m.asked, 2)
			}
		})
	}
}

// In the community of the command, Seen gives the badge back: the adapter calls it for each command.
func TestVerifyLeavesOutTheCommunityOfTheCommand(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putHolder()
		m.setWorn("9001", 1)
		m.verifies("9001", wallet(1), 5)
		m.equal("calls", m.called(), "")
		m.equal("questions", m.asked, 1)
	})
}

func TestVerifyOfAnotherWalletGivesNothingBack(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putHolder()
		m.setWorn("9002", 1)
		m.verifies("", wallet(2), 5)
		m.equal("calls", m.called(), "")
		m.equal("questions", m.asked, 0)
	})
}

func TestVerifyOfAHigherStakeSavesAsAPressDoes(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.presses(wallet(1), 5)
		time.Sleep(time.Minute)
		changes, err := m.Refresh(m.Context(), user(1), "9001", wallet(1), stakeOf(1000, time.Now()))
		m.equal("error", err, nil)
		m.equal("told", changed(changes), "+7002")
		m.equal("reached", m.saved(1).Reached.Decimal, decimal.NewFromInt(1000))
	})
}

// Offer has cached what the user wore before the press. The give deletes that, so that Refresh asks again.
func TestARoleThatIsRemovedByHandRightAfterThePressIsGivenBack(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.Offer(m.Context(), user(1), "9002", stakeOf(5, time.Now()))
		m.presses(wallet(1), 5)
		m.setWorn("9001", 1)
		time.Sleep(10 * time.Second)
		changes, _ := m.Refresh(m.Context(), user(1), "9002", wallet(1), stakeOf(5, time.Now()))
		m.equal("told", changed(changes), "+7001")
	})
}
