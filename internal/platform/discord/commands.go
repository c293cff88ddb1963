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

// definition is a command or an option as we define it, and no more: discordgo's
// types hold what Discord adds too, and so cannot be compared.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
type definition struct {
	Type                     int                         `json:"type"`
	Name                     string                      `json:"name"`
	NameLocalizations        map[discordgo.Locale]string `json:"name_localizations,omitempty"`
	Description              string                      `json:"description,omitempty"`
	DescriptionLocalizations map[discordgo.Locale]string `json:"description_localizations,omitempty"`
	// Of a command.
	Permissions      string        `json:"default_member_permissions,omitempty"`
	Contexts         []int         `json:"contexts,omitempty"`
	IntegrationTypes []int         `json:"integration_types,omitempty"`
	Options          []*definition `json:"options,omitempty"`
	// Of an option.
	Required     bool  `json:"required,omitempty"`
	Autocomplete bool  `json:"autocomplete,omitempty"`
	Choices      []any `json:"choices,omitempty"` // We define none.
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
// which are another platform's. A menu lets a person be picked for a command: it
// is for moderators alone, who are such only where the bot is a member.
func definitions(commands chat.Commands) []*definition {
	const guild, botDM, privateChannel = 0, 1, 2 // contexts
	const forGuild, forUser = 0, 1               // who installs the bot
	var all []*definition
	for _, c := range commands {
		d := described(int(discordgo.ChatApplicationCommand), c.Name, c.Summary)
		d.Contexts, d.IntegrationTypes = []int{guild, botDM, privateChannel}, []int{forGuild, forUser}
		params, required := c.Params()
		for _, first := range []bool{true, false} { // Discord refuses an optional one before a required one.
			for _, p := range params {
				if required[p.Name] == first {
					o := described(int(discordgo.ApplicationCommandOptionString), p.Name, p.Summary)
					if p.Kind == chat.Person {
						o.Type = int(discordgo.ApplicationCommandOptionUser)
					}
					o.Required, o.Autocomplete = first, len(p.Choices) > 0
					d.Options = append(d.Options, o)
				}
			}
		}
		all = append(all, d)
		if c.PersonMenu.Key != "" {
			all = append(all, &definition{
				Type: int(discordgo.UserApplicationCommand), Name: menuLabel(c), NameLocalizations: localized(c.PersonMenu, maxMenuLabel),
				Permissions: strconv.Itoa(discordgo.PermissionModerateMembers), Contexts: []int{guild}, IntegrationTypes: []int{forGuild},
			})
		}
	}
	return all
}

func described(kind int, name string, summary chat.Text) *definition {
	return &definition{Type: kind, Name: name, Description: cut(words.Say(chat.English, summary), maxSummary),
		DescriptionLocalizations: localized(summary, maxSummary)}
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
