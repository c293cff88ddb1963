package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// TestCheckTick has two attempts within a tick of 337.5 seconds: whether they check the rows, when
// the next one is, and whether other replicas may check them.
func TestCheckTick(t *testing.T) {
	const next, retry = "5m37.5s 5m37.5s", "42.1875s 42.1875s"
	for name, c := range map[string]struct {
		claimed, done bool // by another replica, before
		away, fails   bool // the store: throughout, or for what a check writes
		checked       bool
		pauses        string
		then          chat.Progress
	}{
		"the first that comes":       {checked: true, pauses: next, then: chat.Done},
		"after another replica":      {claimed: true, done: true, pauses: next, then: chat.Done},
		"while another replica does": {claimed: true, pauses: retry, then: chat.InFlight},
		"without a store":            {away: true, pauses: retry, then: chat.New},
		"what cannot be saved":       {fails: true, pauses: retry, then: chat.New},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				cycle := int64(6 * time.Hour)
				time.Sleep(time.Duration(cycle - time.Now().UnixNano()%cycle)) // to the first tick of a cycle
				id := 1
				for shardOf(user(id))%ticks != 0 {
					id++
				}
				row := m.current(id, 1)
				m.put(row)
				time.Sleep(time.Duration(cycle))
				m.stakes[row.Wallet] = 5
				m.storeAway.Store(c.away)
				if c.fails {
					m.rows.Store = &contested{m, 2 * maxRaces}
				}
				claim := m.claimOf(time.Now().UnixNano() / cycle * ticks)
				if c.claimed {
					m.Claims.Claim(m.Context(), claim)
				}
				if c.done {
					m.Claims.Release(claim, true, m.Every)
				}
				m.rows.complete.Store(false)
				var s schedule
				first := m.checkTick(m.Context(), &s)
				m.storeAway.Store(c.away || c.pauses == next) // What is done is not read again.
				m.equal("pauses", fmt.Sprint(first, " ", m.checkTick(m.Context(), &s)), c.pauses)
				m.storeAway.Store(false)
				m.equal("checked", m.saved(id).CheckedAt != row.CheckedAt, c.checked)
				progress, _ := m.Claims.Claim(m.Context(), claim)
				m.equal("claim", progress, c.then)
				m.equal("all rows were read", m.rows.complete.Load(), !c.away)
				m.equal("warnings", strings.Count(m.log.String(), "cannot be read"), map[bool]int{true: 1}[c.away])
			})
		})
	}
}

// A tick counts the rows of the one before anew, which another replica may have changed.
func TestATickReadsTheOneBefore(t *testing.T) {
	m := newMembersTest(t)
	id := 1
	for shardOf(user(id))%ticks != ticks-1 {
		id++
	}
	m.put(m.current(id, 1))
	m.rows.counts, m.rows.total = [shards]tallies{}, tallies{}
	due, err := m.read(m.Context(), 0, &schedule{})
	m.equal("due", fmt.Sprint(len(due), err), "0 <nil>")
	m.equal("counted", m.rows.tally("").have, 1)
}

// TestProof has what the monthly question whose a wallet is makes of a check.
func TestProof(t *testing.T) {
	const month = proofLasts
	for name, c := range map[string]struct {
		level, stake int64
		age          time.Duration
		user, owner  string
		want         string // least, most, proven and disowned
	}{
		"a young proof is not asked for": {level: 1, stake: 5, age: month - time.Second, want: "1 1 false false"},
		"theirs":                         {level: 1, stake: 5, age: month, user: "did:1", owner: "did:1", want: "1 1 true false"},
		"another's":                      {level: 1, stake: 5, age: month, user: "did:1", owner: "did:2", want: "0 0 false true"},
		"two that do not exist":          {level: 1, stake: 5, age: month, want: "0 0 false true"},
		"an account that is not known":   {level: 1, stake: 5, age: month, user: "away", owner: "did:1", want: "0 2 false false"},
		"whose stake is gone anyhow":     {level: 1, age: month, user: "away", owner: "did:1", want: "0 0 false false"},
		"an owner who is not known":      {level: 1, stake: 5, age: month, user: "did:1", owner: "away", want: "0 2 false false"},
		"no block to count from":         {level: 1, stake: -1, age: month, user: "did:1", owner: "did:2", want: "0 2 false false"},
		"nothing to lose":                {age: month, want: "0 0 false false"},
		"a stake that is new":            {stake: 5, age: month, user: "did:1", owner: "did:1", want: "1 1 true false"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				row := m.current(1, int(c.level))
				row.ProvenAt = timeOf(time.Now().Add(-c.age))
				m.put(row)
				m.stakes[row.Wallet] = c.stake
				m.dids = map[string]string{"1": c.user, row.Wallet.Hex(): c.owner}
				found := m.checkStakes(m.Context(), []Row{row})[0]
				m.equal("found", fmt.Sprint(found.check.least, found.check.most, found.proven, found.check.disowned), c.want)
				if err := m.save(m.Context(), []checked{found}); err != nil {
					t.Error(err)
				}
				m.equal("proven now", m.saved(1).ProvenAt != row.ProvenAt, found.proven)
			})
		})
	}
}

// A tick of a short cycle asks about few: first about those whose last check found too little.
func TestATickProvesFew(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.Every = 10 * time.Minute
		var rows []Row
		for id := range 9 {
			row := m.current(id, 1)
			row.ProvenAt = Time{}
			m.stakes[row.Wallet], m.dids[row.Wallet.Hex()], m.dids[row.User.ID] = 5, "did:x", "did:x"
			if id >= 7 {
				row.Below = []Time{row.Block}
			}
			rows = append(rows, row)
		}
		var first []bool
		for range 200 { // Person 0 is among two of seven: (5/7)^200 is no chance.
			var proven []int
			for _, c := range m.checkStakes(m.Context(), rows) {
				if c.proven {
					proven = append(proven, int(c.row.Wallet[19]))
				}
			}
			if len(proven) != 4 || !slices.Equal(proven[2:], []int{7, 8}) {
				t.Fatalf("asked about %v", proven)
			}
			first = append(first, proven[0] == 0)
		}
		if !slices.Contains(first, true) || !slices.Contains(first, false) {
			t.Error("the same wait every time")
		}
	})
}

// TestChecksAreCounted has the metric of a check of a row with a level.
func TestChecksAreCounted(t *testing.T) {
	for _, c := range []struct {
		check finding
		level int
		want  string
	}{
		{finding{}, 0, "below"},
		{finding{}, 1, "below"},
		{finding{least: 1, most: 1}, 2, "below"},
		{finding{least: 1, most: 1}, 1, "reached"},
		{finding{least: 2, most: 2}, 1, "reached"},
		{finding{least: 1, most: 2}, 1, "reached"},
		{finding{least: 1, most: 2}, 2, "unknown"},
		{finding{most: 2}, 0, "unknown"},
	} {
		m := newMembersTest(t)
		m.countCheck(c.check, c.level)
		m.equal(fmt.Sprint(c), m.events, "map[check_"+c.want+":1]")
	}
}

// TestCheckAll has what a check of every row does to user 1, who had both badges of server 9001.
func TestCheckAll(t *testing.T) {
	for name, c := range map[string]struct {
		row     func(m *membersTest, r *Row)
		stake   int64
		during  func(m *membersTest)
		refused bool
		off     bool
		want    string // badges, level, whether below, and how many are told
		calls   string
	}{
		"a stake that stands":        {stake: 1000, want: "7001 had, 7002 had; 2 false; 0"},
		"a first check below":        {stake: 5, want: "7001 had, 7002 had; 2 true; 0"},
		"a second one":               {row: func(_ *membersTest, r *Row) { r.Below = []Time{{}, timeOf(time.Now().Add(-time.Hour))} }, stake: 5, want: "7001 had; 1 false; 1", calls: "remove 7002 to 1"},
		"one that is refused":        {row: func(_ *membersTest, r *Row) { r.Below = []Time{{}, timeOf(time.Now().Add(-time.Hour))} }, stake: 5, refused: true, want: "7001 had, 7002 had refused; 1 false; 0", calls: "remove 7002 to 1"},
		"a press meanwhile":          {during: func(m *membersTest) { r := m.saved(1); r.Wallet = wallet(2); m.put(r) }, want: "7001 had, 7002 had; 2 false; 0"},
		"who is forgotten":           {row: func(_ *membersTest, r *Row) { r.forget() }, stake: 1000, want: "; 0 false; 0", calls: "remove 7002 to 1, remove 7001 to 1"},
		"who is forgotten, but kept": {row: func(_ *membersTest, r *Row) { r.forget() }, stake: 1000, refused: true, want: "7001 had, 7002 had refused; 0 false; 0", calls: "remove 7002 to 1"},
		"what is not set any more":   {row: func(_ *membersTest, r *Row) { r.set(Given{Community: "8888", Badge: "7009"}) }, stake: 1000, want: "7001 had, 7002 had; 2 false; 0", calls: "remove 7009 to 1"},
		"a platform that is off":     {row: func(_ *membersTest, r *Row) { r.forget() }, off: true, want: "7001 had, 7002 had; 0 false; 0"},
		"whose wallet is another's": {row: func(_ *membersTest, r *Row) {
			r.Level, r.Given, r.Reached, r.Lost = 0, nil, decimal.NullDecimal{}, &Loss{Disowned: true}
		}, stake: 1000, want: "; 0 false; 0"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				row := m.current(1, 2, "7001", "7002")
				if c.row != nil {
					c.row(m, &row)
				}
				m.put(row)
				m.stakes[wallet(1)], m.has["9001 1"], m.has["8888 1"] = c.stake, []string{"7001", "7002"}, []string{"7009"}
				delete(m.has, "9002 1")
				r := m.saved(1)
				r.Given = append(r.Given, Given{Community: "9002", State: Absent})
				if !r.Forgotten() {
					m.put(r)
				}
				if c.during != nil {
					m.during = func() { c.during(m) }
				}
				if c.refused {
					m.refusals["9001"] = &chat.BadgeError{Problem: chat.MissingRight, Err: errFault}
				}
				if c.off {
					m.platform.Badges = nil
				}
				if err := m.CheckAll(m.Context(), 0); err != nil {
					t.Error(err)
				}
				r = m.saved(1)
				m.equal("a forgotten row was checked", r.Forgotten() && !r.CheckedAt.IsZero(), false)
				r.Given = slices.DeleteFunc(r.Given, func(g Given) bool { return g.Community == "9002" })
				m.equal("row", fmt.Sprintf("%s; %d %t; %d", shown(r), r.Level, r.Below != nil, len(m.notices)), c.want)
				m.equal("calls", m.called(), c.calls)
			})
		})
	}
}

// What cannot be read because the process ends forgets no first check below.
func TestAProcessThatEndsFindsNothing(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		row := m.current(1, 1, "7001")
		row.Below = []Time{row.Block}
		m.put(row)
		m.stakes[row.Wallet] = -1
		ctx, cancel := context.WithCancel(m.Context())
		m.during = cancel
		err := m.checkAll(ctx, []Row{row})
		m.equal("check", fmt.Sprint(err, m.saved(1).Below != nil), "context canceled true")
	})
}

// A panic is counted, and ends neither the process nor what comes after.
func TestAPanicIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		panics int // one after another, each in a reading of stakes or a call for a badge
		press  bool
	}{
		"in a check":                    {panics: 1},
		"in each check of twelve hours": {panics: 1024},
		"in a press":                    {panics: 1, press: true},
	} {
		inBubble(t, func(m *membersTest) {
			left := c.panics
			var fails func()
			fails = func() {
				if left--; left > 0 {
					m.change(func() { m.during = fails })
				}
				panic("on purpose")
			}
			if c.press {
				m.during = fails
				_ = m.saves(wallet(1), 5)
			} else {
				m.put(m.current(1, 1, "7001"))
				m.stakes[wallet(1)], m.during = 0, fails
			}
			ctx, stop := context.WithCancel(m.Context())
			ended := make(chan struct{})
			go func() { m.Members.Run(ctx); close(ended) }()
			time.Sleep(24 * time.Hour)
			stop()
			<-ended
			m.equal(name+": panics", m.events["panic"], c.panics)
			m.equal(name+": badges", len(m.saved(1).Given), map[bool]int{true: 2}[c.press])
		})
	}
}

// A bot that runs checks each row once a cycle, tells why a badge goes, gives it back to whoever
// came back with a command, and does later what a press could not.
func TestRun(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		ctx, stop := context.WithCancel(m.Context())
		m.rows.complete.Store(false)
		ended := make(chan struct{})
		go func() { m.Members.Run(ctx); close(ended) }()
		time.Sleep(time.Minute)
		m.refusals["9001"] = &chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: 30 * time.Second, Err: errFault}
		m.equal("the press", m.saves(wallet(1), 5), "+7001 failed, +7003")
		m.change(func() { m.refusals = map[string]*chat.BadgeError{"9002": {Problem: chat.MissingRight, Err: errFault}} })
		time.Sleep(time.Minute)
		m.equal("a minute later", m.worn("9001"), "[1:7001]")

		m.change(func() { m.has["9001 1"] = nil })
		m.Seen(user(1), "9001", nil)
		time.Sleep(5 * time.Second)
		m.equal("back with a command", m.worn("9001"), "[1:7001]")
		m.change(func() { m.has["9001 1"] = nil })
		m.Seen(user(1), "9001", nil)
		time.Sleep(5 * time.Second)
		m.equal("once a minute", m.worn("9001"), "[]")
		time.Sleep(time.Minute)
		m.Seen(user(1), "9001", nil)
		m.Seen(user(1), "8888", nil)
		time.Sleep(5 * time.Second)
		m.equal("and again", m.worn("9001"), "[1:7001]")

		m.change(func() { m.stakes[wallet(1)] = 0 })
		time.Sleep(6 * time.Hour)
		m.equal("after a cycle", m.worn("9001"), "[1:7001]")
		time.Sleep(7 * time.Hour)
		m.equal("after two", m.worn("9001"), "[]")
		m.equal("of a server that refuses", m.worn("9002"), "[1:7003]")
		if len(m.notices) != 1 {
			t.Fatalf("%d notices", len(m.notices))
		}
		card := words.Print(m.notices[0])
		if title := card.Title.String(); title != "7001 is removed in Server 9001" {
			t.Errorf("titled %q", title)
		}
		if text := strings.ToLower(card.Text.String()); !strings.HasPrefix(text, "no stake found in 0xee00") {
			t.Errorf("told %q", text)
		}
		for _, private := range []string{"9001", "did:", strings.ToLower(wallet(1).Hex()[2:])} {
			if strings.Contains(strings.ToLower(m.log.String()), private) {
				t.Errorf("the log names %s: %s", private, &m.log)
			}
		}
		stop()
		<-ended
	})
}
