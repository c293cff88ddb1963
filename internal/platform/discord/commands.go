package discord

import (
	"strconv"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// definition is a command or an option as Discord wants it.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
type definition struct {
	Type                     int                         `json:"type"`
	Name                     string                      `json:"name"`
	NameLocalizations        map[discordgo.Locale]string `json:"name_localizations,omitempty"`
	Description              string                      `json:"description,omitempty"`
	DescriptionLocalizations map[discordgo.Locale]string `json:"description_localizations,omitempty"`
	// Of a command.
	Permissions      string       `json:"default_member_permissions,omitempty"`
	Contexts         []int        `json:"contexts,omitempty"`
	IntegrationTypes []int        `json:"integration_types,omitempty"`
	Options          []definition `json:"options,omitempty"`
	// Of an option.
	Required bool     `json:"required,omitempty"`
	Choices  []choice `json:"choices,omitempty"`
}

// choice is a value of an option, and what people see of it.
type choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Where commands may be used, and who may bring the bot there.
const (
	guildContext, botDMContext, privateContext = 0, 1, 2
	byGuild, byUser                            = 0, 1
)

// The limits of a description and of a menu's name, in UTF-16 units. A token's
// symbol can make a description too long, and Discord then refuses all commands.
const (
	maxSummary   = 100
	maxMenuLabel = 32
)

// maxChoices bounds the choices of an option; Discord would refuse all commands.
const maxChoices = 25

// definitions returns the commands as Discord wants them. Aliases are left out:
// they belong to another platform. A menu picks a person for a command; it is for
// moderators alone, and only a bot that is a member of a guild knows who they are.
// Only global commands may say where they can be used.
func definitions(commands chat.Commands, global bool) []definition {
	var all []definition
	for _, c := range commands {
		d := described(int(discordgo.ChatApplicationCommand), c.Name, c.Summary)
		d.Contexts, d.IntegrationTypes = []int{guildContext, botDMContext, privateContext}, []int{byGuild, byUser}
		params, required := c.Params()
		for _, first := range []bool{true, false} { // Discord refuses an optional one before a required one.
			for _, p := range params {
				if required[p.Name] == first {
					o := described(int(discordgo.ApplicationCommandOptionString), p.Name, p.Summary)
					if p.Kind == chat.Person {
						o.Type = int(discordgo.ApplicationCommandOptionUser)
					}
					o.Required = first
					for _, c := range p.Choices[:min(len(p.Choices), maxChoices)] {
						o.Choices = append(o.Choices, choice{Name: c, Value: c})
					}
					d.Options = append(d.Options, o)
				}
			}
		}
		all = append(all, d)
		if c.PersonMenu.Key != "" {
			all = append(all, definition{
				Type: int(discordgo.UserApplicationCommand), Name: menuLabel(c), NameLocalizations: localized(c.PersonMenu, maxMenuLabel),
				Permissions: strconv.Itoa(discordgo.PermissionModerateMembers), Contexts: []int{guildContext}, IntegrationTypes: []int{byGuild},
			})
		}
	}
	for n := range all {
		if !global {
			all[n].Contexts, all[n].IntegrationTypes = nil, nil
		}
	}
	return all
}

func described(kind int, name string, summary chat.Text) definition {
	return definition{Type: kind, Name: name, Description: cut(words.Say(chat.English, summary), maxSummary),
		DescriptionLocalizations: localized(summary, maxSummary)}
}

// menuLabel returns the name of a command in the menu of a person. Discord sends
// it in English, whatever language it shows.
func menuLabel(c chat.Command) string {
	return cut(words.Say(chat.English, c.PersonMenu), maxMenuLabel)
}

// menuCommand returns the command with that menuLabel, or the label itself where
// no command has it.
func menuCommand(commands chat.Commands, label string) string {
	for _, c := range commands {
		if c.PersonMenu.Key != "" && menuLabel(c) == label {
			return c.Name
		}
	}
	return label
}

// localized returns a text, of so many characters at most, in all locales of the
// bot's languages. English is what any other locale shows.
func localized(t chat.Text, limit int) map[discordgo.Locale]string {
	all := map[discordgo.Locale]string{}
	for _, language := range chat.Languages() {
		if language == chat.English {
			continue
		}
		for _, locale := range language.Info().Discord {
			all[discordgo.Locale(locale)] = cut(words.Say(language, t), limit)
		}
	}
	return all
}
