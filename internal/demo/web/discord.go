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

// seeDiscord adds a message of the bot's to the feed. The server blocks meanwhile.
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
	// Others see the command once its answer is public.
	asked := d.feed.lookup(Discord, s.Interaction.ID)
	if e.For == "" && s.Interaction.On == nil && asked.For != "" {
		asked.For = ""
		d.feed.add(asked)
	}
}

// discordEvent returns an event from the bot in the chat of an interaction.
func (d *Demo) discordEvent(kind string, i fakediscord.Interaction) Event {
	if i.GuildID == "" {
		return Event{Kind: kind, Side: Discord, Chat: Private, For: d.nameOnDiscord(i.UserID), From: Bot}
	}
	return Event{Kind: kind, Side: Discord, Chat: Group, From: Bot}
}

func (d *Demo) actOnDiscord(a Act, by community.Person) (result any, err error) {
	i := fakediscord.Interaction{
		UserID:    by.DiscordID,
		Locale:    languageOf(a.Language).Info().Discord[0],
		GuildID:   discordGuild,
		ChannelID: discordChannel,
	}
	if by.Moderator {
		i.Permissions = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers
	}
	if a.Chat == Private {
		i.GuildID = ""
		i.ChannelID = discordDirect + by.DiscordID[2:]
		i.Permissions = 0
	}
	switch {
	case a.Kind == "say" && !strings.HasPrefix(a.Text, "/"):
		said := d.discordEvent(KindAsked, i)
		said.From = a.As
		said.ID = fmt.Sprint("t", time.Now().UnixNano())
		said.Message = encoded(map[string]any{"text": a.Text})
		d.feed.add(said)
	case a.Kind == "say":
		name, words, _ := strings.Cut(a.Text[1:], " ")
		return d.use(a, by, name, strings.Fields(words), i)
	case a.Kind == "pick":
		i.Target = d.Community.People.Named(a.Target).DiscordID
		return d.use(a, by, a.Text, nil, i)
	case a.Kind == "press":
		i.Button = a.Button
		i.On = &fakediscord.Message{ID: a.Message}
		_, err = d.Discord.Push(i)
	}
	return Result{}, err
}

// offered returns the registered commands that a person's app lists in a chat. Moderators
// have every permission that a command requires.
func (d *Demo) offered(by community.Person, chat string) (all []*discordgo.ApplicationCommand) {
	where := discordgo.InteractionContextGuild
	if chat == Private {
		where = discordgo.InteractionContextBotDM
	}
	_ = json.Unmarshal(encoded(d.Discord.Commands("")), &all) // Discord has checked their form
	return slices.DeleteFunc(all, func(c *discordgo.ApplicationCommand) bool {
		return c.Contexts != nil && !slices.Contains(*c.Contexts, where) || c.DefaultMemberPermissions != nil && !by.Moderator
	})
}

// discordMenu returns the commands in the menu of a person, in the person's app.
func (d *Demo) discordMenu(chat string, by community.Person, l chat.Language) []map[string]any {
	menu := []map[string]any{}
	for _, c := range d.offered(by, chat) {
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

// use sends a command with its options, and adds it to the feed. If Discord's app would
// not send the command, the Result's Hint says why.
func (d *Demo) use(a Act, by community.Person, name string, words []string, i fakediscord.Interaction) (any, error) {
	offered := d.offered(by, a.Chat)
	n := slices.IndexFunc(offered, func(c *discordgo.ApplicationCommand) bool { return c.Name == name })
	if n < 0 {
		return Result{Hint: "There is no command /" + name + " here."}, nil
	}
	if hint := d.fill(&i, offered[n], words); hint != "" {
		return Result{Hint: hint}, nil
	}
	options := []map[string]string{}
	for _, o := range offered[n].Options {
		if person, value := d.nameOnDiscord(i.Users[o.Name]), i.Options[o.Name]; person+value != "" {
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

// fill sets the command and the options of an interaction. Each word becomes the first
// free option that accepts it: a mention one for a person, a choice the one that lists it.
// It returns why a word or an option cannot be used, or "".
func (d *Demo) fill(i *fakediscord.Interaction, command *discordgo.ApplicationCommand, words []string) (hint string) {
	i.Command = command.Name
	i.Options = map[string]string{}
	i.Users = map[string]string{}
	free := slices.Clone(command.Options)
	for _, word := range words {
		person := d.Community.People.Mentioned(word).DiscordID
		n := slices.IndexFunc(free, func(o *discordgo.ApplicationCommandOption) bool {
			return (o.Type == discordgo.ApplicationCommandOptionUser) == (person != "") && (len(o.Choices) == 0 ||
				slices.ContainsFunc(o.Choices, func(c *discordgo.ApplicationCommandOptionChoice) bool { return c.Value == word }))
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
