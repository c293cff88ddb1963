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

	"herald/internal/chat"
	"herald/internal/demo/community"
	fakediscord "herald/internal/demo/fake/discord"
)

// seeDiscord adds a new state of a message of the bot to the feed. The fake calls it, and waits for it.
func (d *Demo) seeDiscord(s fakediscord.Shown) {
	e := d.discordEvent(KindMessage, s.Interaction)
	if s.Loading {
		e.Kind = KindThinking
	}
	if s.Message.Ephemeral {
		e.For = d.nameOnDiscord(s.Message.SeenBy)
	}
	e.ID = s.Message.ID
	e.Message = encoded(s.Message.Payload(d.Discord.ApplicationID, s.Interaction.ChannelID))
	for _, a := range s.Message.Attachments {
		e.address = fmt.Sprintf("/file/discord/%s/%s", a.ID, a.Name)
		e.picture = a.Bytes
		e.Message = bytes.ReplaceAll(e.Message, encoded("attachment://"+a.Name), encoded(e.address))
	}
	d.feed.add(e)
	// Once the answer to a command is public, everybody sees the command, too.
	asked := d.feed.lookup(Discord, s.Interaction.ID)
	isPublicAnswer := e.For == "" && s.Interaction.On == nil
	if isPublicAnswer && asked.For != "" {
		asked.For = ""
		d.feed.add(asked)
	}
}

// discordEvent returns an Event without a message, from the bot in the chat of an interaction.
func (d *Demo) discordEvent(kind string, i fakediscord.Interaction) Event {
	if i.GuildID == "" {
		return Event{Kind: kind, Side: Discord, Chat: Private, For: d.nameOnDiscord(i.UserID), From: Bot}
	}
	return Event{Kind: kind, Side: Discord, Chat: Group, From: Bot}
}

// actOnDiscord does an Act of a person on Discord.
func (d *Demo) actOnDiscord(a Act, by community.Person) (result any, err error) {
	i := interactionOf(a, by)
	switch {
	case a.Kind == "say" && !strings.HasPrefix(a.Text, "/"):
		said := d.discordEvent(KindAsked, i)
		said.From = a.As
		said.ID = fmt.Sprint("t", time.Now().UnixNano())
		said.Message = encoded(map[string]any{"text": a.Text})
		d.feed.add(said)
	case a.Kind == "say":
		name, options, _ := strings.Cut(a.Text[1:], " ")
		return d.useCommand(a, by, name, strings.Fields(options), i)
	case a.Kind == "pick":
		i.Target = d.Community.People.Named(a.Target).DiscordID
		return d.useCommand(a, by, a.Text, nil, i)
	case a.Kind == "press":
		i.Button = a.Button
		i.On = &fakediscord.Message{ID: a.Message}
		_, err = d.Discord.Push(i)
	}
	return Result{}, err
}

// interactionOf returns an interaction of a person in the chat of an Act, without a command or a button.
func interactionOf(a Act, by community.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: by.DiscordID, Locale: languageOf(a.Language).Info().Discord[0]}
	if a.Chat == Private {
		i.ChannelID = discordDirect + by.DiscordID[len(discordDirect):]
		return i
	}
	i.GuildID = discordGuild
	i.ChannelID = discordChannel
	if by.Moderator {
		i.Permissions = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers
	}
	return i
}

// offeredCommands returns the registered commands that a person's app lists in a chat. Moderators have every permission
// that a command requires.
func (d *Demo) offeredCommands(by community.Person, chat string) []*discordgo.ApplicationCommand {
	place := discordgo.InteractionContextGuild
	if chat == Private {
		place = discordgo.InteractionContextBotDM
	}
	var registered []*discordgo.ApplicationCommand
	_ = json.Unmarshal(encoded(d.Discord.Commands("")), &registered) // cannot fail
	return slices.DeleteFunc(registered, func(c *discordgo.ApplicationCommand) bool {
		isElsewhere := c.Contexts != nil && !slices.Contains(*c.Contexts, place)
		isForbidden := c.DefaultMemberPermissions != nil && !by.Moderator
		return isElsewhere || isForbidden
	})
}

// discordMenu returns the commands in the context menu of a user, as by's app shows it in a chat.
func (d *Demo) discordMenu(chat string, by community.Person, l chat.Language) []map[string]any {
	menu := []map[string]any{}
	for _, c := range d.offeredCommands(by, chat) {
		if c.Type != discordgo.UserApplicationCommand {
			continue
		}
		label := c.Name
		if c.NameLocalizations != nil {
			label = cmp.Or((*c.NameLocalizations)[discordgo.Locale(l.Info().Discord[0])], label)
		}
		menu = append(menu, map[string]any{"name": c.Name, "label": label})
	}
	return menu
}

// useCommand sends the command with this name, with words as its options, and adds it to the feed. i is the interaction
// without the command. If Discord's app would not send the command, the Result has a Hint.
func (d *Demo) useCommand(
	a Act, by community.Person, name string, words []string, i fakediscord.Interaction,
) (any, error) {
	offered := d.offeredCommands(by, a.Chat)
	n := slices.IndexFunc(offered, func(c *discordgo.ApplicationCommand) bool { return c.Name == name })
	if n < 0 {
		return Result{Hint: "There is no command /" + name + " here."}, nil
	}
	command := offered[n]
	if hint := d.setCommand(&i, command, words); hint != "" {
		return Result{Hint: hint}, nil
	}
	options := []map[string]string{}
	for _, o := range command.Options {
		person := d.nameOnDiscord(i.Users[o.Name])
		value := i.Options[o.Name]
		if person != "" || value != "" {
			options = append(options, map[string]string{"name": o.Name, "value": value, "person": person})
		}
	}
	p, deliver := d.Discord.PushLater(i)
	asked := d.discordEvent(KindAsked, i)
	asked.From = a.As
	asked.ID = p.ID
	asked.For = a.As
	asked.Message = encoded(map[string]any{
		"command": name,
		"options": options,
		"target":  d.nameOnDiscord(i.Target),
	})
	d.feed.add(asked)
	return Result{}, deliver()
}

// setCommand sets the command and the options of an interaction. Each word becomes the value of the first option
// that has no value yet and accepts the word. If a word fits no option, or a required option is missing, setCommand
// returns a Hint, and otherwise "".
func (d *Demo) setCommand(
	i *fakediscord.Interaction, command *discordgo.ApplicationCommand, words []string,
) (hint string) {
	i.Command = command.Name
	i.Options = map[string]string{}
	i.Users = map[string]string{}
	free := slices.Clone(command.Options)
	for _, word := range words {
		person := d.Community.People.Mentioned(word).DiscordID
		n := slices.IndexFunc(free, func(o *discordgo.ApplicationCommandOption) bool {
			if person != "" {
				return o.Type == discordgo.ApplicationCommandOptionUser
			}
			return o.Type != discordgo.ApplicationCommandOptionUser && hasChoice(o, word)
		})
		switch {
		case n < 0:
			return fmt.Sprintf("/%s has no option for %q.", command.Name, word)
		case person != "":
			i.Users[free[n].Name] = person
		default:
			i.Options[free[n].Name] = word
		}
		free = slices.Delete(free, n, n+1)
	}
	for _, o := range free {
		if o.Required {
			return fmt.Sprintf("/%s needs its option %q.", command.Name, o.Name)
		}
	}
	return ""
}

// hasChoice reports whether an option accepts a value: it has the value as a choice, or has no choices.
func hasChoice(o *discordgo.ApplicationCommandOption, value string) bool {
	isValue := func(c *discordgo.ApplicationCommandOptionChoice) bool { return c.Value == value }
	return len(o.Choices) == 0 || slices.ContainsFunc(o.Choices, isValue)
}
