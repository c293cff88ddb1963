package discord

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform"
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
	c.StakerRoles = []chat.Badge{{Community: server, ID: staker}, {Community: server, ID: whale, Amount: decimal.NewFromInt(1000)}}
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

// checked returns what a check says about rights, and whether one is missing.
func checked(t *testing.T, h *adapterTest) (all string, missing bool) {
	_, rights, err := h.Check(t.Context(), nil, server, "9", "8")
	equal(t, "error", err, nil)
	for _, r := range rights {
		all, missing = all+strings.Join(r.Lines(), "\n")+"\n", missing || r.Problem != ""
	}
	return all, missing
}

func deleteRole(h *adapterTest) {
	h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
		return append(roles[:1:1], roles[2:]...)
	})
}

func TestARoleIsGivenAndRemovedWithItsReason(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const reason = "Herald: stakes (21 of 21 pools, block 1,000,027)"
		for range 2 { // The second call changes nothing, and succeeds.
			equal(t, "give", h.Give(t.Context(), server, staker, somebody, reason), nil)
		}
		equal(t, "give another", h.Give(t.Context(), server, whale, somebody, reason), nil)
		roles, err := h.Has(t.Context(), server, somebody)
		equal(t, "has", fmt.Sprint(roles, err), fmt.Sprint([]string{staker, whale}, " <nil>"))
		equal(t, "remove", h.Remove(t.Context(), server, staker, somebody, "Herald: forgotten"), nil)
		roles, err = h.Has(t.Context(), server, somebody)
		equal(t, "has after that", fmt.Sprint(roles, err), fmt.Sprint([]string{whale}, " <nil>"))
		calls := h.fake.RoleCalls()
		equal(t, "calls", len(calls), 4)
		equal(t, "reason", calls[0].Reason, reason)
	}, inServer)
}

// A role would let a member skip the rules. It waits until they have accepted them.
func TestAMemberGetsNoRoleBeforeTheyAcceptTheRules(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		give := func() chat.BadgeProblem {
			failed, _ := errors.AsType[*chat.BadgeError](h.Give(t.Context(), server, staker, somebody, "Herald: stakes"))
			if failed == nil {
				return ""
			}
			equal(t, "outcome unknown", failed.OutcomeUnknown, false)
			return failed.Problem
		}
		h.fake.SetPending(server, somebody, true)
		equal(t, "problem", give(), chat.RulesPending)
		_, err := h.Has(t.Context(), server, somebody)
		equal(t, "they are a member", err, nil)
		h.fake.Script(fakediscord.GuildMember, discordtest.Fault{Status: 502})
		equal(t, "problem while nobody knows", give(), chat.BadgeFailed)
		equal(t, "calls", len(h.fake.RoleCalls()), 0)
		h.fake.SetPending(server, somebody, false)
		equal(t, "problem after they have", give(), "")
		equal(t, "calls", len(h.fake.RoleCalls()), 1)
	}, inServer)
}

func TestRolesAndServersHaveTheirNames(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		equal(t, "one each", h.OneEach(), false)
		equal(t, "a role", h.BadgeName(server, whale), "@Whale")
		equal(t, "a role of another server", h.BadgeName("1", whale), "")
		equal(t, "an unknown role", h.BadgeName(server, "1"), "")
		equal(t, "the server", h.CommunityName(server), "Guild "+server)
		equal(t, "an unknown server", h.CommunityName("1"), "")
		edit(staker, func(r *fakediscord.Role) { r.Name = "Shark @everyone" })(h)
		pass(time.Hour)
		equal(t, "a renamed role", h.BadgeName(server, staker), "@"+chat.NewUntrusted("Shark @everyone", maxRoleName))
	}, inServer)
}

// refuse has each role call fail.
func refuse(f discordtest.Fault) func(*adapterTest) {
	return func(h *adapterTest) {
		h.fake.Break(fakediscord.PutRole, f)
		h.fake.Break(fakediscord.DeleteRole, f)
	}
}

func TestEachRefusalOfARoleHasItsProblem(t *testing.T) {
	const can = "can give @Staker"
	for name, test := range map[string]struct {
		change  func(*adapterTest)
		problem chat.BadgeProblem
		advice  string
		wrong   bool // Check fails
	}{
		"not a member": {func(h *adapterTest) { h.fake.Leave(server, somebody) }, chat.NotAMember, can, false},
		"deleted":      {deleteRole, chat.BadgeGone, "no such role", true},
		"managed": {edit(staker, func(r *fakediscord.Role) { r.Managed = true }),
			chat.BadgeGone, "belongs to a bot or another integration", true},
		"invalid":  {refuse(discordtest.Fault{Status: 400, Code: 50028}), chat.BadgeGone, can, false},
		"no right": {edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 }), chat.MissingRight, "lacks the permission Manage Roles", true},
		"above": {edit(staker, func(r *fakediscord.Role) { r.Position = 3 }),
			chat.RoleAbove, "above the bot's highest one, @Herald", true},
		"in our position": {edit(staker, func(r *fakediscord.Role) { r.Position = 2 }), chat.RoleAbove, "above the bot's highest one", true},
		"the bot removed": {func(h *adapterTest) { h.fake.Leave(server, h.fake.ApplicationID) },
			chat.MissingRight, "is the ID right, and the bot in the server?", true},
		"the server deleted": {func(h *adapterTest) { h.fake.DeleteGuild(server) },
			chat.CommunityGone, "is the ID right, and the bot in the server?", true},
		"cause untold":     {refuse(discordtest.Fault{Status: 403, Code: 50013}), chat.NotAllowed, can, false},
		"two-factor":       {requireTwoFactor, chat.TwoFactor, "the account that owns the bot needs it", false},
		"limited":          {refuse(discordtest.Fault{Status: 429, RetryAfter: 7 * time.Second}), chat.BadgeFailed, can, false},
		"broken":           {refuse(discordtest.Fault{Status: 502}), chat.BadgeFailed, can, false},
		"broken by a page": {refuse(discordtest.Fault{Status: 200}), chat.BadgeFailed, can, false},
		"broken off":       {refuse(discordtest.Fault{DropAnswer: true}), chat.BadgeFailed, can, false},
		"an administrator": {edit(ours, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionAdministrator }), "", "is an administrator, which it need not be", false},
		"a right of all": {func(h *adapterTest) {
			edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 })(h)
			edit(server, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionManageRoles })(h)
		}, "", can, false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
				test.change(h)
				for what, err := range map[string]error{
					"give":   h.Give(t.Context(), server, staker, somebody, "Herald: stakes"),
					"remove": h.Remove(t.Context(), server, staker, somebody, "Herald: forgotten"),
				} {
					failed, _ := errors.AsType[*chat.BadgeError](err)
					if failed == nil {
						failed = &chat.BadgeError{}
					}
					equal(t, what+": problem", failed.Problem, test.problem)
					equal(t, what+": outcome unknown", failed.OutcomeUnknown, strings.HasPrefix(name, "broken"))
					equal(t, what+": waits", failed.RetryAfter == 7*time.Second, name == "limited")
				}
				all, missing := checked(t, h)
				equal(t, "check fails", missing, test.wrong)
				if !strings.Contains(all, test.advice) {
					t.Errorf("check says %q, want %q", all, test.advice)
				}
			}, inServer)
		})
	}
}

func requireTwoFactor(h *adapterTest) { h.fake.RequireTwoFactor(server) }

// The bot cannot know whether its owner has it, so that the check does not fail.
func TestACheckNamesTwoFactorAuthenticationOnlyWhereItIsRequired(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const sentence = "the account that owns the bot needs it"
		all, _ := checked(t, h)
		equal(t, "mentions before", strings.Count(all, sentence), 0)
		requireTwoFactor(h)
		all, missing := checked(t, h)
		equal(t, "mentions after, one for each role", strings.Count(all, sentence), 2)
		equal(t, "check fails", missing, false)
	}, inServer)
}

func TestInOnePositionTheOlderRoleIsAbove(t *testing.T) {
	older := role{ID: ours}
	for _, newer := range []role{{ID: above}, {ID: "1" + server}} {
		equal(t, newer.ID+" is below", newer.compare(older) < 0, true)
		equal(t, newer.ID+" is not above", older.compare(newer) > 0, true)
	}
}

// @everyone, and the role that Discord makes for the bot, are nobody's to give.
func TestNobodyCanGiveSomeRoles(t *testing.T) {
	managed := edit(ours, func(r *fakediscord.Role) { r.Managed = true })
	for name, test := range map[string]struct {
		role   string
		change func(*adapterTest)
		want   chat.BadgeProblem
	}{
		"everyone's":           {server, func(*adapterTest) {}, chat.BadgeGone},
		"made for the bot":     {ours, managed, chat.BadgeGone},
		"the bot's highest":    {ours, func(*adapterTest) {}, chat.RoleAbove},
		"a role of no setting": {above, func(*adapterTest) {}, chat.RoleAbove},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			test.change(h)
			failed, _ := errors.AsType[*chat.BadgeError](h.Give(t.Context(), server, test.role, somebody, "Herald: stakes"))
			equal(t, name, failed.Problem, test.want)
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
	for name, test := range map[string]struct {
		change func(*adapterTest)
		want   chat.BadgeProblem
	}{
		"not a member":       {func(h *adapterTest) { h.fake.Leave(server, somebody) }, chat.NotAMember},
		"the bot removed":    {func(h *adapterTest) { h.fake.Leave(server, h.fake.ApplicationID) }, chat.MissingRight},
		"the server deleted": {func(h *adapterTest) { h.fake.DeleteGuild(server) }, chat.CommunityGone},
		"broken":             {func(h *adapterTest) { h.fake.Break(fakediscord.GuildMember, discordtest.Fault{Status: 502}) }, chat.BadgeFailed},
		"no roles":           {func(h *adapterTest) { h.fake.Break(fakediscord.GuildMember, unexpected) }, chat.BadgeFailed},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			test.change(h)
			_, err := h.Has(t.Context(), server, somebody)
			failed, is := errors.AsType[*chat.BadgeError](err)
			if !is || failed.Problem != test.want || failed.OutcomeUnknown {
				t.Errorf("%s: got %+v, want %s", name, err, test.want)
			}
		}, inServer)
	}
}

// A server in which the right is missing would otherwise cost two more calls a press.
func TestTheCauseOfRefusalsIsFetchedOnceAMinute(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		give := func() chat.BadgeProblem {
			failed, _ := errors.AsType[*chat.BadgeError](h.Give(t.Context(), server, staker, somebody, "Herald: stakes"))
			return failed.Problem
		}
		edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 })(h)
		pass(2 * diagnoseEvery) // What was fetched at the start is old.
		before := h.fake.Calls(fakediscord.Guild)
		for range 5 {
			equal(t, "problem", give(), chat.MissingRight)
		}
		equal(t, "fetched in a minute", h.fake.Calls(fakediscord.Guild)-before, 1)
		for n, fault := range []discordtest.Fault{{Status: 502}, unexpected} {
			pass(diagnoseEvery)
			h.fake.Break(fakediscord.Guild, fault)
			equal(t, "problem while the server cannot be fetched", give(), chat.NotAllowed)
			equal(t, "the same a moment later", give(), chat.NotAllowed)
			equal(t, "fetched", h.fake.Calls(fakediscord.Guild)-before, n+2)
		}
	}, inServer)
}

func TestCheckNamesServerAndRole(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		edit(whale, func(r *fakediscord.Role) { r.Position = 4 })(h)
		h.StakerRoles = append(h.StakerRoles, chat.Badge{Community: "9", ID: "10"})
		all, missing := checked(t, h)
		equal(t, "check fails", missing, true)
		h.StakerRoles = nil
		h.fake.Script(fakediscord.Guild, discordtest.Fault{}, discordtest.Fault{}, discordtest.Fault{Status: 403, Code: 50001})
		moderated, missing := checked(t, h) // Commands that members installed for themselves work in 9 and 8.
		equal(t, "check fails where the bot is not", missing, false)
		h.fake.Break(fakediscord.Guild, discordtest.Fault{Status: 502})
		broken, missing := checked(t, h)
		equal(t, "check fails without an answer", fmt.Sprint(missing, strings.Contains(broken, "ID"), strings.Contains(broken, "roles")), "true false false")
		all += moderated
		for _, want := range []string{"role " + staker + " in server " + server + " (Guild " + server + "): the bot can give @Staker", "role " + whale + " in server " + server + " (Guild " + server + "): the bot cannot give @Whale",
			"MODERATOR_CHATS, server " + server + " (Guild " + server + "): the bot is there\n", "MODERATOR_CHATS, server 9: the bot is not there", "MODERATOR_CHATS, server 9: is the ID right?",
			"role 10 in server 9: ask for the roles: discord refused with status 404, code 10004: is the ID right, and the bot in the server?"} {
			equal(t, "says "+want, strings.Contains(all, want), true)
		}
	}, inServer)
}

func TestARoleThatCannotBeGivenIsLoggedOnce(t *testing.T) {
	for name, change := range map[string]func(*adapterTest){
		"an outage":       func(*adapterTest) {},
		"right lost":      edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 }),
		"role deleted":    deleteRole,
		"the bot removed": func(h *adapterTest) { h.fake.Leave(server, h.fake.ApplicationID) },
	} {
		want := 1
		if name == "an outage" {
			want = 0
		}
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			h.fake.Script(fakediscord.Guild, discordtest.Fault{Status: 502})
			change(h)
			pass(5 * time.Hour)
			equal(t, name+": warnings", h.logged.Lines("name=@Staker"), want)
			for _, id := range []string{server, staker, somebody} {
				equal(t, name+": the log has "+id, h.logged.Lines(id), 0)
			}
			equal(t, name+": asked no more often than that", h.fake.Calls(fakediscord.Guild) < 8, true)
		}, inServer)
	}
}

// Answers then do not name the server. A name that was known stays known.
func TestAServerThatCannotBeReadIsLoggedOnce(t *testing.T) {
	broken := func(h *adapterTest, c *Config) {
		inServer(h, c)
		h.fake.Break(fakediscord.Guild, discordtest.Fault{Status: 500})
	}
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		pass(30 * time.Minute)
		equal(t, "name", h.CommunityName(server), "")
		equal(t, "lines for two roles", h.logged.Lines("cannot be checked, trying again"), 1)
		equal(t, "lines with the ID", h.logged.Lines(server), 0)
		h.fake.Break(fakediscord.Guild, discordtest.Fault{})
		pass(time.Minute)
		equal(t, "name in the end", h.CommunityName(server), "Guild "+server)
		h.fake.Break(fakediscord.Guild, discordtest.Fault{Status: 500})
		pass(3 * time.Hour)
		equal(t, "name in another outage", h.CommunityName(server), "Guild "+server)
		equal(t, "lines after that", h.logged.Lines("cannot be checked, trying again"), 2)
	}, broken)
}

// Nobody is reported who is in another server, or writes in private. Members decides who lacks a role.
func TestSenderInAServerOfTheSettingsIsReportedWithTheirRoles(t *testing.T) {
	var seen []string
	watch := func(h *adapterTest, c *Config) {
		inServer(h, c)
		h.handler.OnSeen = func(user chat.User, community string, has []string) {
			seen = append(seen, fmt.Sprint(user.ID, community, has))
		}
	}
	eachWay(t, func(t *testing.T, h *adapterTest) {
		ask := func(guild string) string {
			seen = nil
			i := command("price")
			i.GuildID, i.UserID = guild, somebody
			h.ask(t, i)
			return strings.Join(seen, ";")
		}
		equal(t, "without a role", ask(server), fmt.Sprint(somebody, server, []string{}))
		equal(t, "in another server", ask("400000000000000009"), "")
		equal(t, "in private", ask(""), "")
		h.fake.SetPending(server, somebody, true)
		equal(t, "before they accept the rules", ask(server), "")
		h.fake.SetPending(server, somebody, false)
		h.fake.Enter(server, somebody, staker)
		equal(t, "with one of two", ask(server), fmt.Sprint(somebody, server, []string{staker}))
		h.fake.Enter(server, somebody, above, whale, staker)
		equal(t, "with both", ask(server), fmt.Sprint(somebody, server, []string{above, whale, staker}))
		h.fake.Leave(server, somebody)
		h.fake.Enter(server, somebody)
		equal(t, "after leaving", ask(server), fmt.Sprint(somebody, server, []string{}))
		seen = nil
		i, _ := decode([]byte(`{"member":{}}`)) // which tells no roles
		s := &session{Adapter: h.Adapter, work: platform.NewWork(t.Context(), h.handler, h.Log, h.Count)}
		s.seeRoles(i, &chat.Request{Community: server})
		equal(t, "without roles told", len(seen), 0)
	}, watch)
}

func TestStakerRolesAreSortedByServerAndAmount(t *testing.T) {
	var s Settings
	equal(t, "error", s.setStakerRoles("discord:7:2:1000 discord:5:9:5 discord:7:4 discord:7:3:0.5"), nil)
	equal(t, "order", fmt.Sprint(s.StakerRoles), "[{5 9 5} {7 4 0} {7 3 0.5} {7 2 1000}]")
}
