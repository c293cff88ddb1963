package members

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

// settleCase is a row of user 1 in server 9001, and what settle does about it. In the zero case, the user reaches 7001
// and holds nothing.
type settleCase struct {
	reaches   int64             // 1000: 7001 and 7002; 0: 7001; -1: neither
	badges    string            // of the row, as heldOf reads them
	wears     string            // on the platform, such as "7001 7002" or noBadge; empty: the badges of the row
	forgotten bool              // the user sent /forget
	left      bool              // the user is not in the server
	problem   chat.BadgeProblem // of Give and Remove; empty: they succeed
	of        string            // the badge that has the problem; empty: all have it
	oneEach   bool              // the badges are tags, and not roles
	by        caller            // zero: byCycle

	calls string // that are made
	told  string // what a person is told
	row   string // that is left
}

// noBadge is what a user wears who wears nothing.
const noBadge = " "

// prepare saves the row of a case and makes the platform fit.
func (c settleCase) prepare(m *membersTest) {
	r := m.row(1, c.reaches)
	r.Badges = heldOf(m.platform.tiers, c.badges)
	if c.forgotten {
		r = r.afterForget()
	}
	m.put(r)
	wears := c.wears
	if wears == "" {
		wears = strings.NewReplacer(":goes", "", ":unsure", "").Replace(c.badges)
	}
	m.setWorn("9001", 1, strings.Fields(wears)...)
	if c.left {
		m.leaves("9001")
	}
	m.change(func() {
		m.oneEach = c.oneEach
		m.fault = func(made call) error {
			isThis := c.of == "" || c.of == made.badge
			if c.problem == "" || !isThis || made.do == "has" {
				return nil
			}
			return failure(c.problem)
		}
	})
	m.platform.latest.publish(newCensus(), nil)
}

func runSettle(t *testing.T, table map[string]settleCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				c.prepare(m)
				changes := m.settle(m.Context(), m.platform.community("9001"), user(1), c.by)
				m.equal("calls", m.called(), c.calls)
				m.equal("told", changed(changes), c.told)
				m.equal("row", shown(m.saved(1)), c.row)
				if t.Failed() {
					logState(m)
				}
			})
		})
	}
}

// logState logs the row of user 1, and its next step in server 9001.
func logState(m *membersTest) {
	r := m.saved(1)
	here := place{community: "9001", oneEach: m.oneEach}
	m.Logf("the row is %s, and its next step %+v", encode(r), m.platform.tiers.next(r, here))
}

func TestSettleGivesAndRemovesRoles(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"everything reached is given": {
			reaches: 1000,
			calls:   "give 7001 1, give 7002 1",
			told:    "+7001, +7002",
			row:     "7001, 7002",
		},
		"nothing is done twice": {badges: "7001", row: "7001"},
		"what goes is removed": {
			reaches: -1,
			badges:  "7001:goes",
			calls:   "remove 7001 1",
			told:    "-7001",
		},
		"everything is removed after /forget": {
			forgotten: true,
			badges:    "7001 7002",
			calls:     "remove 7002 1, remove 7001 1",
			told:      "-7001, -7002",
		},
		"who left is not told of it": {left: true, calls: "give 7001 1", row: "idle 9001"},
		"who left loses what was given": {
			reaches: -1,
			badges:  "7001:goes",
			left:    true,
			calls:   "remove 7001 1",
			row:     "idle 9001",
		},
	})
}

func TestARefusalOfTheUserOrTheServerEndsSettle(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"no right in the server": {
			reaches: 1000,
			problem: chat.MissingRight,
			calls:   "give 7001 1",
			told:    "+7001 missing_right",
		},
		"rules not accepted": {
			reaches: 1000,
			problem: chat.RulesPending,
			calls:   "give 7001 1",
			told:    "+7001 rules_pending",
		},
		"failing platform": {
			reaches: 1000,
			problem: chat.BadgeFailed,
			of:      "7001",
			calls:   "give 7001 1",
			told:    "+7001 failed",
		},
		"unknown server, which is not told": {reaches: 1000, problem: chat.CommunityGone, calls: "give 7001 1"},
	})
}

func TestARefusalOfOneBadgeDoesNotStopTheOthers(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"role above, another is given": {
			reaches: 1000,
			problem: chat.RoleAbove,
			of:      "7001",
			calls:   "give 7001 1, give 7002 1",
			told:    "+7001 role_above, +7002",
			row:     "7002",
		},
		"role above, another is removed": {
			badges:  "7002:goes",
			problem: chat.RoleAbove,
			of:      "7001",
			calls:   "give 7001 1, remove 7002 1",
			told:    "+7001 role_above, -7002",
		},
		"removal after /forget, another is removed": {
			forgotten: true,
			badges:    "7001 7002",
			problem:   chat.NotAllowed,
			of:        "7002",
			calls:     "remove 7002 1, remove 7001 1",
			told:      "-7001, -7002 not_allowed",
			row:       "7002 refused",
		},
		"deleted role, another is given": {
			reaches: 1000,
			problem: chat.BadgeGone,
			of:      "7001",
			calls:   "give 7001 1, give 7002 1",
			told:    "+7001 gone, +7002",
			row:     "7002",
		},
	})
}

func TestARefusedRemovalIsNoted(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"role above": {
			reaches: -1,
			badges:  "7001:goes",
			problem: chat.RoleAbove,
			calls:   "remove 7001 1",
			told:    "-7001 role_above",
			row:     "7001 goes refused",
		},
		"not allowed": {
			reaches: -1,
			badges:  "7001:goes",
			problem: chat.NotAllowed,
			calls:   "remove 7001 1",
			told:    "-7001 not_allowed",
			row:     "7001 goes refused",
		},
	})
}

func TestSettleReplacesTags(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"a lower tag replaces a higher one, and both are told": {
			badges:  "7002:goes",
			oneEach: true,
			calls:   "give 7001 1",
			told:    "+7001, -7002",
			row:     "7001",
		},
		"a higher tag replaces a lower one": {
			reaches: 1000,
			badges:  "7001",
			oneEach: true,
			calls:   "give 7002 1",
			told:    "+7002",
			row:     "7002",
		},
		"a refused higher tag leaves the lower one": {
			reaches: 1000,
			badges:  "7001",
			oneEach: true,
			problem: chat.BadgeGone,
			of:      "7002",
			calls:   "give 7002 1",
			told:    "+7002 gone",
			row:     "7001",
		},
		"a lower tag that goes is not removed while a higher one is held": {
			reaches: 1000,
			badges:  "7001:goes 7002",
			oneEach: true,
			row:     "7001 goes, 7002",
		},
	})
}

func TestWhatIsUnsureIsAskedForFirst(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"it was given": {badges: "7001:unsure", wears: "7001", row: "7001"},
		"it was not given": {
			badges: "7001:unsure",
			wears:  noBadge,
			calls:  "give 7001 1",
			told:   "+7001",
			row:    "7001",
		},
		"it was not removed": {
			reaches: -1,
			badges:  "7001:goes:unsure",
			calls:   "remove 7001 1",
			told:    "-7001",
		},
		"it was removed": {reaches: -1, badges: "7001:goes:unsure", wears: noBadge},
		"another badge is not worn any more": {
			reaches: 1000,
			badges:  "7001 7002:unsure",
			wears:   "7002",
			calls:   "give 7001 1",
			told:    "+7001",
			row:     "7001, 7002",
		},
		"who left": {badges: "7001:unsure", left: true, row: "idle 9001"},
	})
}

// An administrator has set a tag in place of one of ours.
func TestATagOfAnAdministratorStaysUntilAPress(t *testing.T) {
	runSettle(t, map[string]settleCase{
		"before a give": {oneEach: true, wears: "VIP", row: "idle 9001"},
		"before a removal": {
			reaches: -1,
			badges:  "7001:goes",
			oneEach: true,
			wears:   "VIP",
			row:     "idle 9001",
		},
		"while it is unsure": {
			badges:  "7001:unsure",
			oneEach: true,
			wears:   "VIP",
			row:     "idle 9001",
		},
		"after a command": {
			oneEach: true,
			wears:   "VIP",
			by:      byCommand,
			row:     "idle 9001",
		},
		"after a press": {
			oneEach: true,
			wears:   "VIP",
			by:      byPress,
			calls:   "give 7001 1",
			told:    "+7001",
			row:     "7001",
		},
		"a role is given beside it": {
			wears: "VIP",
			calls: "give 7001 1",
			told:  "+7001",
			row:   "7001",
		},
		"a tag that was renamed is ours": {
			reaches: 1000,
			badges:  "6000",
			oneEach: true,
			calls:   "give 7002 1",
			told:    "+7002",
			row:     "7002",
		},
	})
}

// The failure says nothing about the badge that was to be given, so another badge is not tried.
func TestAQuestionThatFailsBeforeACallEndsSettle(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		settleCase{reaches: 1000, oneEach: true}.prepare(m)
		m.change(func() { m.fault = func(call) error { return failure(chat.RoleAbove) } })
		changes := m.settle(m.Context(), m.platform.community("9001"), user(1), byCommand)
		m.equal("told", changed(changes), "+ role_above")
		m.equal("calls", m.called(), "")
		m.equal("questions", m.asked, 1)
	})
}

func TestARefusedTagIsNotReplacedByALowerOne(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		settleCase{reaches: 1000, oneEach: true}.prepare(m)
		m.failWith(failure(chat.NotAllowed))
		changes := m.settle(m.Context(), m.platform.community("9001"), user(1), byPress)
		m.equal("told", changed(changes), "+7002 not_allowed")
		m.equal("calls", m.called(), "give 7002 1")
	})
}

func TestAForgottenUserKeepsTheTagOfAnAdministrator(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := settleCase{forgotten: true, badges: "7001", wears: "VIP", oneEach: true}
		c.prepare(m)
		m.settle(m.Context(), m.platform.community("9001"), user(1), byCycle)
		m.equal("worn", m.wornIn("9001"), "1:VIP")
		m.equal("row", m.saved(1).User.ID, "")
	})
}

// The stake falls, the exchange is answered 502 but carried out, and the stake rises again before it is repeated.
func TestATagSurvivesA502AndARisingStake(t *testing.T) {
	for _, executed := range []bool{true, false} {
		t.Run(fmt.Sprint("carried out ", executed), func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.change(func() { m.oneEach = true })
				m.run()
				m.equal("the press", m.presses(wallet(1), 1000), "+7002, +7003")
				m.stakesNow(1, 5)
				m.failWith(lost(executed))
				m.cycles(3)
				m.failWith(nil)
				m.stakesNow(1, 1000)
				m.cycles(40)
				m.equal("ten days later", m.wornIn("9001"), "1:7002")
			})
		})
	}
}

func TestATagSurvivesARenameAnd502AndTheRenameBack(t *testing.T) {
	for _, executed := range []bool{true, false} {
		t.Run(fmt.Sprint("carried out ", executed), func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.change(func() { m.oneEach = true })
				m.run()
				m.presses(wallet(1), 1000)
				m.failWith(lost(executed))
				m.restart(func(c *Config) {
					renamed := []chat.Badge{roles[0], {Community: "9001", ID: "7009", Amount: roles[1].Amount}}
					c.setBadges(renamed)
				})
				m.cycles(2)
				m.failWith(nil)
				m.restart(func(*Config) {})
				m.cycles(4)
				m.equal("in the end", m.wornIn("9001"), "1:7002")
			})
		})
	}
}

// A tag is renamed to the text that another one had.
func TestTagsThatSwapTheirTextsAreExchanged(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.oneEach = true })
		m.run()
		m.presses(wallet(1), 1000)
		m.restart(func(c *Config) {
			c.setBadges([]chat.Badge{
				{Community: "9001", ID: "7002"},
				{Community: "9001", ID: "7001", Amount: roles[1].Amount},
			})
		})
		m.cycles(2)
		m.equal("in the end", m.wornIn("9001"), "1:7001")
	})
}

// Two servers' roles are swapped in the settings, so that the platform does not know either.
func TestARoleOfAnotherServerTakesNothingElse(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		m.change(func() {
			m.fault = func(c call) error {
				isElsewhere := c.community == "9001" && c.badge == "7003" || c.community == "9002" && c.badge == "7001"
				if c.do == "give" && isElsewhere {
					return failure(chat.BadgeGone)
				}
				return nil
			}
		})
		m.restart(func(c *Config) {
			swapped := []chat.Badge{{Community: "9001", ID: "7003"}, roles[1], {Community: "9002", ID: "7001"}}
			c.setBadges(swapped)
		})
		m.cycles(2)
		m.restart(func(*Config) {})
		m.cycles(2)
		m.equal("in 9001", m.wornIn("9001"), "1:7001")
		m.equal("in 9002", m.wornIn("9002"), "1:7003")
	})
}

// whileSettling is a change during the first call for user 1, who reaches 7001.
type whileSettling struct {
	badges  string // before, as heldOf reads them
	happens func(m *membersTest)
	calls   string
	row     string
}

// Changes of the row of user 1.

func forgets(m *membersTest) { m.put(m.saved(1).afterForget()) }

func stakesLess(m *membersTest) {
	r := m.saved(1)
	r.Reached.Valid = false
	r.Badges[0].RemoveUnder = underOf(m.platform.tiers, "7001")
	m.put(r)
}

func stakesMore(m *membersTest) {
	r := m.saved(1)
	r.Reached = m.row(1, 1000).Reached
	m.put(r)
}

func keepsBadge(m *membersTest) {
	r := m.saved(1)
	r.Badges[0].RemoveUnder = 0
	m.put(r)
}

// If the row changes during a call, the next calls follow the changed row.
func TestARowThatChangesDuringACallIsFollowed(t *testing.T) {
	for name, c := range map[string]whileSettling{
		"/forget":       {happens: forgets, calls: "give 7001 1, remove 7001 1"},
		"a lower stake": {happens: stakesLess, calls: "give 7001 1, remove 7001 1"},
		"a higher stake": {
			happens: stakesMore,
			calls:   "give 7001 1, give 7002 1",
			row:     "7001, 7002",
		},
		"the row is lost":  {happens: deleteRow, calls: "give 7001 1"},
		"the disk is full": {happens: fill, calls: "give 7001 1", row: "7001 unsure"},
		"a press during a removal": {
			badges:  "7001:goes",
			happens: keepsBadge,
			calls:   "remove 7001 1, give 7001 1",
			row:     "7001",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				settleCase{badges: c.badges}.prepare(m)
				m.change(func() { m.during = func(call) { c.happens(m) } })
				m.settle(m.Context(), m.platform.community("9001"), user(1), byPress)
				m.change(func() { m.full = false })
				m.equal("calls", m.called(), c.calls)
				m.equal("row", shown(m.saved(1)), c.row)
			})
		})
	}
}

// deleteRow makes the store lose the row of user 1.
func deleteRow(m *membersTest) {
	b := m.memory.Bucket("members/discord-42")
	value, _ := b.Load(m.Context(), "1")
	_, _ = b.Replace(m.Context(), "1", value, nil)
}

// fill makes the store's disk full.
func fill(m *membersTest) { m.change(func() { m.full = true }) }

func TestARowThatChangesBeforeACallPreventsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *membersTest)
		calls  string
	}{
		"nothing changes": {func(*membersTest) {}, "give 7001 1"},
		"/forget":         {forgets, ""},
		"the row is lost": {deleteRow, ""},
		"another replica loses it": {
			func(m *membersTest) { m.change(func() { m.atReplace = func() { deleteRow(m) } }) }, "",
		},
		"nothing is staked":        {func(m *membersTest) { m.put(m.row(1, -1)) }, ""},
		"the disk is full":         {fill, ""},
		"the store is unavailable": {func(m *membersTest) { m.change(func() { m.down = true }) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				settleCase{}.prepare(m)
				here := m.platform.community("9001")
				here.pausedUntil = time.Now().Add(5 * time.Second)
				time.AfterFunc(time.Second, func() { c.change(m) })
				m.settle(m.Context(), here, user(1), byPress)
				m.equal("calls", m.called(), c.calls)
			})
		})
	}
}

func TestACallWhoseOutcomeCannotBeSavedIsMadeOnce(t *testing.T) {
	for name, c := range map[string]settleCase{
		"a give":    {calls: "give 7001 1", told: "+7001 later"},
		"a removal": {reaches: -1, badges: "7001:goes", calls: "remove 7001 1", told: "-7001 later"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				c.prepare(m)
				m.change(func() { m.during = func(call) { fill(m) } })
				changes := m.settle(m.Context(), m.platform.community("9001"), user(1), byPress)
				m.equal("told", changed(changes), c.told)
				m.equal("calls", m.called(), c.calls)
			})
		})
	}
}

// Settings change while a give is unsure: the badge is not configured any more.
func TestAGiveThatIsUnsureWhileSettingsChangeLeavesOnlyTheNewBadge(t *testing.T) {
	for _, executed := range []bool{true, false} {
		t.Run(fmt.Sprint("carried out ", executed), func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.failWith(lost(executed))
				m.run()
				m.presses(wallet(1), 5)
				m.failWith(nil)
				m.restart(func(c *Config) {
					renamed := []chat.Badge{{Community: "9001", ID: "7009"}, roles[2]}
					c.setBadges(renamed)
				})
				m.cycles(2)
				m.equal("worn", m.wornIn("9001"), "1:7009")
			})
		})
	}
}

func TestOneCallerAtATimeSettlesAUser(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		settleCase{}.prepare(m)
		here := m.platform.community("9001")
		m.change(func() { m.during = func(call) { time.Sleep(5 * time.Second) } })
		go m.settle(m.Context(), here, user(1), byCycle)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(m.Context(), 2*time.Second)
		defer cancel()
		// No badge is named: the other caller settles the user, so this one does not know the next step.
		m.equal("within two seconds", changed(m.settle(ctx, here, user(1), byPress)), "+ later")
		m.equal("later", changed(m.settle(m.Context(), here, user(1), byPress)), "")
		m.equal("calls", m.called(), "give 7001 1")
	})
}

// The reasons name neither the user nor the wallet.
func TestTheAuditLogSaysWhyABadgeChanges(t *testing.T) {
	const configured = "7001"
	lost := Loss{Community: "9001", Badge: configured, First: timeOf(at(0)), Second: timeOf(at(1.5))}
	disowned := lost
	disowned.Disowned = true
	for name, c := range map[string]struct {
		row  Row
		step step
		want string
	}{
		"give": {
			row:  Row{User: user(1), Wallet: wallet(1), Block: timeOf(noon)},
			step: step{give, configured},
			want: "stakes enough (21 pools, block of 2026-11-24 12:00 UTC)",
		},
		"give, block unknown": {
			row:  Row{User: user(1), Wallet: wallet(1)},
			step: step{give, configured},
			want: "stakes enough (21 pools)",
		},
		"after /forget": {
			row:  Row{User: user(1)},
			step: step{remove, configured},
			want: "the member asked to be forgotten",
		},
		"not in the settings": {
			row:  Row{User: user(1), Wallet: wallet(1)},
			step: step{remove, "6000"},
			want: "the settings name another badge",
		},
		"no loss in the row": {
			row:  Row{User: user(1), Wallet: wallet(1)},
			step: step{remove, configured},
			want: "too little staked for this badge",
		},
		"wallet disowned": {
			row:  Row{User: user(1), Wallet: wallet(1), Lost: []Loss{disowned}},
			step: step{remove, configured},
			want: "the wallet is not the member's any more",
		},
		"lost by two checks": {
			row:  Row{User: user(1), Wallet: wallet(1), Lost: []Loss{lost}},
			step: step{remove, configured},
			want: "too little staked at 2026-11-24 12:00 and at 2026-11-24 13:30 UTC (21 pools)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				s := settling{m: m.Members, c: m.platform.community("9001")}
				m.equal("reason", s.reason(c.row, c.step), "Herald: "+c.want)
			})
		})
	}
}

// The second user's call is not made, because the first one's was refused.
func TestEachBadgeThatIsGivenUpIsLogged(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.failWith(failure(chat.RoleAbove))
		for id := 1; id <= 2; id++ {
			r := m.row(id, -1, "7001").afterForget()
			r.Badges[0].Refused = timeOf(time.Now().Add(-refusedFor - time.Hour))
			m.put(r)
			m.setWorn("9001", id, "7001")
		}
		m.run()
		m.ticks(1)
		m.equal("lines", m.log.Lines("could not be removed"), 2)
		m.equal("left", users(t, m.Members), "")
	})
}
