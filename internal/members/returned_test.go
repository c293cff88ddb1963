package members

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// TestSave has what a press does to the row that it finds, and to the badges of user 1.
func TestSave(t *testing.T) {
	first := []Time{timeOf(noon)}
	for name, c := range map[string]struct {
		row     func(m *membersTest) Row
		wallet  int
		stake   int64
		want    string // level, whether below, whether saved now
		changes string
	}{
		"the first":       {wallet: 1, stake: 5, want: "1 false true", changes: "+7001, +7003"},
		"another wallet":  {row: func(m *membersTest) Row { return m.current(1, 1) }, wallet: 2, stake: 1000, want: "2 false true", changes: "+7001, +7002, +7003"},
		"the same wallet": {row: func(m *membersTest) Row { return m.current(1, 1) }, wallet: 1, stake: 5, want: "1 false false", changes: "+7001, +7003"},
		"where they were absent": {row: func(m *membersTest) Row {
			r := m.current(1, 1)
			r.set(Given{Community: "9001", State: Absent})
			return r
		}, wallet: 1, stake: 5, want: "1 false false", changes: "+7001, +7003"},
		"no stake": {wallet: 1, want: "0 false true"},
		"of who may lose it": {row: func(m *membersTest) Row {
			r := m.current(1, 1)
			r.Below, r.Reached = first, decimal.NullDecimal{}
			return r
		}, wallet: 1, stake: -1, want: "1 true false"},
		"a forgotten one":                     {row: func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.forget(); return r }, wallet: 1, stake: 5, want: "1 false true", changes: "+7003"},
		"a forgotten one that stakes nothing": {row: func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.forget(); return r }, wallet: 1, want: "0 false true", changes: "-7001"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				before := timeOf(time.Now())
				if c.row != nil {
					m.put(c.row(m))
				}
				time.Sleep(time.Minute)
				m.equal("the press", m.saves(wallet(c.wallet), c.stake), c.changes)
				r := m.saved(1)
				m.equal("row", fmt.Sprint(r.Level, r.Below != nil, r.SavedAt != before), c.want)
				if r.Wallet != wallet(c.wallet) || time.Since(r.ProvenAt.Time) > time.Minute {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// A person waits for ten seconds. What is left follows.
func TestAPressWaitsForTenSeconds(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.platform.community("9001").pausedUntil = time.Now().Add(11 * time.Second)
		began := time.Now()
		m.equal("the press", m.saves(wallet(1), 5), "+7001 later, +7003")
		m.equal("it waited", time.Since(began), time.Duration(0))
		m.equal("left for a worker", len(m.platform.community("9001").queue), 1)
		m.storeAway.Store(true)
		if _, err := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now())); !errors.Is(err, ErrNotSaved) && err == nil {
			t.Error("saved without a store")
		}
		if _, err := m.Save(m.Context(), chat.User{Platform: "terminal", ID: "1"}, wallet(1), stakeOf(5, time.Now())); err == nil {
			t.Error("saved on another platform")
		}
	})
}

// TestForget has what is left of user 1, and what they are told.
func TestForget(t *testing.T) {
	for name, c := range map[string]struct {
		row     func(m *membersTest) Row
		problem chat.BadgeProblem
		want    string // wallet, changes, what is left, and whether an address was deleted
	}{
		"who has badges": {row: func(m *membersTest) Row { return m.current(1, 1, "7001") }, want: "true -7001  1"},
		"who has none":   {row: func(m *membersTest) Row { return m.current(1, 1) }, want: "true   1"},
		"who is absent": {row: func(m *membersTest) Row {
			r := m.current(1, 1)
			r.set(Given{Community: "9001", State: Absent})
			return r
		}, want: "true   1"},
		"where nothing is saved": {want: "false   0"},
		"what may not be taken":  {row: func(m *membersTest) Row { return m.current(1, 1, "7001") }, problem: chat.MissingRight, want: "true -7001 missing_right 7001 had refused 1"},
		"and again":              {row: func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.forget(); return r }, want: "false -7001  1"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					m.put(c.row(m))
				}
				if c.problem != "" {
					m.refusals["9001"] = &chat.BadgeError{Problem: c.problem, Err: errFault}
				}
				f, err := m.Forget(m.Context(), user(1))
				r := m.saved(1)
				m.equal("forgotten", fmt.Sprintln(f.Wallet == wallet(1), changed(f.Changes), shown(r), m.events["address_deleted"], err), c.want+" <nil>\n")
				if !r.Forgotten() || r.User.ID != "" && len(r.Given) == 0 {
					t.Errorf("left %+v", r)
				}
			})
		})
	}
}

// TestGiveBack has what somebody who is seen in server 9001 is given there.
func TestGiveBack(t *testing.T) {
	elsewhere := Given{Community: "9002", Badge: "7003"}
	row := func(change func(r *Row)) func(m *membersTest) Row {
		return func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.set(elsewhere); change(&r); return r }
	}
	for name, c := range map[string]struct {
		row         func(m *membersTest) Row
		has         []string
		oneEach     bool
		calls, want string
	}{
		"has a tag that was renamed":     {row: row(func(r *Row) { r.Given[0].Badge = "6000" }), has: []string{"6000"}, oneEach: true, calls: "give 7001 to 1", want: "7003 had, 7001 had"},
		"has a tag of an administrator":  {row: row(func(*Row) {}), has: []string{"VIP"}, oneEach: true, want: "7001 had, 7003 had"},
		"has a role of an administrator": {row: row(func(*Row) {}), has: []string{"VIP"}, calls: "give 7001 to 1", want: "7001 had, 7003 had"},
		"has all":                        {row: row(func(*Row) {}), has: []string{"7001"}, want: "7001 had, 7003 had"},
		"came back":                      {row: row(func(*Row) {}), calls: "give 7001 to 1", want: "7001 had, 7003 had"},
		"was absent":                     {row: row(func(r *Row) { r.Given = []Given{{Community: "9001", State: Absent}, elsewhere} }), calls: "give 7001 to 1", want: "7003 had, 7001 had"},
		"absent in both": {row: row(func(r *Row) {
			r.Given = []Given{{Community: "9001", State: Absent}, {Community: "9002", State: Absent}}
		}), calls: "give 7001 to 1", want: " absent, 7001 had"},
		"has lost it": {row: row(func(r *Row) {
			*r = Row{User: r.User, Wallet: r.Wallet, List: r.List, Pools: r.Pools, Given: []Given{elsewhere}}
		}), want: "7003 had"},
		"is forgotten":  {row: row(func(r *Row) { r.forget() }), want: "7001 had, 7003 had"},
		"saved nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					m.put(c.row(m))
				}
				m.oneEach = c.oneEach
				m.giveBack(m.Context(), m.platform.community("9001"), user(1), c.has)
				m.equal("calls", m.called(), c.calls)
				m.equal("row", shown(m.saved(1)), c.want)
			})
		})
	}
}

// TestRefresh has what /verify of a saved wallet gives, and how many servers it asks who has a
// badge.
func TestRefresh(t *testing.T) {
	for name, c := range map[string]struct {
		here, missing string // the badge of this server is
		wallet        int
		stake         int64
		oneEach       bool
		calls         string
		asked, later  int // later is with a second /verify within the minute
	}{
		"nothing is missing":           {wallet: 1, stake: 5, asked: 2, later: 2},
		"one is missing":               {wallet: 1, stake: 5, missing: "9002", asked: 2, calls: "give 7003 to 1", later: 3},
		"in the server of the command": {wallet: 1, stake: 5, missing: "9001", here: "9001", asked: 1, later: 1},
		"another wallet":               {wallet: 2, stake: 5, missing: "9002", later: 0},
		"more is staked":               {wallet: 1, stake: 1000, calls: "give 7002 to 1", later: 2},
		"less is staked":               {wallet: 1, stake: 0, asked: 2, later: 2},
		"a tag of their own":           {wallet: 1, stake: 5, oneEach: true, missing: "mine", asked: 2, later: 2},
		"the higher of two tags":       {wallet: 1, stake: 1000, oneEach: true, missing: "the lower", asked: 2, later: 2},
		"no tag":                       {wallet: 1, stake: 5, oneEach: true, missing: "9001", asked: 2, calls: "give 7001 to 1", later: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				r := m.current(1, 1, "7001")
				r.set(Given{Community: "9002", Badge: "7003"})
				m.put(r)
				m.has = map[string][]string{"9001 1": {"7001"}, "9002 1": {"7003"}}
				m.oneEach = c.oneEach
				switch c.missing {
				case "":
				case "the lower":
					r.Level, r.Given[0].Badge, m.has["9001 1"] = 2, "7002", []string{"7002"}
					m.put(r)
				case "mine":
					m.has["9001 1"] = []string{"of my own"}
				default:
					m.has[c.missing+" 1"] = nil
				}
				if c.calls == "" {
					m.Claims = nil // which settle needs
				}
				_, err := m.Refresh(m.Context(), user(1), c.here, wallet(c.wallet), stakeOf(c.stake, time.Now()))
				m.equal("calls", fmt.Sprint(m.called(), err), c.calls+"<nil>")
				m.equal("asked", m.asked, c.asked)
				_, _ = m.Refresh(m.Context(), user(1), c.here, wallet(c.wallet), stakeOf(c.stake, time.Now()))
				m.equal("asked within the minute", m.asked, c.later)
				m.equal("panics", m.events["panic"], 0)
			})
		})
	}
}

// hanging is the platform of a membersTest. It does not answer what a user has in server 9001.
type hanging struct{ *membersTest }

func (h hanging) Has(ctx context.Context, community, user string) ([]string, error) {
	if community == "9001" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.membersTest.Has(ctx, community, user)
}

func TestAServerThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.Use("discord", hanging{m})
		r := m.current(1, 1, "7001")
		r.set(Given{Community: "9002", Badge: "7003"})
		m.put(r)
		began := time.Now()
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, began))
		m.equal("given back", fmt.Sprint(changed(changes), err), "+7003<nil>")
		m.equal("within", time.Since(began), settleTime)
		began = time.Now()
		delete(m.has, "9002 1")
		m.equal("offered", len(m.Offer(m.Context(), user(1), "", stakeOf(5, began))), 1)
		m.equal("within", time.Since(began), offerTime)
	})
}

// TestHasIsRemembered has what happens in the middle of a call of Has, or before it, and how often
// the platform is asked if the next call comes a moment later.
func TestHasIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		cancelled bool
		during    func(m *membersTest)
		then      time.Duration // until the next call
		want      string        // the answers of both calls, and how often the platform was asked
	}{
		"a minute later":    {then: time.Minute, want: "[] [] 2"},
		"within the minute": {then: time.Minute - 1, want: "[] [] 1"},
		"a caller gives up": {cancelled: true, want: "context canceled [] 2"},
		"overtaken by a give": {during: func(m *membersTest) {
			m.has["9001 1"] = []string{"7001"}
			m.platform.community("9001").record(m.Context(), "1", step{badge: "7001"}, nil)
		}, want: "[] [7001] 2"},
		"a give to another": {during: func(m *membersTest) {
			m.platform.community("9001").record(m.Context(), "2", step{badge: "7001"}, nil)
		}, want: "[] [] 1"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				here := m.platform.community("9001")
				if c.during != nil {
					m.during = func() { c.during(m) }
				}
				ctx, cancel := context.WithCancel(m.Context())
				defer cancel()
				if c.cancelled {
					cancel()
				}
				answer := func(ctx context.Context) string {
					has, err := here.has(ctx, "1")
					if err != nil {
						return err.Error()
					}
					return fmt.Sprint(has)
				}
				first := answer(ctx)
				time.Sleep(c.then)
				m.equal("answers", fmt.Sprint(first, " ", answer(m.Context()), " ", m.asked), c.want)
			})
		})
	}
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		for id := range maxSeen + 1 {
			_, _ = here.has(m.Context(), fmt.Sprint(id))
		}
		m.equal("remembered", len(here.lastSeen), 1)
	})
}

// TestOffer has the badges that a press gives user 1, who stakes 1,000 tokens.
func TestOffer(t *testing.T) {
	for _, c := range []struct {
		here    string
		oneEach bool
		absent  bool
		want    string
	}{
		{"9001", false, false, "7001 7002 7003"},
		{"9001", true, false, "7002 7003"},
		{"", false, true, "7001 7002"},
		{"9002", false, true, "7001 7002 7003"}, // just let in
	} {
		m := newMembersTest(t)
		if m.oneEach = c.oneEach; c.absent {
			delete(m.has, "9002 1")
		}
		var got []string
		for range 2 {
			got = nil
			for _, b := range m.Offer(t.Context(), user(1), c.here, stakeOf(1000, time.Time{})) {
				got = append(got, string(b.Name))
			}
		}
		m.equal(fmt.Sprint(c), strings.Join(got, " "), c.want)
		m.equal("asked", m.asked, 2)
	}
	m := newMembersTest(t)
	for problem, want := range map[chat.BadgeProblem]bool{
		chat.NotAMember: true, chat.CannotHave: true, chat.CommunityGone: true, chat.BadgeFailed: false, chat.MissingRight: false,
	} {
		err := &chat.BadgeError{Problem: problem, Err: errFault}
		m.equal(string(problem), fmt.Sprint(absent(err, false), absent(err, true)), fmt.Sprint(want, want && problem != chat.NotAMember))
	}
	m.equal("no answer", absent(errFault, false), false)
}

// Seen takes note of servers with a badge alone, and drops what is too much.
func TestSeenIsBounded(t *testing.T) {
	m := newMembersTest(t)
	for range maxQueue + 1 {
		m.Seen(user(1), "9001", nil)
	}
	m.Seen(user(1), "8888", nil)
	m.equal("queued", fmt.Sprint(len(m.platform.community("9001").queue), len(m.platform.community("8888").queue)), "1000 0")
}
