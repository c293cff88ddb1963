package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
	"herald/internal/transport"
)

// Discord must know the bot's commands before users can type them. The bot registers them: it sends Discord the list of
// all its commands, which replaces the list that Discord has.

// entryPoint is the type of the command that opens an application's Activity. Discord makes that command itself, and
// refuses any list without it.
// https://discord.com/developers/docs/interactions/application-commands#entry-point-commands
const entryPoint discordgo.ApplicationCommandType = 4

// compareEvery is how often the bot compares the registered commands with its own. An older version of the bot, or
// anybody with the token, may have replaced them.
const compareEvery = time.Hour

// keepRegistered calls register at once, and again every compareEvery. It blocks until ctx is done. The only error is
// api.ErrToken.
func (a *Adapter) keepRegistered(ctx context.Context, commands chat.Commands) error {
	for {
		if err := a.register(ctx, commands); err != nil {
			return err
		}
		if !transport.Sleep(ctx, compareEvery) {
			return nil
		}
	}
}

// register registers the commands with Discord. It blocks, and retries until it succeeds or ctx is done. It also
// retries after a refusal, because a permission may be granted later. It logs each kind of refusal once. The only error
// is api.ErrToken.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	logged := map[string]bool{}
	err := transport.Policy{
		Backoff: transport.Backoff{First: 2 * time.Second, Max: time.Minute},
		ShouldRetry: func(err error) (bool, time.Duration) {
			_, atLeast := api.Retryable(err)
			return !errors.Is(err, api.ErrToken), atLeast
		},
		OnRetry: func(err error) {
			_, isRefusal := errors.AsType[*api.Error](err)
			if !isRefusal {
				a.Retried(err)
				return
			}
			if !logged[err.Error()] {
				logged[err.Error()] = true
				a.Log.Warn("the commands could not be registered, trying again", "err", err)
			}
		},
	}.Do(ctx, func(ctx context.Context) error { return a.registerOnce(ctx, commands) })
	if errors.Is(err, api.ErrToken) {
		return err
	}
	if err == nil && len(logged) > 0 {
		a.Log.Info("the commands are registered")
	}
	return nil
}

// registerOnce registers the commands unless Discord already has exactly these, and stores their IDs. If interactions
// arrive by HTTP, it calls connected whenever Discord has the commands and did not have them before. Discord allows 200
// new commands a day; commands that it already has do not count.
func (a *Adapter) registerOnce(ctx context.Context, commands chat.Commands) error {
	app, err := a.api.Application(ctx)
	if err != nil {
		return err
	}
	if _, err := a.checkApplication(app); err != nil && !a.hasWarned.Swap(true) {
		a.Log.Warn("interactions may not arrive", "err", err)
	}
	found, err := a.registered(ctx, app.ID)
	if err != nil {
		return err
	}
	wanted := definitions(commands)
	if !found.compare(wanted).equal() {
		a.hasCommands.Store(false)
		found, err = a.replace(ctx, app.ID, wanted, found)
		if err != nil {
			return err
		}
	}
	a.commandIDs.Store(found.ids())
	hadCommands := a.hasCommands.Swap(true)
	if !hadCommands && a.PublicKey != nil {
		a.connected(app.Name)
	}
	return nil
}

// registration holds the commands that Discord has.
type registration []registeredCommand

// ids returns the IDs of the commands that users type, by name.
func (found registration) ids() *map[string]string {
	ids := map[string]string{}
	for _, c := range found {
		if c.Type == discordgo.ChatApplicationCommand {
			ids[c.Name] = c.ID
		}
	}
	return &ids
}

// registeredCommand is a command as Discord returns it.
type registeredCommand struct {
	discordgo.ApplicationCommand
	// raw is the whole command. It may have fields that discordgo lacks, such as "handler".
	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler. It also accepts a command that discordgo cannot read. Then it sets only
// Type, Name and raw.
func (c *registeredCommand) UnmarshalJSON(raw []byte) error {
	c.raw = slices.Clone(raw)
	if json.Unmarshal(raw, &c.ApplicationCommand) == nil {
		return nil
	}
	var named struct {
		Type discordgo.ApplicationCommandType `json:"type"`
		Name string                           `json:"name"`
	}
	err := json.Unmarshal(raw, &named)
	c.ApplicationCommand = discordgo.ApplicationCommand{Type: named.Type, Name: named.Name}
	return err
}

// isNamed reports whether c has the type and the name of another command.
func (c registeredCommand) isNamed(other *discordgo.ApplicationCommand) bool {
	return c.Type == other.Type && c.Name == other.Name
}

// registered asks Discord for the commands that it has, and blocks meanwhile. app is the ID of the application.
func (a *Adapter) registered(ctx context.Context, app string) (found registration, err error) {
	endpoint := discordgo.EndpointApplicationGlobalCommands(app) + "?with_localizations=true"
	if err := a.api.Call(ctx, http.MethodGet, endpoint, nil, &found); err != nil {
		return nil, fmt.Errorf("ask for the registered commands: %w", err)
	}
	return found, nil
}

// replace registers wanted in place of found, and blocks meanwhile. It returns the commands that Discord has then.
// Entry Point commands in found stay as they are.
func (a *Adapter) replace(
	ctx context.Context, app string, wanted []*discordgo.ApplicationCommand, found registration,
) (now registration, err error) {
	var all []any
	for _, c := range wanted {
		all = append(all, c)
	}
	for _, c := range found {
		if c.Type == entryPoint {
			all = append(all, c.raw)
		}
	}
	endpoint := discordgo.EndpointApplicationGlobalCommands(app)
	if err := a.api.Call(ctx, http.MethodPut, endpoint, all, &now); err != nil {
		return nil, fmt.Errorf("register the commands: %w", err)
	}
	return now, nil
}

// comparison is how Discord's list of commands differs from the bot's. Commands are named as shownCommand does.
// Commands of different types may have the same name.
type comparison struct {
	missing   []string // only in the bot's list
	different []string // in both lists, and not equal
	surplus   []string // only in Discord's list
	same      int      // the number of commands that are in both lists, and equal
}

// equal reports whether the lists are equal.
func (c comparison) equal() bool { return len(c.missing)+len(c.different)+len(c.surplus) == 0 }

// compare compares the commands that Discord has with wanted. It ignores Entry Point commands.
func (found registration) compare(wanted []*discordgo.ApplicationCommand) (c comparison) {
	for _, w := range wanted {
		i := slices.IndexFunc(found, func(f registeredCommand) bool { return f.isNamed(w) })
		switch {
		case i < 0:
			c.missing = append(c.missing, shownCommand(*w))
		case form(found[i].ApplicationCommand) != form(*w):
			c.different = append(c.different, shownCommand(*w))
		default:
			c.same++
		}
	}
	for _, f := range found {
		if f.Type != entryPoint && !slices.ContainsFunc(wanted, f.isNamed) {
			c.surplus = append(c.surplus, shownCommand(f.ApplicationCommand))
		}
	}
	return c
}

// shownCommand returns a command's name as operators see it: /price, or the label of a menu entry in quotes.
func shownCommand(c discordgo.ApplicationCommand) string {
	name := string(chat.NewUntrusted(c.Name, maxMenuLabel))
	if c.Type == discordgo.ChatApplicationCommand {
		return "/" + name
	}
	return fmt.Sprintf("%q", name)
}

// form returns the JSON of the fields that the bot defines for a command. Two commands are equal if their forms are. A
// form leaves out the fields that Discord adds, and empty or default values, because Discord may return them or not.
func form(c discordgo.ApplicationCommand) string {
	defined := discordgo.ApplicationCommand{
		Type:                     c.Type,
		Name:                     c.Name,
		NameLocalizations:        nilIfEmpty(c.NameLocalizations),
		Description:              c.Description,
		DescriptionLocalizations: nilIfEmpty(c.DescriptionLocalizations),
		DefaultMemberPermissions: c.DefaultMemberPermissions,
		Options:                  withoutEmptyLists(c.Options),
		Contexts:                 sorted(c.Contexts),
		IntegrationTypes:         sorted(c.IntegrationTypes),
	}
	if c.NSFW != nil && *c.NSFW {
		defined.NSFW = c.NSFW
	}
	text, _ := json.Marshal(defined) // It does not fail for these fields.
	return string(text)
}

// withoutEmptyLists returns copies of options in which every empty list is nil. It returns nil if there are no options.
func withoutEmptyLists(options []*discordgo.ApplicationCommandOption) (all []*discordgo.ApplicationCommandOption) {
	for _, o := range options {
		copied := *o
		copied.Options = withoutEmptyLists(o.Options)
		if len(o.ChannelTypes) == 0 {
			copied.ChannelTypes = nil
		}
		if len(o.Choices) == 0 {
			copied.Choices = nil
		}
		all = append(all, &copied)
	}
	return all
}

// nilIfEmpty returns localizations, or nil if there are none.
func nilIfEmpty(localizations *map[discordgo.Locale]string) *map[discordgo.Locale]string {
	if localizations == nil || len(*localizations) == 0 {
		return nil
	}
	return localizations
}

// sorted returns a sorted copy of a list, or nil if the list is empty.
func sorted[T ~uint](list *[]T) *[]T {
	if list == nil || len(*list) == 0 {
		return nil
	}
	copied := slices.Clone(*list)
	slices.Sort(copied)
	return &copied
}
