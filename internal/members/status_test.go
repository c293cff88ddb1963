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

// savedCase is a row of user 1, and what commands show of it.
type savedCase struct {
	reaches int64  // -1 is none
	badges  string // of the row, as heldOf reads them
	lost    string // badges, in the order in which they were lost
	idle    bool   // in server 9002
	oneEach bool

	// What is shown: badges, separated by spaces.
	has     string
	going   string
	missing string
}

// losses returns a Loss of each badge, one an hour.
func losses(badges string) (all []Loss) {
	for i, badge := range strings.Fields(badges) {
		community := "9001"
		if badge == "7003" {
			community = "9002"
		}
		all = append(all, Loss{
			Community: community,
			Badge:     badge,
			First:     timeOf(at(0)),
			Second:    timeOf(at(float64(1 + i))),
		})
	}
	return all
}

// names returns the name of each badge, separated by spaces.
func names[B any](all []B, name func(B) string) string {
	var list []string
	for _, b := range all {
		list = append(list, name(b))
	}
	return strings.Join(list, " ")
}

func runSaved(t *testing.T, table map[string]savedCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.change(func() { m.oneEach = c.oneEach })
				r := m.row(1, c.reaches)
				r.Badges = heldOf(m.platform.tiers, c.badges)
				for i := range r.Badges {
					r.Badges[i].Since = r.SavedAt
				}
				r.Lost = losses(c.lost)
				if c.idle {
					r.setIdle("9002")
				}
				m.put(r)

				s, err := m.Saved(m.Context(), user(1))

				m.equal("error", err, nil)
				m.equal("stakes", s.Stakes, c.reaches >= 0)
				m.equal("has", names(s.Given, hasID), c.has)
				m.equal("going", names(s.AtRisk, hasID), c.going)
				m.equal("missing", names(s.Missing, badgeID), c.missing)
				m.equal("why", s.Lost != nil, c.missing != "")
			})
		})
	}
}

func hasID(h GivenBadge) string { return h.ID }
func badgeID(b Badge) string    { return b.ID }

func TestSavedShowsBadgesAndWhichOfThemMayGo(t *testing.T) {
	runSaved(t, map[string]savedCase{
		"two badges":               {reaches: 1000, badges: "7002 7001", has: "7001 7002"},
		"after a first low check":  {badges: "7001 7002:low", has: "7001 7002", going: "7002"},
		"after a second low check": {reaches: -1, badges: "7001:goes", has: "7001", going: "7001"},
		"perhaps removed":          {badges: "7001:unsure", has: "7001"},
	})
}

func TestSavedShowsLostBadges(t *testing.T) {
	runSaved(t, map[string]savedCase{
		"all": {reaches: -1, lost: "7002 7001 7003", missing: "7001 7002 7003"},
		"the higher one": {
			badges:  "7001",
			lost:    "7002",
			has:     "7001",
			missing: "7002",
		},
		"one that is not removed yet": {
			reaches: -1,
			badges:  "7001:goes",
			lost:    "7001 7003",
			has:     "7001",
			going:   "7001",
			missing: "7003",
		},
		"one in a server that the user left": {
			reaches: -1,
			lost:    "7001 7003",
			idle:    true,
			missing: "7001",
		},
		"of the tags of a server, the latest": {
			reaches: -1,
			oneEach: true,
			lost:    "7002 7001 7003",
			missing: "7001 7003",
		},
	})
}

func TestSavedShowsBadgesThatTheSettingsDoNotNameWhileTheyAreHeld(t *testing.T) {
	runSaved(t, map[string]savedCase{
		"beside another": {badges: "6000 7001", has: "6000 7001"},
		"alone":          {reaches: -1, badges: "6000", has: "6000", going: "6000"},
		"lost":           {reaches: -1, lost: "6000"},
	})
}

// Nobody knows whether it was given.
func TestABadgeThatIsUnsureAndNewIsNotShown(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.failWith(lost(true))
		m.presses(wallet(1), 5)
		s, err := m.Saved(m.Context(), user(1))
		m.equal("error", err, nil)
		m.equal("has", names(s.Given, hasID), "7003")
		m.equal("elsewhere", len(s.Elsewhere("9002").Given), 0)
		m.equal("and here", len(s.Given), 1)
	})
}

func TestForgottenUsersAndStrangersHaveNothingSaved(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0, "7001").afterForget())
		for id := 1; id <= 2; id++ {
			s, err := m.Saved(m.Context(), user(id))
			m.equal("error", err, nil)
			m.equal("saved", s == nil, true)
		}
	})
}

func TestALossIsToldWithItsTimes(t *testing.T) {
	lossAt := func(hours float64) Loss { return Loss{First: timeOf(at(0)), Second: timeOf(at(hours))} }
	disowned := lossAt(6)
	disowned.Disowned = true
	const day = "on Nov 24 at 12:00 and 18:00 UTC."
	for _, c := range []struct {
		loss   Loss
		amount int64
		want   string
	}{
		{lossAt(6), 0, "No stake found in WALLET " + day + " Stake, then send /verify: it comes back."},
		{lossAt(6), 1000, "WALLET staked less than 1,000\u00a0TKN " + day},
		{lossAt(18), 0, "No stake found in WALLET on Nov 24 at 12:00 and Nov 25 at 06:00 UTC."},
		{disowned, 0, "WALLET"},
	} {
		text := WhyLost(c.loss, chat.Plain("WALLET"), decimal.NewFromInt(c.amount), "TKN")
		reply := &chat.Reply{Language: chat.English, Title: chat.Say("lost.title"), Text: text}
		if got := words.Print(reply).Text.String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.loss, got, c.want)
		}
	}
}

func TestOnlyALossOfAConfiguredBadgeIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		lost        string // as losses reads it
		badge       string
		isForgotten bool
		notices     int
	}{
		"a badge that is lost":       {lost: "7001", badge: "7001", notices: 1},
		"one that the settings drop": {lost: "6000", badge: "6000"},
		"one without a loss":         {badge: "7001"},
		"one of a forgotten user":    {lost: "7001", badge: "7001", isForgotten: true},
	} {
		inBubble(t, func(m *membersTest) {
			r := m.row(1, -1, c.badge)
			r.Lost = losses(c.lost)
			if c.isForgotten {
				r.Wallet = wallet(0)
				r.Wallet[0] = 0
			}
			m.put(r)
			here := m.platform.community("9001")
			m.tell(m.Context(), here, user(1), here.badgeOf(c.badge))
			m.equal(name, len(m.notices), c.notices)
		})
	}
}

func TestStatusCountsEachBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		old := m.row(3, 0, "7001")
		old.CheckedAt = timeOf(time.Now().Add(-24 * time.Hour))
		m.put(m.row(1, 1000, "7001", "7002"), m.row(2, 0, "7001"), old)
		m.run()
		here := m.platform.community("9001")
		here.record(m.Context(), "1", step{give, "7002"}, failure(chat.RoleAbove))
		s, err := m.Status("discord", "9001")
		m.equal("error", err, nil)
		inShort := func(b BadgeStatus) string {
			return fmt.Sprintf("%s:%d/%d%s", b.ID, b.Have, b.Checked, b.Refused)
		}
		m.equal("each", names(s.Each, inShort), "7001:3/2 7002:1/1role_above")
		m.equal("have", s.Have, 3)
		m.equal("losing", s.Losing, 0)
		m.equal("held", s.Held, 0)
	})
}

func TestStatusNamesTheRefusal(t *testing.T) {
	// made is a call that gives a badge.
	type made struct {
		community string
		badge     string
		problem   chat.BadgeProblem // empty: it succeeds
	}
	serverRefuses := made{"9001", "7002", chat.MissingRight}
	firstRefused := made{"9001", "7001", chat.RoleAbove}
	secondDeleted := made{"9001", "7002", chat.BadgeGone}
	firstGiven := made{"9001", "7001", ""}
	secondGiven := made{"9001", "7002", ""}
	for name, c := range map[string]struct {
		calls []made
		want  chat.BadgeProblem
	}{
		"none":                    {nil, ""},
		"the server":              {[]made{serverRefuses}, chat.MissingRight},
		"the first role":          {[]made{firstRefused}, chat.RoleAbove},
		"the second role":         {[]made{secondDeleted}, chat.BadgeGone},
		"a role and the server":   {[]made{firstRefused, serverRefuses}, chat.MissingRight},
		"a role, another given":   {[]made{firstRefused, secondGiven}, chat.RoleAbove},
		"a role, given later":     {[]made{firstRefused, firstGiven}, ""},
		"one of another server":   {[]made{{"9002", "7003", chat.RoleAbove}}, ""},
		"one not in the settings": {[]made{{"9001", "6000", chat.RoleAbove}}, ""},
	} {
		inBubble(t, func(m *membersTest) {
			m.run()
			for _, call := range c.calls {
				here := m.platform.community(call.community)
				gives := step{give, call.badge}
				if call.problem == "" {
					here.succeeded("1", gives)
				} else {
					here.record(m.Context(), "1", gives, failure(call.problem))
				}
			}
			s, err := m.Status("discord", "9001")
			m.equal(name+": error", err, nil)
			m.equal(name+": refused", s.Refused, c.want)
		})
	}
}

// An ID means nothing to a member.
func TestACommunityWithoutANameIsNotShownByItsID(t *testing.T) {
	named := map[chat.Untrusted]chat.Value{"Holders": chat.Untrusted("Holders"), "": chat.Say("group.unnamed")}
	for name, want := range named {
		b := Badge{Badge: chat.Badge{Community: "200000000000000001"}, CommunityName: name}
		if got := b.Group(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
