package e2e

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"pgregory.net/rapid"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// telegramAudience is the people in Telegram.
type telegramAudience struct {
	*audience
	t      *testing.T
	fake   *faketelegram.Server
	hook   string // empty where the bot polls
	judged int    // how much of what was shown
}

func newTelegramAudience(t *testing.T, a *audience) *telegramAudience {
	c := &telegramAudience{audience: a, t: t, fake: faketelegram.New(t)}
	moderator := e2etest.TelegramID(a.fakes.World.Newcomer)
	// The stranger has not started the bot.
	c.fake.Start(e2etest.TelegramID(a.fakes.World.Registered))
	c.fake.Start(moderator)
	c.fake.Promote(listedGroup, faketelegram.BotID, "administrator")
	c.fake.Promote(listedGroup, moderator, "administrator")
	c.fake.Promote(otherGroup, moderator, "administrator")
	return c
}

func (c *telegramAudience) actions() map[string]func(*rapid.T, services.Person) {
	return map[string]func(*rapid.T, services.Person){
		"telegram: a command":             c.command,
		"telegram: an ephemeral command":  c.ephemeral,
		"telegram: a reply to a question": c.reply,
		"telegram: a press":               c.press,
	}
}

// says is a message of a person who reads another language than the chat does.
func says(chat faketelegram.Chat, p services.Person, text string) faketelegram.Message {
	from := faketelegram.Person(e2etest.TelegramID(p))
	from.Language = "es"
	return faketelegram.Text(chat, from, text)
}

func (c *telegramAudience) line(rt *rapid.T) string {
	return "/" + strings.Join(rapid.SampledFrom(c.lines()).Draw(rt, "line"), " ")
}

func (c *telegramAudience) command(rt *rapid.T, p services.Person) {
	m := says(faketelegram.ChatOf(rapid.SampledFrom([]int64{listedGroup, otherGroup, e2etest.TelegramID(p)}).Draw(rt, "chat")), p, c.line(rt))
	if rapid.Bool().Draw(rt, "as a reply") {
		m["reply_to_message"] = faketelegram.Message{"message_id": 1, "chat": m["chat"], "text": "hi",
			"from": faketelegram.Person(e2etest.TelegramID(c.fakes.World.Registered))}
	}
	c.fake.Push(m)
	c.await(rt)
}

func (c *telegramAudience) ephemeral(rt *rapid.T, p services.Person) {
	group := rapid.SampledFrom([]int64{listedGroup, otherGroup}).Draw(rt, "group")
	before := len(c.fake.Sent())
	c.fake.PushEphemeral(faketelegram.Text(faketelegram.ChatOf(group), faketelegram.Person(e2etest.TelegramID(p)), c.line(rt)))
	c.await(rt)
	if slices.ContainsFunc(c.fake.Sent()[before:], func(m faketelegram.Sent) bool { return m.Ephemeral != 0 }) {
		c.seen["Telegram: an ephemeral answer"]++
	}
}

// shown draws a message that p can see and that fits, if there is one.
func (c *telegramAudience) shown(rt *rapid.T, p services.Person, fits func(faketelegram.Sent) bool) (m faketelegram.Sent, ok bool) {
	all := slices.DeleteFunc(c.fake.Sent(), func(m faketelegram.Sent) bool {
		return m.Deleted || m.Reader != 0 && m.Reader != e2etest.TelegramID(p) || !fits(m)
	})
	if len(all) == 0 {
		return m, false
	}
	return all[len(all)-1-rapid.IntRange(0, min(len(all), 20)-1).Draw(rt, "message")], true
}

func (c *telegramAudience) reply(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m faketelegram.Sent) bool { return m.Markup.ForceReply && m.ID != 0 })
	if !ok {
		return
	}
	texts := []string{c.fakes.World.Idle.Hex(), "0x12", "/price", "x"}
	if m.Reader != 0 {
		texts = append(texts, c.wallet())
	}
	c.fake.Push(says(faketelegram.ChatOf(m.Chat), p, rapid.SampledFrom(texts).Draw(rt, "text")).ReplyingTo(m))
	c.await(rt)
	c.seen["Telegram: a question was answered"]++
}

// buttons are what the buttons of a message hand back.
func buttons(m faketelegram.Sent) (all []string) {
	for _, b := range slices.Concat(m.Markup.Rows...) {
		if b.Data != "" {
			all = append(all, b.Data)
		}
	}
	return all
}

func (c *telegramAudience) press(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m faketelegram.Sent) bool { return m.Photo != nil || len(buttons(m)) > 0 })
	if !ok {
		return
	}
	state := rapid.SampledFrom(c.states(rt, buttons(m))).Draw(rt, "state")
	if m.Ephemeral != 0 {
		c.fake.PressEphemeral(faketelegram.ChatOf(m.Chat), m.Ephemeral, state)
	} else {
		c.fake.Press(e2etest.TelegramID(p), faketelegram.ChatOf(m.Chat), m.ID, state)
	}
	c.await(rt)
	c.seen["Telegram: a button was pressed"]++
}

// await has what is queued handled, and judges what was shown since.
func (c *telegramAudience) await(rt *rapid.T) {
	if c.hook != "" {
		for _, body := range c.fake.Dequeue() {
			if status, err := c.fake.Deliver(c.t.Context(), c.hook, body); err != nil || status != http.StatusOK {
				rt.Errorf("a delivery is answered with %d, %v", status, err)
			}
		}
	}
	if !c.fake.WaitAcknowledged(e2etest.Patience) {
		rt.Fatalf("%d updates are left", len(c.fake.Pending()))
	}
	all := c.fake.Seen()
	for _, shown := range all[c.judged:] {
		reader := c.person("Telegram", strconv.FormatInt(shown.Reader, 10))
		if shown.Reader != 0 && reader == nil {
			rt.Errorf("%s shows something to %d, who has asked nothing: %q", shown.Method, shown.Reader, shown.Text)
			continue
		}
		c.see(rt, "Telegram", shown.Method, reader, shown.Text)
	}
	c.judged = len(all)
}

// discordAudience is the people in Discord.
type discordAudience struct {
	*audience
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

func (c *discordAudience) actions() map[string]func(*rapid.T, services.Person) {
	return map[string]func(*rapid.T, services.Person){
		"discord: a command": c.command, "discord: a press": c.press,
	}
}

// as is an interaction of the person, somewhere.
func (c *discordAudience) as(rt *rapid.T, p services.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: p.UID("Discord"), Locale: rapid.SampledFrom([]string{"en-US", "es-ES", "vi"}).Draw(rt, "locale")}
	i.GuildID = rapid.SampledFrom([]string{listedServer, otherServer, ""}).Draw(rt, "server")
	i.UserInstalled = i.GuildID != "" && rapid.Bool().Draw(rt, "user-installed")
	i.ChannelID = "1400000000000000000" + i.GuildID
	if p.DID == c.fakes.World.Newcomer.DID && i.GuildID != "" {
		i.Permissions = discordgo.PermissionBanMembers
	}
	return i
}

// options are the names of a command's options, where so many are given.
var options = map[string][][]string{
	"staked": {{"wallet"}}, "price": {{"period"}}, "mylogins": {{"page"}},
	"verify": {{"wallet"}, {"user", "wallet"}}, "exists": {{"user"}, {"platform", "uid"}},
}

func (c *discordAudience) command(rt *rapid.T, p services.Person) {
	i, line := c.as(rt, p), rapid.SampledFrom(c.lines()).Draw(rt, "line")
	i.Command, i.Options, i.Users = line[0], map[string]string{}, map[string]string{}
	registered := c.fakes.World.Registered.UID("Discord")
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
func (c *discordAudience) press(rt *rapid.T, p services.Person) {
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
func (c *discordAudience) ask(rt *rapid.T, i fakediscord.Interaction) {
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
