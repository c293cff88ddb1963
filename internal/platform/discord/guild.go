package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// maxRoleName and maxGuildName limit the length of shown names, in characters.
const (
	maxRoleName  = 32
	maxGuildName = 64
)

// mfaElevated is the MFALevel of a server that requires two-factor authentication.
// https://discord.com/developers/docs/resources/guild#guild-object-mfa-level
const mfaElevated = 1

// guild is a server, as it was when it was last fetched.
// https://discord.com/developers/docs/resources/guild#guild-object
type guild struct {
	Name  string `json:"name"`
	Roles []role `json:"roles"`
	// MFALevel is mfaElevated if the server requires two-factor authentication of moderators, and 0 otherwise.
	MFALevel int    `json:"mfa_level"`
	id       string // of the server, and also of its role @everyone
	// botRoles holds the IDs of the bot's roles, without @everyone.
	botRoles  []string
	fetchedAt time.Time // zero if the server was never fetched
}

// lastGuild returns the server as it was last fetched, or a zero guild if it never was. It does not block.
func (a *Adapter) lastGuild(id string) guild {
	last, isFetched := a.guilds.Load(id)
	if !isFetched {
		return guild{}
	}
	return last.(guild)
}

// fetchGuild asks Discord about a server, and stores the result for lastGuild. It blocks for two calls, or for three if
// the bot's own ID is not known yet.
func (a *Adapter) fetchGuild(ctx context.Context, id string) (g guild, err error) {
	botID, err := a.botUserID(ctx)
	if err != nil {
		return g, err
	}
	err = a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuild(id), nil, &g)
	if err == nil && len(g.Roles) == 0 {
		err = errNoRoles // Every server has @everyone.
	}
	if err != nil {
		return g, fmt.Errorf("ask for the roles: %w", err)
	}
	bot, err := a.fetchMember(ctx, id, botID)
	if err != nil {
		return g, fmt.Errorf("ask for the bot's own roles: %w", err)
	}
	g.id = id
	g.botRoles = bot.Roles
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

// fetchMember asks Discord about a member of a server.
func (a *Adapter) fetchMember(ctx context.Context, guildID, user string) (m member, err error) {
	err = a.api.Call(ctx, http.MethodGet, discordgo.EndpointGuildMember(guildID, user), nil, &m)
	if err == nil && m.Roles == nil {
		err = errNoRoles
	}
	return m, err
}

// errNoRoles means that a response lacks the roles that it must have.
var errNoRoles = errors.New("discord names no roles")

// role is a role of a server.
// https://discord.com/developers/docs/topics/permissions#role-object
type role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Position    int    `json:"position"`
	Permissions string `json:"permissions"`
	// Managed is true if the role belongs to a bot or another integration. Nobody can give it.
	Managed bool `json:"managed"`
}

// compare returns a positive number if r is above other, and a negative number if r is below. Of two roles in the same
// position, the older one is above. Its ID is the smaller number.
func (r role) compare(other role) int {
	return cmp.Or(
		cmp.Compare(r.Position, other.Position),
		cmp.Compare(len(other.ID), len(r.ID)),
		cmp.Compare(other.ID, r.ID),
	)
}

// shownName returns the role's name as members see it.
func (r role) shownName() chat.Untrusted { return "@" + chat.NewUntrusted(r.Name, maxRoleName) }

// botUserID returns the ID of the bot's user. It asks Discord if the ID is not known yet, and blocks meanwhile.
func (a *Adapter) botUserID(ctx context.Context) (string, error) {
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
