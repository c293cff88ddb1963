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

// Role is a role of a guild. The one with the guild's ID is @everyone.
type Role struct {
	ID, Name    string
	Position    int
	Permissions int64
	// Managed is true for a role that an integration gives, and nobody else.
	Managed bool
}

// RoleCall is a call that gave or removed a role.
type RoleCall struct {
	Guild, User, Role string
	Remove            bool
	// Reason is what the audit log shows.
	Reason string
}

// guild is a server. The bot is in it if it is among the members.
type guild struct {
	name    string
	roles   []Role
	members map[string][]string // role IDs by user
	pending map[string]bool     // the users who have not accepted the rules
	mfa     bool                // moderators need two-factor authentication
}

// AddGuild adds a guild with roles, of which the bot has some. @everyone is added, without
// permissions, if it is missing. The guild is called "Guild" and its ID.
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

// RequireTwoFactor has a guild require two-factor authentication of moderators. The owner of the bot's account does not
// have it.
func (s *Server) RequireTwoFactor(id string) { s.Change(func() { s.guilds[id].mfa = true }) }

// DeleteGuild deletes a guild.
func (s *Server) DeleteGuild(id string) { s.Change(func() { delete(s.guilds, id) }) }

// ChangeRoles lets edit change the roles of a guild. Nobody has a role that is deleted.
func (s *Server) ChangeRoles(guildID string, edit func([]Role) []Role) {
	s.Change(func() {
		g := s.guilds[guildID]
		g.roles = edit(g.roles)
		for user, worn := range g.members {
			g.members[user] = slices.DeleteFunc(worn, func(id string) bool { return g.role(id) == nil })
		}
	})
}

// Enter makes a user a member of a guild, or the bot by its ApplicationID, with roles. Leave
// undoes it.
func (s *Server) Enter(guildID, user string, roles ...string) {
	s.Change(func() { s.guilds[guildID].members[user] = append([]string{}, roles...) })
}

// Leave has a user, or the bot, leave a guild and so lose their roles there.
func (s *Server) Leave(guildID, user string) {
	s.Change(func() { delete(s.guilds[guildID].members, user) })
}

// SetPending changes whether a member has yet to accept the rules of a guild.
func (s *Server) SetPending(guildID, user string, pending bool) {
	s.Change(func() { s.guilds[guildID].pending[user] = pending })
}

// Wears reports whether a member has a role.
func (s *Server) Wears(guildID, user, role string) bool {
	return locked(s, func() bool { return slices.Contains(s.rolesOf(guildID, user), role) })
}

// RoleCalls returns the calls that were carried out, in order.
func (s *Server) RoleCalls() []RoleCall { return list(s, &s.roleCalls) }

func (g *guild) role(id string) *Role {
	if i := slices.IndexFunc(g.roles, func(r Role) bool { return r.ID == id }); i >= 0 {
		return &g.roles[i]
	}
	return nil
}

// above reports whether role a stands above b. Of two in one position, the older one does.
// https://discord.com/developers/docs/topics/permissions#role-object
func above(a, b Role) bool {
	if a.Position != b.Position {
		return a.Position > b.Position
	}
	return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) < 0
}

// mayGive reports whether a member may give and take a role.
func (g *guild) mayGive(user, guildID string, role Role) bool {
	permissions, outranks := int64(0), false
	for _, id := range append([]string{guildID}, g.members[user]...) {
		if own := g.role(id); own != nil {
			permissions |= own.Permissions
			outranks = outranks || above(*own, role)
		}
	}
	right := permissions&(discordgo.PermissionManageRoles|discordgo.PermissionAdministrator) != 0
	return right && outranks && !role.Managed && role.ID != guildID
}

// Discord's refusals.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
var (
	errMissingAccess      = &Failure{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	errMissingPermissions = &Failure{Status: http.StatusForbidden, Code: 50013, Message: "Missing Permissions"}
	errTwoFactor          = &Failure{
		Status: http.StatusForbidden, Code: 60003, Message: "Two factor is required for this operation",
	}
	errUnknownGuild  = &Failure{Status: http.StatusNotFound, Code: 10004, Message: "Unknown Guild"}
	errUnknownMember = &Failure{Status: http.StatusNotFound, Code: 10007, Message: "Unknown Member"}
	errUnknownRole   = &Failure{Status: http.StatusNotFound, Code: 10011, Message: "Unknown Role"}
)

// inGuild returns a handler of calls about a guild, which the bot must be in: otherwise it
// answers absent, which differs between routes. h is called under the lock.
// https://github.com/discord/discord-api-docs/issues/5840
func (s *Server) inGuild(absent *Failure, h func(g *guild, r *http.Request) (int, any, *Failure)) handler {
	return s.bot(func(r *http.Request) (int, any, *Failure) {
		s.Lock()
		defer s.Unlock()
		g := s.guilds[r.PathValue("guild")]
		if g == nil {
			return 0, nil, errUnknownGuild
		}
		if _, in := g.members[s.ApplicationID]; !in {
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
		return 0, nil, s.note(errors.New("X-Audit-Log-Reason: must be 1 to 512 characters, URL-encoded"))
	}
	role := g.role(call.Role)
	worn, member := g.members[call.User]
	switch {
	case role == nil:
		return 0, nil, errUnknownRole
	case g.mfa:
		return 0, nil, errTwoFactor
	case !g.mayGive(s.ApplicationID, call.Guild, *role):
		return 0, nil, errMissingPermissions
	case !member:
		return 0, nil, errUnknownMember
	}
	worn = slices.DeleteFunc(slices.Clone(worn), func(id string) bool { return id == call.Role })
	if !call.Remove {
		worn = append(worn, call.Role)
		g.pending[call.User] = false // A role ends membership screening.
	}
	g.members[call.User] = worn
	s.roleCalls = append(s.roleCalls, call)
	s.Notify()
	return http.StatusNoContent, nil, nil
}

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
		"id": r.PathValue("guild"), "name": g.name, "roles": shown, "mfa_level": mfaLevel,
	}, nil
}

func (s *Server) guildMember(g *guild, r *http.Request) (int, any, *Failure) {
	user := r.PathValue("user")
	roles, member := g.members[user]
	if !member {
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

// isPending returns what an interaction says of a member. The caller holds the lock.
func (s *Server) isPending(guildID, user string) bool {
	g := s.guilds[guildID]
	return g != nil && g.pending[user]
}

// rolesOf returns what an interaction says of a member's roles. The caller holds the lock.
func (s *Server) rolesOf(guildID, user string) []string {
	if g := s.guilds[guildID]; g != nil {
		return append([]string{}, g.members[user]...)
	}
	return []string{}
}
