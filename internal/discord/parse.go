package discord

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// interaction is as much of Discord's as is used. discordgo's own type decodes
// every member, so that one of an unknown form would lose the whole.
type interaction struct {
	ID            string                           `json:"id"`
	ApplicationID string                           `json:"application_id"`
	Type          discordgo.InteractionType        `json:"type"`
	Token         string                           `json:"token"`
	GuildID       string                           `json:"guild_id"`
	ChannelID     string                           `json:"channel_id"`
	Context       discordgo.InteractionContextType `json:"context"`
	Member        *member                          `json:"member"` // in guilds
	User          *user                            `json:"user"`   // elsewhere
	Data          commandData                      `json:"data"`
}

type member struct {
	User        *user  `json:"user"`
	Permissions string `json:"permissions"`
}

type user struct {
	ID  string `json:"id"`
	Bot bool   `json:"bot"`
}

type commandData struct {
	Name     string                           `json:"name"`
	Type     discordgo.ApplicationCommandType `json:"type"`
	TargetID string                           `json:"target_id"`
	Options  []option                         `json:"options"`
}

type option struct {
	Name  string                                 `json:"name"`
	Type  discordgo.ApplicationCommandOptionType `json:"type"`
	Value any                                    `json:"value"`
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

// forUs reports whether a person used a command that can be answered.
func (i *interaction) forUs() bool {
	from := i.sender()
	command := i.Data.Type == discordgo.ChatApplicationCommand || i.Data.Type == discordgo.UserApplicationCommand
	return i.Type == discordgo.InteractionApplicationCommand && command && i.Data.Name != "" &&
		from != nil && from.ID != "" && !from.Bot
}

// command is the name of what was asked.
func (i *interaction) command() string {
	if i.Data.Type == discordgo.UserApplicationCommand {
		return menuCommand(i.Data.Name)
	}
	return i.Data.Name
}

// parse makes the Request of an interaction that is forUs.
func parse(i *interaction, id string) chat.Request {
	req := chat.Request{
		ID:        id,
		Command:   i.command(),
		From:      chat.User{Platform: Platform, ID: i.sender().ID},
		Community: i.GuildID,
		Chat:      i.ChannelID,
		Direct:    i.GuildID == "" && i.Context != discordgo.InteractionContextPrivateChannel,
	}
	if i.Data.Type == discordgo.UserApplicationCommand && i.Data.TargetID != "" {
		req.Target = &chat.User{Platform: Platform, ID: i.Data.TargetID}
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
	if i.GuildID != "" && i.Member != nil && moderates(i.Member.Permissions) {
		req.Role = chat.Moderator
	}
	return req
}

// moderating are the permissions of which any one makes a moderator.
// https://discord.com/developers/docs/topics/permissions
const moderating = discordgo.PermissionAdministrator | discordgo.PermissionManageGuild |
	discordgo.PermissionModerateMembers | discordgo.PermissionKickMembers | discordgo.PermissionBanMembers

func moderates(permissions string) bool {
	bits, err := strconv.ParseUint(permissions, 10, 64)
	return err == nil && bits&moderating != 0
}
