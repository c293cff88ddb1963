package members

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/words"
)

// savedCase is a row of user 1, and the badges of the Saved that Members.Saved returns for it.
type savedCase struct {
	reaches int64  // as row takes it
	badges  string // of the row, as heldOf reads them
	lost    string // badges in the order of their losses, such as "7002 7001"
	idle    bool   // server 9002 is idle for the user
	oneEach bool   // the badges are tags

	// IDs, separated by spaces.
	given   string
	atRisk  string
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
				m.equal("given", names(s.Given, givenID), c.given)
				m.equal("at risk", names(s.AtRisk, givenID), c.atRisk)
				m.equal("missing", names(s.Missing, lostID), c.missing)
				for _, l := range s.Missing {
					m.equal("why "+l.ID+" was lost", l.Why, *r.lost(l.Community, l.ID))
				}
			})
		})
	}
}

func givenID(g GivenBadge) string { return g.ID }
func lostID(l LostBadge) string   { return l.ID }
func badgeID(b Badge) string      { return b.ID }

func TestSavedShowsBadgesAndWhichOfThemMayGo(t *testing.T) {
	runSaved(t, map[string]savedCase{
		"two badges":               {reaches: 1000, badges: "7002 7001", given: "7001 7002"},
		"after a first low check":  {badges: "7001 7002:low", given: "7001 7002", atRisk: "7002"},
		"after a second low check": {reaches: -1, badges: "7001:goes", given: "7001", atRisk: "7001"},
		"perhaps removed":          {badges: "7001:unsure", given: "7001"},
	})
}

func TestSavedShowsLostBadges(t *testing.T) {
	runSaved(t, map[string]savedCase{
		"all": {reaches: -1, lost: "7002 7001 7003", missing: "7001 7002 7003"},
		"the higher one": {
			badges:  "7001",
			lost:    "7002",
			given:   "7001",
			missing: "7002",
		},
		"one that is not removed yet": {
			reaches: -1,
			badges:  "7001:goes",
			lost:    "7001 7003",
			given:   "7001",
			atRisk:  "7001",
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
		"beside another": {badges: "6000 7001", given: "6000 7001"},
		"alone":          {reaches: -1, badges: "6000", given: "6000", atRisk: "6000"},
		"lost":           {reaches: -1, lost: "6000"},
	})
}

// The answer to the give is lost, so the row does not know whether the user has the badge.
func TestABadgeThatIsUnsureAndNewIsNotShown(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.failWith(lost(true))
		m.presses(wallet(1), 5)
		s, err := m.Saved(m.Context(), user(1))
		m.equal("error", err, nil)
		m.equal("given", names(s.Given, givenID), "7003")
	})
}

func TestElsewhereLeavesOutTheBadgesOfACommunity(t *testing.T) {
	given := []GivenBadge{
		{Badge: Badge{Badge: chat.Badge{Community: "9001", ID: "7001"}}},
		{Badge: Badge{Badge: chat.Badge{Community: "9002", ID: "7003"}}},
	}
	s := &Saved{Given: given, AtRisk: given}
	elsewhere := s.Elsewhere("9002")
	for what, badges := range map[string][]GivenBadge{"given": elsewhere.Given, "at risk": elsewhere.AtRisk} {
		if got := names(badges, givenID); got != "7001" {
			t.Errorf("%s elsewhere: %s, want 7001", what, got)
		}
	}
	if got := names(s.Given, givenID); got != "7001 7003" {
		t.Errorf("given in the original: %s, want 7001 7003", got)
	}
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
	noon, evening, nextDay := timeOf(at(0)), timeOf(at(6)), timeOf(at(18))
	const sameDay = "on Nov 24 at 12:00 and 18:00 UTC."
	for name, c := range map[string]struct {
		loss   Loss
		amount int64
		want   string // the beginning of the text
	}{
		"of any stake, on one day": {
			loss: Loss{First: noon, Second: evening},
			want: "No stake found in WALLET " + sameDay + " Stake, then send /verify: it comes back.",
		},
		"of an amount": {
			loss:   Loss{First: noon, Second: evening},
			amount: 1000,
			want:   "WALLET staked less than 1,000\u00a0TKN " + sameDay,
		},
		"on two days": {
			loss: Loss{First: noon, Second: nextDay},
			want: "No stake found in WALLET on Nov 24 at 12:00 and Nov 25 at 06:00 UTC.",
		},
		"of the wallet": {
			loss: Loss{First: noon, Second: evening, Disowned: true},
			want: "WALLET",
		},
	} {
		text := WhyLost(c.loss, chat.Plain("WALLET"), decimal.NewFromInt(c.amount), "TKN")
		reply := &chat.Reply{Language: chat.English, Title: chat.Say("lost.title"), Text: text}
		if got := words.Print(reply).Text.String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOnlyALossOfAConfiguredBadgeIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		badge       string // that was removed
		lost        string // the badge of which the row has a Loss
		isForgotten bool
		notices     int
	}{
		"a configured badge":       {badge: "7001", lost: "7001", notices: 1},
		"a badge not configured":   {badge: "6000", lost: "6000"},
		"a badge without a Loss":   {badge: "7001"},
		"a forgotten user's badge": {badge: "7001", lost: "7001", isForgotten: true},
	} {
		inBubble(t, func(m *membersTest) {
			r := m.row(1, -1, c.badge)
			r.Lost = losses(c.lost)
			if c.isForgotten {
				r.Wallet = common.Address{}
			}
			m.put(r)
			here := m.platform.community("9001")
			m.tellWhyLost(m.Context(), here, user(1), here.badgeOf(c.badge))
			m.equal(name, len(m.notices), c.notices)
		})
	}
}

func TestStatusCountsEachBadge(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		checkedYesterday := m.row(3, 0, "7001")
		checkedYesterday.CheckedAt = timeOf(time.Now().Add(-24 * time.Hour))
		m.put(m.row(1, 1000, "7001", "7002"), m.row(2, 0, "7001"), checkedYesterday)
		m.run()
		here := m.platform.community("9001")
		here.recordFailure(m.Context(), "1", step{give, "7002"}, failure(chat.RoleAbove))
		s, err := m.Status("discord", "9001")
		m.equal("error", err, nil)
		inShort := func(b BadgeStatus) string {
			return strings.TrimSuffix(fmt.Sprintf("%s:have=%d,checked=%d,%s", b.ID, b.Have, b.Checked, b.Refused), ",")
		}
		m.equal("each", names(s.Each, inShort), "7001:have=3,checked=2 7002:have=1,checked=1,role_above")
		m.equal("have", s.Have, 3)
		m.equal("losing", s.Losing, 0)
		m.equal("held", s.HeldBack, 0)
	})
}

func TestStatusNamesTheRefusal(t *testing.T) {
	// giveCall is a call that gives a badge.
	type giveCall struct {
		community string
		badge     string
		problem   chat.BadgeProblem // empty if it succeeds
	}
	serverRefuses := giveCall{"9001", "7002", chat.MissingRight}
	firstRefused := giveCall{"9001", "7001", chat.RoleAbove}
	secondDeleted := giveCall{"9001", "7002", chat.BadgeGone}
	firstGiven := giveCall{"9001", "7001", ""}
	secondGiven := giveCall{"9001", "7002", ""}
	otherServer := giveCall{"9002", "7003", chat.RoleAbove}
	notConfigured := giveCall{"9001", "6000", chat.RoleAbove}
	for name, c := range map[string]struct {
		calls []giveCall
		want  chat.BadgeProblem
	}{
		"no call":                            {nil, ""},
		"the server refuses all":             {[]giveCall{serverRefuses}, chat.MissingRight},
		"the first role is refused":          {[]giveCall{firstRefused}, chat.RoleAbove},
		"the second role is deleted":         {[]giveCall{secondDeleted}, chat.BadgeGone},
		"a role, then all":                   {[]giveCall{firstRefused, serverRefuses}, chat.MissingRight},
		"a role, and another one is given":   {[]giveCall{firstRefused, secondGiven}, chat.RoleAbove},
		"a role, which is given later":       {[]giveCall{firstRefused, firstGiven}, ""},
		"a role of another server":           {[]giveCall{otherServer}, ""},
		"a role that is not in the settings": {[]giveCall{notConfigured}, ""},
	} {
		inBubble(t, func(m *membersTest) {
			m.run()
			for _, call := range c.calls {
				here := m.platform.community(call.community)
				planned := step{give, call.badge}
				if call.problem == "" {
					here.recordSuccess("1", planned)
				} else {
					here.recordFailure(m.Context(), "1", planned, failure(call.problem))
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
