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
			_, atLeast := again(err)
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
	if err := a.call(ctx, http.MethodGet, endpoint, nil, &registered); err != nil {
		return fmt.Errorf("list the commands: %w", err)
	}
	wanted := definitions(commands, a.GuildID == "")
	if same(registered, wanted) {
		a.Count("commands_current")
		return nil
	}
	// Discord takes 200 new commands a day, so they are written only when needed.
	if err := a.call(ctx, http.MethodPut, endpoint, wanted, nil); err != nil {
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
	if global {
		for _, c := range all {
			contexts := []discordgo.InteractionContextType{discordgo.InteractionContextGuild}
			if c.Type == discordgo.ChatApplicationCommand {
				contexts = append(contexts, discordgo.InteractionContextBotDM)
			}
			c.Contexts = &contexts
			c.IntegrationTypes = &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall}
		}
	}
	return all
}

func slash(c chat.Command, name string) *discordgo.ApplicationCommand {
	definition := &discordgo.ApplicationCommand{Type: discordgo.ChatApplicationCommand, Name: name, Description: c.Summary}
	params, required := c.Params()
	for _, p := range params {
		definition.Options = append(definition.Options, slashOption(p, required[p.Name]))
	}
	// Discord refuses an optional one before a required one.
	slices.SortStableFunc(definition.Options, func(x, y *discordgo.ApplicationCommandOption) int {
		return rank(x) - rank(y)
	})
	return definition
}

func rank(o *discordgo.ApplicationCommandOption) int {
	if o.Required {
		return 0
	}
	return 1
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
	return reflect.DeepEqual(normal(registered), normal(wanted))
}

// definition is what of a command is compared.
type definition struct {
	Type              discordgo.ApplicationCommandType
	Name, Description string
	Permissions       int64 // -1 is everybody
	Contexts          []discordgo.InteractionContextType
	Options           []optionDefinition
}

type optionDefinition struct {
	Type              discordgo.ApplicationCommandOptionType
	Name, Description string
	Required          bool
	Choices           []string
}

func normal(commands []*discordgo.ApplicationCommand) []definition {
	var all []definition
	for _, c := range commands {
		d := definition{Type: c.Type, Name: c.Name, Description: c.Description, Permissions: -1}
		if c.DefaultMemberPermissions != nil {
			d.Permissions = *c.DefaultMemberPermissions
		}
		// Discord names contexts for a guild's commands too, which cannot be set.
		if c.Contexts != nil && c.GuildID == "" {
			d.Contexts = append(d.Contexts, *c.Contexts...)
			slices.Sort(d.Contexts)
		}
		for _, o := range c.Options {
			d.Options = append(d.Options, normalOption(o))
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y definition) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name))
	})
	return all
}

func normalOption(o *discordgo.ApplicationCommandOption) optionDefinition {
	d := optionDefinition{Type: o.Type, Name: o.Name, Description: o.Description, Required: o.Required}
	for _, c := range o.Choices {
		d.Choices = append(d.Choices, fmt.Sprint(c.Name, "=", c.Value))
	}
	return d
}
