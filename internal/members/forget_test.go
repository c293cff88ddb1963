package members

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
)

// forgetCase is a /forget of user 1.
type forgetCase struct {
	row     func(m *membersTest) Row // saved before; nil if there is none
	problem chat.BadgeProblem        // of each removal; empty if removals succeed

	wallet  bool   // Forget returns the wallet, because it was saved
	told    string // the changes, as changed writes them
	left    string // the row afterwards, as shown writes it; empty if it is deleted
	deleted int    // how often address_deleted is counted
}

// holder returns a row with a badge.
func holder(m *membersTest) Row { return m.row(1, 0, "7001") }

// forgotten returns what /forget leaves of that row.
func forgotten(m *membersTest) Row { return holder(m).afterForget() }

func runForget(t *testing.T, table map[string]forgetCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					m.put(c.row(m))
				}
				if c.problem != "" {
					m.failWith(failure(c.problem))
				}

				f, err := m.Forget(m.Context(), user(1))

				m.equal("error", err, nil)
				m.equal("told", changed(f.Changes), c.told)
				m.equal("the wallet is returned", f.Wallet == wallet(1), c.wallet)
				m.equal("left", shown(m.saved(1)), c.left)
				m.equal("a row is left", m.saved(1).User.ID != "", c.left != "")
				m.equal("counted", m.event("address_deleted"), c.deleted)
			})
		})
	}
}

func TestForgetDeletesTheRowOnceNoBadgeIsLeft(t *testing.T) {
	withoutBadge := func(m *membersTest) Row { return m.row(1, 0) }
	runForget(t, map[string]forgetCase{
		"a row with a badge": {
			row:     holder,
			wallet:  true,
			told:    "-7001",
			deleted: 1,
		},
		"a row without a badge": {row: withoutBadge, wallet: true, deleted: 1},
		"no row":                {},
		"a forgotten row":       {row: forgotten, told: "-7001", deleted: 1},
	})
}

func TestForgetDeletesTheWalletEvenIfARemovalIsRefused(t *testing.T) {
	runForget(t, map[string]forgetCase{
		"refused": {
			row:     holder,
			problem: chat.MissingRight,
			wallet:  true,
			told:    "-7001 missing_right",
			left:    "7001 refused",
			deleted: 1,
		},
	})
}

func TestForgetDeletesTheRowIfThereIsNoBadgeToRemove(t *testing.T) {
	runForget(t, map[string]forgetCase{
		"the role is deleted": {
			row:     holder,
			problem: chat.BadgeGone,
			wallet:  true,
			told:    "-7001 gone",
			deleted: 1,
		},
		"the server is unknown": {
			row:     holder,
			problem: chat.CommunityGone,
			wallet:  true,
			deleted: 1,
		},
		"the user left": {
			row:     holder,
			problem: chat.NotAMember,
			wallet:  true,
			deleted: 1,
		},
	})
}

// A removal that is refused is tried for 30 days after /forget, however long it was refused before.
func TestThirtyDaysOfRefusalCountFromForget(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, -1, "7001")
		r.Badges[0].Refused = timeOf(time.Now().Add(-refusedFor + time.Hour))
		m.put(r)
		m.setWorn("9001", 1, "7001")
		m.failWith(failure(chat.MissingRight))
		m.run()
		if _, err := m.Forget(m.Context(), user(1)); err != nil {
			t.Error(err)
		}
		time.Sleep(refusedFor - cycle)
		m.equal("left after almost 30 days", shown(m.saved(1)), "7001 refused")
		m.cycles(3)
		m.equal("left after 30 days", shown(m.saved(1)), "")
		m.equal("lines", m.log.Lines("is not saved any more"), 1)
	})
}

func TestAForgottenBadgeIsRemovedOnceThePlatformAllowsIt(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0, "7001"))
		m.setWorn("9001", 1, "7001")
		m.failWith(failure(chat.MissingRight))
		m.run()
		_, _ = m.Forget(m.Context(), user(1))
		m.failWith(nil)
		m.cycles(2)
		m.equal("worn", m.wornIn("9001"), "")
		m.equal("user", m.saved(1).User.ID, "")
		m.stop()
		m.equal("notices", len(m.notices), 0)
	})
}

func TestForgetOfAnUnreadableRowIsLoggedAndLeavesIt(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		putValue(m, "1", "damaged")
		_, err := m.Forget(m.Context(), user(1))
		m.equal("unreadable", errors.Is(err, ErrUnreadable), true)
		m.equal("lines", m.log.Lines("sent /forget"), 1)
		m.equal("the value", valueOf(m, "1"), "damaged")
	})
}

func TestForgetFailsIfTheStoreIsUnavailable(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.down = true })
		_, err := m.Forget(m.Context(), user(1))
		m.equal("failed", err != nil, true)
		m.equal("unreadable", errors.Is(err, ErrUnreadable), false)
	})
}

// putValue saves the encoded row of a user.
func putValue(m *membersTest, id, value string) {
	m.Helper()
	b := m.memory.Bucket("members/discord-42")
	old, _ := b.Load(m.Context(), id)
	if replaced, err := b.Replace(m.Context(), id, old, []byte(value)); !replaced || err != nil {
		m.Fatal(replaced, err)
	}
}

// valueOf returns the encoded row of a user, or "".
func valueOf(m *membersTest, id string) string {
	value, _ := m.memory.Bucket("members/discord-42").Load(m.Context(), id)
	return string(value)
}

// Two presses and a /forget happen at once, on two replicas. In the end, the user wears the badge exactly if the wallet
// is saved.
func TestPressesAndForgetOnTwoReplicasEndInOneState(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		other := New(m.config())
		var all sync.WaitGroup
		for _, on := range []*Members{m.Members, other} {
			all.Go(func() { _, _ = on.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now())) })
		}
		all.Go(func() { _, _ = m.Forget(m.Context(), user(1)) })
		all.Wait()
		m.cycles(1)
		want := ""
		if m.saved(1).Wallet == wallet(1) {
			want = "1:7001"
		}
		m.equal("worn", m.wornIn("9001"), want)
	})
}

// The user sends /forget while /verify saves their higher stake.
func TestVerifyDoesNotSaveWhatForgetDeletes(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, -1))
		time.Sleep(time.Minute)
		m.change(func() {
			m.atReplace = func() {
				_, err := m.Forget(m.Context(), user(1))
				m.equal("forget", err, nil)
			}
		})
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, time.Now()))
		m.equal("error", err, nil)
		m.equal("told", changed(changes), "")
		m.equal("saved", m.saved(1).Wallet, common.Address{})
		m.equal("counted", m.event("address_saved"), 0)
	})
}
