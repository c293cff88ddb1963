package discord

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
)

const (
	server   = "400000000000000001"
	staker   = "400000000000000002"
	ours     = "400000000000000003"
	above    = "400000000000000004"
	somebody = "500000000000000001"
)

// inServer puts the bot into a server, in which it can give the role of stakers.
func inServer(h *adapterTest, c *Config) {
	h.fake.AddGuild(server, []fakediscord.Role{
		{ID: staker, Name: "Staker", Position: 1},
		{ID: ours, Name: "Herald", Position: 2, Permissions: discordgo.PermissionManageRoles},
		{ID: above, Name: "Team", Position: 3},
	}, ours)
	h.fake.Enter(server, somebody)
	c.StakerRoles = map[string]string{server: staker}
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

func deleteRole(h *adapterTest) {
	h.fake.ChangeRoles(server, func(roles []fakediscord.Role) []fakediscord.Role {
		return append(roles[:1:1], roles[2:]...)
	})
}

func TestARoleIsGivenAndTakenWithItsReason(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const reason = "Herald: stakes (21 of 21 pools, block 1,000,027)"
		for range 2 { // The second call changes nothing, and succeeds.
			equal(t, "give", h.Give(t.Context(), server, somebody, reason), nil)
		}
		equal(t, "it is worn", h.fake.Wears(server, somebody, staker), true)
		n, err := h.Wearers(t.Context(), server)
		equal(t, "wearers", fmt.Sprint(n, err), "1 <nil>")
		equal(t, "take", h.Take(t.Context(), server, somebody, "Herald: forgotten"), nil)
		equal(t, "it is worn after that", h.fake.Wears(server, somebody, staker), false)
		calls := h.fake.RoleCalls()
		equal(t, "calls", len(calls), 3)
		equal(t, "reason", calls[0].Reason, reason)
		equal(t, "name", h.BadgeName(server), "@Staker")
	}, inServer)
}

func TestEachRefusalOfARoleHasItsProblem(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*adapterTest)
		problem chat.BadgeProblem
		advice  string
	}{
		"not a member":    {func(h *adapterTest) { h.fake.Leave(server, somebody) }, chat.NotAMember, "can give @Staker"},
		"deleted":         {deleteRole, chat.BadgeGone, "no such role"},
		"managed":         {edit(staker, func(r *fakediscord.Role) { r.Managed = true }), chat.BadgeGone, "belongs to an integration"},
		"no right":        {edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 }), chat.MissingRight, "lacks the permission Manage Roles"},
		"above":           {edit(staker, func(r *fakediscord.Role) { r.Position = 3 }), chat.RoleAbove, "above the bot's highest one, @Herald"},
		"in our position": {edit(staker, func(r *fakediscord.Role) { r.Position = 2 }), chat.RoleAbove, "above the bot's highest one"},
		"moved out": {func(h *adapterTest) { h.fake.Break(fakediscord.PutRole, discordtest.Fault{Status: 403, Code: 50001}) },
			chat.MissingRight, "can give @Staker"},
		"cause untold": {func(h *adapterTest) {
			h.fake.Break(fakediscord.PutRole, discordtest.Fault{Status: 403, Code: 50013})
		}, chat.NotAllowed, "can give @Staker"},
		"limited": {func(h *adapterTest) {
			h.fake.Break(fakediscord.PutRole, discordtest.Fault{Status: 429, RetryAfter: 7 * time.Second})
		}, chat.BadgeFailed, "can give @Staker"},
		"broken": {func(h *adapterTest) { h.fake.Break(fakediscord.PutRole, discordtest.Fault{Status: 502}) }, chat.BadgeFailed, "can give @Staker"},
		"an administrator": {edit(ours, func(r *fakediscord.Role) { r.Permissions = discordgo.PermissionAdministrator }),
			"", "is an administrator, which it need not be"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
				test.change(h)
				err := h.Give(t.Context(), server, somebody, "Herald: stakes")
				failed, _ := errors.AsType[*chat.BadgeError](err)
				if failed == nil {
					failed = &chat.BadgeError{}
				}
				equal(t, "problem", failed.Problem, test.problem)
				if name == "limited" {
					equal(t, "the wait", failed.RetryAfter, 7*time.Second)
				}
				details, err := h.Check(t.Context())
				_, wrong := errors.AsType[*config.WrongError](err)
				refuses := test.problem == chat.BadgeGone || strings.Contains(test.advice, "lacks") || strings.Contains(test.advice, "above")
				equal(t, "check fails", wrong, refuses)
				if all := strings.Join(details, "\n"); !strings.Contains(all, "STAKER_ROLES, server "+server+": ") || !strings.Contains(all, test.advice) {
					t.Errorf("check says %q, want %q", all, test.advice)
				}
				equal(t, "the log names the user", h.logged.Lines(somebody), 0)
			}, inServer)
		})
	}
}

func TestAServerWithoutTheBotIsTold(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		details, err := h.Check(t.Context())
		equal(t, "error", err, error(errRoles))
		equal(t, "asks for the ID", strings.Contains(strings.Join(details, "\n"), "is the ID right, and the bot in the server?"), true)
	}, func(_ *adapterTest, c *Config) { c.StakerRoles = map[string]string{server: staker} })
}

func TestARenamedRoleGetsItsNewName(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		edit(staker, func(r *fakediscord.Role) { r.Name = "Whale @everyone" })(h)
		pass(rolesEvery)
		equal(t, "name", h.BadgeName(server), "@"+chat.NewUntrusted("Whale @everyone", maxRoleName))
		edit(ours, func(r *fakediscord.Role) { r.Permissions = 0 })(h)
		pass(3 * rolesEvery)
		equal(t, "warnings", h.logged.Lines("cannot be given"), 1)
	}, inServer)
}

// Who wears the role, is in another server, or writes in private has not come back.
func TestWhoComesWithoutTheRoleIsReported(t *testing.T) {
	var returned []chat.User
	watch := func(h *adapterTest, c *Config) {
		inServer(h, c)
		returned = nil
		c.Returned = func(user chat.User, community string) {
			equal(t, "server", community, server)
			returned = append(returned, user)
		}
	}
	eachWay(t, func(t *testing.T, h *adapterTest) {
		for guild, want := range map[string]int{server: 1, "400000000000000009": 0, "": 0} {
			returned = nil
			i := command("price")
			i.GuildID, i.UserID = guild, somebody
			h.ask(t, i)
			equal(t, "returned in "+guild, len(returned), want)
		}
		returned = nil
		equal(t, "give", h.Give(t.Context(), server, somebody, "Herald: stakes"), nil)
		i := command("price")
		i.GuildID, i.UserID = server, somebody
		h.ask(t, i)
		equal(t, "returned with the role", len(returned), 0)
		h.fake.Leave(server, somebody)
		h.fake.Enter(server, somebody)
		h.ask(t, i)
		equal(t, "returned after leaving", fmt.Sprint(returned), fmt.Sprint([]chat.User{{Platform: Platform, ID: somebody}}))
	}, watch)
}

func TestTheStandInRefusesReasonsThatDiscordRefuses(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), overGateway, inServer)
	for reason, refused := range map[string]bool{"": true, strings.Repeat("a", 513): true, "plain": false} {
		err := h.api.Call(t.Context(), http.MethodGet, discordgo.EndpointGuildRoles(server), nil, nil)
		equal(t, "the server answers", err, nil)
		err = h.Give(t.Context(), server, somebody, reason)
		equal(t, fmt.Sprintf("%.5s is refused", reason), err != nil, refused)
	}
}

func TestStakerRolesAreReadStrictly(t *testing.T) {
	table := new(Settings).Table()
	base := "DISCORD_BOT_TOKEN=a DATA_DIR=x "
	table = append(table, config.Setting{Name: "DATA_DIR", Set: func(string) error { return nil }})
	for value, valid := range map[string]bool{
		"discord:1:2": true, "discord:1:2,discord:3:2": true, "discord:1:2,discord:1:3": false,
		"discord:1": false, "telegram:1:2": false, "discord:0:2": false, "discord:1:x": false,
	} {
		if wrong := configtest.Try(table, strings.Fields(base+"STAKER_ROLES="+value)...); valid != (len(wrong) == 0) {
			t.Errorf("%s: %v", value, wrong)
		}
	}
	configtest.OneMistake(t, table, configtest.Try(table, "DISCORD_BOT_TOKEN=a", "STAKER_ROLES=discord:1:2"), "STAKER_ROLES", "needs DATA_DIR or REDIS_URL")
}
