package discord

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
)

// Platform is Discord's name in logs, metrics and OPERATORS.
const Platform chat.Platform = "discord"

// interaction is as much of Discord's as is used. discordgo's own type decodes
// every member, so that one of an unknown form would lose the whole.
type interaction struct {
	api.Interaction
	Type      discordgo.InteractionType        `json:"type"`
	GuildID   string                           `json:"guild_id"`
	ChannelID string                           `json:"channel_id"`
	Context   discordgo.InteractionContextType `json:"context"`
	Locale    string                           `json:"locale"`
	Member    *member                          `json:"member"` // in guilds
	User      *user                            `json:"user"`   // elsewhere
	Installed *installations                   `json:"authorizing_integration_owners"`
	Message   *shown                           `json:"message"` // that holds the button pressed
	Data      data                             `json:"data"`
}

type member struct {
	User        *user  `json:"user"`
	Permissions string `json:"permissions"`
}

type user struct {
	ID  string `json:"id"`
	Bot bool   `json:"bot"`
}

// installations say whom the bot is there for. An interaction without them is of
// an older form, in which only a guild could have the bot.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-authorizing-integration-owners-object
type installations struct {
	// Guild is the guild that the bot is a member of; it is empty where a user
	// brought the bot into a guild, of which they may be anything.
	Guild string `json:"0"`
}

// shown is a message as it is.
type shown struct {
	Flags discordgo.MessageFlags `json:"flags"`
}

// data is that of a command, a button or a modal.
type data struct {
	Name     string                           `json:"name"`
	Type     discordgo.ApplicationCommandType `json:"type"`
	TargetID string                           `json:"target_id"`
	Options  []option                         `json:"options"`

	CustomID      string                  `json:"custom_id"`
	ComponentType discordgo.ComponentType `json:"component_type"`
	Components    []struct {
		Component  input   `json:"component"`  // of a label
		Components []input `json:"components"` // of a row, the older form
	} `json:"components"`
}

// chatCommand reports whether d was written as a command. Before there were
// menus, it did not say so.
func (d data) chatCommand() bool {
	return d.Type == discordgo.ChatApplicationCommand || d.Type == 0
}

// answerTo is what was written into a modal that asks for one argument alone.
func (d data) answerTo(asks string) (text string, ok bool) {
	if len(d.Components) != 1 || asks == "" {
		return "", false
	}
	in := d.Components[0].Component
	if row := d.Components[0].Components; len(row) == 1 {
		in = row[0]
	}
	return strings.TrimSpace(in.Value), in.CustomID == asks
}

type option struct {
	Name    string                                 `json:"name"`
	Type    discordgo.ApplicationCommandOptionType `json:"type"`
	Value   any                                    `json:"value"`
	Focused bool                                   `json:"focused"`
}

// input is what was written into a modal.
type input struct {
	CustomID string `json:"custom_id"`
	Value    string `json:"value"`
}

var errMalformed = errors.New("the interaction is malformed")

// decode reads one interaction. Its error repeats nothing of it.
func decode(raw []byte) (*interaction, error) {
	i := &interaction{}
	if json.Unmarshal(raw, i) != nil {
		return nil, errMalformed
	}
	if i.Type != discordgo.InteractionPing && (!isSnowflake(i.ID) || i.Token == "") {
		return nil, errMalformed
	}
	return i, nil
}

// isSnowflake reports whether s has the form of an ID: a number of 64 bits.
// https://discord.com/developers/docs/reference#snowflakes
func isSnowflake(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// sender is who asked, nil if nobody is named.
func (i *interaction) sender() *user {
	if i.Member != nil {
		return i.Member.User
	}
	return i.User
}

// forUs reports whether a person did something that can be answered.
func (i *interaction) forUs() bool {
	from := i.sender()
	if from == nil || from.ID == "" || from.Bot {
		return false
	}
	switch i.Type {
	case discordgo.InteractionApplicationCommand:
		return i.Data.Name != "" && (i.Data.chatCommand() || i.Data.Type == discordgo.UserApplicationCommand)
	case discordgo.InteractionApplicationCommandAutocomplete:
		return i.Data.Name != "" && i.Data.chatCommand()
	case discordgo.InteractionMessageComponent:
		return i.Data.ComponentType == discordgo.ButtonComponent
	case discordgo.InteractionModalSubmit:
		return true
	default:
		return false
	}
}

// parse makes the Request of an interaction that is forUs and no autocompletion.
// press is what the state of a button or a modal says; it is zero for a command.
// It fails if they were not made by this version.
func parse(i *interaction, id string, commands chat.Commands) (req chat.Request, press chat.Press, err error) {
	req = chat.Request{
		ID:                  id,
		From:                chat.User{Platform: Platform, ID: i.sender().ID},
		Chat:                i.ChannelID,
		Direct:              i.GuildID == "" && i.Context != discordgo.InteractionContextPrivateChannel,
		CanReplyEphemerally: true,
		Locale:              i.Locale,
	}
	if i.GuildID != "" && (i.Installed == nil || i.Installed.Guild == i.GuildID) {
		req.Community = i.GuildID
		if i.Member != nil && moderates(i.Member.Permissions) {
			req.Role = chat.Moderator
		}
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		i.command(&req, commands)
		return req, chat.Press{}, nil
	}
	press, err = chat.ParseState(i.Data.CustomID)
	req.Command, req.Args = press.Command, chat.Typed(press.Args...)
	if err == nil && i.Type == discordgo.InteractionModalSubmit {
		written, ok := i.Data.answerTo(press.Asks)
		if !ok {
			return req, press, errMalformed
		}
		req.Args = chat.Named(map[string]string{press.Asks: written})
	}
	return req, press, err
}

// command adds to req what a command asks.
func (i *interaction) command(req *chat.Request, commands chat.Commands) {
	req.Command = i.Data.Name
	if i.Data.Type == discordgo.UserApplicationCommand {
		req.Command = menuCommand(commands, i.Data.Name)
		if i.Data.TargetID != "" {
			req.Target = &chat.User{Platform: Platform, ID: i.Data.TargetID}
		}
	}
	named := map[string]string{}
	for _, o := range i.Data.Options {
		value, isString := o.Value.(string)
		switch {
		case !isString:
		case o.Type == discordgo.ApplicationCommandOptionUser:
			req.Target = &chat.User{Platform: Platform, ID: value}
		case o.Type == discordgo.ApplicationCommandOptionString:
			named[o.Name] = strings.TrimSpace(value)
		}
	}
	req.Args = chat.Named(named)
}

// moderating are the permissions of which any one makes a moderator.
// https://discord.com/developers/docs/topics/permissions
const moderating = discordgo.PermissionAdministrator | discordgo.PermissionManageGuild |
	discordgo.PermissionModerateMembers | discordgo.PermissionKickMembers | discordgo.PermissionBanMembers

func moderates(permissions string) bool {
	bits, err := strconv.ParseUint(permissions, 10, 64)
	return err == nil && bits&moderating != 0
}
