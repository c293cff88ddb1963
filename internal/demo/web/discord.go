package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
)

// seeDiscord shows what Discord is told to show. The server waits for it.
func (d *Demo) seeDiscord(s fakediscord.Shown) {
	e := d.discordEvent(KindMessage, s.Interaction)
	if s.Loading {
		e.Kind = KindThinking
	}
	if s.Message.Ephemeral {
		e.For = d.people.onDiscord(s.Message.SeenBy)
	}
	e.ID, e.Message = s.Message.ID, encoded(s.Message.Payload(d.Discord.ApplicationID, s.Interaction.ChannelID))
	for _, a := range s.Message.Attachments {
		e.address, e.picture = fmt.Sprintf("/file/discord/%s/%s", a.ID, a.Name), a.Bytes
		e.Message = bytes.ReplaceAll(e.Message, encoded("attachment://"+a.Name), encoded(e.address))
	}
	d.feed.add(e)
	// The others see what was asked once they see the answer.
	asked := d.feed.message(Discord, s.Interaction.ID)
	if e.For == "" && s.Interaction.On == nil && asked.For != "" {
		asked.For = ""
		d.feed.add(asked)
	}
}

// discordEvent is an event of the bot's where an interaction is.
func (d *Demo) discordEvent(kind string, i fakediscord.Interaction) Event {
	if i.GuildID == "" {
		return Event{Kind: kind, Side: Discord, Chat: Private, For: d.people.onDiscord(i.UserID), From: Bot}
	}
	return Event{Kind: kind, Side: Discord, Chat: Group, From: Bot}
}

func (d *Demo) actOnDiscord(a Act, by asker) (result any, err error) {
	i := fakediscord.Interaction{
		UserID: by.discordID, Locale: languageOf(a.Language).discord, GuildID: discordGuild, ChannelID: discordChannel,
	}
	if by.moderator {
		i.Permissions = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers
	}
	if a.Chat == Private {
		i.GuildID, i.ChannelID, i.Permissions = "", discordDirect+by.discordID[2:], 0
	}
	switch {
	case a.Kind == "say" && !strings.HasPrefix(a.Text, "/"):
		said := d.discordEvent(KindAsked, i)
		said.From, said.ID, said.Message = a.As, fmt.Sprint("t", time.Now().UnixNano()), encoded(map[string]any{"text": a.Text})
		d.feed.add(said)
	case a.Kind == "say":
		f, hint := d.fill(a.Text, d.offered(by, a.Chat))
		if hint == "" {
			hint = f.missing()
		}
		return d.use(a, f, hint, i)
	case a.Kind == "pick":
		target, _ := d.people.named(a.Target)
		i.Target = target.discordID
		return d.use(a, form{command: find(d.offered(by, a.Chat), a.Text)}, "", i)
	case a.Kind == "press":
		i.Button, i.On = a.Button, &fakediscord.Message{ID: a.Message}
		_, err = d.Discord.Push(i)
	case a.Kind == "complete":
		return Result{Choices: d.choices(a.Text, d.offered(by, a.Chat))}, nil
	}
	return Result{}, err
}

// offered returns the registered commands that an asker's app lists in a chat. Each
// command that asks for a permission asks for one that a moderator has.
func (d *Demo) offered(by asker, chat string) (all []*discordgo.ApplicationCommand) {
	where := discordgo.InteractionContextGuild
	if chat == Private {
		where = discordgo.InteractionContextBotDM
	}
	_ = json.Unmarshal(encoded(d.Discord.Commands("")), &all) // Discord has checked their form
	return slices.DeleteFunc(all, func(c *discordgo.ApplicationCommand) bool {
		return c.Contexts != nil && !slices.Contains(*c.Contexts, where) || c.DefaultMemberPermissions != nil && !by.moderator
	})
}

func (d *Demo) discordMenu(chat string, by asker, in language) []map[string]any {
	menu := []map[string]any{}
	inLocale := func(texts *map[discordgo.Locale]string, otherwise string) string {
		if texts != nil && (*texts)[discordgo.Locale(in.discord)] != "" {
			return (*texts)[discordgo.Locale(in.discord)]
		}
		return otherwise
	}
	for _, c := range d.offered(by, chat) {
		menu = append(menu, map[string]any{
			"person": c.Type == discordgo.UserApplicationCommand, "name": c.Name,
			"label": inLocale(c.NameLocalizations, c.Name), "description": inLocale(c.DescriptionLocalizations, c.Description),
		})
	}
	return menu
}

// use sends a command as it is filled in, and shows that it was used. With a hint,
// which is why Discord's app would not send it, it is not sent.
func (d *Demo) use(a Act, f form, hint string, i fakediscord.Interaction) (any, error) {
	if f.command == nil {
		hint = "There is no command " + strings.Fields(a.Text)[0] + " here."
	}
	if hint != "" {
		return Result{Hint: hint}, nil
	}
	f.into(&i)
	options := []map[string]string{}
	for _, o := range f.command.Options {
		if value, filled := f.values[o.Name]; filled {
			options = append(options, map[string]string{"name": o.Name, "value": cmp.Or(d.people.onDiscord(value), value)})
		}
	}
	p, deliver := d.Discord.Keep(i)
	asked := d.discordEvent(KindAsked, i)
	asked.From, asked.ID, asked.For = a.As, p.ID, a.As
	asked.Message = encoded(map[string]any{"command": i.Command, "options": options, "target": d.people.onDiscord(i.Target)})
	d.feed.add(asked)
	return Result{}, deliver()
}

// form is a command as it is filled in.
type form struct {
	command *discordgo.ApplicationCommand
	values  map[string]string // by option: texts and user IDs
	last    *discordgo.ApplicationCommandOption
}

func find(all []*discordgo.ApplicationCommand, name string) *discordgo.ApplicationCommand {
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func isPerson(o *discordgo.ApplicationCommandOption) bool {
	return o.Type == discordgo.ApplicationCommandOptionUser
}

// fill fills in the options of the command that a line begins with, as a person
// would in Discord's app, in order. The hint, in English like the page, says why the
// app would not take it.
func (d *Demo) fill(line string, commands []*discordgo.ApplicationCommand) (f form, hint string) {
	words := strings.Fields(line)
	f = form{command: find(commands, strings.TrimPrefix(words[0], "/")), values: map[string]string{}}
	for _, word := range words[1:] {
		person, mentioned := d.people.mentioned(word)
		if f.last = f.free(mentioned); f.last == nil {
			return f, fmt.Sprintf("%s has no option left for %q.", words[0], word)
		}
		f.values[f.last.Name] = cmp.Or(person.discordID, word)
	}
	return f, ""
}

// free returns the first option for a person, or for a text, that is not filled in,
// or nil.
func (f form) free(person bool) *discordgo.ApplicationCommandOption {
	if f.command == nil {
		return nil
	}
	for _, o := range f.command.Options {
		if _, filled := f.values[o.Name]; !filled && isPerson(o) == person {
			return o
		}
	}
	return nil
}

// missing returns the hint for a required option that is not filled in, or "".
func (f form) missing() (hint string) {
	for _, person := range []bool{true, false} {
		if o := f.free(person); o != nil && o.Required {
			return fmt.Sprintf("/%s needs its option %q.", f.command.Name, o.Name)
		}
	}
	return ""
}

// into makes the interaction the use of the command.
func (f form) into(i *fakediscord.Interaction) {
	i.Command, i.Options, i.Users = f.command.Name, map[string]string{}, map[string]string{}
	for _, o := range f.command.Options {
		value, filled := f.values[o.Name]
		switch {
		case filled && isPerson(o):
			i.Users[o.Name] = value
		case filled:
			i.Options[o.Name] = value
		}
	}
}

// choices returns the choices for the option that is being typed, in any case: the
// last one, or after a space the next. The page itself offers people.
func (d *Demo) choices(text string, offered []*discordgo.ApplicationCommand) any {
	fitting := []*discordgo.ApplicationCommandOptionChoice{}
	if !strings.HasPrefix(text, "/") {
		return fitting
	}
	f, hint := d.fill(text, offered)
	typed := strings.ToLower(text[strings.LastIndex(text, " ")+1:])
	if typed == "" {
		f.last = f.free(false)
	}
	if hint != "" || f.last == nil {
		return fitting
	}
	for _, c := range f.last.Choices {
		if strings.HasPrefix(strings.ToLower(c.Name), typed) {
			fitting = append(fitting, c)
		}
	}
	return fitting
}
