package members

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

// hooked is the Store of a membersTest. It calls loaded and replaced once after a Load and a Replace,
// and writes nothing if it is full.
type hooked struct {
	*membersTest
	loaded, replaced func()
	full             bool
}

func (h *hooked) Load(ctx context.Context, key string) ([]byte, error) {
	defer h.once(&h.loaded)
	return h.membersTest.Load(ctx, key)
}

func (h *hooked) Replace(ctx context.Context, key string, old, value []byte) (bool, error) {
	if h.full {
		return false, errFault
	}
	defer h.once(&h.replaced)
	return h.membersTest.Replace(ctx, key, old, value)
}

// hookStore has rows in a hooked Store from now on.
func (m *membersTest) hookStore() *hooked {
	h := &hooked{membersTest: m}
	m.rows.Config.Store = h
	return h
}

// cycles checks all rows every six hours.
func (m *membersTest) cycles(n int) {
	m.Helper()
	for range n {
		time.Sleep(6 * time.Hour)
		all, err := m.All(m.Context())
		if err == nil {
			err = m.checkAll(m.Context(), all)
		}
		if err != nil {
			m.Error(err)
		}
	}
}

// A person with two wallets gets what the one that they saved last earns.
func TestWhatWasFoundOfAnotherWalletDoesNotCount(t *testing.T) {
	for _, sameWallet := range []bool{false, true} {
		inBubble(t, func(m *membersTest) {
			next := wallet(2)
			if sameWallet {
				next = wallet(1)
			}
			row := m.current(1, 1, "7001")
			row.ProvenAt = timeOf(time.Now().Add(-proofLasts))
			m.put(row)
			m.dids[wallet(1).Hex()] = "did:2"
			m.cycles(2)
			m.equal("of a wallet that is another's now", m.worn("9001"), "[]")
			m.dids[next.Hex()] = "did:1"
			m.saves(next, 0)
			s, err := m.Members.Saved(m.Context(), user(1))
			m.equal("why another wallet's badge went", s.Lost == nil, true)
			m.stakes[next] = 5
			if m.cycles(2); err != nil {
				t.Error(err)
			}
			m.equal("once the wallet stakes", m.worn("9001"), "[1:7001]")
		})
	}
	inBubble(t, func(m *membersTest) {
		read := time.Now()
		time.Sleep(20 * time.Second)
		m.saves(wallet(1), 0)
		if _, err := m.Save(m.Context(), user(1), wallet(2), stakeOf(5, read)); err != nil {
			t.Error(err)
		}
		m.equal("of a stake that was read before the other one", m.worn("9001"), "[1:7001]")
	})
}

func TestVerifyDoesNotSaveWhatForgetDeletes(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.current(1, 0))
		m.hookStore().loaded = func() {
			if _, err := m.Forget(m.Context(), user(1)); err != nil {
				t.Error(err)
			}
		}
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, time.Now()))
		m.equal("changes", changed(changes), "")
		m.equal("the address that is saved", m.saved(1).Wallet, common.Address{})
		m.equal("counted", m.events["address_saved"], 0)
		if err != nil {
			t.Error(err)
		}
	})
}

// A press while a check reads stakes has seen a newer block than the check.
func TestAPressDuringEachCheckKeepsNoBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.current(1, 1, "7001"))
		m.has["9001 1"], m.stakes[wallet(1)] = []string{"7001"}, 0
		m.Members.Stakes = func(ctx context.Context, wallets []common.Address) []core.Answer[core.Stake] {
			found := m.readStakes(ctx, wallets)
			time.Sleep(2 * time.Second)
			m.saves(wallet(1), 0)
			return found
		}
		m.cycles(2)
		m.equal("after two checks", m.worn("9001"), "[]")
	})
}

func TestWhatAWorkerRemovesIsTold(t *testing.T) {
	for name, enqueue := range map[string]func(*membersTest){
		"after a command": func(m *membersTest) { m.Seen(user(1), "9001", []string{"7001"}) },
		"after a press":   func(m *membersTest) { m.platform.community("9001").enqueue(task{user: user(1)}) },
	} {
		inBubble(t, func(m *membersTest) {
			row := m.current(1, 0, "7001")
			row.Lost = &Loss{First: row.Block, Second: row.Block, From: 1}
			m.put(row)
			m.has["9001 1"] = []string{"7001"}
			ctx, stop := context.WithCancel(m.Context())
			ended := make(chan struct{})
			go func() { m.work(ctx, m.platform.community("9001")); close(ended) }()
			enqueue(m)
			time.Sleep(5 * time.Second)
			m.equal(name, m.worn("9001"), "[]")
			stop()
			<-ended
			m.equal(name+", told", len(m.notices), 1)
		})
	}
}

// A full disk can be read. What a call has changed cannot be saved then, and the call would be made
// again at once, for ever.
func TestACallWhoseOutcomeCannotBeSavedIsMadeOnce(t *testing.T) {
	for level, want := range []string{"-7001 later", "+7001 later"} {
		inBubble(t, func(m *membersTest) {
			m.put(m.current(1, level, []string{"7001"}[level:]...))
			m.has["9001 1"] = []string{"7001"}[level:]
			h := m.hookStore()
			m.during = func() { h.full = true }
			m.equal("changes", changed(m.settle(m.Context(), m.platform.community("9001"), user(1), byPerson)), want)
			m.equal("calls", len(m.calls), 1)
		})
	}
}

func TestWhatForgetCouldNotReadFollowsLater(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.current(1, 1, "7001"))
		m.has["9001 1"] = []string{"7001"}
		m.hookStore().replaced = func() { m.storeAway.Store(true) }
		f, err := m.Forget(m.Context(), user(1))
		if err != nil || len(f.Changes) == 0 || !f.Changes[0].Later {
			t.Errorf("%+v, %v", f.Changes, err)
		}
		m.equal("in the queue", len(m.platform.community("9001").queue), 1)
	})
}
