package discord

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

// Platform is Discord's name in logs, metrics and OPERATORS.
const Platform chat.Platform = "discord"

// interaction has the members of Discord's that are used. discordgo's type decodes every
// member, and fails if one has an unknown form.
type interaction struct {
	api.Interaction
	Type      discordgo.InteractionType        `json:"type"`
	GuildID   string                           `json:"guild_id"`
	ChannelID string                           `json:"channel_id"`
	Context   discordgo.InteractionContextType `json:"context"`
	Locale    string                           `json:"locale"`
	User      *user                            `json:"user"` // who asked
	Member    *struct {                        // in guilds
		User        *user  `json:"user"`
		Permissions string `json:"permissions"`
		// Roles holds the IDs of the member's roles; nil: they are not told.
		Roles []string `json:"roles"`
		// Pending is true until the member has accepted the server's rules.
		Pending bool `json:"pending"`
	} `json:"member"`
	// Installed says who installed the bot. Where a user did and the guild did not, anybody may have made themself a
	// moderator of the guild. nil is an interaction of an older form: then the guild did.
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-authorizing-integration-owners-object
	Installed *struct {
		Guild string `json:"0"`
	} `json:"authorizing_integration_owners"`
	// Message is the one with the pressed button; nil for a command.
	Message *struct {
		ID      string                 `json:"id"`
		Flags   discordgo.MessageFlags `json:"flags"`
		Content string                 `json:"content"`
		Embeds  []embed                `json:"embeds"`
	} `json:"message"`
	Data struct {
		// Of a command.
		Name     string                           `json:"name"`
		Type     discordgo.ApplicationCommandType `json:"type"`
		TargetID string                           `json:"target_id"`
		Options  []option                         `json:"options"`
		// Of a button.
		CustomID      string                  `json:"custom_id"`
		ComponentType discordgo.ComponentType `json:"component_type"`
	} `json:"data"`

	reference string // of the Request, in logs and answers
	claimKey  string // of the claim to answer it
	isDone    bool   // the claim is marked as done
	target    target // of its answer
	// w takes the first response as its body; nil: the first response is posted.
	w http.ResponseWriter
}

type user struct {
	ID  string `json:"id"`
	Bot bool   `json:"bot"`
}

type option struct {
	Name  string                                 `json:"name"`
	Type  discordgo.ApplicationCommandOptionType `json:"type"`
	Value any                                    `json:"value"`
}

// decode reads one interaction. forUs reports whether it is well formed and a person used
// a command or pressed a button.
func decode(raw []byte) (i *interaction, forUs bool) {
	i = &interaction{}
	if json.Unmarshal(raw, i) != nil || !isSnowflake(i.ID) || i.Token == "" {
		return i, false
	}
	if i.Member != nil {
		i.User = i.Member.User
	}
	if i.User == nil || i.User.ID == "" || i.User.Bot {
		return i, false
	}
	command := i.Type == discordgo.InteractionApplicationCommand && i.Data.Name != ""
	press := i.Type == discordgo.InteractionMessageComponent && i.Data.ComponentType == discordgo.ButtonComponent
	return i, command || press
}

// isSnowflake reports whether s has the form of an ID: a number of 63 bits.
// https://discord.com/developers/docs/reference#snowflakes
func isSnowflake(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 0
}

// parse returns the Request of an interaction that is for us. press is the state of the pressed button, or nil for a
// command. It fails if the state is not of this version.
func parse(i *interaction, commands chat.Commands) (req *chat.Request, press *chat.Press, err error) {
	req = &chat.Request{
		ID:                  i.reference,
		From:                chat.User{Platform: Platform, ID: i.User.ID},
		Chat:                i.ChannelID,
		Direct:              i.GuildID == "" && i.Context != discordgo.InteractionContextPrivateChannel,
		CanReplyEphemerally: true,
		Locale:              i.Locale,
	}
	if i.GuildID != "" && (i.Installed == nil || i.Installed.Guild == i.GuildID) {
		req.Community = i.GuildID
		req.RulesPending = i.Member != nil && i.Member.Pending
		if i.Member != nil && permits(i.Member.Permissions, moderating) {
			req.Role = chat.Moderator
		}
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		i.command(req, commands)
		return req, nil, nil
	}
	state, err := chat.ParseState(i.Data.CustomID)
	req.Command = state.Command
	req.Args = chat.Typed(state.Args...)
	return req, &state, err
}

// command sets a command's name, target and arguments in req.
func (i *interaction) command(req *chat.Request, commands chat.Commands) {
	req.Command = i.Data.Name
	target := ""
	if i.Data.Type == discordgo.UserApplicationCommand {
		req.Command, target = menuCommand(commands, i.Data.Name), i.Data.TargetID
	}
	named := map[string]string{}
	for _, o := range i.Data.Options {
		value, is := o.Value.(string)
		switch {
		case is && o.Type == discordgo.ApplicationCommandOptionUser:
			target = value
		case is && o.Type == discordgo.ApplicationCommandOptionString:
			named[o.Name] = strings.TrimSpace(value)
		}
	}
	if target != "" {
		req.Target = &chat.User{Platform: Platform, ID: target}
	}
	req.Args = chat.Named(named)
}

// moderating holds the permissions that make a moderator. One of them is enough.
// https://discord.com/developers/docs/topics/permissions
const moderating = discordgo.PermissionAdministrator | discordgo.PermissionManageGuild |
	discordgo.PermissionModerateMembers | discordgo.PermissionKickMembers | discordgo.PermissionBanMembers

// permits reports whether permissions, as Discord writes them, has one of wanted.
func permits(permissions string, wanted uint64) bool {
	bits, err := strconv.ParseUint(permissions, 10, 64)
	return err == nil && bits&wanted != 0
}
