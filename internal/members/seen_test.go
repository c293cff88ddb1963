package members

import (
	"strings"
	"testing"
	"time"
)

// noRow is a seenCase.row of a user without a saved address.
const noRow = "none"

// seenCase is a command that user 1 sends in server 9001. Their stake earns 7001.
type seenCase struct {
	row     string // the badges of the row, as heldOf reads them; or noRow
	idle    bool   // server 9001 is idle for the user
	wears   string // the badges that the user wears; "VIP" is not in the settings
	oneEach bool   // the badges are tags

	calls string // that are made, as called returns them
	left  string // the row afterwards, as shown writes it
}

func TestACommandGivesBackWhatIsMissing(t *testing.T) {
	for name, c := range map[string]seenCase{
		"nothing is missing":        {row: "7001", wears: "7001", left: "7001"},
		"a held badge is missing":   {row: "7001", calls: "give 7001 1", left: "7001"},
		"the user came back":        {idle: true, calls: "give 7001 1", left: "7001"},
		"the held badge was unsure": {row: "7001:unsure", wears: "7001", left: "7001"},
		"the user has another role": {
			row:   "7001",
			wears: "VIP",
			calls: "give 7001 1",
			left:  "7001",
		},
		"the user has a foreign tag": {
			row:     "7001",
			wears:   "VIP",
			oneEach: true,
			left:    "idle 9001",
		},
		"the user had a foreign tag": {
			idle:    true,
			oneEach: true,
			calls:   "give 7001 1",
			left:    "7001",
		},
		"the user has saved nothing": {row: noRow},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.run()
				if c.row != noRow {
					r := m.row(1, 0)
					r.Badges = heldOf(m.platform.tiers, c.row)
					if c.idle {
						r.setIdle("9001")
					}
					m.put(r)
				}
				m.leaves("9002")
				m.change(func() { m.oneEach = c.oneEach })
				m.setWorn("9001", 1, strings.Fields(c.wears)...)
				m.Seen(user(1), "9001", strings.Fields(c.wears))
				time.Sleep(10 * time.Second)
				m.equal("calls", m.called(), c.calls)
				m.equal("left", shown(m.saved(1)), c.left)
			})
		})
	}
}

func TestCommandsGiveBackOnceAMinute(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		loseAndSend := func() {
			m.setWorn("9001", 1) // no badge
			m.Seen(user(1), "9001", nil)
			time.Sleep(5 * time.Second)
		}
		loseAndSend()
		m.equal("worn after the first command", m.wornIn("9001"), "1:7001")
		loseAndSend()
		m.equal("worn after another within the minute", m.wornIn("9001"), "")
		time.Sleep(time.Minute)
		loseAndSend()
		m.equal("worn after one in the next minute", m.wornIn("9001"), "1:7001")
	})
}

// The settings name no badge of server 8888.
func TestACommandInAnotherServerGivesNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		m.setWorn("9001", 1)
		m.called()
		m.Seen(user(1), "8888", nil)
		time.Sleep(5 * time.Second)
		m.equal("calls", m.called(), "")
	})
}

// Users 0 to 2 wear a badge and have no row. User 4 wears none, and user 5 has a row.
func TestABadgeWithoutARowIsReported(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		for id := range 3 {
			m.Seen(user(id), "9001", []string{"7001", "VIP"})
		}
		m.Seen(user(4), "9001", []string{"VIP"})
		m.put(m.row(5, 0, "7001"))
		m.Seen(user(5), "9001", []string{"7001"})
		time.Sleep(time.Second)
		m.equal("events", m.event("badge_unrecorded"), 3)
		m.equal("lines", m.log.Lines("no address of theirs is saved"), 1)
		m.equal("calls", m.called(), "")
	})
}
