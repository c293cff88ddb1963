package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
	"herald/internal/words"
)

// definition is a command as we define it; Discord knows more of it. discordgo's
// type has all of that too, and so cannot be compared.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
type definition struct {
	Type                     discordgo.ApplicationCommandType       `json:"type"`
	Name                     string                                 `json:"name"`
	NameLocalizations        map[discordgo.Locale]string            `json:"name_localizations,omitempty"`
	Description              string                                 `json:"description,omitempty"`
	DescriptionLocalizations map[discordgo.Locale]string            `json:"description_localizations,omitempty"`
	Permissions              string                                 `json:"default_member_permissions,omitempty"`
	Contexts                 []discordgo.InteractionContextType     `json:"contexts,omitempty"`
	IntegrationTypes         []discordgo.ApplicationIntegrationType `json:"integration_types,omitempty"`
	Options                  []optionDefinition                     `json:"options,omitempty"`
}

type optionDefinition struct {
	Type                     discordgo.ApplicationCommandOptionType `json:"type"`
	Name                     string                                 `json:"name"`
	Description              string                                 `json:"description"`
	DescriptionLocalizations map[discordgo.Locale]string            `json:"description_localizations,omitempty"`
	Required                 bool                                   `json:"required,omitempty"`
	Autocomplete             bool                                   `json:"autocomplete,omitempty"`
	Choices                  []any                                  `json:"choices,omitempty"` // We define none.
}

// How long what describes a command may be, in UTF-16 units: a token's symbol in
// it can be long.
const (
	maxSummary   = 100
	maxMenuLabel = 32
)

// syncCommands makes the application's commands in Discord those of the table,
// and reports whether they had to be written. With a guild they are that guild's.
func syncCommands(ctx context.Context, c *api.Client, application, guild string, commands chat.Commands) (written bool, err error) {
	endpoint := discordgo.EndpointApplicationGlobalCommands(application)
	if guild != "" {
		endpoint = discordgo.EndpointApplicationGuildCommands(application, guild)
	}
	var registered []*definition
	if err := c.Call(ctx, http.MethodGet, endpoint+"?with_localizations=true", nil, &registered); err != nil {
		return false, fmt.Errorf("list the commands: %w", err)
	}
	wanted := definitions(commands)
	if guild != "" {
		// Where they may be used, and who may bring the bot there, cannot be said of a
		// guild's. Discord names it for them too.
		for _, c := range slices.Concat(wanted, registered) {
			c.Contexts, c.IntegrationTypes = nil, nil
		}
	}
	if same(registered, wanted) {
		return false, nil
	}
	// Discord takes 200 new commands a day, so they are written only when needed.
	if err := c.Call(ctx, http.MethodPut, endpoint, wanted, nil); err != nil {
		return false, fmt.Errorf("write the commands: %w", err)
	}
	return true, nil
}

// same reports whether two lists define the same, in whatever order.
func same(a, b []*definition) bool { return bytes.Equal(canonical(a), canonical(b)) }

func canonical(all []*definition) []byte {
	slices.SortFunc(all, func(a, b *definition) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range all {
		slices.Sort(c.Contexts)
		slices.Sort(c.IntegrationTypes)
	}
	encoded, _ := json.Marshal(all) // which cannot fail
	return encoded
}

// definitions are the commands as Discord wants them, without their aliases,
// which are another platform's.
func definitions(commands chat.Commands) []*definition {
	var all []*definition
	for _, c := range commands {
		all = append(all, slash(c))
		if c.PersonMenu.Key != "" {
			all = append(all, menu(c))
		}
	}
	return all
}

func slash(c chat.Command) *definition {
	d := &definition{
		Type: discordgo.ChatApplicationCommand, Name: c.Name,
		Description: cut(words.Say(chat.English, c.Summary), maxSummary), DescriptionLocalizations: localized(c.Summary, maxSummary),
		Contexts: []discordgo.InteractionContextType{
			discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM, discordgo.InteractionContextPrivateChannel,
		},
		IntegrationTypes: []discordgo.ApplicationIntegrationType{
			discordgo.ApplicationIntegrationGuildInstall, discordgo.ApplicationIntegrationUserInstall,
		},
	}
	params, required := c.Params()
	for _, p := range params {
		o := optionDefinition{
			Type: discordgo.ApplicationCommandOptionString, Name: p.Name, Required: required[p.Name], Autocomplete: len(p.Choices) > 0,
			Description: cut(words.Say(chat.English, p.Summary), maxSummary), DescriptionLocalizations: localized(p.Summary, maxSummary),
		}
		if p.Kind == chat.Person {
			o.Type = discordgo.ApplicationCommandOptionUser
		}
		d.Options = append(d.Options, o)
	}
	// Discord refuses an optional one before a required one.
	slices.SortStableFunc(d.Options, func(a, b optionDefinition) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return d
}

// menu lets a person be picked for a command. It is for moderators alone, who are
// such only where the bot is a member.
func menu(c chat.Command) *definition {
	return &definition{
		Type: discordgo.UserApplicationCommand, Name: menuLabel(c), NameLocalizations: localized(c.PersonMenu, maxMenuLabel),
		Permissions:      strconv.Itoa(discordgo.PermissionModerateMembers),
		Contexts:         []discordgo.InteractionContextType{discordgo.InteractionContextGuild},
		IntegrationTypes: []discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
	}
}

// menuLabel is the label by which Discord knows a command in the menu of a person,
// in whatever language it is shown.
func menuLabel(c chat.Command) string {
	return cut(words.Say(chat.English, c.PersonMenu), maxMenuLabel)
}

// menuCommand undoes menuLabel. A label that is not known stays as it is.
func menuCommand(commands chat.Commands, label string) string {
	for _, c := range commands {
		if c.PersonMenu.Key != "" && menuLabel(c) == label {
			return c.Name
		}
	}
	return label
}

// localesOf are Discord's locales in which a language is shown. Any other shows
// English, and traditional Chinese too: the bot's is simplified.
// https://discord.com/developers/docs/reference#locales
var localesOf = map[chat.Language][]discordgo.Locale{
	chat.Spanish:    {discordgo.SpanishES, discordgo.SpanishLATAM},
	chat.Chinese:    {discordgo.ChineseCN},
	chat.Russian:    {discordgo.Russian},
	chat.Turkish:    {discordgo.Turkish},
	chat.Vietnamese: {discordgo.Vietnamese},
}

// localized is a text, of so many characters at most, in every locale but those
// that show English.
func localized(t chat.Text, most int) map[discordgo.Locale]string {
	all := map[discordgo.Locale]string{}
	for language, locales := range localesOf {
		for _, l := range locales {
			all[l] = cut(words.Say(language, t), most)
		}
	}
	return all
}
