package webdemo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/discord/discordtest"
)

// firstResponse is how long Discord waits before it says that the application did
// not respond.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-callback
const firstResponse = 3 * time.Second

// moderates are the permissions of a moderator.
const moderates = discordgo.PermissionManageGuild | discordgo.PermissionModerateMembers

// discordSide shows what a Discord is told to show, and does there what people do.
type discordSide struct {
	api    *discordtest.Server
	feed   *feed
	people people
}

func newDiscordSide(api *discordtest.Server, f *feed, all people) *discordSide {
	d := &discordSide{api, f, all}
	// A message may be pressed for as long as it is shown.
	api.Remember(2 * maxShown)
	api.Watch(d.see)
	return d
}

// see shows one thing. The server waits for it.
func (d *discordSide) see(s discordtest.Shown) {
	e := d.place(s.Interaction)
	if s.Modal != nil {
		e.Kind, e.ID, e.Message = KindModal, s.Interaction.ID, encoded(s.Modal)
		e.For = d.people.onDiscord(s.Interaction.UserID)
		d.feed.pass(e)
		return
	}
	e.Kind, e.ID, e.ReplyTo = KindMessage, s.Message.ID, s.Interaction.ID
	if s.Loading {
		e.Kind = KindThinking
	}
	if on := s.Interaction.On; on != nil {
		e.ReplyTo = on.ID
		if on.ID == e.ID {
			e.ReplyTo = "" // as it was
		}
	}
	if s.Message.Ephemeral {
		e.For = d.people.onDiscord(s.Message.SeenBy)
	}
	wire, pictures := withPictures(*s.Message, s.Message.Payload(d.api.ApplicationID, s.Interaction.ChannelID))
	e.Message = encoded(wire)
	d.feed.put(e, pictures)
	if e.For == "" && s.Interaction.On == nil {
		d.feed.reveal(Discord, s.Interaction.ID)
	}
}

// place is an event where an interaction is.
func (d *discordSide) place(i discordtest.Interaction) Event {
	if i.GuildID == "" {
		return Event{Side: Discord, Chat: Private, For: d.people.onDiscord(i.UserID), From: Bot}
	}
	return Event{Side: Discord, Chat: Group, From: Bot}
}

// withPictures gives the files of a message addresses that the page can load, and
// puts those that an embed shows there.
func withPictures(m discordtest.Message, wire map[string]any) (map[string]any, map[string][]byte) {
	pictures := map[string][]byte{}
	var embeds []map[string]any
	_ = json.Unmarshal(encoded(wire["embeds"]), &embeds) // which are JSON
	attachments := []map[string]any{}
	for _, a := range m.Attachments {
		address := fmt.Sprintf("/file/discord/%s/%s", a.ID, a.Name)
		pictures[address] = a.Bytes
		file := pictureOf(a.Bytes, map[string]any{
			"id": a.ID, "filename": a.Name, "description": a.Description, "content_type": a.ContentType, "size": len(a.Bytes), "url": address,
		})
		if !showIn(embeds, file) {
			attachments = append(attachments, file)
		}
	}
	wire["embeds"], wire["attachments"] = embeds, attachments
	return wire, pictures
}

// showIn puts a file into the embed that names it, and reports whether one does.
func showIn(embeds []map[string]any, file map[string]any) bool {
	for _, e := range embeds {
		if image, has := e["image"].(map[string]any); has && image["url"] == "attachment://"+file["filename"].(string) {
			e["image"] = file
			return true
		}
	}
	return false
}

// act does one thing.
func (d *discordSide) act(ctx context.Context, a Act, by asker, in language) (Result, error) {
	i := discordtest.Interaction{UserID: by.discordID, Locale: in.discord, GuildID: discordGuild, ChannelID: discordChannel}
	if by.moderator {
		i.Permissions = moderates
	}
	if a.Chat == Private {
		i.GuildID, i.ChannelID, i.Permissions = "", discordDirectBegin+by.discordID[2:], 0
	}
	switch a.Kind {
	case "say", "pick":
		return d.say(a, by, i)
	case "press", "submit":
		return d.press(a, i)
	case "complete":
		return d.complete(ctx, a, by, i)
	}
	return Result{}, errNoSuchKind
}

// say uses a command that was typed, or picked in a person's menu.
func (d *discordSide) say(a Act, by asker, i discordtest.Interaction) (Result, error) {
	commands := d.commands(by, a.Chat)
	if a.Kind == "say" && !strings.HasPrefix(a.Text, "/") {
		e := d.place(i)
		e.Kind, e.ID, e.From, e.Message = KindAsked, fmt.Sprint("t", time.Now().UnixNano()), a.As, encoded(Typed{Text: a.Text})
		d.feed.put(e, nil)
		return Result{Asked: map[string]string{Discord: e.ID}}, nil
	}
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
	asked := d.place(i)
	asked.Kind, asked.ID, asked.From, asked.For, asked.Message = KindAsked, p.ID, a.As, a.As, encoded(line.typed(d.people))
	d.feed.put(asked, nil)
	return d.deliver(p, deliver, p.ID, asked), nil
}

// press presses a button, or sends the modal that one opened.
func (d *discordSide) press(a Act, i discordtest.Interaction) (Result, error) {
	about := d.place(i)
	about.For = a.As
	if a.Kind == "submit" {
		opened := d.api.Pending(a.Message)
		if opened == nil || opened.Answer().Modal == nil {
			return Result{}, errNoSuchMessage
		}
		submitted := opened.Submit(a.Values)
		if submitted.UserID != i.UserID {
			return Result{}, errNoSuchMessage
		}
		i.Modal, i.On = submitted.Modal, submitted.On
	} else {
		if !d.feed.pressable(Discord, a.Message, a.Chat, a.As) {
			return Result{}, errNoSuchMessage
		}
		i.Button, i.On = a.Button, &discordtest.Message{ID: a.Message}
	}
	p, deliver := d.api.Keep(i)
	return d.deliver(p, deliver, a.Message, about), nil
}

// deliver has the bot told of an interaction that began at a message, and says so
// if it does not respond.
func (d *discordSide) deliver(p *discordtest.Pending, deliver func() error, began string, where Event) Result {
	fail := func() {
		d.feed.put(Event{Kind: KindFailed, Side: Discord, Chat: where.Chat, For: where.For, From: Bot, ID: "failed-" + p.ID, ReplyTo: began}, nil)
	}
	if deliver() != nil {
		fail()
	} else {
		time.AfterFunc(firstResponse, func() {
			if p.Answer().First == 0 {
				fail()
			}
		})
	}
	return Result{Asked: map[string]string{Discord: p.ID}}
}

// complete asks for choices for the option that is being typed.
func (d *discordSide) complete(ctx context.Context, a Act, by asker, i discordtest.Interaction) (Result, error) {
	none := Result{Choices: encoded([]string{})}
	if !strings.HasPrefix(a.Text, "/") {
		return none, nil
	}
	if word, is := strings.CutPrefix(a.Text[strings.LastIndex(a.Text, " ")+1:], "@"); is {
		return d.somebody(word), nil
	}
	line, hint := read(a.Text, d.commands(by, a.Chat), d.people)
	if hint != "" {
		return none, nil
	}
	o, known := line.focused()
	switch {
	case !known:
		return none, nil
	case o.person():
		return d.somebody(""), nil
	case !o.Autocomplete:
		return none, nil
	}
	i.Command, i.Options, i.Users, i.Focused = line.command.Name, line.texts, line.users, o.Name
	p, deliver := d.api.Keep(i)
	if deliver() != nil {
		return none, nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstResponse)
	defer cancel()
	answer, err := p.First(ctx)
	if err != nil || answer.Choices == nil {
		return none, nil
	}
	return Result{Choices: encoded(answer.Choices)}, nil
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

// commands are those that an asker is offered in a chat.
func (d *discordSide) commands(by asker, chat string) []slashCommand {
	var all, offered []slashCommand
	_ = json.Unmarshal(encoded(d.api.Commands("")), &all) // whose form was checked
	for _, c := range all {
		if c.offered(by, chat) {
			offered = append(offered, c)
		}
	}
	return offered
}
