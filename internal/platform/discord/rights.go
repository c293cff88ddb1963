package discord

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
)

// Rights returns a Right for each role of StakerRoles (whether the bot can give it), and for each of entries (whether
// the bot is in the server). It fetches each server, and blocks meanwhile.
func (a *Adapter) Rights(ctx context.Context, entries ...platform.Entry) (all []platform.Right) {
	var g guild
	var err error
	for i, badge := range a.StakerRoles { // sorted by server
		isNextServer := i == 0 || badge.Community != a.StakerRoles[i-1].Community
		if isNextServer {
			g, err = a.fetchGuild(ctx, badge.Community)
		}
		all = append(all, a.roleRight(badge, g, err))
	}
	for _, e := range entries {
		all = append(all, a.entryRight(ctx, e))
	}
	return all
}

// roleRight returns whether the bot can give a role of StakerRoles. g is the role's server. err is not nil if the
// server could not be fetched.
func (a *Adapter) roleRight(badge chat.Badge, g guild, err error) platform.Right {
	r := platform.Right{
		Setting:   "STAKER_ROLES",
		Entry:     fmt.Sprintf("role %s in server %s", badge.ID, badge.Community),
		Community: a.CommunityName(badge.Community),
		Name:      a.BadgeName(badge.Community, badge.ID),
	}
	if err == nil {
		r.May, r.Problem = g.standing(badge.ID).advice()
		if g.MFALevel == mfaElevated && r.Problem == "" {
			r.May += twoFactorHint
		}
		return r
	}
	r.Temporary, _ = api.Retryable(err)
	if r.Temporary {
		r.Problem = fmt.Sprintf("%v: until Discord answers, the bot may lack the names of the server and its roles", err)
	} else {
		r.Problem = fmt.Sprintf("%v: is the ID right, and the bot in the server?", err)
	}
	return r
}

// twoFactorHint is added to what the bot may do in a server that requires two-factor authentication. Discord does not
// tell a bot whether its owner has turned it on.
const twoFactorHint = "; the server requires two-factor authentication: the account that owns the bot needs it"

// entryRight returns whether the bot is in the server of an entry. If it is not, the Right has an Advice instead of a
// Problem, because members can install the bot for themselves.
func (a *Adapter) entryRight(ctx context.Context, e platform.Entry) platform.Right {
	var g guild
	err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuild(e.ID), nil, &g)
	r := platform.Right{
		Setting:   e.Setting,
		Entry:     "server " + e.ID,
		Community: chat.NewUntrusted(g.Name, maxGuildName),
		Name:      chat.NewUntrusted(e.ID, maxGuildName),
	}
	if err == nil {
		r.May = "the bot is there"
		return r
	}
	switch badgeError(err).Problem {
	case chat.CommunityGone, chat.MissingRight:
		r.May = "the bot answers only those who installed it for themselves"
		r.Advice = []string{"the bot is not there: is the ID right? If so, add the bot for everybody else"}
	default:
		r.Problem = err.Error()
		r.Temporary = true
	}
	return r
}

// standing is whether the bot can give a role, judged by the roles of the server.
type standing struct {
	// name is the role's name, or "" if the server has no such role.
	name chat.Untrusted
	// highest is the name of the bot's highest role.
	highest chat.Untrusted
	// problem is why the bot cannot give the role, or "" if it can.
	problem chat.BadgeProblem
	// isAdministrator is true if the bot has the permission Administrator, which it does not need.
	isAdministrator bool
}

// standing returns whether the bot can give the role with the ID roleID. It can if
//   - the role is in the server, and can be given: nobody can give @everyone, or a role that is Managed;
//   - one of the bot's roles has the permission to manage roles;
//   - the bot's highest role is above the role.
func (g guild) standing(roleID string) (s standing) {
	var badge role // zero if the server has no such role
	for _, r := range g.Roles {
		if r.ID == roleID {
			badge = r
			s.name = r.shownName()
		}
	}
	var highest role // zero until the first of the bot's roles
	isManager := false
	for _, r := range g.rolesOfBot() {
		isManager = isManager || permits(r.Permissions, discordgo.PermissionManageRoles)
		s.isAdministrator = s.isAdministrator || permits(r.Permissions, discordgo.PermissionAdministrator)
		if highest.ID == "" || r.compare(highest) > 0 {
			highest = r
		}
	}
	s.highest = highest.shownName()
	isEveryone := badge.ID == g.id
	canBeGiven := badge.ID != "" && !isEveryone && !badge.Managed
	switch {
	case !canBeGiven:
		s.problem = chat.BadgeGone
	case !isManager && !s.isAdministrator:
		s.problem = chat.MissingRight
	case badge.compare(highest) >= 0:
		s.problem = chat.RoleAbove
	}
	return s
}

// rolesOfBot returns the bot's roles, including @everyone.
func (g guild) rolesOfBot() (all []role) {
	for _, r := range g.Roles {
		if r.ID == g.id || slices.Contains(g.botRoles, r.ID) {
			all = append(all, r)
		}
	}
	return all
}

// advice returns a sentence for an operator, as may or as problem: what the bot may do, or why it may not.
func (s standing) advice() (may, problem string) {
	switch {
	case s.problem == chat.BadgeGone && s.name == "":
		return "", "there is no such role"
	case s.problem == chat.BadgeGone:
		return "", fmt.Sprintf("nobody can give %s: it belongs to a bot or another integration, or to everyone", s.name)
	case s.problem == chat.MissingRight:
		return "", fmt.Sprintf("the bot cannot give %s: it lacks the permission Manage Roles", s.name)
	case s.problem == chat.RoleAbove:
		return "", fmt.Sprintf("the bot cannot give %s: that role is above the bot's highest one, %s; "+
			"drag the bot's role above it", s.name, s.highest)
	case s.isAdministrator:
		return fmt.Sprintf("the bot can give %s; it is an administrator, which it need not be", s.name), ""
	}
	return fmt.Sprintf("the bot can give %s", s.name), ""
}
