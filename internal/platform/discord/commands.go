package discord

import (
	"maps"
	"regexp"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// The limits of a command. If one command has a longer description, Discord refuses all of them. A long token symbol
// could make a description too long.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
const (
	maxSummary   = 100 // UTF-16 units, of a description or of the name of an option's choice
	maxMenuLabel = 32  // UTF-16 units
	maxChoices   = 25  // of one option
)

// optionName matches the names that Discord accepts for an option in any language. It also matches names with capitals,
// although Discord refuses those. The bot's names have none.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
var optionName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// definitions returns Discord's definitions of the commands, without their aliases. A command with a PersonMenu has
// two.
func definitions(commands chat.Commands) (all []*discordgo.ApplicationCommand) {
	for _, c := range commands {
		all = append(all, slashCommand(c))
		if c.PersonMenu.Key != "" {
			all = append(all, menuEntry(c))
		}
	}
	return all
}

// slashCommand returns the definition of a command that is typed, in every kind of chat.
func slashCommand(c chat.Command) *discordgo.ApplicationCommand {
	summary, locales := localized(c.Summary, maxSummary)
	return &discordgo.ApplicationCommand{
		Type:                     discordgo.ChatApplicationCommand,
		Name:                     c.Name,
		Description:              summary,
		DescriptionLocalizations: &locales,
		Options:                  options(c),
		Contexts: &[]discordgo.InteractionContextType{
			discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM, discordgo.InteractionContextPrivateChannel,
		},
		IntegrationTypes: &[]discordgo.ApplicationIntegrationType{
			discordgo.ApplicationIntegrationGuildInstall, discordgo.ApplicationIntegrationUserInstall,
		},
	}
}

// menuEntry returns the definition of a command's entry in the menu of a user. Only moderators see the entry, and only
// in guilds that have installed the bot.
func menuEntry(c chat.Command) *discordgo.ApplicationCommand {
	label, locales := localized(c.PersonMenu, maxMenuLabel)
	moderators := int64(discordgo.PermissionModerateMembers)
	return &discordgo.ApplicationCommand{
		Type:                     discordgo.UserApplicationCommand,
		Name:                     label,
		NameLocalizations:        &locales,
		Contexts:                 &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild},
		IntegrationTypes:         &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
		DefaultMemberPermissions: &moderators,
	}
}

// options returns the definitions of a command's parameters. The required ones are first, because Discord demands that.
func options(c chat.Command) []*discordgo.ApplicationCommandOption {
	var required, optional []*discordgo.ApplicationCommandOption
	params, needed := c.Params()
	for _, p := range params {
		if o := defineOption(p, needed[p.Name]); o.Required {
			required = append(required, o)
		} else {
			optional = append(optional, o)
		}
	}
	return append(required, optional...)
}

// defineOption returns the definition of a parameter.
func defineOption(p chat.Param, required bool) *discordgo.ApplicationCommandOption {
	summary, summaries := localized(p.Summary, maxSummary)
	_, names := localized(p.Label(), maxSummary)
	// A single malformed name would make Discord refuse all commands.
	maps.DeleteFunc(names, func(_ discordgo.Locale, name string) bool { return !optionName.MatchString(name) })
	o := &discordgo.ApplicationCommandOption{
		Type:                     discordgo.ApplicationCommandOptionString,
		Required:                 required,
		Name:                     p.Name,
		NameLocalizations:        names,
		Description:              summary,
		DescriptionLocalizations: summaries,
	}
	if p.Person {
		o.Type = discordgo.ApplicationCommandOptionUser
	}
	for _, c := range p.Choices[:min(len(p.Choices), maxChoices)] {
		o.Choices = append(o.Choices, defineChoice(c))
	}
	return o
}

// defineChoice returns the definition of a choice. If no message names the choice, it is its own name.
func defineChoice(c string) *discordgo.ApplicationCommandOptionChoice {
	label := chat.ChoiceLabel(c)
	name, locales := localized(label, maxSummary)
	if name == label.Key { // Say returns the key if there is no message.
		return &discordgo.ApplicationCommandOptionChoice{Name: c, Value: c}
	}
	return &discordgo.ApplicationCommandOptionChoice{Name: name, NameLocalizations: locales, Value: c}
}

// menuCommand returns the name of the command whose PersonMenu has this label. It returns label if there is no such
// command. Discord sends the English label, whatever language it shows.
func menuCommand(commands chat.Commands, label string) string {
	for _, c := range commands {
		if c.PersonMenu.Key != "" && words.Cut(words.Say(chat.English, c.PersonMenu), maxMenuLabel) == label {
			return c.Name
		}
	}
	return label
}

// localized returns a text in English, and in the other languages by Discord's locales. Discord shows the English text
// in every locale that is not in others. Each text is cut to limit UTF-16 units.
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
