package members

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/words"
)

func TestABadgeIsGivenAndLostWithinTwoCycles(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.equal("the press", m.presses(wallet(1), 5), "+7001, +7003")
		m.stakesNow(1, 0)
		m.cycles(1)
		m.equal("after a cycle", m.wornIn("9001"), "1:7001")
		time.Sleep(cycle + time.Hour)
		m.equal("after two cycles and an hour", m.wornIn("9001")+m.wornIn("9002"), "")
	})
}

// losesBadges makes user 1 lose a badge in each of the two servers, and stops the Members.
func losesBadges(m *membersTest) {
	m.run()
	m.presses(wallet(1), 5)
	m.stakesNow(1, 0)
	time.Sleep(2*cycle + time.Hour)
	m.stop()
}

func TestEachLossIsToldOnce(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		losesBadges(m)
		if len(m.notices) != 2 {
			t.Fatalf("%d notices", len(m.notices))
		}
		for _, notice := range m.notices {
			card := words.Print(notice)
			if title := card.Title.String(); !strings.Contains(title, "is removed in Server 900") {
				t.Errorf("titled %q", title)
			}
			if text := strings.ToLower(card.Text.String()); !strings.HasPrefix(text, "no stake found in 0xee00") {
				t.Errorf("told %q", text)
			}
		}
	})
}

func TestTheLogOfALossNamesNobody(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		losesBadges(m)
		hex := strings.ToLower(wallet(1).Hex()[2:])
		for _, private := range []string{"9001", "did:", hex} {
			m.equal("lines that name "+private, m.log.Lines(private), 0)
		}
	})
}

func TestEachRowIsCheckedOnceACycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := range 20 {
			r := m.row(id, -1)
			r.Due = Time{}
			m.put(r)
		}
		m.run()
		m.equal("checked at once", m.number(&m.checked), 20)
		for range 4 {
			m.change(func() { m.checked = 0 })
			m.cycles(1)
			m.equal("checked in a cycle", m.number(&m.checked), 20)
		}
	})
}

// putOverdue saves the rows of users 0 to n-1, as after an outage: all are due, and that of user n-1 has been due for
// the longest time.
func (m *membersTest) putOverdue(n int) {
	m.Helper()
	for id := range n {
		r := m.row(id, -1)
		r.Due = timeOf(time.Now().Add(-time.Duration(id) * time.Second))
		m.put(r)
	}
}

func TestATickChecksAFewOfMany(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putOverdue(3 * minDue)
		m.run()
		m.equal("checked in the first tick", m.number(&m.checked), minDue)
		m.ticks(2)
		m.equal("checked in three ticks", m.number(&m.checked), 3*minDue)
	})
}

func TestTheRowsThatWereDueFirstAreCheckedFirst(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putOverdue(3 * minDue)
		m.run()
		longestDue := m.saved(3*minDue - 1)
		shortestDue := m.saved(0)
		m.equal("the longest due was checked", longestDue.Due.After(time.Now()), true)
		m.equal("the shortest due was checked", shortestDue.Due.After(time.Now()), false)
	})
}

func TestOneReplicaTakesTheTurnAtEachTick(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(20, 5, "7001")
		other := New(m.config())
		ctx, cancel := context.WithCancel(m.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			other.Run(ctx)
		}()
		m.run()
		m.cycles(4)
		m.equal("checks in four cycles", m.number(&m.checked), 4*20)
		rows, checked, _, _ := other.Census()
		m.equal("rows that the other replica counts", rows, 20)
		m.equal("rows that it counts as checked", checked, 20)
		cancel()
		<-ended
	})
}

// The clock was a week ahead when the row was saved, and has been corrected since.
func TestRowsOfAClockThatWasAheadAreChecked(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.Due = timeOf(time.Now().Add(7 * 24 * time.Hour))
		r.CheckedAt = r.Due
		m.put(r)
		m.setWorn("9001", 1, "7001")
		m.stakesNow(1, 0)
		m.run()
		m.equal("checked at once", m.number(&m.checked), 1)
		m.cycles(3)
		m.equal("worn", m.wornIn("9001"), "")
	})
}

// A press while a check reads stakes sees a newer block than the check.
func TestAPressDuringEachCheckKeepsNoBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0, "7001"))
		m.setWorn("9001", 1, "7001")
		m.Members.Stakes = func(ctx context.Context, wallets []common.Address) []query.Answer[core.Stake] {
			found := m.readStakes(ctx, wallets)
			time.Sleep(2 * time.Second)
			m.presses(wallet(1), 0)
			return found
		}
		m.run()
		time.Sleep(2*cycle + time.Hour)
		m.equal("worn", m.wornIn("9001"), "")
	})
}

func TestEachCheckOfTheCycleIsCounted(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for id := 1; id <= 3; id++ {
			r := m.row(id, 0)
			r.Due = Time{}
			m.put(r)
		}
		m.stakesNow(2, 0)
		m.stakesNow(3, -1)
		m.run()
		m.equal("reached", m.event("check_reached"), 1)
		m.equal("below", m.event("check_below"), 1)
		m.equal("unknown", m.event("check_unknown"), 1)
	})
}

// partlyRead returns a check that found a stake of 5, and could not read one of the pools.
func partlyRead() check {
	c := checkOf(5, 6)
	c.stake.Failed = make([]core.UnreadPool, 1)
	return c
}

// A check counts as reached if every badge of the row is reached, and as below if one is not.
func TestACheckIsCountedByTheBadgesOfItsRow(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for name, c := range map[string]struct {
			check check
			row   Row
			want  string
		}{
			"its only badge is reached":    {checkOf(5, 6), m.row(1, 0, "7001"), "check_reached"},
			"one of two badges is missed":  {checkOf(5, 6), m.row(1, 0, "7001", "7002"), "check_below"},
			"no badge, and nothing staked": {checkOf(0, 6), m.row(1, -1), "check_below"},
			"a pool could not be read":     {partlyRead(), m.row(1, 0, "7001"), "check_unknown"},
			"the stake could not be read":  {check{failed: true}, m.row(1, 0, "7001"), "check_unknown"},
		} {
			clear(m.events)
			after := m.platform.tiers.decide(c.row, c.check, at(6))
			m.countCheck(m.platform, after, c.check)
			m.equal(name, m.events, map[string]int{c.want: 1})
		}
	})
}

func TestACheckMarksTheBadgesThatItMisses(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		for name, c := range map[string]struct {
			check check
			want  string // the row, as shown writes it
		}{
			"both are reached":            {checkOf(1000, 6), "7001, 7002"},
			"the higher one is missed":    {checkOf(5, 6), "7001, 7002 low"},
			"both are missed":             {checkOf(0, 6), "7001 low, 7002 low"},
			"a pool could not be read":    {partlyRead(), "7001, 7002"},
			"the stake could not be read": {check{failed: true}, "7001, 7002"},
		} {
			after := m.platform.tiers.decide(m.row(1, 0, "7001", "7002"), c.check, at(6))
			m.equal(name, shown(after), c.want)
		}
	})
}

func TestCheckAllChecksAsIfTimeHadPassed(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.presses(wallet(1), 5)
		m.stakesNow(1, 0)
		for range 2 {
			time.Sleep(time.Second)
			if err := m.CheckAll(m.Context(), cycle); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		m.equal("worn", m.wornIn("9001")+m.wornIn("9002"), "")
		m.equal("notices", len(m.notices), 2)
	})
}
