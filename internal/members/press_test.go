package members

import (
	"testing"
	"time"

	"herald/internal/chat"
)

// pressCase is a press of user 1 a minute after their row was saved.
type pressCase struct {
	row    func(m *membersTest) Row // saved before the press; nil: none
	wallet int                      // 0 is wallet 1
	stake  int64

	told string // to the user, as changed writes it
	left string // in the row, as shown writes it
}

func runPress(t *testing.T, table map[string]pressCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					r := c.row(m)
					m.put(r)
					for _, h := range r.Badges {
						m.wears(h.Community, 1, h.Badge)
					}
				}
				time.Sleep(time.Minute)
				m.platform.latest.publish(newCensus(), nil)
				pressed := wallet(max(1, c.wallet))

				m.equal("told", m.presses(pressed, c.stake), c.told)

				r := m.saved(1)
				m.equal("left", shown(r), c.left)
				m.equal("wallet", r.Wallet, pressed)
				m.equal("proven", time.Since(r.ProvenAt.Time) < time.Minute, true)
				m.equal("due in a cycle", r.Due.After(time.Now().Add(cycle-2*tickEvery)), true)
			})
		})
	}
}

func TestAPressSavesTheWalletAndGivesWhatItReaches(t *testing.T) {
	runPress(t, map[string]pressCase{
		"the first":    {stake: 5, told: "+7001, +7003", left: "7001, 7003"},
		"of no stake":  {},
		"of an unread": {stake: -1},
		"another wallet": {
			row:    func(m *membersTest) Row { return m.row(1, 0) },
			wallet: 2,
			stake:  1000,
			told:   "+7001, +7002, +7003",
			left:   "7001, 7002, 7003",
		},
		"where they were idle": {
			row: func(m *membersTest) Row {
				r := m.row(1, 0)
				r.setIdle("9001")
				return r
			},
			stake: 5,
			told:  "+7001, +7003",
			left:  "7001, 7003",
		},
		"of a forgotten row": {
			row:   func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			stake: 5,
			told:  "+7003",
			left:  "7001, 7003",
		},
		"of a forgotten row that stakes nothing": {
			row:  func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			left: "7001 low",
		},
	})
}

func TestAPressKeepsNoBadge(t *testing.T) {
	low := func(m *membersTest) Row {
		r := m.row(1, -1, "7001")
		r.Badges[0].Low = MissedCheck{timeOf(time.Now().Add(-2 * time.Hour)), underOf(m.platform.tiers, "7001")}
		return r
	}
	runPress(t, map[string]pressCase{
		"that was missed, and cannot be read now": {row: low, stake: -1, left: "7001 low"},
		"that was missed, and is missed again":    {row: low, told: "-7001"},
		"and another wallet is no excuse":         {row: low, wallet: 2, told: "-7001"},
		"but a reached one does": {
			row:   low,
			stake: 5,
			told:  "+7003",
			left:  "7001, 7003",
		},
	})
}

// What one wallet reaches says nothing about another.
func TestAnUnreadWalletGivesNothingThatTheWalletBeforeReached(t *testing.T) {
	runPress(t, map[string]pressCase{"of an unread one": {
		row:    func(m *membersTest) Row { return m.row(1, 1000, "7001") },
		wallet: 2,
		stake:  -1,
		left:   "7001",
	}})
}

// The user left, came back without sending a command, and presses.
func TestAPressAsksWhatIsWorn(t *testing.T) {
	for _, oneEach := range []bool{false, true} {
		inBubble(t, func(m *membersTest) {
			m.change(func() { m.oneEach = oneEach })
			m.run()
			m.presses(wallet(1), 5)
			m.wears("9001", 1)
			time.Sleep(10 * time.Second)
			m.equal("the press", m.presses(wallet(1), 5), "+7001")
			m.equal("worn", m.seen("9001"), "1:7001")
		})
	}
}

func TestAPressBeforeTheRowsAreCountedGives(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.equal("told", m.presses(wallet(1), 5), "+7001, +7003")
	})
}

func TestAPressWaitsForTenSecondsAndTheRestFollows(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.platform.community("9001").pausedUntil = time.Now().Add(11 * time.Second)
		began := time.Now()
		m.equal("the press", m.presses(wallet(1), 5), "+7001 later, +7003")
		m.equal("it waited", time.Since(began) <= settleTime, true)
		time.Sleep(20 * time.Second)
		m.equal("worn", m.seen("9001"), "1:7001")
	})
}

func TestAPressWhoseCallFailsIsRepeatedSoon(t *testing.T) {
	for _, executed := range []bool{true, false} {
		inBubble(t, func(m *membersTest) {
			m.run()
			m.failWith(lost(executed))
			m.equal("the press", m.presses(wallet(1), 5), "+7001 failed, +7003")
			m.failWith(nil)
			time.Sleep(2 * followPause)
			m.equal("row", shown(m.saved(1)), "7001, 7003")
			m.equal("worn", m.seen("9001"), "1:7001")
		})
	}
}

func TestNothingIsGivenIfNothingCanBeSaved(t *testing.T) {
	for name, breakStore := range map[string]func(m *membersTest){
		"down": func(m *membersTest) { m.change(func() { m.down = true }) },
		"full": fill,
	} {
		inBubble(t, func(m *membersTest) {
			breakStore(m)
			_, err := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
			m.equal(name+": saved", err == nil, false)
			m.equal(name+": calls", m.called(), "")
			m.equal(name+": counted", m.event("address_saved"), 0)
		})
	}
}

func TestNothingIsSavedOfAUserOfAnotherPlatform(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		elsewhere := chat.User{Platform: "terminal", ID: "1"}
		_, err := m.Save(m.Context(), elsewhere, wallet(1), stakeOf(5, time.Now()))
		m.equal("saved", err == nil, false)
	})
}
