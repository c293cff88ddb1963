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

// The IDs of a server, its roles, and a member.
const (
	server   = "400000000000000001"
	staker   = "400000000000000002" // the role of members who stake
	botRole  = "400000000000000003" // the bot's role
	above    = "400000000000000004" // a role above the bot's
	whale    = "400000000000000005" // the role of members who stake 1,000 or more
	somebody = "500000000000000001"
)

// inServer puts the bot into the server, where it can give the roles staker and whale.
func inServer(h *adapterTest, c *Config) {
	h.fake.AddGuild(server, []fakediscord.Role{
		{ID: staker, Name: "Staker", Position: 1},
		{ID: botRole, Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
		{ID: above, Name: "Team", Position: 3},
		{ID: whale, Name: "Whale", Position: 1},
	}, botRole)
	h.fake.Enter(server, somebody)
	c.StakerRoles = []chat.Badge{
		{Community: server, ID: staker},
		{Community: server, ID: whale, Amount: decimal.NewFromInt(1000)},
	}
}

// editRole returns a function that changes a role of the server by edit.
func editRole(id string, edit func(*fakediscord.Role)) func(*adapterTest) {
	return func(h *adapterTest) {
		h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
			for i := range roles {
				if roles[i].ID == id {
					edit(&roles[i])
				}
			}
			return roles
		})
	}
}

// deleteRole deletes the role staker.
func deleteRole(h *adapterTest) {
	h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
		return slices.DeleteFunc(roles, func(r fakediscord.Role) bool { return r.ID == staker })
	})
}

// removeBot removes the bot from the server.
func removeBot(h *adapterTest) { h.fake.Leave(server, h.fake.ApplicationID) }

func deleteServer(h *adapterTest) { h.fake.DeleteGuild(server) }

func requireTwoFactor(h *adapterTest) { h.fake.RequireTwoFactor(server) }

// removePermission removes the permission Manage Roles from the bot's role.
func removePermission(h *adapterTest) {
	editRole(botRole, func(r *fakediscord.Role) { r.Permissions = 0 })(h)
}

// moveRole returns a function that moves the role staker to a position. The bot's role has position 2.
func moveRole(position int) func(*adapterTest) {
	return editRole(staker, func(r *fakediscord.Role) { r.Position = position })
}

// makeAdministrator makes the bot an administrator.
func makeAdministrator(h *adapterTest) {
	editRole(botRole, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionAdministrator })(h)
}

// give gives a role to somebody, and returns the error. It is zero if there is none.
func (h *adapterTest) give(t *testing.T, id string) chat.BadgeError {
	t.Helper()
	err := h.Give(t.Context(), server, id, somebody, "Herald: stakes")
	return badgeErrorOf(err)
}

// remove removes the role staker from somebody, and returns the error. It is zero if there is none.
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

// With a role, Discord would no longer ask the member to accept the rules.
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

func TestAMemberGetsNoRoleIfDiscordCannotBeAskedAboutTheRules(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.fake.Script(fakediscord.GuildMember, discordtest.Fault{Status: 502})
		failed := h.give(t, staker)
		equal(t, "problem", failed.Problem, chat.BadgeFailed)
		equal(t, "outcome unknown", failed.OutcomeUnknown, false)
		equal(t, "calls", len(h.fake.RoleCalls()), 0)
	}, inServer)
}

// refuse returns a function that makes each change of a role fail.
func refuse(f discordtest.Fault) func(*adapterTest) {
	return func(h *adapterTest) {
		h.fake.Break(fakediscord.PutRole, f)
		h.fake.Break(fakediscord.DeleteRole, f)
	}
}

func TestEachRefusalOfARoleHasItsProblem(t *testing.T) {
	leave := func(h *adapterTest) { h.fake.Leave(server, somebody) }
	managed := editRole(staker, func(r *fakediscord.Role) { r.Managed = true })
	invalid := refuse(discordtest.Fault{Status: 400, Code: 50028})
	noCause := refuse(discordtest.Fault{Status: 403, Code: 50013})
	everybodyManages := func(h *adapterTest) {
		removePermission(h)
		editRole(server, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionManageRoles })(h)
	}
	for name, tt := range map[string]struct {
		change func(*adapterTest)
		want   chat.BadgeError
	}{
		"not a member":       {leave, chat.BadgeError{Problem: chat.NotAMember}},
		"deleted":            {deleteRole, chat.BadgeError{Problem: chat.BadgeGone}},
		"managed":            {managed, chat.BadgeError{Problem: chat.BadgeGone}},
		"invalid":            {invalid, chat.BadgeError{Problem: chat.BadgeGone}},
		"no permission":      {removePermission, chat.BadgeError{Problem: chat.MissingRight}},
		"above":              {moveRole(3), chat.BadgeError{Problem: chat.RoleAbove}},
		"equal position":     {moveRole(2), chat.BadgeError{Problem: chat.RoleAbove}},
		"the bot removed":    {removeBot, chat.BadgeError{Problem: chat.MissingRight}},
		"the server deleted": {deleteServer, chat.BadgeError{Problem: chat.CommunityGone}},
		"no cause found":     {noCause, chat.BadgeError{Problem: chat.NotAllowed}},
		"two-factor":         {requireTwoFactor, chat.BadgeError{Problem: chat.TwoFactor}},
		"an administrator":   {makeAdministrator, chat.BadgeError{}},
		"everybody may":      {everybodyManages, chat.BadgeError{}},
		"limited": {
			refuse(discordtest.Fault{Status: 429, RetryAfter: 7 * time.Second}),
			chat.BadgeError{Problem: chat.BadgeFailed, RetryAfter: 7 * time.Second},
		},
		"server error": {
			refuse(discordtest.Fault{Status: 502}),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
		"a proxy's page": {
			refuse(discordtest.Fault{Status: 200}),
			chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true},
		},
		"connection lost": {
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

// Nobody can give @everyone, or a role that Discord has made for a bot.
func TestSomeRolesCannotBeGiven(t *testing.T) {
	unchanged := func(*adapterTest) {}
	managed := editRole(botRole, func(r *fakediscord.Role) { r.Managed = true })
	for name, tt := range map[string]struct {
		role   string
		change func(*adapterTest)
		want   chat.BadgeProblem
	}{
		"@everyone":         {server, unchanged, chat.BadgeGone},
		"made for the bot":  {botRole, managed, chat.BadgeGone},
		"the bot's highest": {botRole, unchanged, chat.RoleAbove},
		"above the bot's":   {above, unchanged, chat.RoleAbove},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			tt.change(h)
			equal(t, name, h.give(t, tt.role).Problem, tt.want)
		}, inServer)
	}
}

func TestSlowRoleChangesDoNotDelayFirstResponses(t *testing.T) {
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

// unexpected is a response without any of the fields that the bot reads.
var unexpected = discordtest.Fault{Status: 200, Code: 1}

func TestEachFailureToReadRolesHasItsProblem(t *testing.T) {
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
		"server error":       {answer(discordtest.Fault{Status: 502}), chat.BadgeFailed},
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

// The server is fetched to find the cause. Without a limit, each press would make two more calls.
func TestTheCauseOfRefusalsIsFetchedOncePerMinute(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.Rights(t.Context())
		removePermission(h)
		pass(2 * diagnoseEvery) // The fetched server is now too old.
		before := h.fake.Calls(fakediscord.Guild)
		for range 5 {
			equal(t, "problem", h.give(t, staker).Problem, chat.MissingRight)
		}
		equal(t, "fetched", h.fake.Calls(fakediscord.Guild)-before, 1)
	}, inServer)
}

func TestACauseThatCannotBeFetchedIsFetchedOncePerMinute(t *testing.T) {
	for name, fault := range map[string]discordtest.Fault{"an outage": {Status: 502}, "no roles": unexpected} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			h.Rights(t.Context())
			removePermission(h)
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

func TestTheHandlerSeesTheSendersRoles(t *testing.T) {
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
		want   string // the roles that Seen is called with, or "" if it is not called
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
						t.Errorf("Seen is called with user %s in community %s", user.ID, community)
					}
					seen += fmt.Sprint(has)
				}
			})
		})
	}
}

// An interaction without a list of roles does not say which roles the sender has.
func TestTheHandlerDoesNotSeeASenderWhoseRolesAreUnknown(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), overGateway, inServer, func(h *adapterTest, _ *Config) {
		h.handler.OnSeen = func(chat.User, string, []string) { t.Error("Seen is called") }
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
