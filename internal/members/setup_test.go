package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// cycle is how often saved addresses are checked in these tests.
const cycle = 6 * time.Hour

// membersTest is a test of a Members on a fake platform, in simulated time. It embeds the three, so that a test calls
// all their methods on m: m.Errorf of the test, m.setWorn of the fake, m.Save of the Members.
type membersTest struct {
	*testing.T
	*fake
	*Members
	platform *platform
	stop     func() // ends run
}

// inBubble runs test in simulated time, with a Members that does not run yet, and has not counted the rows.
func inBubble(t *testing.T, test func(m *membersTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &membersTest{T: t, fake: newFake(), stop: func() {}}
		m.use(m.config())
		test(m)
		m.stop()
	})
}

// use replaces the Members by one with this Config, on the same platform and store.
func (m *membersTest) use(c Config) {
	m.stop()
	m.stop = func() {}
	m.Members = New(c)
	m.platform = m.platforms["discord"]
}

// useAdapter replaces the Members by one with another adapter.
func (m *membersTest) useAdapter(adapter chat.BadgeGiver) {
	c := m.config()
	c.setPlatform(func(p *Platform) { p.Adapter = adapter })
	m.use(c)
}

// setBadges configures other badges.
func (c *Config) setBadges(badges []chat.Badge) {
	c.setPlatform(func(p *Platform) { p.Configured = badges })
}

// setBot configures another bot.
func (c *Config) setBot(id string) {
	c.setPlatform(func(p *Platform) { p.Bot = id })
}

// setPlatform changes the Platform of a Config.
func (c *Config) setPlatform(change func(p *Platform)) {
	p := c.Platforms["discord"]
	change(&p)
	c.Platforms = map[chat.Platform]Platform{"discord": p}
}

// run starts the Members, and returns a second later, after its first tick.
func (m *membersTest) run() {
	ctx, cancel := context.WithCancel(m.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Members.Run(ctx)
	}()
	m.stop = func() {
		cancel()
		<-ended
	}
	time.Sleep(time.Second)
}

// restart replaces the running Members by one with a changed Config, and runs that.
func (m *membersTest) restart(change func(c *Config)) {
	m.stop()
	c := m.config()
	change(&c)
	m.use(c)
	m.run()
}

// cycles lets n cycles pass.
func (m *membersTest) cycles(n int) { time.Sleep(time.Duration(n) * cycle) }

// ticks lets n ticks pass, and then a minute for their calls.
func (m *membersTest) ticks(n int) { time.Sleep(time.Duration(n)*tickEvery + time.Minute) }

func user(id int) chat.User { return chat.User{Platform: "discord", ID: fmt.Sprint(id)} }

func wallet(id int) common.Address { return common.Address{0: 0xee, 18: byte(id >> 8), 19: byte(id)} }

// equal fails the test unless got and want print the same.
func (m *membersTest) equal(what string, got, want any) {
	m.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.Errorf("%s: %v, want %v", what, got, want)
	}
}

// row returns a row that was checked just now. Its user holds badges of server 9001, and the highest amount that their
// stake reaches is reaches: -1 for no stake, 0 for any stake, or 1000.
func (m *membersTest) row(id int, reaches int64, badges ...string) Row {
	now := timeOf(time.Now())
	r := Row{
		User:      user(id),
		Wallet:    wallet(id),
		Pools:     m.platform.tiers.pools,
		SavedAt:   now,
		ProvenAt:  now,
		CheckedAt: now,
		Block:     now,
		Due:       m.platform.nextDue(now.Time),
	}
	if reaches >= 0 {
		r.Reached = decimal.NewNullDecimal(decimal.NewFromInt(reaches))
	}
	for _, badge := range badges {
		r.Badges = append(r.Badges, Held{Community: "9001", Badge: badge, Since: now})
	}
	return r
}

// put saves rows.
func (m *membersTest) put(rows ...Row) {
	m.Helper()
	for _, r := range rows {
		if _, err := m.platform.rows.update(m.Context(), r.User.ID, func(*Row) *Row { return &r }); err != nil {
			m.Fatal(err)
		}
	}
}

// putStakers saves rows of users 1 to n, who stake an amount and wear badges of server 9001.
func (m *membersTest) putStakers(n int, stake int64, badges ...string) {
	m.Helper()
	for id := 1; id <= n; id++ {
		m.put(m.row(id, reachedBy(stake), badges...))
		m.setWorn("9001", id, badges...)
		m.stakesNow(id, stake)
	}
}

// allStake sets what the wallets of users 1 to n stake.
func (m *membersTest) allStake(n int, stake int64) {
	for id := 1; id <= n; id++ {
		m.stakesNow(id, stake)
	}
}

// reachedBy returns the highest amount of the roles that a stake reaches, as row takes it.
func reachedBy(stake int64) int64 {
	switch {
	case stake >= 1000:
		return 1000
	case stake > 0:
		return 0
	}
	return -1
}

// saved returns the saved row of a user, or an empty one.
func (m *membersTest) saved(id int) Row {
	m.Helper()
	r, err := m.platform.rows.load(m.Context(), user(id).ID)
	if err != nil {
		m.Fatal(err)
	}
	if r == nil {
		return Row{}
	}
	return *r
}

// presses makes user 1 save a wallet, which is theirs and stakes an amount. It returns the changes as text.
func (m *membersTest) presses(wallet common.Address, stake int64) string {
	m.Helper()
	m.change(func() {
		m.stakes[wallet] = stake
		m.dids[wallet.Hex()] = "did:1"
	})
	changes, err := m.Save(m.Context(), user(1), wallet, stakeOf(stake, time.Now()))
	if err != nil {
		m.Error(err)
	}
	return changed(changes)
}

// changed returns changes as text, such as "+7001, -7002". A "+" stands for a badge that is given, and a "-" for one
// that is removed. The problem follows, as in "+7001 failed", or "later".
func changed(changes []Change) string {
	var all []string
	for _, c := range changes {
		sign := "+"
		if c.Removed {
			sign = "-"
		}
		s := strings.TrimSpace(sign + c.Badge.ID + " " + string(c.Problem))
		if c.Later {
			s += " later"
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// shown returns a row as text: its badges with their flags, and its idle communities, such as "7001 goes unsure, idle
// 9002".
func shown(r Row) string {
	var all []string
	for _, h := range r.Badges {
		all = append(all, h.Badge+flags(h))
	}
	slices.Sort(all)
	for _, id := range r.Idle {
		all = append(all, "idle "+id)
	}
	return strings.Join(all, ", ")
}

// flags returns which fields of a Held are set, such as " low goes". A badge that goes is to be removed: its
// RemoveUnder is set.
func flags(h Held) (s string) {
	for _, flag := range []struct {
		word string
		set  bool
	}{
		{" low", h.Low != MissedCheck{}},
		{" goes", h.RemoveUnder != 0},
		{" unsure", h.Unsure},
		{" released", h.Released},
		{" refused", !h.Refused.IsZero()},
	} {
		if flag.set {
			s += flag.word
		}
	}
	return s
}
