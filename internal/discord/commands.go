package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/discord/gateway"
	"herald/internal/retry"
)

// maxChoices is what Discord takes; a longer list is left to the Router.
// https://discord.com/developers/docs/interactions/application-commands
const maxChoices = 25

// register brings Discord's list of commands in line, trying until it is. It
// returns an error only when the token is refused.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	err := retry.Policy{
		Backoff: a.timings.register,
		// A permission may be granted later.
		Again: func(err error) (bool, time.Duration) {
			_, atLeast := retryable(err)
			return !errors.Is(err, gateway.ErrToken), atLeast
		},
		Failed: func(err error, _ int, wait time.Duration) {
			a.Log.Warn("registering commands failed, trying again", "err", err, "pause", wait)
		},
	}.Do(ctx, func(ctx context.Context) error { return a.registerOnce(ctx, commands) })
	if errors.Is(err, gateway.ErrToken) {
		return gateway.ErrToken
	}
	return nil
}

func (a *Adapter) registerOnce(ctx context.Context, commands chat.Commands) error {
	id := a.ApplicationID
	if id == "" {
		var err error
		if id, err = a.askApplicationID(ctx); err != nil {
			return err
		}
	}
	endpoint := discordgo.EndpointApplicationGlobalCommands(id)
	if a.GuildID != "" {
		endpoint = discordgo.EndpointApplicationGuildCommands(id, a.GuildID)
	}
	var registered []*discordgo.ApplicationCommand
	if err := a.call(ctx, callTime, http.MethodGet, endpoint, nil, &registered); err != nil {
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

// definitions are the commands as Discord wants them. Where they may be used
// can be said of global ones only: a guild's are used in the guild.
func definitions(commands chat.Commands, global bool) []*discordgo.ApplicationCommand {
	var all []*discordgo.ApplicationCommand
	for _, c := range commands {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			all = append(all, slash(c, name))
		}
		if hasMenu(c) {
			all = append(all, menu(c))
		}
	}
	for _, c := range all {
		if global {
			c.IntegrationTypes = &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall}
		} else {
			c.Contexts = nil
		}
	}
	return all
}

func slash(c chat.Command, name string) *discordgo.ApplicationCommand {
	definition := &discordgo.ApplicationCommand{
		Type: discordgo.ChatApplicationCommand, Name: name, Description: c.Summary,
		Contexts: &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM},
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
		Type: discordgo.ApplicationCommandOptionString, Name: p.Name, Description: p.Summary, Required: required,
	}
	if p.Kind == chat.Person {
		o.Type = discordgo.ApplicationCommandOptionUser
	}
	if len(p.Choices) <= maxChoices {
		for _, c := range p.Choices {
			o.Choices = append(o.Choices, &discordgo.ApplicationCommandOptionChoice{Name: c, Value: c})
		}
	}
	return o
}

// hasMenu reports whether a command can be asked by picking a person: moderators
// have a form of it that takes one person and nothing else.
func hasMenu(c chat.Command) bool {
	return slices.ContainsFunc(c.Forms, func(f chat.Form) bool {
		return f.Moderators && len(f.Params) == 1 && f.Params[0].Kind == chat.Person
	})
}

func menu(c chat.Command) *discordgo.ApplicationCommand {
	moderators := int64(discordgo.PermissionModerateMembers)
	return &discordgo.ApplicationCommand{
		Type: discordgo.UserApplicationCommand, Name: menuLabel(c.Name), DefaultMemberPermissions: &moderators,
		Contexts: &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild},
	}
}

// menuLabel is a command's name as menus write it: "Exists" for exists.
func menuLabel(name string) string {
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}

// menuCommand undoes menuLabel.
func menuCommand(label string) string { return strings.ReplaceAll(strings.ToLower(label), " ", "_") }

// same compares what we define and passes over what Discord adds.
func same(registered, wanted []*discordgo.ApplicationCommand) bool {
	return reflect.DeepEqual(defined(registered), defined(wanted))
}

// defined is what we define of commands, by type and name.
func defined(commands []*discordgo.ApplicationCommand) map[string]discordgo.ApplicationCommand {
	all := map[string]discordgo.ApplicationCommand{}
	for _, c := range commands {
		d := discordgo.ApplicationCommand{Description: c.Description, DefaultMemberPermissions: c.DefaultMemberPermissions}
		// Discord names these for a guild's commands too, where they cannot be set.
		if c.GuildID == "" {
			d.Contexts, d.IntegrationTypes = sorted(c.Contexts), sorted(c.IntegrationTypes)
		}
		for _, o := range c.Options {
			option := &discordgo.ApplicationCommandOption{Type: o.Type, Name: o.Name, Description: o.Description, Required: o.Required}
			for _, choice := range o.Choices {
				option.Choices = append(option.Choices, &discordgo.ApplicationCommandOptionChoice{Name: choice.Name, Value: choice.Value})
			}
			d.Options = append(d.Options, option)
		}
		all[fmt.Sprint(c.Type, c.Name)] = d
	}
	return all
}

// sorted is a list in ascending order, nil if there is none.
func sorted[E cmp.Ordered](list *[]E) *[]E {
	if list == nil {
		return nil
	}
	ordered := slices.Sorted(slices.Values(*list))
	return &ordered
}
