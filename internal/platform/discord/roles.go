package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/discord/api"
	"herald/internal/transport"
)

const (
	// maxRoleName bounds the shown name of a role, in characters.
	maxRoleName = 32
	// rolesEvery is how often the names of roles are fetched anew.
	rolesEvery = time.Hour
)

// Communities implements chat.Badges. It returns the servers of StakerRoles, sorted.
func (a *Adapter) Communities() []string { return slices.Sorted(maps.Keys(a.StakerRoles)) }

// BadgeName implements chat.Badges.
func (a *Adapter) BadgeName(guild string) chat.Untrusted {
	name, _ := a.roleNames.Load(guild)
	shown, _ := name.(chat.Untrusted)
	return shown
}

// Give implements chat.Badges.
func (a *Adapter) Give(ctx context.Context, guild, user, reason string) error {
	return a.setRole(ctx, api.RoleChange{Guild: guild, User: user, Role: a.StakerRoles[guild], Reason: reason})
}

// Take implements chat.Badges.
func (a *Adapter) Take(ctx context.Context, guild, user, reason string) error {
	return a.setRole(ctx, api.RoleChange{Guild: guild, User: user, Role: a.StakerRoles[guild], Take: true, Reason: reason})
}

// Notify implements chat.Badges. It does nothing: Discord does not tell whether there is a
// private chat, and the bot opens none.
func (a *Adapter) Notify(context.Context, string, chat.Reply) {}

// Wearers implements chat.Badges.
// https://discord.com/developers/docs/resources/guild#get-guild-role-member-counts
func (a *Adapter) Wearers(ctx context.Context, guild string) (int, error) {
	var counts map[string]int
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuildRoles(guild)+"/member-counts", nil, &counts); err != nil {
		return 0, fmt.Errorf("count the wearers of a role: %w", err)
	}
	return counts[a.StakerRoles[guild]], nil
}

// setRole makes a change. It fails with a *chat.BadgeError.
func (a *Adapter) setRole(ctx context.Context, change api.RoleChange) error {
	err := a.api.SetRole(ctx, change)
	if err == nil {
		return nil
	}
	failed := &chat.BadgeError{Problem: chat.BadgeFailed, Err: fmt.Errorf("set a role: %w", err)}
	refused, is := errors.AsType[*api.Error](err)
	if !is {
		return failed
	}
	switch refused.Code {
	case discordgo.ErrCodeUnknownMember, discordgo.ErrCodeUnknownUser:
		failed.Problem = chat.NotAMember
	case discordgo.ErrCodeUnknownRole:
		failed.Problem = chat.BadgeGone
	case discordgo.ErrCodeMissingAccess, discordgo.ErrCodeUnknownGuild:
		failed.Problem = chat.MissingRight
	case discordgo.ErrCodeMissingPermissions:
		// Discord does not say which permission is missing.
		standing, _ := a.checkRole(ctx, change.Guild)
		failed.Problem = cmp.Or(standing.problem, chat.NotAllowed)
	default:
		failed.RetryAfter = refused.RetryAfter
	}
	return failed
}

// role is a role of a server.
// https://discord.com/developers/docs/topics/permissions#role-object
type role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Position    int    `json:"position"`
	Permissions string `json:"permissions"`
	Managed     bool   `json:"managed"`
}

// has reports whether the role has one of the permissions.
func (r role) has(permissions int64) bool {
	bits, err := strconv.ParseUint(r.Permissions, 10, 64)
	return err == nil && bits&uint64(permissions) != 0
}

// above compares r and other: the result is above 0 if r stands above. Of two roles in one
// position, the older one stands above.
func (r role) above(other role) int {
	return cmp.Or(cmp.Compare(r.Position, other.Position), cmp.Compare(len(other.ID), len(r.ID)), cmp.Compare(other.ID, r.ID))
}

func (r role) shown() chat.Untrusted { return "@" + chat.NewUntrusted(r.Name, maxRoleName) }

// standing is whether the bot can give the role of a server, as the server's roles tell.
type standing struct {
	// name is that of the role, and highest that of the bot's highest role; each is empty if
	// there is none.
	name, highest chat.Untrusted
	// problem is why the bot cannot give the role, or "".
	problem chat.BadgeProblem
	// administrator says that the bot has a permission that it does not need.
	administrator bool
}

// checkRole asks Discord about the role of a server, and stores its name. It blocks for three
// calls.
func (a *Adapter) checkRole(ctx context.Context, guild string) (s standing, err error) {
	self, err := a.self(ctx)
	if err != nil {
		return s, err
	}
	var all []role
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuildRoles(guild), nil, &all); err != nil {
		return s, fmt.Errorf("ask for the roles: %w", err)
	}
	var member struct {
		Roles []string `json:"roles"`
	}
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuildMember(guild, self), nil, &member); err != nil {
		return s, fmt.Errorf("ask for the bot's own roles: %w", err)
	}
	s = standingOf(all, append(member.Roles, guild), a.StakerRoles[guild]) // Everybody has the role with the server's ID.
	if s.name != "" {
		a.roleNames.Store(guild, s.name)
	}
	return s, nil
}

// standingOf returns whether who has the roles own, of all, can give the role wanted.
func standingOf(all []role, own []string, wanted string) (s standing) {
	var highest, badge role
	manages := false
	for _, r := range all {
		if r.ID == wanted {
			badge = r
		}
		if !slices.Contains(own, r.ID) {
			continue
		}
		manages = manages || r.has(discordgo.PermissionManageRoles|discordgo.PermissionAdministrator)
		s.administrator = s.administrator || r.has(discordgo.PermissionAdministrator)
		if highest.ID == "" || r.above(highest) > 0 {
			highest = r
		}
	}
	if badge.ID != "" {
		s.name = badge.shown()
	}
	s.highest = highest.shown()
	switch {
	case badge.ID == "" || badge.Managed || badge.ID == own[len(own)-1]:
		s.problem = chat.BadgeGone
	case !manages:
		s.problem = chat.MissingRight
	case badge.above(highest) >= 0:
		s.problem = chat.RoleAbove
	}
	return s
}

// self returns the ID of the bot's user. It asks Discord unless the ID is known.
func (a *Adapter) self(ctx context.Context) (string, error) {
	if id, _ := a.userID.Load().(string); id != "" {
		return id, nil
	}
	app, err := a.api.Application(ctx)
	if err != nil {
		return "", err
	}
	id := cmp.Or(app.Bot.ID, app.ID)
	a.userID.Store(id)
	return id, nil
}

// advice returns a sentence for an operator about the role of a server, and whether it is a
// problem.
func (s standing) advice() (text string, wrong bool) {
	switch {
	case s.problem == chat.BadgeGone && s.name == "":
		return "there is no such role", true
	case s.problem == chat.BadgeGone:
		return fmt.Sprintf("nobody can give %s: it belongs to an integration, or to everyone", s.name), true
	case s.problem == chat.MissingRight:
		return fmt.Sprintf("the bot cannot give %s: it lacks the permission Manage Roles", s.name), true
	case s.problem == chat.RoleAbove:
		return fmt.Sprintf("the bot cannot give %s: that role stands above the bot's highest one, %s; drag the bot's role above it", s.name, s.highest), true
	case s.administrator:
		return fmt.Sprintf("the bot can give %s; it is an administrator, which it need not be", s.name), false
	}
	return fmt.Sprintf("the bot can give %s", s.name), false
}

// errRoles is the error of Check if the bot cannot give a role of STAKER_ROLES.
var errRoles = &config.WrongError{Problem: "the bot cannot give a role of STAKER_ROLES"}

// checkRoles returns a sentence for an operator about each server of StakerRoles. It fails if
// the bot cannot give one of the roles.
func (a *Adapter) checkRoles(ctx context.Context) (details []string, err error) {
	for _, guild := range a.Communities() {
		s, failed := a.checkRole(ctx, guild)
		text, wrong := s.advice()
		if failed != nil {
			text, wrong = fmt.Sprintf("%v: is the ID right, and the bot in the server?", failed), true
		}
		if details = append(details, fmt.Sprintf("STAKER_ROLES, server %s: %s", guild, text)); wrong {
			err = errRoles
		}
	}
	return details, err
}

// watchRoles fetches the names of the roles in rolesEvery, and logs when the bot can no longer
// give one. It blocks until ctx is done.
func (a *Adapter) watchRoles(ctx context.Context) {
	warned := map[string]bool{}
	for len(a.StakerRoles) > 0 && ctx.Err() == nil {
		pause := rolesEvery
		for _, guild := range a.Communities() {
			s, err := a.checkRole(ctx, guild)
			if err != nil {
				pause = time.Minute
				continue
			}
			text, wrong := s.advice()
			if wrong && !warned[guild] {
				a.Log.Warn("a role of STAKER_ROLES cannot be given", "server", guild, "why", text)
			}
			warned[guild] = wrong
		}
		transport.Sleep(ctx, pause)
	}
}

// seeRoles calls Returned if the sender of an interaction lacks the role of its server.
func (a *Adapter) seeRoles(i *interaction, req chat.Request) {
	role := a.StakerRoles[req.Community]
	if a.Returned == nil || role == "" || i.Member == nil || i.Member.Roles == nil || slices.Contains(i.Member.Roles, role) {
		return
	}
	a.Returned(req.From, req.Community)
}
