package members

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// TestSaved has what commands show of a row of user 1.
func TestSaved(t *testing.T) {
	lost := func(level int, lost Loss, badges ...string) func(m *membersTest) Row {
		return func(m *membersTest) Row { r := m.current(1, level, badges...); r.Lost = &lost; return r }
	}
	for name, c := range map[string]struct {
		row     func(m *membersTest) Row
		oneEach bool
		want    string // whether it stakes; badges; those that are going; those that are missing
	}{
		"two badges": {row: func(m *membersTest) Row { return m.current(1, 2, "7002", "7001") }, want: "true; 7001 7002; ; "},
		"a first check below": {row: func(m *membersTest) Row {
			r := m.current(1, 2, "7001", "7002")
			r.Below = []Time{{}, timeOf(noon)}
			return r
		}, want: "true; 7001 7002; 7002; "},
		"below every amount": {row: func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.Below = []Time{timeOf(noon)}; return r }, want: "false; 7001; 7001; "},
		"absent in one": {row: func(m *membersTest) Row {
			r := m.current(1, 1, "7001")
			r.set(Given{Community: "9002", State: Absent})
			return r
		}, want: "true; 7001; ; "},
		"perhaps given": {row: func(m *membersTest) Row {
			r := m.current(1, 2, "7001")
			r.set(Given{Community: "9001", Badge: "7002", State: Doubt})
			return r
		}, want: "true; 7001; ; "},
		"perhaps removed": {row: func(m *membersTest) Row {
			r := m.current(1, 1, "7001")
			r.Given[0].State = Doubt
			return r
		}, want: "true; 7001; ; "},
		"lost from level 2":   {row: lost(0, Loss{From: 2}), want: "false; ; ; 7001 7002 7003"},
		"of tags the highest": {row: lost(0, Loss{From: 2}), oneEach: true, want: "false; ; ; 7002 7003"},
		"lost from level 1":   {row: lost(0, Loss{From: 1}), want: "false; ; ; 7001 7003"},
		"the higher lost":     {row: lost(1, Loss{From: 2}, "7001"), want: "true; 7001; ; 7002"},
		"not removed yet":     {row: lost(0, Loss{From: 1}, "7001"), want: "false; 7001; 7001; 7003"},
		"lost, and left": {row: func(m *membersTest) Row {
			r := lost(0, Loss{From: 1})(m)
			r.set(Given{Community: "9002", State: Absent})
			return r
		}, want: "false; ; ; 7001"},
		"lost under another list": {row: func(m *membersTest) Row {
			r := lost(0, Loss{From: 2})(m)
			r.List = 1
			return r
		}, want: "false; ; ; "},
		"and checked since": {row: func(m *membersTest) Row {
			r := lost(0, Loss{From: 2})(m)
			r.List = 1
			return m.platform.decide(r, finding{block: r.Block.Time}, time.Now())
		}, want: "false; ; ; "},
		"forgotten": {row: func(m *membersTest) Row { r := m.current(1, 1, "7001"); r.forget(); return r }, want: "nothing"},
		"nothing":   {want: "nothing"},
	} {
		m := newMembersTest(t)
		m.oneEach = c.oneEach
		if c.row != nil {
			m.put(c.row(m))
		}
		s, err := m.Saved(t.Context(), user(1))
		got := "nothing"
		if s != nil {
			got = fmt.Sprint(s.Stakes, "; ", names(s.Badges, func(h Has) string { return string(h.Name) }), "; ",
				names(s.Going, func(h Has) string { return string(h.Name) }), "; ", names(s.Missing, func(b Badge) string { return string(b.Name) }))
		}
		m.equal(name, fmt.Sprint(got, err), c.want+"<nil>")
	}
}

func names[B any](all []B, name func(B) string) string {
	var list []string
	for _, b := range all {
		list = append(list, name(b))
	}
	return strings.Join(list, " ")
}

// TestWhyLost has the words for a loss, without an amount that is staked.
func TestWhyLost(t *testing.T) {
	day := Loss{First: timeOf(at(0)), Second: timeOf(at(6))}
	for _, c := range []struct {
		loss   Loss
		amount int64
		want   string
	}{
		{day, 0, "No stake found in WALLET on Nov 24 at 12:00 and 18:00 UTC. Stake, then send /verify: it comes back."},
		{day, 1000, "WALLET staked less than 1,000\u00a0TKN on Nov 24 at 12:00 and 18:00 UTC. "},
		{Loss{First: timeOf(at(0)), Second: timeOf(at(18))}, 0, "No stake found in WALLET on Nov 24 at 12:00 and Nov 25 at 06:00 UTC."},
		{Loss{Disowned: true, First: timeOf(at(0)), Second: timeOf(at(6))}, 0, "WALLET"},
	} {
		reply := chat.Reply{Language: chat.English, Title: chat.Say("lost.title"), Text: WhyLost(c.loss, chat.Plain("WALLET"), decimal.NewFromInt(c.amount), "TKN")}
		if got := words.Print(reply).Text.String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.loss, got, c.want)
		}
	}
}

// Nobody is told of a badge that the settings do not name any more, nor without a loss.
func TestWhoIsTold(t *testing.T) {
	loss := &Loss{First: timeOf(at(0)), Second: timeOf(at(6)), From: 1}
	for name, c := range map[string]struct {
		lost      *Loss
		badge     string
		forgotten bool
		told      int
	}{
		"a badge that is lost":      {lost: loss, badge: "7001", told: 1},
		"one that is taken out":     {lost: loss, badge: "6000"},
		"one of who lost nothing":   {badge: "7001"},
		"one of who asks to forget": {lost: loss, badge: "7001", forgotten: true},
	} {
		m := newMembersTest(t)
		r := m.current(1, 0, "7001")
		if r.Lost = c.lost; c.forgotten {
			r.forget()
			r.Lost = c.lost
		}
		m.put(r)
		here := m.platform.community("9001")
		m.tell(t.Context(), here, user(1), here.badgeOf("9001", c.badge))
		m.equal(name, len(m.notices), c.told)
	}
}
