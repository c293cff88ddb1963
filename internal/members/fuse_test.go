package members

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

func TestTheFuseBlowsAboveTenAndOneInTwenty(t *testing.T) {
	for _, c := range []struct {
		tally
		blown bool
	}{
		{tally{}, false},
		{tally{have: 10, losing: 10}, false},
		{tally{have: 11, losing: 11}, true},
		{tally{have: 219, losing: 11}, true},
		{tally{have: 220, losing: 11}, false},
		{tally{have: 10_000, losing: 501}, true},
	} {
		if got := c.tally.blown(); got != c.blown {
			t.Errorf("%+v: blown %t", c.tally, got)
		}
	}
}

// TestCountRows has the counts that one row gives: of all rows, of server 9001 and of 9002.
func TestCountRows(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		low, other := m.current(1, 2, "7001", "7002"), m.current(1, 2, "7001", "7002")
		low.Below = []Time{{}, timeOf(time.Now())}
		other.List, other.Below = 1, low.Below
		both := m.current(1, 0, "7001", "7002")
		both.Given = append(both.Given, Given{Community: "9002", Badge: "7003"})
		old, late := m.current(1, 1, "7001"), m.current(1, 1)
		old.CheckedAt = timeOf(time.Now().Add(-7 * time.Hour))
		late.CheckedAt = timeOf(time.Now().Add(-6*time.Hour - 11*time.Minute))
		forgotten, released := m.current(1, 0, "7001"), m.current(1, 0, "7001")
		forgotten.forget()
		released.Released = true
		for name, c := range map[string]struct {
			row  Row
			want string
		}{
			"has its badge":             {m.current(1, 1, "7001"), "{1 0 1 []} {1 0 1 []} {0 0 0 []}"},
			"has none":                  {m.current(1, 1), "{1 0 1 []} {0 0 0 []} {0 0 0 []}"},
			"has one of two too many":   {m.current(1, 1, "7001", "7002"), "{1 0 1 []} {1 1 1 [{discord 1}]} {0 0 0 []}"},
			"in the other order":        {m.current(1, 1, "7002", "7001"), "{1 0 1 []} {1 1 1 [{discord 1}]} {0 0 0 []}"},
			"has a first check below":   {low, "{1 0 1 []} {1 1 1 [{discord 1}]} {0 0 0 []}"},
			"below in another list":     {other, "{1 0 1 []} {1 0 1 []} {0 0 0 []}"},
			"has lost all":              {both, "{1 0 1 []} {1 1 1 [{discord 1}]} {1 1 1 [{discord 1}]}"},
			"has what is taken out":     {m.current(1, 1, "6000"), "{1 0 1 []} {0 0 0 []} {0 0 0 []}"},
			"not checked for 7 hours":   {old, "{1 0 0 []} {1 0 0 []} {0 0 0 []}"},
			"checked as a tick is slow": {late, "{1 0 1 []} {0 0 0 []} {0 0 0 []}"},
			"is released":               {released, "{1 0 1 []} {1 1 1 []} {0 0 0 []}"},
			"is forgotten":              {forgotten, "{0 0 0 []} {0 0 0 []} {0 0 0 []}"},
		} {
			all := m.countRows([]Row{c.row})
			m.equal(name, fmt.Sprint(all[""], all["9001"], all["9002"]), c.want)
		}
	})
}

func TestTheFuseBlowsForOneBadge(t *testing.T) {
	for name, c := range map[string]struct {
		losing, level int
		has           []string
		want          string // whether the fuse holds, where it holds one of them, and the log
	}{
		"10 of 10":  {10, 1, []string{"7001", "7002"}, "false [] 0"},
		"11 of 11":  {11, 1, []string{"7001", "7002"}, "true [9001] 1"},
		"11 of 300": {11, 0, []string{"7001"}, "false [] 0"},
	} {
		m := newMembersTest(t)
		for id := range 300 {
			m.put(m.current(id, 1, "7001"))
		}
		for id := range c.losing {
			m.put(m.current(id, c.level, c.has...))
		}
		m.reportFuse(m.platform)
		m.equal(name, fmt.Sprint(m.fuseHolds(m.platform.community("9001")), m.heldIn(m.current(0, c.level, c.has...)), strings.Count(m.log.String(), "losing=11 of=11")), c.want)
	}
}

// Until all rows were read once, nobody knows how many would lose a badge. When a fuse blows,
// that is told once.
func TestABlownFuseIsToldOnce(t *testing.T) {
	m := newMembersTest(t)
	here := m.platform.community("9001")
	m.putStakers(11, 0)
	m.put(m.current(90, 0, "7001"), m.current(91, 0, "6000"), m.current(92, 1, "7001"))
	m.rows.complete.Store(false)
	m.equal("before all is read", m.fuseHolds(here), true)
	m.equal("events", m.events, "map[]")
	if _, err := m.Status("discord", "9001"); err == nil {
		t.Error("the status is known before all rows are read")
	}
	unread, _, _ := m.Census()
	m.equal("rows before all is read", fmt.Sprint(unread), "NaN")
	m.rows.complete.Store(true)
	m.equal("then", m.fuseHolds(here), true)
	for range 3 {
		m.reportFuse(m.platform)
	}
	m.equal("of another server", m.fuseHolds(m.platform.community("9002")), false)
	m.equal("events", m.events, "map[fuse_blown:1]")
	m.equal("logged", strings.Count(m.log.String(), "losing=12 of=13"), 1)
	rows, checked, _ := m.Census()
	m.equal("census", fmt.Sprint(rows, checked), "14 14")
	ids := strings.Fields("0 1 2 3 4 5 6 7 8 9 10 90")
	for i, id := range append(ids, "91") {
		_, _, held := m.Census()
		s, err := m.Status("discord", "9001")
		first := names(s.FirstHeld, func(u chat.User) string { return u.ID })
		if err != nil || s.Have != 13 || s.Each[0].Checked != 13 || s.Losing != 12 || s.Held != 12-i || held != float64(12-i) || first != strings.Join(ids[i:min(i+10, 12)], " ") {
			t.Errorf("%d are released, and %v held: status %+v, %v", i, held, s, err)
		}
		row := m.current(0, 0, "7001")
		row.User.ID, row.Released = id, true
		m.put(row)
	}
	m.put(m.current(90, 0, "7001"))
	for _, level := range []int{1, 0} {
		m.putStakers(11, level)
		m.reportFuse(m.platform)
		s, _ := m.Status("discord", "9001")
		_, _, held := m.Census()
		m.equal(fmt.Sprint("at level ", level), fmt.Sprint(m.fuseHolds(here), s.Held, len(s.FirstHeld), held), map[int]string{1: "false 0 0 0", 0: "true 12 10 12"}[level])
	}
	m.equal("events", m.events, "map[fuse_blown:2]")
}

func TestNoStatusIsOlderThanACycle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.current(1, 1, "7001"))
		ctx, stop := context.WithCancel(m.Context())
		ended := make(chan struct{})
		go func() { m.Members.Run(ctx); close(ended) }()
		know := func() bool {
			_, err := m.Status("discord", "9001")
			have, _, _ := m.Census()
			return err == nil && have == 1
		}
		for _, away := range []bool{false, true, false} {
			m.storeAway.Store(away)
			time.Sleep(7 * time.Hour)
			m.equal(fmt.Sprint("with the store away ", away), know(), !away)
		}
		stop()
		<-ended
	})
}

// A release lets those go whom a fuse holds at that moment.
func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		people   int
		at       time.Duration // when the release is, from now on
		unread   bool
		released int
		left     bool
	}{
		"of twelve":                  {people: 12, released: 12},
		"of ten, whom no fuse holds": {people: 9},
		"two cycles old":             {people: 12, at: -12 * time.Hour, released: 12},
		"older":                      {people: 12, at: -12*time.Hour - time.Second},
		"of a clock a little ahead":  {people: 12, at: time.Minute, released: 12},
		"from the future":            {people: 12, at: time.Minute + time.Second},
		"before all rows are read":   {people: 12, unread: true, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.putStakers(c.people, 0)
				safe, before := m.current(90, 1, "7001"), m.current(91, 0, "7001")
				before.Released = true
				m.put(safe, before)
				held, err := m.Release(m.Context())
				if (c.people > 10) != (len(held) == c.people) || err != nil || len(held) > 0 && held[0] != (Place{user(0), "9001"}) {
					t.Fatalf("released %v, %v", held, err)
				}
				saved, _ := m.Store.Load(m.Context(), releaseKey("discord"))
				m.equal("a release is saved", saved != nil, c.people > 10)
				if c.at != 0 {
					_, _ = m.Store.Replace(m.Context(), releaseKey("discord"), saved, strconv.AppendInt(nil, time.Now().Add(c.at).Unix(), 10))
				}
				m.rows.complete.Store(!c.unread)
				m.rows.counts, m.rows.total = [shards]tallies{}, tallies{} // as in a process that read the rows before they changed
				m.carryOutRelease(m.Context(), m.platform)
				released := 0
				for id := range c.people {
					if m.saved(id).Released {
						released++
					}
				}
				m.equal("let go", released, c.released)
				m.equal("is told", strings.Contains(m.log.String(), "the fuse is released"), released > 0)
				m.equal("is told to be dropped", strings.Contains(m.log.String(), "was dropped"), saved != nil && released == 0 && !c.left)
				m.equal("of whom it does not hold", m.saved(90).Released, false)
				saved, _ = m.Store.Load(m.Context(), releaseKey("discord"))
				m.equal("a release is left", saved != nil, c.left)
				m.rows.complete.Store(true)
				if again, err := m.Release(m.Context()); c.released > 0 && len(again) > 0 || err != nil {
					t.Errorf("released again: %v, %v", again, err)
				}
			})
		})
	}
}

// The bot may delete an old release just before a new one replaces it.
func TestALostReleaseIsNotReported(t *testing.T) {
	m := newMembersTest(t)
	m.putStakers(11, 0)
	key := releaseKey("telegram") // the first that is saved
	_, _ = m.Store.Replace(t.Context(), key, nil, []byte("1"))
	m.beforeReplace = func() { _, _ = m.Store.Replace(t.Context(), key, []byte("1"), nil) }
	held, err := m.Release(t.Context())
	if len(held) != 0 || err != errRaced {
		t.Errorf("%d released, %v", len(held), err)
	}
	if held, err = m.Release(t.Context()); len(held) != 11 || err != nil {
		t.Errorf("then %d released, %v", len(held), err)
	}
}

// A release does not wait for the end of a check.
func TestAReleaseIsCarriedOutWithinAMinute(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.putStakers(11, 0)
		checking, checked := make(chan struct{}), make(chan struct{})
		m.during = func() { close(checking); <-checked }
		ctx, cancel := context.WithCancel(m.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Members.Run(ctx) })
		<-checking
		if held, err := m.Release(m.Context()); len(held) != 11 || err != nil {
			t.Error(held, err)
		}
		time.Sleep(releasePause)
		synctest.Wait()
		m.equal("released", m.saved(5).Released, true)
		close(checked)
		cancel()
		running.Wait()
	})
}

// A process carries out a release for the platforms that it has.
func TestAReleaseIsOfAPlatform(t *testing.T) {
	m := newMembersTest(t)
	telegram := m.platforms["telegram"]
	for id := range 11 {
		m.put(Row{
			User: chat.User{Platform: "telegram", ID: fmt.Sprint(id)}, Wallet: wallet(id), List: telegram.listHash,
			Given: []Given{{Community: "-1001", Badge: "Staker"}},
		})
	}
	if held, err := m.Release(t.Context()); len(held) != 11 || err != nil {
		t.Fatal(held, err)
	}
	for _, p := range []*platform{m.platform, telegram} {
		m.carryOutRelease(t.Context(), p)
		all, err := m.All(t.Context())
		if err != nil || all[0].Released != (p == telegram) {
			t.Errorf("%s: let go %t, %v", p.name, all[0].Released, err)
		}
	}
}
