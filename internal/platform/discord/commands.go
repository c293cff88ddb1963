package discord

import (
	"maps"
	"regexp"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// Discord's limits of a command. Discord refuses all commands if one of them has a longer
// description, which a long token symbol could cause.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
const (
	maxSummary   = 100 // UTF-16 units of a description, or of the name of an option's choice
	maxMenuLabel = 32  // UTF-16 units
	maxChoices   = 25  // of one option
)

// optionName matches the name of an option in any language. Discord also refuses capitals,
// which optionName does not.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-naming
var optionName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// definitions returns the commands in Discord's form, without their aliases. A command with
// a PersonMenu has a second definition: an entry in the menu of a person, shown to the
// moderators of guilds that have installed the bot.
func definitions(commands chat.Commands) (all []*discordgo.ApplicationCommand) {
	moderators := int64(discordgo.PermissionModerateMembers)
	typed := discordgo.ApplicationCommand{
		Type: discordgo.ChatApplicationCommand,
		Contexts: &[]discordgo.InteractionContextType{
			discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM, discordgo.InteractionContextPrivateChannel,
		},
		IntegrationTypes: &[]discordgo.ApplicationIntegrationType{
			discordgo.ApplicationIntegrationGuildInstall, discordgo.ApplicationIntegrationUserInstall,
		},
	}
	menu := discordgo.ApplicationCommand{
		Type: discordgo.UserApplicationCommand, DefaultMemberPermissions: &moderators,
		Contexts:         &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild},
		IntegrationTypes: &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
	}
	for _, c := range commands {
		d := typed
		summary, locales := localized(c.Summary, maxSummary)
		d.Name, d.Options, d.Description, d.DescriptionLocalizations = c.Name, options(c), summary, &locales
		all = append(all, &d)
		if c.PersonMenu.Key != "" {
			d := menu
			label, locales := localized(c.PersonMenu, maxMenuLabel)
			d.Name, d.NameLocalizations = label, &locales
			all = append(all, &d)
		}
	}
	return all
}

// options returns the parameters of a command, with the required ones first, as Discord
// demands.
func options(c chat.Command) []*discordgo.ApplicationCommandOption {
	var required, optional []*discordgo.ApplicationCommandOption
	params, needed := c.Params()
	for _, p := range params {
		o := defineOption(p)
		if o.Required = needed[p.Name]; o.Required {
			required = append(required, o)
		} else {
			optional = append(optional, o)
		}
	}
	return append(required, optional...)
}

// defineOption returns a parameter in Discord's form, not Required yet.
func defineOption(p chat.Param) *discordgo.ApplicationCommandOption {
	summary, locales := localized(p.Summary, maxSummary)
	_, names := localized(p.Label(), maxSummary)
	// One malformed name would keep all commands from being registered.
	maps.DeleteFunc(names, func(_ discordgo.Locale, name string) bool { return !optionName.MatchString(name) })
	o := &discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionString, Name: p.Name,
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
	return o
}

// menuCommand returns the name of the command with a label in the menu of a person, or the
// label if no command has it. Discord sends the English label, whatever language it shows.
func menuCommand(commands chat.Commands, label string) string {
	for _, c := range commands {
		if c.PersonMenu.Key != "" && words.Cut(words.Say(chat.English, c.PersonMenu), maxMenuLabel) == label {
			return c.Name
		}
	}
	return label
}

// localized returns a text in English, and in the other languages by Discord's locales. Each
// is cut to limit UTF-16 units. In any other locale Discord shows the English text.
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
