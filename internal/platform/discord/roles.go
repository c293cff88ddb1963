package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
	"herald/internal/ratelimit"
)

const (
	// maxRoleName and maxGuildName bound shown names, in characters.
	maxRoleName  = 32
	maxGuildName = 64
	// diagnoseEvery is the least time between two fetches for refused calls in a server.
	diagnoseEvery = time.Minute
)

// OneEach implements chat.Badges. A member of a server may have many roles.
func (a *Adapter) OneEach() bool { return false }

// BadgeName implements chat.Badges.
func (a *Adapter) BadgeName(guildID, id string) chat.Untrusted {
	for _, r := range a.guild(guildID).Roles {
		if r.ID == id {
			return r.shown()
		}
	}
	return ""
}

// CommunityName implements chat.Badges.
func (a *Adapter) CommunityName(guildID string) chat.Untrusted {
	return chat.NewUntrusted(a.guild(guildID).Name, maxGuildName)
}

// codeTwoFactor is the code with which Discord refuses a call in a server that requires two-factor authentication,
// if the owner of the bot's account has not turned it on.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
const codeTwoFactor = 60003

// mfaElevated is the MFALevel of a server that requires two-factor authentication.
// https://discord.com/developers/docs/resources/guild#guild-object-mfa-level
const mfaElevated = 1

// errPending is the error of Give for a member whom a role would let skip the server's rules.
var errPending = errors.New("the member has not accepted the server's rules")

// Give implements chat.Badges. It asks for the member first: a role ends membership screening.
// https://discord.com/developers/docs/resources/guild#guild-member-object
func (a *Adapter) Give(ctx context.Context, guildID, id, user, reason string) error {
	m, err := a.member(ctx, guildID, user)
	switch {
	case err != nil:
		return badgeError(fmt.Errorf("ask for a member: %w", err))
	case m.Pending:
		return &chat.BadgeError{Problem: chat.RulesPending, Err: errPending}
	}
	return a.setRole(ctx, api.RoleChange{Guild: guildID, User: user, Role: id, Reason: reason})
}

// Remove implements chat.Badges.
func (a *Adapter) Remove(ctx context.Context, guildID, id, user, reason string) error {
	return a.setRole(ctx, api.RoleChange{Guild: guildID, User: user, Role: id, Remove: true, Reason: reason})
}

// Has implements chat.Badges. It returns all roles of the user but @everyone.
func (a *Adapter) Has(ctx context.Context, guildID, user string) ([]string, error) {
	m, err := a.member(ctx, guildID, user)
	if err != nil {
		return nil, badgeError(fmt.Errorf("ask for a member's roles: %w", err))
	}
	return m.Roles, nil
}

// Notify implements chat.Badges. It does nothing: Discord does not say whether there is a
// private chat, and the bot opens none.
func (a *Adapter) Notify(context.Context, string, *chat.Reply) {}

// seeRoles tells the Handler which roles the sender of an interaction wears, if StakerRoles has a role in the server
// and the sender has accepted the rules there.
func (s *session) seeRoles(i *interaction, req *chat.Request) {
	if i.Member == nil || i.Member.Pending || i.Member.Roles == nil {
		return
	}
	if chat.AnyIn(s.StakerRoles, req.Community) {
		s.work.Handler.Seen(req.From, req.Community, i.Member.Roles)
	}
}

// setRole makes a change. It fails with a *chat.BadgeError.
func (a *Adapter) setRole(ctx context.Context, change api.RoleChange) error {
	err := a.api.SetRole(ctx, change)
	if err == nil {
		return nil
	}
	failed := badgeError(fmt.Errorf("set a role: %w", err))
	failed.OutcomeUnknown = errors.Is(err, api.ErrOutcomeUnknown)
	if failed.Problem == chat.NotAllowed {
		failed.Problem = a.diagnose(ctx, change.Guild, change.Role)
	}
	return failed
}

// badgeError returns the error of a failed call about a member of a server.
func badgeError(err error) *chat.BadgeError {
	failed := &chat.BadgeError{Problem: chat.BadgeFailed, Err: err}
	refused, is := errors.AsType[*api.Error](err)
	if !is {
		return failed
	}
	failed.RetryAfter = refused.RetryAfter
	switch refused.Code {
	case discordgo.ErrCodeUnknownMember, discordgo.ErrCodeUnknownUser:
		failed.Problem = chat.NotAMember
	case discordgo.ErrCodeUnknownRole, discordgo.ErrCodeInvalidRole:
		failed.Problem = chat.BadgeGone
	case discordgo.ErrCodeUnknownGuild:
		failed.Problem = chat.CommunityGone
	case discordgo.ErrCodeMissingAccess:
		failed.Problem = chat.MissingRight
	case discordgo.ErrCodeMissingPermissions:
		failed.Problem = chat.NotAllowed
	case codeTwoFactor:
		failed.Problem = chat.TwoFactor
	}
	return failed
}

// diagnose returns why Discord does not allow a change of a role, which its refusal does not
// tell. It fetches the server at most once in diagnoseEvery, and blocks meanwhile. It returns
// chat.NotAllowed if the server's roles show no cause.
func (a *Adapter) diagnose(ctx context.Context, guildID, id string) chat.BadgeProblem {
	if a.diagnoses.Allow(ratelimit.Limit{Key: guildID, Burst: 1, Every: diagnoseEvery}) {
		_, _ = a.fetchGuild(ctx, guildID) // If it fails, what is known is too old.
	}
	g := a.guild(guildID)
	if time.Since(g.fetchedAt) >= diagnoseEvery {
		return chat.NotAllowed
	}
	return cmp.Or(g.standing(guildID, id).problem, chat.NotAllowed)
}

// guild is a server.
// https://discord.com/developers/docs/resources/guild#guild-object
type guild struct {
	Name  string `json:"name"`
	Roles []role `json:"roles"`
	// MFALevel is mfaElevated if the server requires two-factor authentication of moderators, and 0 otherwise.
	MFALevel int `json:"mfa_level"`
	// own holds the IDs of the bot's roles.
	own       []string
	fetchedAt time.Time
}

// guild returns a server as Discord described it last, or a zero one before that.
func (a *Adapter) guild(id string) (g guild) {
	if last, fetched := a.guilds.Load(id); fetched {
		g = last.(guild)
	}
	return g
}

// fetchGuild asks Discord about a server, and stores what it says. It blocks for two calls, and
// for one more the first time.
func (a *Adapter) fetchGuild(ctx context.Context, id string) (g guild, err error) {
	self, err := a.self(ctx)
	if err != nil {
		return g, err
	}
	err = a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuild(id), nil, &g)
	if err == nil && len(g.Roles) == 0 { // Every server has @everyone.
		err = errNoRoles
	}
	if err != nil {
		return g, fmt.Errorf("ask for the roles: %w", err)
	}
	bot, err := a.member(ctx, id, self)
	if err != nil {
		return g, fmt.Errorf("ask for the bot's own roles: %w", err)
	}
	g.own = bot.Roles
	g.fetchedAt = time.Now()
	a.guilds.Store(id, g)
	return g, nil
}

// member is a member of a server.
// https://discord.com/developers/docs/resources/guild#guild-member-object
type member struct {
	// Roles holds the IDs of the member's roles. @everyone is not among them.
	Roles []string `json:"roles"`
	// Pending is true until the member has accepted the server's rules.
	Pending bool `json:"pending"`
}

// member asks Discord about a member of a server.
func (a *Adapter) member(ctx context.Context, guildID, user string) (m member, err error) {
	err = a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuildMember(guildID, user), nil, &m)
	if err == nil && m.Roles == nil {
		err = errNoRoles
	}
	return m, err
}

// errNoRoles is the error of a response that must name roles.
var errNoRoles = errors.New("discord names no roles")

// role is a role of a server.
// https://discord.com/developers/docs/topics/permissions#role-object
type role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Position    int    `json:"position"`
	Permissions string `json:"permissions"`
	Managed     bool   `json:"managed"`
}

// compare returns a number above 0 if r stands above other. Of two roles in one position, the
// older one stands above.
func (r role) compare(other role) int {
	return cmp.Or(cmp.Compare(r.Position, other.Position), cmp.Compare(len(other.ID), len(r.ID)),
		cmp.Compare(other.ID, r.ID))
}

func (r role) shown() chat.Untrusted { return "@" + chat.NewUntrusted(r.Name, maxRoleName) }

// self returns the ID of the bot's user. It asks Discord unless the ID is known.
func (a *Adapter) self(ctx context.Context) (string, error) {
	if id := *a.userID.Load(); id != "" {
		return id, nil
	}
	app, err := a.api.Application(ctx)
	if err != nil {
		return "", err
	}
	id := cmp.Or(app.Bot.ID, app.ID)
	a.userID.Store(&id)
	return id, nil
}

// standing is whether the bot can give a role, as the server's roles tell.
type standing struct {
	// name is the role's, or "" if the server has no such role. highest is the name of the bot's
	// highest role.
	name, highest chat.Untrusted
	// problem is why the bot cannot give the role, or "".
	problem chat.BadgeProblem
	// administrator is true if the bot has that permission, which it does not need.
	administrator bool
}

// standing returns whether the bot can give a role. The role with the server's ID is @everyone,
// which all have and nobody can give.
func (g guild) standing(guildID, wanted string) (s standing) {
	var highest, badge role
	manages := false
	for _, r := range g.Roles {
		if r.ID == wanted {
			badge, s.name = r, r.shown()
		}
		if r.ID != guildID && !slices.Contains(g.own, r.ID) {
			continue
		}
		manages = manages || permits(r.Permissions, discordgo.PermissionManageRoles|discordgo.PermissionAdministrator)
		s.administrator = s.administrator || permits(r.Permissions, discordgo.PermissionAdministrator)
		if highest.ID == "" || r.compare(highest) > 0 {
			highest = r
		}
	}
	s.highest = highest.shown()
	switch {
	case badge.ID == "" || badge.Managed || badge.ID == guildID:
		s.problem = chat.BadgeGone
	case !manages:
		s.problem = chat.MissingRight
	case badge.compare(highest) >= 0:
		s.problem = chat.RoleAbove
	}
	return s
}

// advice returns a sentence for an operator: what the bot may do, or why it may not.
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
	case s.administrator:
		return fmt.Sprintf("the bot can give %s; it is an administrator, which it need not be", s.name), ""
	}
	return fmt.Sprintf("the bot can give %s", s.name), ""
}

// twoFactorHint follows what the bot may do in a server that requires two-factor authentication. Discord does not tell
// a bot whether its owner has it.
const twoFactorHint = "; the server requires two-factor authentication: the account that owns the bot needs it"

// Rights returns whether the bot can give the roles of StakerRoles, and whether it is in the servers
// of moderated, which are IDs. It fetches each server. Absence from a server of moderated is no
// Problem, because members can install the bot for themselves.
func (a *Adapter) Rights(ctx context.Context, moderated ...string) (all []platform.Right) {
	var g guild
	var err error
	for i, b := range a.StakerRoles {
		if i == 0 || b.Community != a.StakerRoles[i-1].Community {
			g, err = a.fetchGuild(ctx, b.Community)
		}
		r := platform.Right{
			Setting:   "STAKER_ROLES",
			Entry:     fmt.Sprintf("role %s in server %s", b.ID, b.Community),
			Community: a.CommunityName(b.Community),
			Name:      a.BadgeName(b.Community, b.ID),
		}
		r.Passing, _ = api.Retryable(err)
		switch {
		case err == nil:
			r.Passing = false
			r.May, r.Problem = g.standing(b.Community, b.ID).advice()
			if g.MFALevel == mfaElevated && r.Problem == "" {
				r.May += twoFactorHint
			}
		case r.Passing:
			r.Problem = fmt.Sprintf("%v: until Discord answers, the bot may lack the names of the server and its roles", err)
		default:
			r.Problem = fmt.Sprintf("%v: is the ID right, and the bot in the server?", err)
		}
		all = append(all, r)
	}
	for _, id := range moderated {
		var named guild
		err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuild(id), nil, &named)
		r := platform.Right{
			Setting:   "MODERATOR_CHATS",
			Entry:     "server " + id,
			Community: chat.NewUntrusted(named.Name, maxGuildName),
			May:       "the bot is there",
		}
		if slices.Contains([]chat.BadgeProblem{chat.CommunityGone, chat.MissingRight}, badgeError(err).Problem) {
			r.May = "the bot is not there, and answers only those who installed it for themselves"
			r.Advice = []string{"is the ID right? If so, add the bot for everybody else"}
		} else if err != nil {
			r.May, r.Problem, r.Passing = "", err.Error(), true
		}
		all = append(all, r)
	}
	return all
}
