package discord

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/discord/api"
)

const (
	server   = "400000000000000001"
	staker   = "400000000000000002"
	ours     = "400000000000000003"
	above    = "400000000000000004"
	whale    = "400000000000000005"
	somebody = "500000000000000001"
)

// inServer puts the bot into a server, in which it can give the roles of stakers and whales.
func inServer(h *adapterTest, c *Config) {
	h.fake.AddGuild(server, []fakediscord.Role{
		{ID: staker, Name: "Staker", Position: 1},
		{ID: ours, Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
		{ID: above, Name: "Team", Position: 3},
		{ID: whale, Name: "Whale", Position: 1},
	}, ours)
	h.fake.Enter(server, somebody)
	c.StakerRoles = []chat.Badge{
		{Community: server, ID: staker},
		{Community: server, ID: whale, Amount: decimal.NewFromInt(1000)},
	}
}

// edit changes a role of the server.
func edit(id string, f func(*fakediscord.Role)) func(*adapterTest) {
	return func(h *adapterTest) {
		h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
			for i := range roles {
				if roles[i].ID == id {
					f(&roles[i])
				}
			}
			return roles
		})
	}
}

// deleteRole deletes the role of stakers.
func deleteRole(h *adapterTest) {
	h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
		return slices.DeleteFunc(roles, func(r fakediscord.Role) bool { return r.ID == staker })
	})
}

// removeBot removes the bot from the server.
func removeBot(h *adapterTest) { h.fake.Leave(server, h.fake.ApplicationID) }

func deleteServer(h *adapterTest) { h.fake.DeleteGuild(server) }

func requireTwoFactor(h *adapterTest) { h.fake.RequireTwoFactor(server) }

// loseRight takes the permission Manage Roles from the bot.
func loseRight(h *adapterTest) { edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 })(h) }

// moveRole moves the role of stakers, above all others at 4. The bot's own is at 2.
func moveRole(position int) func(*adapterTest) {
	return edit(staker, func(r *fakediscord.Role) { r.Position = position })
}

// administrate makes the bot an administrator.
func administrate(h *adapterTest) {
	edit(ours, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionAdministrator })(h)
}

// give gives a role to somebody, and returns the error.
func (h *adapterTest) give(t *testing.T, id string) chat.BadgeError {
	t.Helper()
	err := h.Give(t.Context(), server, id, somebody, "Herald: stakes")
	return badgeErrorOf(err)
}

// remove removes the role of stakers from somebody, and returns the error.
func (h *adapterTest) remove(t *testing.T) chat.BadgeError {
	t.Helper()
	err := h.Remove(t.Context(), server, staker, somebody, "Herald: forgotten")
	return badgeErrorOf(err)
}

// badgeErrorOf returns the BadgeError in err, or a zero one.
func badgeErrorOf(err error) chat.BadgeError {
	failed, is := errors.AsType[*chat.BadgeError](err)
	if !is {
		return chat.BadgeError{}
	}
	return *failed
}

func TestARoleIsGivenAndRemovedWithItsReason(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const reason = "Herald: stakes (21 of 21 pools, block 1,000,027)"
		for range 2 { // The second call changes nothing, and succeeds.
			equal(t, "give", h.Give(t.Context(), server, staker, somebody, reason), nil)
		}
		equal(t, "give another", h.Give(t.Context(), server, whale, somebody, reason), nil)
		roles, err := h.Worn(t.Context(), server, somebody)
		equal(t, "has", fmt.Sprint(roles, err), fmt.Sprint([]string{staker, whale}, " <nil>"))
		equal(t, "remove", h.Remove(t.Context(), server, staker, somebody, "Herald: forgotten"), nil)
		roles, err = h.Worn(t.Context(), server, somebody)
		equal(t, "has after that", fmt.Sprint(roles, err), fmt.Sprint([]string{whale}, " <nil>"))
		calls := h.fake.RoleCalls()
		equal(t, "calls", len(calls), 4)
		equal(t, "reason", calls[0].Reason, reason)
	}, inServer)
}

// A role would let a member skip the rules. It waits until they have accepted them.
func TestAMemberGetsNoRoleBeforeTheyAcceptTheRules(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.SetPending(server, somebody, true)
		equal(t, "problem", h.give(t, staker).Problem, chat.RulesPending)
		_, err := h.Worn(t.Context(), server, somebody)
		equal(t, "they are a member", err, nil)
		equal(t, "calls", len(h.fake.RoleCalls()), 0)
		h.fake.SetPending(server, somebody, false)
		equal(t, "problem after they have", h.give(t, staker).Problem, "")
		equal(t, "calls", len(h.fake.RoleCalls()), 1)
	}, inServer)
}

func TestAMemberGetsNoRoleWhileNobodyKnowsWhetherTheyAcceptedTheRules(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Script(fakediscord.GuildMember, discordtest.Fault{Status: 502})
		failed := h.give(t, staker)
		equal(t, "problem", failed.Problem, chat.BadgeFailed)
		equal(t, "outcome unknown", failed.OutcomeUnknown, false)
		equal(t, "calls", len(h.fake.RoleCalls()), 0)
	}, inServer)
}

// refuse makes each role call fail.
func refuse(f discordtest.Fault) func(*adapterTest) {
	return func(h *adapterTest) {
		h.fake.Break(fakediscord.PutRole, f)
		h.fake.Break(fakediscord.DeleteRole, f)
	}
}

func TestEachRefusalOfARoleHasItsProblem(t *testing.T) {
	leave := func(h *adapterTest) { h.fake.Leave(server, somebody) }
	managed := edit(staker, func(r *fakediscord.Role) { r.Managed = true })
	invalid := refuse(discordtest.Fault{Status: 400, Code: 50028})
	untold := refuse(discordtest.Fault{Status: 403, Code: 50013})
	everybodyManages := func(h *adapterTest) {
		loseRight(h)
		edit(server, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionManageRoles })(h)
	}
	for name, tt := range map[string]struct {
		change func(*adapterTest)
		want   chat.BadgeError
	}{
		"not a member":       {leave, chat.BadgeError{Problem: chat.NotAMember}},
		"deleted":            {deleteRole, chat.BadgeError{Problem: chat.BadgeGone}},
		"managed":            {managed, chat.BadgeError{Problem: chat.BadgeGone}},
		"invalid":            {invalid, chat.BadgeError{Problem: chat.BadgeGone}},
		"no right":           {loseRight, chat.BadgeError{Problem: chat.MissingRight}},
		"above":              {moveRole(3), chat.BadgeError{Problem: chat.RoleAbove}},
		"in our position":    {moveRole(2), chat.BadgeError{Problem: chat.RoleAbove}},
		"the bot removed":    {removeBot, chat.BadgeError{Problem: chat.MissingRight}},
		"the server deleted": {deleteServer, chat.BadgeError{Problem: chat.CommunityGone}},
		"cause untold":       {untold, chat.BadgeError{Problem: chat.NotAllowed}},
		"two-factor":         {requireTwoFactor, chat.BadgeError{Problem: chat.TwoFactor}},
		"an administrator":   {administrate, chat.BadgeError{}},
		"a right of all":     {everybodyManages, chat.BadgeError{}},
		"limited": {
			refuse(discordtest.Fault{Status: 429, RetryAfter: 7 * time.Second}),
			chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: 7 * time.Second},
		},
		"broken": {
			refuse(discordtest.Fault{Status: 502}),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
		"broken by a page": {
			refuse(discordtest.Fault{Status: 200}),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
		"broken off": {
			refuse(discordtest.Fault{DropAnswer: true}),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
				tt.change(h)
				for _, got := range []chat.BadgeError{h.give(t, staker), h.remove(t)} {
					got.Err = nil
					equal(t, "error", got, tt.want)
				}
			}, inServer)
		})
	}
}

// @everyone, and the role that Discord makes for the bot, are nobody's to give.
func TestNobodyCanGiveSomeRoles(t *testing.T) {
	unchanged := func(*adapterTest) {}
	managed := edit(ours, func(r *fakediscord.Role) { r.Managed = true })
	for name, tt := range map[string]struct {
		role   string
		change func(*adapterTest)
		want   chat.BadgeProblem
	}{
		"everyone's":           {server, unchanged, chat.BadgeGone},
		"made for the bot":     {ours, managed, chat.BadgeGone},
		"the bot's highest":    {ours, unchanged, chat.RoleAbove},
		"a role of no setting": {above, unchanged, chat.RoleAbove},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			tt.change(h)
			equal(t, name, h.give(t, tt.role).Problem, tt.want)
		}, inServer)
	}
}

func TestSlowRoleChangesHoldUpNoFirstResponse(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Break(fakediscord.PutRole, discordtest.Fault{Latency: 5 * time.Second})
		for range api.MaxFirst {
			go h.Give(t.Context(), server, staker, somebody, "Herald: stakes")
		}
		pass(time.Second)
		if a := h.ask(t, command("price")).Answer(); a.First > 500*time.Millisecond {
			t.Errorf("a first response took %v", a.First)
		}
		pass(5 * time.Minute)
	}, inServer)
}

// unexpected is a response with none of the members that are read.
var unexpected = discordtest.Fault{Status: 200, Code: 1}

func TestWhyRolesCannotBeReadHasItsProblem(t *testing.T) {
	leave := func(h *adapterTest) { h.fake.Leave(server, somebody) }
	answer := func(f discordtest.Fault) func(*adapterTest) {
		return func(h *adapterTest) { h.fake.Break(fakediscord.GuildMember, f) }
	}
	for name, tt := range map[string]struct {
		change func(*adapterTest)
		want   chat.BadgeProblem
	}{
		"not a member":       {leave, chat.NotAMember},
		"the bot removed":    {removeBot, chat.MissingRight},
		"the server deleted": {deleteServer, chat.CommunityGone},
		"broken":             {answer(discordtest.Fault{Status: 502}), chat.BadgeFailed},
		"no roles":           {answer(unexpected), chat.BadgeFailed},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			tt.change(h)
			_, err := h.Worn(t.Context(), server, somebody)
			got := badgeErrorOf(err)
			got.Err = nil
			equal(t, name, got, chat.BadgeError{Problem: tt.want})
		}, inServer)
	}
}

// A server in which the right is missing would otherwise cost two more calls a press.
func TestTheCauseOfRefusalsIsFetchedOnceAMinute(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.Rights(t.Context())
		loseRight(h)
		pass(2 * diagnoseEvery) // What was fetched is old now.
		before := h.fake.Calls(fakediscord.Guild)
		for range 5 {
			equal(t, "problem", h.give(t, staker).Problem, chat.MissingRight)
		}
		equal(t, "fetched", h.fake.Calls(fakediscord.Guild)-before, 1)
	}, inServer)
}

func TestACauseThatCannotBeFetchedIsAskedForOnceAMinute(t *testing.T) {
	for name, fault := range map[string]discordtest.Fault{"an outage": {Status: 502}, "no roles": unexpected} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			h.Rights(t.Context())
			loseRight(h)
			pass(2 * diagnoseEvery)
			h.fake.Break(fakediscord.Guild, fault)
			before := h.fake.Calls(fakediscord.Guild)
			for range 2 {
				equal(t, name+": problem", h.give(t, staker).Problem, chat.NotAllowed)
			}
			equal(t, name+": fetched", h.fake.Calls(fakediscord.Guild)-before, 1)
		}, inServer)
	}
}

func TestASenderIsReportedWithTheirRoles(t *testing.T) {
	const elsewhere = "400000000000000009"
	const allRoles = "[" + above + " " + whale + " " + staker + "]"
	unchanged := func(*adapterTest) {}
	enter := func(roles ...string) func(*adapterTest) {
		return func(h *adapterTest) { h.fake.Enter(server, somebody, roles...) }
	}
	pending := func(h *adapterTest) { h.fake.SetPending(server, somebody, true) }
	comeBack := func(h *adapterTest) {
		enter(staker)(h)
		h.fake.Leave(server, somebody)
		enter()(h)
	}
	for name, tt := range map[string]struct {
		guild  string
		change func(*adapterTest)
		want   string // the roles of each report
	}{
		"without a role":              {server, unchanged, "[]"},
		"with one of two":             {server, enter(staker), "[" + staker + "]"},
		"with all":                    {server, enter(above, whale, staker), allRoles},
		"back again":                  {server, comeBack, "[]"},
		"before they accept rules":    {server, pending, ""},
		"in a server of no setting":   {elsewhere, unchanged, ""},
		"in a private chat, no roles": {"", unchanged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var seen string
			simulateBothWays(t, func(t *testing.T, h *adapterTest) {
				tt.change(h)
				seen = ""
				i := command("price")
				i.GuildID, i.UserID = tt.guild, somebody
				h.ask(t, i)
				equal(t, "roles", seen, tt.want)
			}, inServer, func(h *adapterTest, _ *Config) {
				h.handler.OnSeen = func(user chat.User, community string, has []string) {
					if user.ID != somebody || community != server {
						t.Errorf("%s is reported in %s", user.ID, community)
					}
					seen += fmt.Sprint(has)
				}
			})
		})
	}
}

// An interaction without roles does not tell which ones the sender has.
func TestASenderWhoseRolesAreUnknownIsNotReported(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), overGateway, inServer, func(h *adapterTest, _ *Config) {
		h.handler.OnSeen = func(chat.User, string, []string) { t.Error("reported") }
	})
	s := h.newSession(t.Context(), h.handler)
	defer s.work.Drain()
	i, _ := decode([]byte(`{"member":{}}`))
	s.seeRoles(i, &chat.Request{Community: server})
}

func TestStakerRolesAreSortedByServerAndAmount(t *testing.T) {
	var s Settings
	equal(t, "error", s.setStakerRoles("discord:7:2:1000 discord:5:9:5 discord:7:4 discord:7:3:0.5"), nil)
	equal(t, "order", fmt.Sprint(s.StakerRoles), "[{5 9 5} {7 4 0} {7 3 0.5} {7 2 1000}]")
}
