package discord

import (
	"maps"
	"regexp"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// Limits of commands: a description and a menu's name in UTF-16 units, and an option's
// choices. Discord refuses all commands if one description is too long, as with a long
// token symbol.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
const (
	maxSummary   = 100
	maxMenuLabel = 32
	maxChoices   = 25
)

// optionName matches a parameter's name in any language. It must also have no capitals.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
var optionName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// definitions returns the commands in Discord's form, without aliases, which are for
// another platform. A command with a PersonMenu has a second definition: an entry in
// the menu of a person, shown to the moderators of guilds that have installed the bot.
// Only global commands may say where they can be used.
func definitions(commands chat.Commands, global bool) (all []*discordgo.ApplicationCommand) {
	everywhere := &[]discordgo.InteractionContextType{
		discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM, discordgo.InteractionContextPrivateChannel,
	}
	byAnybody := &[]discordgo.ApplicationIntegrationType{
		discordgo.ApplicationIntegrationGuildInstall, discordgo.ApplicationIntegrationUserInstall,
	}
	inGuilds, byGuilds := &[]discordgo.InteractionContextType{(*everywhere)[0]}, &[]discordgo.ApplicationIntegrationType{(*byAnybody)[0]}
	if !global {
		everywhere, inGuilds, byAnybody, byGuilds = nil, nil, nil, nil
	}
	moderators := int64(discordgo.PermissionModerateMembers)
	for _, c := range commands {
		summary, locales := localized(c.Summary, maxSummary)
		all = append(all, &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: c.Name, Options: options(c),
			Description: summary, DescriptionLocalizations: &locales, Contexts: everywhere, IntegrationTypes: byAnybody,
		})
		if c.PersonMenu.Key != "" {
			label, locales := localized(c.PersonMenu, maxMenuLabel)
			all = append(all, &discordgo.ApplicationCommand{
				Type: discordgo.UserApplicationCommand, Name: label, NameLocalizations: &locales,
				DefaultMemberPermissions: &moderators, Contexts: inGuilds, IntegrationTypes: byGuilds,
			})
		}
	}
	return all
}

// options returns the parameters of a command. Discord demands required ones first.
func options(c chat.Command) (all []*discordgo.ApplicationCommandOption) {
	params, required := c.Params()
	for _, first := range []bool{true, false} {
		for _, p := range params {
			if required[p.Name] != first {
				continue
			}
			summary, locales := localized(p.Summary, maxSummary)
			_, names := localized(p.Label(), maxSummary)
			// A name of a wrong form would keep all commands from being registered.
			maps.DeleteFunc(names, func(_ discordgo.Locale, name string) bool { return !optionName.MatchString(name) })
			o := &discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionString, Name: p.Name, Required: first,
				NameLocalizations: names, Description: summary, DescriptionLocalizations: locales}
			if p.Person {
				o.Type = discordgo.ApplicationCommandOptionUser
			}
			for _, c := range p.Choices[:min(len(p.Choices), maxChoices)] {
				choice := &discordgo.ApplicationCommandOptionChoice{Name: c, Value: c}
				if name, locales := localized(chat.ChoiceLabel(c), maxSummary); name != chat.ChoiceLabel(c).Key {
					choice.Name, choice.NameLocalizations = name, locales
				}
				o.Choices = append(o.Choices, choice)
			}
			all = append(all, o)
		}
	}
	return all
}

// menuCommand returns the name of the command with that label in the menu of a person, or
// the label if there is none. Discord sends the English label, whatever language it shows.
func menuCommand(commands chat.Commands, label string) string {
	for _, c := range commands {
		if c.PersonMenu.Key != "" && words.Cut(words.Say(chat.English, c.PersonMenu), maxMenuLabel) == label {
			return c.Name
		}
	}
	return label
}

// localized returns a text of at most limit UTF-16 units, in English and by locale in the
// other languages. Discord shows the English text in any other locale.
func localized(t chat.Text, limit int) (english string, others map[discordgo.Locale]string) {
	others = map[discordgo.Locale]string{}
	for _, language := range chat.Languages() {
		text := words.Cut(words.Say(language, t), limit)
		if language == chat.English {
			english = text
			continue
		}
		for _, locale := range language.Info().Discord {
			others[discordgo.Locale(locale)] = text
		}
	}
	return english, others
}
