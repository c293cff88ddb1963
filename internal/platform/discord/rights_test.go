package discord

import (
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform"
)

// rightsLines returns the lines that bot check prints about the bot's rights.
func (h *adapterTest) rightsLines(t *testing.T, entries ...platform.Entry) string {
	var all []string
	for _, r := range h.Rights(t.Context(), entries...) {
		all = append(all, r.Lines()...)
	}
	return strings.Join(all, "\n")
}

func TestRightsSayThatTheBotCanGiveARole(t *testing.T) {
	unchanged := func(*adapterTest) {}
	for name, tt := range map[string]struct {
		change func(*adapterTest)
		may    string
	}{
		"manage roles":     {unchanged, "the bot can give @Staker"},
		"an administrator": {makeAdministrator, "the bot can give @Staker; it is an administrator, which it need not be"},
		"two-factor":       {requireTwoFactor, "the bot can give @Staker" + twoFactorHint},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			tt.change(h)
			r := h.Rights(t.Context())[0]
			equal(t, name+": entry", r.Entry, "role "+staker+" in server "+server)
			equal(t, name+": may", r.May, tt.may)
			equal(t, name+": problem", r.Problem, "")
			equal(t, name+": temporary", r.Temporary, false)
		}, inServer)
	}
}

func TestRightsSayWhyTheBotCannotGiveARole(t *testing.T) {
	managed := editRole(staker, func(r *fakediscord.Role) { r.Managed = true })
	for name, tt := range map[string]struct {
		change  func(*adapterTest)
		problem string // part of Right.Problem
	}{
		"deleted":            {deleteRole, "there is no such role"},
		"managed":            {managed, "nobody can give @Staker: it belongs to a bot or another integration"},
		"no permission":      {removePermission, "the bot cannot give @Staker: it lacks the permission Manage Roles"},
		"above":              {moveRole(3), "above the bot's highest one, @Herald; drag the bot's role above it"},
		"equal position":     {moveRole(2), "above the bot's highest one, @Herald"},
		"the bot removed":    {removeBot, "status 404, code 10004: is the ID right, and the bot in the server?"},
		"the server deleted": {deleteServer, "status 404, code 10004: is the ID right, and the bot in the server?"},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			tt.change(h)
			r := h.Rights(t.Context())[0]
			equal(t, name+": entry", r.Entry, "role "+staker+" in server "+server)
			equal(t, name+": may", r.May, "")
			equal(t, name+": problem "+r.Problem, strings.Contains(r.Problem, tt.problem), true)
			equal(t, name+": temporary", r.Temporary, false)
		}, inServer)
	}
}

// A name that was read before the outage stays known.
func TestRightsDuringAnOutageAreATemporaryProblem(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		checkOutage := func(wantName chat.Untrusted) {
			t.Helper()
			h.fake.Break(fakediscord.Guild, discordtest.Fault{Status: 500})
			defer h.mend(fakediscord.Guild)
			r := h.Rights(t.Context())[0]
			equal(t, "name", r.Name, wantName)
			equal(t, "temporary", r.Temporary, true)
			equal(t, "may", r.May, "")
			equal(t, "problem "+r.Problem, strings.Contains(r.Problem, "until Discord answers"), true)
		}
		checkOutage("")
		h.Rights(t.Context())
		checkOutage("@Staker")
	}, inServer)
}

func TestRightsOfEntriesSayWhetherTheBotIsThere(t *testing.T) {
	for name, tt := range map[string]struct {
		fault discordtest.Fault
		want  platform.Right
	}{
		"there": {
			want: platform.Right{Community: "Guild " + server, May: "the bot is there"},
		},
		// The bot still answers members who have installed it for themselves.
		"not there": {
			fault: discordtest.Fault{Status: 403, Code: 50001},
			want: platform.Right{
				May:    "the bot answers only those who installed it for themselves",
				Advice: []string{"the bot is not there: is the ID right? If so, add the bot for everybody else"},
			},
		},
		"an outage": {
			fault: discordtest.Fault{Status: 502},
			want: platform.Right{
				Problem:   "nobody knows whether Discord has it: discord refused with status 502, code 0",
				Temporary: true,
			},
		},
	} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			h.StakerRoles = nil
			h.fake.Break(fakediscord.Guild, tt.fault)
			tt.want.Setting = "CHAT_LANGUAGE"
			tt.want.Entry = "server " + server
			tt.want.Name = server
			got := h.Rights(t.Context(), platform.Entry{Setting: "CHAT_LANGUAGE", ID: server})
			equal(t, name, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", []platform.Right{tt.want}))
		}, inServer)
	}
}

func TestEachServerIsFetchedOnceForItsRoles(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		h.StakerRoles = append(h.StakerRoles, chat.Badge{Community: "9", ID: "10"})
		all := h.rightsLines(t)
		equal(t, "calls", h.fake.Calls(fakediscord.Guild), 2)
		const inServer = " in server " + server + " (Guild " + server + "): "
		for _, want := range []string{
			"STAKER_ROLES, role " + staker + inServer + "the bot can give @Staker",
			"STAKER_ROLES, role " + whale + inServer + "the bot can give @Whale",
			"STAKER_ROLES, role 10 in server 9: ask for the roles: discord refused with status 404, code 10004: ",
		} {
			equal(t, want+" is in "+all, strings.Contains(all, want), true)
		}
	}, inServer)
}

func TestCheckReturnsTheRights(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		entry := platform.Entry{Setting: "MODERATOR_CHATS", ID: server}
		_, rights, err := h.Check(t.Context(), nil, entry)
		equal(t, "error", err, nil)
		var settings []string
		for _, r := range rights {
			settings = append(settings, r.Setting)
		}
		equal(t, "rights", strings.Join(settings, " "), "STAKER_ROLES STAKER_ROLES MODERATOR_CHATS")
	}, inServer)
}

func TestRolesAndServersHaveNamesOnceTheServerWasFetched(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		equal(t, "OneEach", h.OneEach(), false)
		equal(t, "a role before it was fetched", h.BadgeName(server, whale), "")
		h.Rights(t.Context())
		equal(t, "a role", h.BadgeName(server, whale), "@Whale")
		equal(t, "a role of another server", h.BadgeName("1", whale), "")
		equal(t, "an unknown role", h.BadgeName(server, "1"), "")
		equal(t, "the server", h.CommunityName(server), "Guild "+server)
		equal(t, "an unknown server", h.CommunityName("1"), "")
	}, inServer)
}

func TestTheNewNameOfARoleIsMadeHarmless(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		const name = "Shark @everyone"
		h.Rights(t.Context())
		editRole(staker, func(r *fakediscord.Role) { r.Name = name })(h)
		h.Rights(t.Context())
		equal(t, "name", h.BadgeName(server, staker), "@"+chat.NewUntrusted(name, maxRoleName))
	}, inServer)
}

func TestInOnePositionTheOlderRoleIsAbove(t *testing.T) {
	older := role{ID: botRole}
	for _, newer := range []role{{ID: above}, {ID: "1" + server}} { // The second ID has more digits.
		equal(t, newer.ID+" is below", newer.compare(older) < 0, true)
		equal(t, newer.ID+" is not above", older.compare(newer) > 0, true)
	}
}
