package web

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
)

// choicesWait is how long the page waits for choices, as Discord does.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-callback
const choicesWait = 3 * time.Second

// moderates are the permissions of a moderator.
const moderates = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers

// discordSide shows what a Discord is told to show, and does there what people do.
type discordSide struct {
	api    *fakediscord.Server
	feed   *feed
	people people
}

func newDiscordSide(api *fakediscord.Server, f *feed, all people) *discordSide {
	d := &discordSide{api, f, all}
	// A message may be pressed for as long as it is shown.
	api.Remember(2 * maxShown)
	api.Watch(d.see)
	return d
}

// see shows one thing. The server waits for it.
func (d *discordSide) see(s fakediscord.Shown) {
	e := d.place(s.Interaction)
	if s.Modal != nil {
		e.Kind, e.ID, e.Message = KindModal, s.Interaction.ID, encoded(s.Modal)
		e.For = d.people.onDiscord(s.Interaction.UserID)
		d.feed.pass(e)
		return
	}
	e.Kind, e.ID = KindMessage, s.Message.ID
	if s.Loading {
		e.Kind = KindThinking
	}
	if s.Message.Ephemeral {
		e.For = d.people.onDiscord(s.Message.SeenBy)
	}
	e.Message = encoded(s.Message.Payload(d.api.ApplicationID, s.Interaction.ChannelID))
	pictures := map[string][]byte{}
	for _, a := range s.Message.Attachments {
		address := fmt.Sprintf("/file/discord/%s/%s", a.ID, a.Name)
		pictures[address] = a.Bytes
		e.Message = bytes.ReplaceAll(e.Message, encoded("attachment://"+a.Name), encoded(address))
	}
	d.feed.put(e, pictures)
	if e.For == "" && s.Interaction.On == nil {
		d.feed.reveal(Discord, s.Interaction.ID)
	}
}

// place is an event where an interaction is.
func (d *discordSide) place(i fakediscord.Interaction) Event {
	if i.GuildID == "" {
		return Event{Side: Discord, Chat: Private, For: d.people.onDiscord(i.UserID), From: Bot}
	}
	return Event{Side: Discord, Chat: Group, From: Bot}
}

// act does one thing.
func (d *discordSide) act(ctx context.Context, a Act, by asker, in language) (Result, error) {
	i := fakediscord.Interaction{UserID: by.discordID, Locale: in.discord, GuildID: discordGuild, ChannelID: discordChannel}
	if by.moderator {
		i.Permissions = moderates
	}
	if a.Chat == Private {
		i.GuildID, i.ChannelID, i.Permissions = "", discordDirectBegin+by.discordID[2:], 0
	}
	switch a.Kind {
	case "say", "pick":
		return d.say(a, by, i)
	case "press":
		i.Button, i.On = a.Button, &fakediscord.Message{ID: a.Message}
		_, err := d.api.Push(i)
		return Result{}, err
	case "submit":
		return d.submit(a, i)
	case "complete":
		return d.complete(ctx, a, by, i), nil
	}
	return Result{}, errNoSuchKind
}

// say uses a command that was typed, or picked in a person's menu.
func (d *discordSide) say(a Act, by asker, i fakediscord.Interaction) (Result, error) {
	asked := d.place(i)
	asked.Kind, asked.From = KindAsked, a.As
	if a.Kind == "say" && !strings.HasPrefix(a.Text, "/") {
		asked.ID, asked.Message = fmt.Sprint("t", time.Now().UnixNano()), encoded(Typed{Text: a.Text})
		d.feed.put(asked, nil)
		return Result{}, nil
	}
	commands := offered(d.api.Commands(""), by, a.Chat)
	line, hint := typedLine{}, ""
	if a.Kind == "pick" {
		line, hint = pick(a.Text, a.Target, commands, d.people)
	} else {
		line, hint = read(a.Text, commands, d.people)
	}
	if hint == "" {
		hint = line.missing()
	}
	if hint != "" {
		return Result{Hint: hint}, nil
	}
	i.Command, i.Options, i.Users, i.Target = line.command.Name, line.texts, line.users, line.target
	p, deliver := d.api.Keep(i)
	asked.ID, asked.For, asked.Message = p.ID, a.As, encoded(line.typed(d.people))
	d.feed.put(asked, nil)
	return Result{}, deliver()
}

// submit sends the modal that a button opened for the same person.
func (d *discordSide) submit(a Act, i fakediscord.Interaction) (Result, error) {
	opened := d.api.Pending(a.Message)
	if opened == nil || opened.Answer().Modal == nil {
		return Result{}, errNoSuchMessage
	}
	submitted := opened.Submit(a.Values)
	if submitted.UserID != i.UserID {
		return Result{}, errNoSuchMessage
	}
	i.Modal, i.On = submitted.Modal, submitted.On
	_, err := d.api.Push(i)
	return Result{}, err
}

// complete has choices for the option that is being typed: the last one, or after
// a space the next.
func (d *discordSide) complete(ctx context.Context, a Act, by asker, i fakediscord.Interaction) Result {
	if word, is := strings.CutPrefix(a.Text[strings.LastIndex(a.Text, " ")+1:], "@"); is {
		return d.somebody(word)
	}
	none := Result{Choices: encoded([]string{})}
	if !strings.HasPrefix(a.Text, "/") {
		return none
	}
	line, hint := read(a.Text, offered(d.api.Commands(""), by, a.Chat), d.people)
	if hint != "" {
		return none
	}
	o := line.last
	if strings.HasSuffix(a.Text, " ") {
		if line.free(true) != nil {
			return d.somebody("")
		}
		if o = line.free(false); o != nil {
			line.texts[o.Name] = ""
		}
	}
	if o == nil || !o.Autocomplete {
		return none
	}
	i.Command, i.Options, i.Users, i.Focused = line.command.Name, line.texts, line.users, o.Name
	p, err := d.api.Push(i)
	if err != nil {
		return none
	}
	ctx, cancel := context.WithTimeout(ctx, choicesWait)
	defer cancel()
	answer, err := p.First(ctx)
	if err != nil || answer.Choices == nil {
		return none
	}
	return Result{Choices: encoded(answer.Choices)}
}

// somebody is the choices of people whose names begin so.
func (d *discordSide) somebody(name string) Result {
	choices := []map[string]string{}
	for _, p := range d.people {
		if strings.HasPrefix(p.name, name) {
			choices = append(choices, map[string]string{"name": "@" + p.name, "value": "@" + p.name})
		}
	}
	return Result{Choices: encoded(choices)}
}

// menuIn is Discord's part of a Menu.
func (d *discordSide) menuIn(chat string, by asker, in language) []MenuEntry {
	menu := []MenuEntry{}
	for _, c := range offered(d.api.Commands(""), by, chat) {
		menu = append(menu, MenuEntry{
			Person: c.Type == discordgo.UserApplicationCommand, Name: c.Name,
			Label:       inLocale(c.NameLocalizations, in.discord, c.Name),
			Description: inLocale(c.DescriptionLocalizations, in.discord, c.Description),
		})
	}
	return menu
}
