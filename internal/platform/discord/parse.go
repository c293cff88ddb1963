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

// interaction has those fields of Discord's interactions that the bot uses. discordgo's type decodes every field, and
// fails if one has an unknown form.
type interaction struct {
	api.Interaction
	Type      discordgo.InteractionType        `json:"type"`
	GuildID   string                           `json:"guild_id"`
	ChannelID string                           `json:"channel_id"`
	Context   discordgo.InteractionContextType `json:"context"`
	Locale    string                           `json:"locale"`
	// User is the sender. decode sets it in a guild too.
	User *user `json:"user"`
	// Member is the sender as a member of the guild. It is nil in a private chat.
	Member *struct {
		User        *user  `json:"user"`
		Permissions string `json:"permissions"`
		// Roles holds the IDs of the member's roles. It is nil if Discord does not list them.
		Roles []string `json:"roles"`
		// Pending is true until the member has accepted the server's rules.
		Pending bool `json:"pending"`
	} `json:"member"`
	// Installed says who has installed the bot. Its Guild is the ID of the guild that has, if any. Interactions of an
	// older form lack it: only guilds could install a bot.
	// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-authorizing-integration-owners-object
	Installed *struct {
		Guild string `json:"0"`
	} `json:"authorizing_integration_owners"`
	// Message is the message with the pressed button. It is nil for a command.
	Message *struct {
		ID      string                 `json:"id"`
		Flags   discordgo.MessageFlags `json:"flags"`
		Content string                 `json:"content"`
		Embeds  []embed                `json:"embeds"`
	} `json:"message"`
	Data struct {
		// The fields of a command.
		Name     string                           `json:"name"`
		Type     discordgo.ApplicationCommandType `json:"type"`
		TargetID string                           `json:"target_id"`
		Options  []option                         `json:"options"`
		// The fields of a button.
		CustomID      string                  `json:"custom_id"`
		ComponentType discordgo.ComponentType `json:"component_type"`
	} `json:"data"`

	reference   string // the ID of the Request, in logs and answers
	claimKey    string
	isClaimDone bool   // whether the claim is marked as done
	target      target // where the answer goes
	// w takes the first response if the interaction arrived by HTTP. It is nil if the first response is a call.
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

// decode reads one interaction, as far as it can be read. forUs is true if the interaction is well formed, and a person
// (not a bot) used a command or pressed a button.
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
	isCommand := i.Type == discordgo.InteractionApplicationCommand && i.Data.Name != ""
	isPress := i.Type == discordgo.InteractionMessageComponent && i.Data.ComponentType == discordgo.ButtonComponent
	return i, isCommand || isPress
}

// isSnowflake reports whether s has the form of an ID: a number of 63 bits.
// https://discord.com/developers/docs/reference#snowflakes
func isSnowflake(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 0
}

// parse returns the Request of an interaction that is for us. press is the state of the pressed button, or nil for a
// command. parse fails if the button is of another version of the bot. The Request then serves only to tell the user.
func parse(i *interaction, commands chat.Commands) (req *chat.Request, press *chat.Press, err error) {
	req = &chat.Request{
		ID:                  i.reference,
		From:                chat.User{Platform: Platform, ID: i.User.ID},
		Chat:                i.ChannelID,
		Direct:              i.GuildID == "" && i.Context != discordgo.InteractionContextPrivateChannel,
		CanReplyEphemerally: true,
		Locale:              i.Locale,
	}
	if i.guildHasInstalled() {
		req.Community = i.GuildID
		req.RulesPending = i.Member != nil && i.Member.Pending
		if i.Member != nil && permits(i.Member.Permissions, moderating) {
			req.Role = chat.Moderator
		}
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		i.setCommand(req, commands)
		return req, nil, nil
	}
	state, err := chat.ParseState(i.Data.CustomID)
	req.Command = state.Command
	req.Args = chat.Typed(state.Args...)
	return req, &state, err
}

// guildHasInstalled reports whether the interaction is from a guild that has installed the bot. Anybody can make a
// guild where they are a moderator, install the bot for themselves, and use it there. Such a guild is not a community.
func (i *interaction) guildHasInstalled() bool {
	return i.GuildID != "" && (i.Installed == nil || i.Installed.Guild == i.GuildID)
}

// setCommand sets a command's name, target and arguments in req.
func (i *interaction) setCommand(req *chat.Request, commands chat.Commands) {
	req.Command = i.Data.Name
	target := ""
	if i.Data.Type == discordgo.UserApplicationCommand {
		req.Command = menuCommand(commands, i.Data.Name)
		target = i.Data.TargetID
	}
	named := map[string]string{}
	for _, o := range i.Data.Options {
		value, isString := o.Value.(string)
		if !isString {
			continue
		}
		switch o.Type {
		case discordgo.ApplicationCommandOptionUser:
			target = value
		case discordgo.ApplicationCommandOptionString:
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

// permits reports whether permissions, a decimal number as Discord sends it, has at least one bit of wanted.
func permits(permissions string, wanted uint64) bool {
	bits, err := strconv.ParseUint(permissions, 10, 64)
	return err == nil && bits&wanted != 0
}
