package members

import (
	"testing"
	"time"

	"herald/internal/chat"
)

// pressCase is a press by which user 1 saves a wallet, a minute after their row was saved.
type pressCase struct {
	row         func(m *membersTest) Row // saved before the press, with wallet 1; nil if there is none
	otherWallet bool                     // the press saves wallet 2; otherwise wallet 1
	stake       int64                    // -1 if it cannot be read

	told string // the changes, as changed writes them
	left string // the row after the press, as shown writes it
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
						m.setWorn(h.Community, 1, h.Badge)
					}
				}
				time.Sleep(time.Minute) // So the test sees whether the press sets ProvenAt.
				m.platform.latest.publish(newCensus(), nil)
				pressed := wallet(1)
				if c.otherWallet {
					pressed = wallet(2)
				}

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
		"the first press":                   {stake: 5, told: "+7001, +7003", left: "7001, 7003"},
		"the first press, no stake":         {},
		"the first press, stake unreadable": {stake: -1},
		"another wallet": {
			row:         func(m *membersTest) Row { return m.row(1, 0) },
			otherWallet: true,
			stake:       1000,
			told:        "+7001, +7002, +7003",
			left:        "7001, 7002, 7003",
		},
		"the user was idle in 9001": {
			row: func(m *membersTest) Row {
				r := m.row(1, 0)
				r.setIdle("9001")
				return r
			},
			stake: 5,
			told:  "+7001, +7003",
			left:  "7001, 7003",
		},
		"after /forget": {
			row:   func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			stake: 5,
			told:  "+7003",
			left:  "7001, 7003",
		},
		"after /forget, no stake": {
			row:  func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			left: "7001 low",
		},
	})
}

// missedRow returns a row of user 1 with badge 7001, whose amount a check missed two hours ago.
func missedRow(m *membersTest) Row {
	r := m.row(1, -1, "7001")
	twoHoursAgo := timeOf(time.Now().Add(-2 * time.Hour))
	r.Badges[0].Low = MissedCheck{BlockTime: twoHoursAgo, Under: underOf(m.platform.tiers, "7001")}
	return r
}

func TestAPressAloneDoesNotSaveABadgeThatWasMissed(t *testing.T) {
	runPress(t, map[string]pressCase{
		"stake unreadable":               {row: missedRow, stake: -1, left: "7001 low"},
		"still no stake":                 {row: missedRow, told: "-7001"},
		"another wallet, still no stake": {row: missedRow, otherWallet: true, told: "-7001"},
	})
}

func TestAPressThatReachesAMissedBadgeKeepsIt(t *testing.T) {
	runPress(t, map[string]pressCase{
		"reached again": {row: missedRow, stake: 5, told: "+7003", left: "7001, 7003"},
	})
}

// The row's wallet earns 7002, which is not given yet. Then the user saves another wallet.
func TestAnUnreadWalletGivesNothingThatTheWalletBeforeReached(t *testing.T) {
	runPress(t, map[string]pressCase{"stake unreadable": {
		row:         func(m *membersTest) Row { return m.row(1, 1000, "7001") },
		otherWallet: true,
		stake:       -1,
		left:        "7001",
	}})
}

// The user left, came back without sending a command, and presses.
func TestAPressGivesAgainWhatAReturningMemberLost(t *testing.T) {
	for name, oneEach := range map[string]bool{"roles": false, "tags": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.change(func() { m.oneEach = oneEach })
				m.run()
				m.presses(wallet(1), 5)
				m.setWorn("9001", 1) // no badge
				time.Sleep(10 * time.Second)
				m.equal("the press", m.presses(wallet(1), 5), "+7001")
				m.equal("worn", m.wornIn("9001"), "1:7001")
			})
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
		m.platform.community("9001").pausedUntil = time.Now().Add(settleTime + time.Second)
		began := time.Now()
		m.equal("the press", m.presses(wallet(1), 5), "+7001 later, +7003")
		m.equal("it waited", time.Since(began) <= settleTime, true)
		time.Sleep(20 * time.Second)
		m.equal("worn later", m.wornIn("9001"), "1:7001")
	})
}

func TestAPressWhoseCallFailsIsRepeatedSoon(t *testing.T) {
	for name, isExecuted := range map[string]bool{"carried out": true, "not carried out": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.run()
				m.failWith(lost(isExecuted))
				m.equal("the press", m.presses(wallet(1), 5), "+7001 failed, +7003")
				m.failWith(nil)
				time.Sleep(2 * settleLaterPause)
				m.equal("row", shown(m.saved(1)), "7001, 7003")
				m.equal("worn", m.wornIn("9001"), "1:7001")
			})
		})
	}
}

func TestNothingIsGivenIfNothingCanBeSaved(t *testing.T) {
	for name, breakStore := range map[string]func(m *membersTest){
		"down": func(m *membersTest) { m.change(func() { m.down = true }) },
		"full": fill,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				breakStore(m)
				_, err := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
				m.equal("saved", err == nil, false)
				m.equal("calls", m.called(), "")
				m.equal("counted", m.event("address_saved"), 0)
			})
		})
	}
}

func TestNothingIsSavedOfAUserOfAnUnknownPlatform(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		elsewhere := chat.User{Platform: "terminal", ID: "1"}
		_, err := m.Save(m.Context(), elsewhere, wallet(1), stakeOf(5, time.Now()))
		m.equal("saved", err == nil, false)
		m.equal("rows", users(t, m.Members), "")
		m.equal("calls", m.called(), "")
		m.equal("counted", m.event("address_saved"), 0)
	})
}
