package e2e

import (
	"context"
	"encoding/json"
	"fmt"
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
	t    *testing.T
	fake *fakediscord.Server
	hook string // empty where the bot is at the gateway
	// messages are those that can be pressed, the newest last.
	messages []discordMessage
	// modals are those that can be sent.
	modals []*fakediscord.Pending
	menus  bool // judged already
}

// discordMessage is a message and where it stands.
type discordMessage struct {
	fakediscord.Message
	in fakediscord.Interaction
}

func newDiscordCrowd(t *testing.T, s *crowd) *discordCrowd {
	return &discordCrowd{crowd: s, t: t, fake: e2etest.Discord(t)}
}

func (c *discordCrowd) actions() map[string]func(*rapid.T, services.Person) {
	return map[string]func(*rapid.T, services.Person){
		"a command":       c.command,
		"a person's menu": c.personMenu,
		"a press":         c.press,
		"a forged press":  c.forge,
		"a modal":         c.submit,
		"choices":         c.choices,
	}
}

// as is an interaction of the person, somewhere.
func (c *discordCrowd) as(rt *rapid.T, p services.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: p.UID("Discord"), Locale: rapid.SampledFrom([]string{"en-US", "es-ES", "vi"}).Draw(rt, "locale")}
	switch rapid.SampledFrom([]string{"listed", "other", "private", "installed"}).Draw(rt, "place") {
	case "listed":
		i.GuildID = listedServer
	case "other":
		i.GuildID = otherServer
	case "installed":
		i.GuildID, i.UserInstalled = listedServer, true
	}
	i.ChannelID = "1400000000000000000" + i.GuildID
	if p.DID == c.world.World.Newcomer.DID && i.GuildID != "" {
		i.Permissions = discordgo.PermissionBanMembers
	}
	return i
}

// names are the options of a command with so many words.
func names(line []string) []string {
	switch {
	case line[0] == "staked":
		return []string{"wallet"}
	case line[0] == "price":
		return []string{"period"}
	case line[0] == "mylogins":
		return []string{"page"}
	case line[0] == "verify" && len(line) == 2:
		return []string{"wallet"}
	case line[0] == "verify":
		return []string{"user", "wallet"}
	case len(line) == 3:
		return []string{"platform", "uid"}
	}
	return []string{"user"}
}

func (c *discordCrowd) command(rt *rapid.T, p services.Person) {
	i, line := c.as(rt, p), rapid.SampledFrom(c.lines()).Draw(rt, "line")
	i.Command, i.Options, i.Users = line[0], map[string]string{}, map[string]string{}
	for n, word := range line[1:] {
		if name := names(line)[n]; name == "user" {
			i.Users[name] = c.world.World.Registered.UID("Discord")
		} else {
			i.Options[name] = word
		}
	}
	c.ask(rt, i)
}

func (c *discordCrowd) personMenu(rt *rapid.T, p services.Person) {
	i := c.as(rt, p)
	i.Command, i.Target = "Check registration", c.world.World.Registered.UID("Discord")
	c.ask(rt, i)
}

// shown draws a message that p can see and that has the buttons asked for.
func (c *discordCrowd) shown(rt *rapid.T, p services.Person, fits func(fakediscord.Message) bool) (m discordMessage, ok bool) {
	var all []discordMessage
	for _, m := range c.messages {
		direct := m.in.GuildID == "" || m.Ephemeral
		if (!direct || m.in.UserID == p.UID("Discord")) && fits(m.Message) {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return m, false
	}
	return all[len(all)-1-rapid.IntRange(0, min(len(all), 20)-1).Draw(rt, "message")], true
}

func customIDs(m fakediscord.Message) []string {
	var all []string
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.CustomID != "" {
				all = append(all, b.CustomID)
			}
		}
	}
	return all
}

// on is a press of a button under m by p.
func (m discordMessage) on(p services.Person, button string) fakediscord.Interaction {
	return fakediscord.Interaction{Button: button, On: &m.Message, UserID: p.UID("Discord"),
		GuildID: m.in.GuildID, ChannelID: m.in.ChannelID, UserInstalled: m.in.UserInstalled}
}

func (c *discordCrowd) press(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m fakediscord.Message) bool { return len(customIDs(m)) > 0 })
	if !ok {
		return
	}
	c.ask(rt, m.on(p, rapid.SampledFrom(customIDs(m.Message)).Draw(rt, "button")))
	c.seen["Discord: a button was pressed"]++
}

func (c *discordCrowd) forge(rt *rapid.T, p services.Person) {
	if m, ok := c.shown(rt, p, func(fakediscord.Message) bool { return true }); ok {
		c.ask(rt, m.on(p, strings.ToValidUTF8(rapid.SampledFrom(c.forged()).Draw(rt, "state"), "?")))
	}
}

func (c *discordCrowd) submit(rt *rapid.T, _ services.Person) {
	if len(c.modals) == 0 {
		return
	}
	asked := c.modals[len(c.modals)-1]
	values := map[string]string{}
	for _, input := range asked.Answer().Modal.Inputs {
		values[input.CustomID] = rapid.SampledFrom([]string{c.world.World.Idle.Hex(), "0x12"}).Draw(rt, "value")
	}
	c.ask(rt, asked.Submit(values))
	c.seen["Discord: a modal was sent"]++
}

func (c *discordCrowd) choices(rt *rapid.T, p services.Person) {
	i := c.as(rt, p)
	i.Command, i.Focused = "exists", "platform"
	i.Options = map[string]string{"platform": rapid.SampledFrom([]string{"", "t", "Zz"}).Draw(rt, "typed")}
	c.ask(rt, i)
}

// ask waits for the answer and judges all that was shown meanwhile.
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
	asker := c.person(i.UserID)
	for _, m := range pending.Shown() {
		reader := asker
		switch {
		case m.Ephemeral:
			reader = c.person(m.SeenBy)
		case i.GuildID != "":
			reader = nil
		}
		for n := range m.Attachments {
			m.Attachments[n].Bytes = nil // a picture
		}
		c.see(rt, "Discord", "a message", reader, everything(m))
	}
	c.see(rt, "Discord", "a modal or choices", asker, everything([]any{answer.Modal, answer.Choices}))
	if !c.menus {
		c.menus = true
		c.see(rt, "Discord", "a menu", nil, everything(c.fake.Commands("")))
	}
	if answer.Modal != nil {
		c.modals = append(c.modals, pending)
	}
	for _, m := range append(answer.Followups, answer.Message) {
		if m.ID != "" {
			c.messages = append(c.messages, discordMessage{m, i})
		}
	}
	if problems := c.fake.Problems(); len(problems) > 0 {
		rt.Fatalf("%+v: Discord refuses %v", i, problems)
	}
}

func (c *discordCrowd) person(uid string) *services.Person {
	for _, p := range c.people() {
		if p.UID("Discord") == uid {
			return &p
		}
	}
	panic("nobody has the ID " + uid)
}

// everything is all text of a message, of hidden parts as well.
func everything(shown any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shown); err != nil {
		panic(fmt.Sprint("what Discord shows is not JSON: ", err))
	}
	return text.String()
}
