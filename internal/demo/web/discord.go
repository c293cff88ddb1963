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

// addDiscordMessage adds a new state of a message of the bot to the feed. The fake Discord server calls it, and
// holds its lock meanwhile.
func (d *Demo) addDiscordMessage(s fakediscord.Shown) {
	e := d.discordEvent(KindMessage, s.Interaction)
	if s.Loading {
		e.Kind = KindThinking
	}
	if s.Message.Ephemeral {
		e.For = d.nameOnDiscord(s.Message.SeenBy)
	}
	e.ID = s.Message.ID
	e.Message = encoded(s.Message.Payload(d.Discord.ApplicationID, s.Interaction.ChannelID))
	for _, a := range s.Message.Attachments { // The bot attaches one picture at most.
		e.address = fmt.Sprintf("/file/discord/%s/%s", a.ID, a.Name)
		e.picture = a.Bytes
		e.Message = bytes.ReplaceAll(e.Message, encoded("attachment://"+a.Name), encoded(e.address))
	}
	d.feed.add(e)
	isCommand := s.Interaction.On == nil // It is no press of a button on a message.
	isPublic := e.For == ""
	if isCommand && isPublic {
		d.publishCommandOf(s.Interaction)
	}
}

// publishCommandOf shows the command of an interaction to everyone in its chat. Until now, only its author saw it.
func (d *Demo) publishCommandOf(i fakediscord.Interaction) {
	asked := d.feed.lookup(Discord, i.ID)
	if asked.For == "" {
		return
	}
	asked.For = ""
	d.feed.add(asked) // replaces the event with its ID
}

// discordEvent returns an Event without a message, from the bot in the chat of an interaction.
func (d *Demo) discordEvent(kind string, i fakediscord.Interaction) Event {
	if i.GuildID == "" {
		return Event{Kind: kind, Side: Discord, Chat: Private, For: d.nameOnDiscord(i.UserID), From: Bot}
	}
	return Event{Kind: kind, Side: Discord, Chat: Group, From: Bot}
}

// actOnDiscord does an Act of a person on Discord.
func (d *Demo) actOnDiscord(a Act, by community.Person) (any, error) {
	i := interactionOf(a, by)
	switch a.Kind {
	case "say":
		command, isCommand := strings.CutPrefix(a.Text, "/")
		if !isCommand {
			d.addPersonText(a, i)
			return Result{}, nil
		}
		name, options, _ := strings.Cut(command, " ")
		return d.useCommand(a, by, name, strings.Fields(options), i)
	case "pick":
		target := d.Community.People.Named(a.Target)
		if target.Name == "" {
			return nil, errNotThere
		}
		i.Target = target.DiscordID
		return d.useCommand(a, by, a.Text, nil, i)
	case "press":
		i.Button = a.Button
		i.On = &fakediscord.Message{ID: a.Message}
		_, err := d.Discord.Push(i)
		return Result{}, err
	}
	return Result{}, nil
}

// addPersonText adds a text that is not a command to the feed. On Discord, the bot does not receive such texts.
func (d *Demo) addPersonText(a Act, i fakediscord.Interaction) {
	said := d.discordEvent(KindAsked, i)
	said.From = a.As
	said.ID = fmt.Sprint("t", time.Now().UnixNano())
	said.Message = encoded(map[string]any{"text": a.Text})
	d.feed.add(said)
}

// interactionOf returns an interaction of a person in the chat of an Act, without a command or a button.
func interactionOf(a Act, by community.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: by.DiscordID, Locale: languageOf(a.Language).Info().Discord[0]}
	if a.Chat == Private {
		i.ChannelID = directChannelOf(by)
		return i
	}
	i.GuildID = discordGuild
	i.ChannelID = discordChannel
	if by.Moderator {
		i.Permissions = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers
	}
	return i
}

// offeredCommands returns the registered commands that a person's app lists in a chat.
func (d *Demo) offeredCommands(by community.Person, chatName string) []*discordgo.ApplicationCommand {
	place := discordgo.InteractionContextGuild
	if chatName == Private {
		place = discordgo.InteractionContextBotDM
	}
	var registered []*discordgo.ApplicationCommand
	_ = json.Unmarshal(encoded(d.Discord.Commands("")), &registered) // cannot fail
	return slices.DeleteFunc(registered, func(c *discordgo.ApplicationCommand) bool {
		isElsewhere := c.Contexts != nil && !slices.Contains(*c.Contexts, place)
		// Moderators have every permission that a command requires.
		isForbidden := c.DefaultMemberPermissions != nil && !by.Moderator
		return isElsewhere || isForbidden
	})
}

// discordMenu returns the commands in the context menu of a user, as by's app shows it in a chat.
func (d *Demo) discordMenu(chatName string, by community.Person, l chat.Language) []map[string]any {
	menu := []map[string]any{} // not nil: JSON must have an array
	for _, c := range d.offeredCommands(by, chatName) {
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
	i, hint := d.fillCommand(i, command, words)
	if hint != "" {
		return Result{Hint: hint}, nil
	}
	// The feed has the command before the bot receives and answers it.
	p, deliver := d.Discord.PushLater(i)
	asked := d.discordEvent(KindAsked, i)
	asked.From = a.As
	asked.ID = p.ID
	asked.For = a.As
	asked.Message = encoded(map[string]any{
		"command": name,
		"options": d.usedOptions(command, i),
		"target":  d.nameOnDiscord(i.Target),
	})
	d.feed.add(asked)
	return Result{}, deliver()
}

// usedOptions returns the options of a command that have a value in its interaction, in the form of the protocol.
func (d *Demo) usedOptions(command *discordgo.ApplicationCommand, i fakediscord.Interaction) []map[string]string {
	used := []map[string]string{} // not nil: JSON must have an array
	for _, o := range command.Options {
		person := d.nameOnDiscord(i.Users[o.Name])
		value := i.Options[o.Name]
		if person != "" || value != "" {
			used = append(used, map[string]string{"name": o.Name, "value": value, "person": person})
		}
	}
	return used
}

// fillCommand returns i with a command and its options. Each word becomes the value of the first option that has no
// value yet and accepts the word. hint is "", unless a word fits no option or a required option is missing.
func (d *Demo) fillCommand(
	i fakediscord.Interaction, command *discordgo.ApplicationCommand, words []string,
) (filled fakediscord.Interaction, hint string) {
	i.Command = command.Name
	i.Options = map[string]string{}
	i.Users = map[string]string{}
	free := slices.Clone(command.Options)
	for _, word := range words {
		userID := d.Community.People.Mentioned(word).DiscordID
		n := slices.IndexFunc(free, func(o *discordgo.ApplicationCommandOption) bool {
			if userID != "" {
				return o.Type == discordgo.ApplicationCommandOptionUser
			}
			return o.Type != discordgo.ApplicationCommandOptionUser && hasChoice(o, word)
		})
		switch {
		case n < 0:
			return i, fmt.Sprintf("/%s has no option for %q.", command.Name, word)
		case userID != "":
			i.Users[free[n].Name] = userID
		default:
			i.Options[free[n].Name] = word
		}
		free = slices.Delete(free, n, n+1)
	}
	for _, o := range free {
		if o.Required {
			return i, fmt.Sprintf("/%s needs its option %q.", command.Name, o.Name)
		}
	}
	return i, ""
}

// hasChoice reports whether an option accepts a value: it has the value as a choice, or has no choices.
func hasChoice(o *discordgo.ApplicationCommandOption, value string) bool {
	isValue := func(c *discordgo.ApplicationCommandOptionChoice) bool { return c.Value == value }
	return len(o.Choices) == 0 || slices.ContainsFunc(o.Choices, isValue)
}
