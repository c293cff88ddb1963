package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"pgregory.net/rapid"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	"herald/internal/e2e/e2etest"
)

// discordCrowd is the people in Discord.
type discordCrowd struct {
	*crowd
	t        *testing.T
	fake     *fakediscord.Server
	hook     string           // empty where the bot is at the gateway
	messages []discordMessage // that can be pressed, the newest last
}

// discordMessage is a message and what it answers.
type discordMessage struct {
	fakediscord.Message
	in fakediscord.Interaction
}

func (c *discordCrowd) actions() map[string]func(*rapid.T, services.Person) {
	return map[string]func(*rapid.T, services.Person){
		"discord: a command": c.command, "discord: a press": c.press,
	}
}

// as is an interaction of the person, somewhere.
func (c *discordCrowd) as(rt *rapid.T, p services.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: p.UID("Discord"), Locale: rapid.SampledFrom([]string{"en-US", "es-ES", "vi"}).Draw(rt, "locale")}
	i.GuildID = rapid.SampledFrom([]string{listedServer, otherServer, ""}).Draw(rt, "server")
	i.UserInstalled = i.GuildID != "" && rapid.Bool().Draw(rt, "user-installed")
	i.ChannelID = "1400000000000000000" + i.GuildID
	if p.DID == c.world.World.Newcomer.DID && i.GuildID != "" {
		i.Permissions = discordgo.PermissionBanMembers
	}
	return i
}

// options are the names of a command's options, where so many are given.
var options = map[string][][]string{
	"staked": {{"wallet"}}, "price": {{"period"}}, "mylogins": {{"page"}},
	"verify": {{"wallet"}, {"user", "wallet"}}, "exists": {{"user"}, {"platform", "uid"}},
}

func (c *discordCrowd) command(rt *rapid.T, p services.Person) {
	i, line := c.as(rt, p), rapid.SampledFrom(c.lines()).Draw(rt, "line")
	i.Command, i.Options, i.Users = line[0], map[string]string{}, map[string]string{}
	registered := c.world.World.Registered.UID("Discord")
	for n, word := range line[1:] {
		if name := options[line[0]][len(line)-2][n]; name == "user" {
			i.Users[name] = registered
		} else {
			i.Options[name] = word
		}
	}
	if line[0] == "moon" { // in place of a command that Discord does not know
		i.Command, i.Target = "Check registration", registered
	}
	c.ask(rt, i)
}

func customIDs(m fakediscord.Message) (all []string) {
	for _, b := range slices.Concat(m.Buttons...) {
		if b.CustomID != "" {
			all = append(all, b.CustomID)
		}
	}
	return all
}

// press has p press a button of a message that they can see.
func (c *discordCrowd) press(rt *rapid.T, p services.Person) {
	all := slices.DeleteFunc(slices.Clone(c.messages), func(m discordMessage) bool {
		return (m.in.GuildID == "" || m.Ephemeral) && m.in.UserID != p.UID("Discord")
	})
	if len(all) == 0 {
		return
	}
	m := all[len(all)-1-rapid.IntRange(0, min(len(all), 20)-1).Draw(rt, "message")]
	c.ask(rt, fakediscord.Interaction{
		Button: rapid.SampledFrom(c.states(rt, customIDs(m.Message))).Draw(rt, "state"), On: &m.Message, UserID: p.UID("Discord"),
		GuildID: m.in.GuildID, ChannelID: m.in.ChannelID, UserInstalled: m.in.UserInstalled,
	})
	c.seen["Discord: a button was pressed"]++
}

// ask waits for the answer and judges what was shown meanwhile.
func (c *discordCrowd) ask(rt *rapid.T, i fakediscord.Interaction) {
	ctx, cancel := context.WithTimeout(c.t.Context(), e2etest.Patience)
	defer cancel()
	var pending *fakediscord.Pending
	var err error
	if c.hook == "" {
		pending, err = c.fake.Push(i)
	} else {
		pending, _, err = c.fake.Post(ctx, c.hook, i)
	}
	if err != nil {
		rt.Fatalf("%+v: %v", i, err)
	}
	answer, err := pending.Wait(ctx)
	if err != nil {
		rt.Fatalf("%+v is not answered: %v", i, err)
	}
	user := c.person("Discord", i.UserID)
	for _, m := range pending.Shown() {
		reader := user
		switch {
		case m.Ephemeral:
			reader = c.person("Discord", m.SeenBy)
		case i.GuildID != "":
			reader = nil
		}
		c.see(rt, "Discord", "a message", reader, m.Everything())
	}
	for _, m := range append(answer.Followups, answer.Message) {
		if m.ID != "" {
			c.messages = append(c.messages, discordMessage{Message: m, in: i})
		}
	}
	if problems := c.fake.Problems(); len(problems) > 0 {
		rt.Fatalf("%+v: Discord refuses %s", i, strings.Join(problems, ", "))
	}
}
