package discord

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

// Role is a role of a guild. The role with the guild's ID is @everyone.
type Role struct {
	ID, Name    string
	Position    int
	Permissions int64
	// Managed is set if only an integration can give the role.
	Managed bool
}

// RoleCall is a call that gave or, if Remove is set, removed a role.
type RoleCall struct {
	Guild, User, Role string // IDs
	Remove            bool
	Reason            string // the reason in the audit log
}

// guild is a Discord server.
type guild struct {
	name    string
	roles   []Role
	members map[string][]string // role IDs by user ID; the bot's user ID is its ApplicationID
	pending map[string]bool     // the users that have not accepted the rules
	mfa     bool                // moderators need two-factor authentication
}

// AddGuild adds a guild with these roles. The bot is a member and has botRoles. If @everyone is missing, AddGuild
// adds it without permissions. The guild's name is "Guild ", followed by its ID.
func (s *Server) AddGuild(id string, roles []Role, botRoles ...string) {
	s.Change(func() {
		if !slices.ContainsFunc(roles, func(r Role) bool { return r.ID == id }) {
			roles = append([]Role{{ID: id, Name: "@everyone"}}, roles...)
		}
		s.guilds[id] = &guild{
			name:    "Guild " + id,
			roles:   roles,
			members: map[string][]string{s.ApplicationID: botRoles},
			pending: map[string]bool{},
		}
	})
}

// NameGuild changes the name of a guild.
func (s *Server) NameGuild(id, name string) { s.Change(func() { s.guilds[id].name = name }) }

// RequireTwoFactor makes a guild require two-factor authentication from moderators. The owner of the bot has not
// enabled it.
func (s *Server) RequireTwoFactor(id string) { s.Change(func() { s.guilds[id].mfa = true }) }

// DeleteGuild deletes a guild.
func (s *Server) DeleteGuild(id string) { s.Change(func() { delete(s.guilds, id) }) }

// ChangeRoles replaces the roles of a guild by those that edit returns. Members lose the roles that it deletes.
func (s *Server) ChangeRoles(guildID string, edit func([]Role) []Role) {
	s.Change(func() {
		g := s.guilds[guildID]
		g.roles = edit(g.roles)
		for user, roles := range g.members {
			g.members[user] = slices.DeleteFunc(roles, func(id string) bool { return g.role(id) == nil })
		}
	})
}

// Enter makes a user, or the bot by its ApplicationID, a member of a guild with exactly these roles.
func (s *Server) Enter(guildID, user string, roles ...string) {
	s.Change(func() { s.guilds[guildID].members[user] = append([]string{}, roles...) })
}

// Leave removes a user, or the bot by its ApplicationID, and their roles from a guild.
func (s *Server) Leave(guildID, user string) {
	s.Change(func() { delete(s.guilds[guildID].members, user) })
}

// SetPending sets whether a member must still accept the rules of a guild.
func (s *Server) SetPending(guildID, user string, pending bool) {
	s.Change(func() { s.guilds[guildID].pending[user] = pending })
}

// HasRole reports whether a user is a member of a guild with this role.
func (s *Server) HasRole(guildID, user, role string) bool {
	return locked(s, func() bool { return slices.Contains(s.rolesOf(guildID, user), role) })
}

// RoleCalls returns the successful calls that gave or removed a role, in order.
func (s *Server) RoleCalls() []RoleCall { return list(s, &s.roleCalls) }

// role returns the role with this ID, or nil.
func (g *guild) role(id string) *Role {
	i := slices.IndexFunc(g.roles, func(r Role) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &g.roles[i]
}

// isAbove reports whether role a ranks above role b. If their positions are the same, the older role does, which
// has the lower ID.
// https://discord.com/developers/docs/topics/permissions#role-object
func isAbove(a, b Role) bool {
	if a.Position != b.Position {
		return a.Position > b.Position
	}
	return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) < 0
}

// mayGive reports whether a member may give and remove a role.
func (g *guild) mayGive(user, guildID string, role Role) bool {
	const needed = discordgo.PermissionManageRoles | discordgo.PermissionAdministrator // either is enough
	permissions := int64(0)
	outranks := false
	for _, id := range append([]string{guildID}, g.members[user]...) {
		if own := g.role(id); own != nil {
			permissions |= own.Permissions
			outranks = outranks || isAbove(*own, role)
		}
	}
	return permissions&needed != 0 && outranks && !role.Managed && role.ID != guildID
}

// Errors of calls about guilds, roles and members.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
var (
	errMissingAccess      = &Failure{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	errMissingPermissions = &Failure{Status: http.StatusForbidden, Code: 50013, Message: "Missing Permissions"}
	errTwoFactor          = &Failure{
		Status:  http.StatusForbidden,
		Code:    60003,
		Message: "Two factor is required for this operation",
	}
	errUnknownGuild  = &Failure{Status: http.StatusNotFound, Code: 10004, Message: "Unknown Guild"}
	errUnknownMember = &Failure{Status: http.StatusNotFound, Code: 10007, Message: "Unknown Member"}
	errUnknownRole   = &Failure{Status: http.StatusNotFound, Code: 10011, Message: "Unknown Role"}
)

// inGuild returns a handler that calls h under the lock with the guild of the call. If the bot is not a member of the
// guild, the handler returns absent, which differs between routes.
// https://github.com/discord/discord-api-docs/issues/5840
func (s *Server) inGuild(absent *Failure, h func(g *guild, r *http.Request) (int, any, *Failure)) handler {
	return s.authenticated(func(r *http.Request) (int, any, *Failure) {
		s.Lock()
		defer s.Unlock()
		g := s.guilds[r.PathValue("guild")]
		if g == nil {
			return 0, nil, errUnknownGuild
		}
		if _, isMember := g.members[s.ApplicationID]; !isMember {
			return 0, nil, absent
		}
		return h(g, r)
	})
}

// setRole gives or removes a role.
func (s *Server) setRole(g *guild, r *http.Request) (int, any, *Failure) {
	call := RoleCall{
		Guild:  r.PathValue("guild"),
		User:   r.PathValue("user"),
		Role:   r.PathValue("role"),
		Remove: r.Method == http.MethodDelete,
	}
	var err error
	raw := r.Header.Get("X-Audit-Log-Reason")
	call.Reason, err = url.PathUnescape(raw)
	if err != nil || raw == "" || len(raw) > 512 || url.PathEscape(call.Reason) != raw {
		return 0, nil, s.refuseLocked(errors.New("X-Audit-Log-Reason: must be 1 to 512 characters, URL-encoded"))
	}
	role := g.role(call.Role)
	roles, isMember := g.members[call.User]
	switch {
	case role == nil:
		return 0, nil, errUnknownRole
	case g.mfa:
		return 0, nil, errTwoFactor
	case !g.mayGive(s.ApplicationID, call.Guild, *role):
		return 0, nil, errMissingPermissions
	case !isMember:
		return 0, nil, errUnknownMember
	}
	roles = slices.DeleteFunc(slices.Clone(roles), func(id string) bool { return id == call.Role })
	if !call.Remove {
		roles = append(roles, call.Role)
		g.pending[call.User] = false // A member with a role need not accept the rules any more.
	}
	g.members[call.User] = roles
	s.roleCalls = append(s.roleCalls, call)
	s.Notify()
	return http.StatusNoContent, nil, nil
}

// guild returns the guild with its roles.
func (s *Server) guild(g *guild, r *http.Request) (int, any, *Failure) {
	shown := []any{}
	for _, role := range g.roles {
		shown = append(shown, map[string]any{
			"id":          role.ID,
			"name":        role.Name,
			"position":    role.Position,
			"permissions": strconv.FormatInt(role.Permissions, 10),
			"managed":     role.Managed,
			"color":       0,
			"hoist":       false,
			"mentionable": false,
			"flags":       0,
		})
	}
	mfaLevel := 0
	if g.mfa {
		mfaLevel = 1
	}
	return http.StatusOK, map[string]any{
		"id":        r.PathValue("guild"),
		"name":      g.name,
		"roles":     shown,
		"mfa_level": mfaLevel,
	}, nil
}

// guildMember returns a member of the guild.
func (s *Server) guildMember(g *guild, r *http.Request) (int, any, *Failure) {
	user := r.PathValue("user")
	roles, isMember := g.members[user]
	if !isMember {
		return 0, nil, errUnknownMember
	}
	return http.StatusOK, map[string]any{
		"user":    map[string]any{"id": user},
		"roles":   append([]string{}, roles...),
		"pending": g.pending[user],
		"deaf":    false,
		"mute":    false,
	}, nil
}

// isPending reports whether a member must still accept the rules of a guild. It returns false for an unknown guild.
// The caller must hold the lock.
func (s *Server) isPending(guildID, user string) bool {
	g := s.guilds[guildID]
	return g != nil && g.pending[user]
}

// rolesOf returns the IDs of a member's roles, and none for an unknown guild. The caller must hold the lock.
func (s *Server) rolesOf(guildID, user string) []string {
	if g := s.guilds[guildID]; g != nil {
		return append([]string{}, g.members[user]...)
	}
	return []string{}
}
