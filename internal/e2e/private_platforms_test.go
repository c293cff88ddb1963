package e2e

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/e2etest"
)

// telegramAudience is the people in Telegram.
type telegramAudience struct {
	*audience
	fake    *telegramtest.Server
	hook    string // the webhook; empty if the bot polls
	checked int    // how many of fake.Seen
}

func newTelegramAudience(a *audience, fake *telegramtest.Server) *telegramAudience {
	c := &telegramAudience{audience: a, fake: fake}
	moderator := e2etest.TelegramID(a.fakes.World.Newcomer)
	// The stranger has not started the bot.
	c.fake.Start(e2etest.TelegramID(a.fakes.World.Registered))
	c.fake.Start(moderator)
	c.fake.Promote(listedGroup, faketelegram.BotID, "administrator")
	c.fake.Promote(listedGroup, moderator, "administrator")
	c.fake.Promote(otherGroup, moderator, "administrator")
	c.fake.GrantInvite(members.ID, true)
	c.fake.GrantInvite(stakers.ID, true)
	return c
}

// says returns a message of a person whose language is not the chat's.
func says(chat faketelegram.Chat, p services.Person, text string) faketelegram.Message {
	from := faketelegram.Person(e2etest.TelegramID(p))
	from.Language = "es"
	return faketelegram.Text(chat, from, text)
}

func (c *telegramAudience) text() string { return "/" + strings.Join(c.line(), " ") }

func (c *telegramAudience) command(p services.Person) {
	m := says(faketelegram.ChatOf(pick([]int64{listedGroup, otherGroup, e2etest.TelegramID(p)})), p, c.text())
	if oneIn(2) {
		m["reply_to_message"] = faketelegram.Message{"message_id": 1, "chat": m["chat"], "text": "hi",
			"from": faketelegram.Person(e2etest.TelegramID(c.fakes.World.Registered))}
	}
	c.fake.Push(m)
	c.await()
}

func (c *telegramAudience) ephemeral(p services.Person) {
	before := len(c.fake.Sent())
	group := faketelegram.ChatOf(pick([]int64{listedGroup, otherGroup}))
	c.fake.PushEphemeral(faketelegram.Text(group, faketelegram.Person(e2etest.TelegramID(p)), c.text()))
	c.await()
	if slices.ContainsFunc(c.fake.Sent()[before:], func(m faketelegram.Sent) bool { return m.Ephemeral != 0 }) {
		c.seen["Telegram: an ephemeral answer"]++
	}
}

// shown returns one of the messages that p can see and that fit.
func (c *telegramAudience) shown(p services.Person, fits func(faketelegram.Sent) bool) (m faketelegram.Sent, ok bool) {
	return pickNewest(slices.DeleteFunc(c.fake.Sent(), func(m faketelegram.Sent) bool {
		return m.Deleted || m.Reader != 0 && m.Reader != e2etest.TelegramID(p) || !fits(m)
	}))
}

func (c *telegramAudience) reply(p services.Person) {
	m, ok := c.shown(p, func(m faketelegram.Sent) bool { return m.Markup.ForceReply && m.ID != 0 })
	if !ok {
		return
	}
	texts := []string{c.fakes.World.Idle.Hex(), "0x12", "/price", "x"}
	if m.Reader != 0 {
		texts = append(texts, c.wallet())
	}
	c.fake.Push(says(faketelegram.ChatOf(m.Chat), p, pick(texts)).ReplyingTo(m))
	c.await()
	c.seen["Telegram: a question was answered"]++
}

// buttons returns what the buttons of a message hand back.
func buttons(m faketelegram.Sent) (all []string) {
	for _, b := range slices.Concat(m.Markup.Rows...) {
		if b.Data != "" {
			all = append(all, b.Data)
		}
	}
	return all
}

func (c *telegramAudience) press(p services.Person) {
	m, ok := c.shown(p, func(m faketelegram.Sent) bool { return m.Photo != nil || len(buttons(m)) > 0 })
	if !ok {
		return
	}
	state := c.state(buttons(m))
	if m.Ephemeral != 0 {
		c.fake.PressEphemeral(faketelegram.ChatOf(m.Chat), m.Ephemeral, state)
	} else {
		c.fake.Press(e2etest.TelegramID(p), faketelegram.ChatOf(m.Chat), m.ID, state)
	}
	c.await()
	c.seen["Telegram: a button was pressed"]++
}

// await waits until every update is handled, and checks what was shown since.
func (c *telegramAudience) await() {
	if c.hook != "" {
		for _, body := range c.fake.Dequeue() {
			if status, err := c.fake.Deliver(c.Context(), c.hook, body); err != nil || status != http.StatusOK {
				c.Errorf("a delivery is answered with %d, %v", status, err)
			}
		}
	}
	if !c.fake.WaitAcknowledged(e2etest.Patience) {
		c.Fatalf("%d updates are left", len(c.fake.Pending()))
	}
	all := c.fake.Seen()
	for _, shown := range all[c.checked:] {
		reader := c.person("Telegram", strconv.FormatInt(shown.Reader, 10))
		if shown.Reader != 0 && reader == nil {
			c.Errorf("%s shows something to %d, who has asked nothing: %q", shown.Method, shown.Reader, shown.Text)
			continue
		}
		c.see("Telegram", shown.Method, reader, shown.Text)
	}
	c.checked = len(all)
}

// knock has p ask to join a group, which a member has left before.
func (c *telegramAudience) knock(p services.Person) {
	user, group := faketelegram.Person(e2etest.TelegramID(p)), pick([]faketelegram.Chat{members, stakers})
	c.fake.CloseJoin(group.ID, user.ID, faketelegram.JoinWithdrawn)
	c.fake.Promote(group.ID, user.ID, "left")
	c.fake.RequestJoin(group, user, oneIn(2))
	c.await()
	if all := c.fake.JoinRequests(); len(all[len(all)-1].Answers) > 0 {
		c.seen["Telegram: a request to join was answered"]++
	}
}

// discordAudience is the people in Discord.
type discordAudience struct {
	*audience
	fake     *discordtest.Server
	hook     string           // where interactions are posted; empty with the gateway
	messages []discordMessage // the newest last
}

// discordMessage is a message and the interaction that it answers.
type discordMessage struct {
	fakediscord.Message
	in fakediscord.Interaction
}

// as returns an interaction of the person, in a random place.
func (c *discordAudience) as(p services.Person) fakediscord.Interaction {
	i := fakediscord.Interaction{UserID: p.UID("Discord"), Locale: pick([]string{"en-US", "es-ES", "vi"})}
	i.GuildID = pick([]string{listedServer, otherServer, ""})
	i.UserInstalled = i.GuildID != "" && oneIn(2)
	i.ChannelID = "1400000000000000000" + i.GuildID
	if p.DID == c.fakes.World.Newcomer.DID && i.GuildID != "" {
		i.Permissions = discordgo.PermissionBanMembers
	}
	return i
}

// options are the names of a command's options, by how many are given.
var options = map[string][][]string{
	"staked": {{"wallet"}}, "price": {{"period"}}, "mylogins": {{"page"}},
	"verify": {{"wallet"}, {"user", "wallet"}}, "exists": {{"user"}, {"platform", "uid"}},
}

func (c *discordAudience) command(p services.Person) {
	i, line := c.as(p), c.line()
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
	c.ask(i)
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
func (c *discordAudience) press(p services.Person) {
	m, ok := pickNewest(slices.DeleteFunc(slices.Clone(c.messages), func(m discordMessage) bool {
		return (m.in.GuildID == "" || m.Ephemeral) && m.in.UserID != p.UID("Discord")
	}))
	if !ok {
		return
	}
	c.ask(fakediscord.Interaction{
		Button: c.state(customIDs(m.Message)), On: &m.Message, UserID: p.UID("Discord"),
		GuildID: m.in.GuildID, ChannelID: m.in.ChannelID, UserInstalled: m.in.UserInstalled,
	})
	c.seen["Discord: a button was pressed"]++
}

// ask waits for the answer, and checks what was shown meanwhile.
func (c *discordAudience) ask(i fakediscord.Interaction) {
	ctx, cancel := context.WithTimeout(c.Context(), e2etest.Patience)
	defer cancel()
	var pending *fakediscord.Pending
	var err error
	if c.hook == "" {
		pending, err = c.fake.Push(i)
	} else {
		var body []byte
		pending, body = c.fake.Prepare(i)
		_, err = c.fake.Post(ctx, c.hook, pending, body)
	}
	if err != nil {
		c.Fatalf("%+v: %v", i, err)
	}
	answer, err := pending.Wait(ctx)
	if err != nil {
		c.Fatalf("%+v is not answered: %v", i, err)
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
		c.see("Discord", "a message", reader, m.Everything())
	}
	for _, m := range append(answer.Followups, answer.Message) {
		if m.ID != "" {
			c.messages = append(c.messages, discordMessage{Message: m, in: i})
		}
	}
	if problems := c.fake.Problems(); len(problems) > 0 {
		c.Fatalf("%+v: Discord refuses %s", i, strings.Join(problems, ", "))
	}
}
