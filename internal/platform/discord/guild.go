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

// guild is a server, as it was when it was last fetched. The ID of the server is also the ID of its role @everyone.
// https://discord.com/developers/docs/resources/guild#guild-object
type guild struct {
	Name  string `json:"name"`
	Roles []role `json:"roles"`
	// MFALevel is mfaElevated if the server requires two-factor authentication of moderators, and 0 otherwise.
	MFALevel int `json:"mfa_level"`
	// botRoles holds the IDs of the bot's roles, without @everyone.
	botRoles  []string
	fetchedAt time.Time // zero if the server was never fetched
}

// guild returns the server as it was last fetched, or a zero guild if it never was. It does not block.
func (a *Adapter) guild(id string) guild {
	last, isFetched := a.guilds.Load(id)
	if !isFetched {
		return guild{}
	}
	return last.(guild)
}

// fetchGuild asks Discord about a server, and stores the result for guild. It blocks for two calls, or for three until
// the bot's own ID is known.
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
	bot, err := a.member(ctx, id, botID)
	if err != nil {
		return g, fmt.Errorf("ask for the bot's own roles: %w", err)
	}
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

// member asks Discord about a member of a server.
func (a *Adapter) member(ctx context.Context, guildID, user string) (m member, err error) {
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

// compare returns a number above 0 if r is above other, and below 0 if it is below. Of two roles in one position, the
// older one is above: its ID is the smaller number.
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
