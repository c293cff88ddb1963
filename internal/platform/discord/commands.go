package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/gateway"
	"herald/internal/transport"
	"herald/internal/words"
)

// register brings Discord's list of commands in line, trying until it is. It
// returns an error only when the token is refused.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	var ours application // once Discord has said so
	err := transport.Policy{
		Backoff: transport.Backoff{First: 2 * time.Second, Max: time.Minute},
		// A permission may be granted later.
		Again: func(err error) (bool, time.Duration) {
			_, atLeast := retryable(err)
			return !errors.Is(err, gateway.ErrToken), atLeast
		},
		Failed: func(err error, _ int, wait time.Duration) {
			a.Log.Warn("registering commands failed, trying again", "err", err, "pause", wait)
		},
	}.Do(ctx, func(ctx context.Context) (err error) {
		if ours.ID == "" {
			if ours, err = a.askApplication(ctx); err != nil {
				return err
			}
			if a.PublicKey != nil {
				a.connected(ours.name())
			}
		}
		return a.registerOnce(ctx, cmp.Or(a.ApplicationID, ours.ID), commands)
	})
	if errors.Is(err, gateway.ErrToken) {
		return gateway.ErrToken
	}
	return nil
}

// registerOnce does so once, for the application with that ID.
func (a *Adapter) registerOnce(ctx context.Context, id string, commands chat.Commands) error {
	endpoint := discordgo.EndpointApplicationGlobalCommands(id)
	if a.GuildID != "" {
		endpoint = discordgo.EndpointApplicationGuildCommands(id, a.GuildID)
	}
	var registered []*discordgo.ApplicationCommand
	if err := a.call(ctx, callTime, http.MethodGet, endpoint+"?with_localizations=true", nil, &registered); err != nil {
		return fmt.Errorf("list the commands: %w", err)
	}
	wanted := definitions(commands, a.GuildID == "")
	if same(registered, wanted) {
		a.Count("commands_current")
		return nil
	}
	// Discord takes 200 new commands a day, so they are written only when needed.
	if err := a.call(ctx, callTime, http.MethodPut, endpoint, wanted, nil); err != nil {
		return fmt.Errorf("write the commands: %w", err)
	}
	a.Count("commands_written")
	return nil
}

// How long what describes a command may be: a token's symbol in it can be long.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object
const (
	maxSummary   = 100
	maxMenuLabel = 32
)

// definitions are the commands as Discord wants them, without their aliases,
// which are another platform's. Where they may be used, and who may bring the bot
// there, can be said of global ones only: a guild's are used in the guild.
func definitions(commands chat.Commands, global bool) []*discordgo.ApplicationCommand {
	var all []*discordgo.ApplicationCommand
	for _, c := range commands {
		all = append(all, slash(c))
		if c.PersonMenu.Key != "" {
			all = append(all, menu(c))
		}
	}
	for _, c := range all {
		if !global {
			c.Contexts, c.IntegrationTypes = nil, nil
		}
	}
	return all
}

func slash(c chat.Command) *discordgo.ApplicationCommand {
	summaries := localized(c.Summary, maxSummary)
	definition := &discordgo.ApplicationCommand{
		Type: discordgo.ChatApplicationCommand, Name: c.Name,
		Description: cut(words.Say(chat.English, c.Summary), maxSummary), DescriptionLocalizations: &summaries,
		Contexts: &[]discordgo.InteractionContextType{
			discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM, discordgo.InteractionContextPrivateChannel,
		},
		IntegrationTypes: &[]discordgo.ApplicationIntegrationType{
			discordgo.ApplicationIntegrationGuildInstall, discordgo.ApplicationIntegrationUserInstall,
		},
	}
	params, required := c.Params()
	// Discord refuses an optional one before a required one.
	for _, first := range []bool{true, false} {
		for _, p := range params {
			if required[p.Name] == first {
				definition.Options = append(definition.Options, slashOption(p, first))
			}
		}
	}
	return definition
}

func slashOption(p chat.Param, required bool) *discordgo.ApplicationCommandOption {
	o := &discordgo.ApplicationCommandOption{
		Type: discordgo.ApplicationCommandOptionString, Name: p.Name,
		Description: cut(words.Say(chat.English, p.Summary), maxSummary), DescriptionLocalizations: localized(p.Summary, maxSummary),
		Required: required, Autocomplete: len(p.Choices) > 0,
	}
	if p.Kind == chat.Person {
		o.Type = discordgo.ApplicationCommandOptionUser
	}
	return o
}

// menu lets a person be picked for a command. It is moderators' alone, who are
// such only where the bot is a member.
func menu(c chat.Command) *discordgo.ApplicationCommand {
	moderators := int64(discordgo.PermissionModerateMembers)
	names := localized(c.PersonMenu, maxMenuLabel)
	return &discordgo.ApplicationCommand{
		Type: discordgo.UserApplicationCommand, Name: menuLabel(c), NameLocalizations: &names,
		DefaultMemberPermissions: &moderators,
		Contexts:                 &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild},
		IntegrationTypes:         &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
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

// same compares what we define and passes over what Discord adds.
func same(registered, wanted []*discordgo.ApplicationCommand) bool {
	return reflect.DeepEqual(defined(registered), defined(wanted))
}

// defined is what we define of commands, by type and name.
func defined(commands []*discordgo.ApplicationCommand) map[string]discordgo.ApplicationCommand {
	all := map[string]discordgo.ApplicationCommand{}
	for _, c := range commands {
		d := discordgo.ApplicationCommand{
			Description: c.Description, DefaultMemberPermissions: c.DefaultMemberPermissions,
			NameLocalizations: someOf(c.NameLocalizations), DescriptionLocalizations: someOf(c.DescriptionLocalizations),
		}
		// Discord names these for a guild's commands too, where they cannot be set.
		if c.GuildID == "" {
			d.Contexts, d.IntegrationTypes = sorted(c.Contexts), sorted(c.IntegrationTypes)
		}
		for _, o := range c.Options {
			option := &discordgo.ApplicationCommandOption{
				Type: o.Type, Name: o.Name, Description: o.Description, Required: o.Required, Autocomplete: o.Autocomplete,
				DescriptionLocalizations: o.DescriptionLocalizations,
			}
			if len(o.Choices) > 0 { // We define none: they are offered by autocompletion.
				option.Choices = o.Choices
			}
			d.Options = append(d.Options, option)
		}
		all[fmt.Sprint(c.Type, c.Name)] = d
	}
	return all
}

// someOf is a map, nil if there is nothing in it.
func someOf(m *map[discordgo.Locale]string) *map[discordgo.Locale]string {
	if m == nil || len(*m) == 0 {
		return nil
	}
	return m
}

// sorted is a list in ascending order, nil if there is none.
func sorted[E cmp.Ordered](list *[]E) *[]E {
	if list == nil {
		return nil
	}
	ordered := slices.Sorted(slices.Values(*list))
	return &ordered
}
