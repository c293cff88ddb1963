package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// telegramCrowd is the people in Telegram.
type telegramCrowd struct {
	*crowd
	t    *testing.T
	fake *faketelegram.Server
	hook string // empty where the bot polls
	// judged is how much of what was shown has been judged.
	judged int
}

func newTelegramCrowd(t *testing.T, s *crowd) *telegramCrowd {
	c := &telegramCrowd{crowd: s, t: t, fake: faketelegram.New(t)}
	// The stranger has not started the bot.
	c.fake.Start(e2etest.TelegramID(s.world.World.Registered))
	c.fake.Start(e2etest.TelegramID(s.world.World.Newcomer))
	c.fake.Promote(listedGroup, faketelegram.BotID, "administrator")
	for _, group := range []int64{listedGroup, otherGroup} {
		c.fake.Promote(group, e2etest.TelegramID(s.world.World.Newcomer), "administrator")
	}
	return c
}

func (c *telegramCrowd) actions() map[string]func(*rapid.T, services.Person) {
	return map[string]func(*rapid.T, services.Person){
		"a command":             c.command,
		"an ephemeral command":  c.ephemeral,
		"a reply to a question": c.reply,
		"a press":               c.press,
		"a press of an ephemeral answer": func(rt *rapid.T, _ services.Person) {
			c.pressEphemeral(rt)
		},
		"a forged press":  c.forge,
		"an inline query": c.inline,
	}
}

// where is a group or the person's private chat.
func (c *telegramCrowd) where(rt *rapid.T, p services.Person) faketelegram.Chat {
	private := e2etest.TelegramID(p)
	at := rapid.SampledFrom([]int64{listedGroup, otherGroup, private}).Draw(rt, "chat")
	if at == private {
		return faketelegram.Private(private)
	}
	return faketelegram.Group(at)
}

// says is a message of a person who reads another language than the chat does.
func says(chat faketelegram.Chat, p services.Person, text string) faketelegram.Message {
	m := faketelegram.Text(chat, faketelegram.Person(e2etest.TelegramID(p)), text)
	m["from"] = map[string]any{"id": e2etest.TelegramID(p), "is_bot": false, "first_name": "Somebody", "language_code": "es"}
	return m
}

func (c *telegramCrowd) line(rt *rapid.T) string {
	return "/" + strings.Join(rapid.SampledFrom(c.lines()).Draw(rt, "line"), " ")
}

func (c *telegramCrowd) command(rt *rapid.T, p services.Person) {
	m := says(c.where(rt, p), p, c.line(rt))
	if rapid.Bool().Draw(rt, "as a reply") {
		m["reply_to_message"] = faketelegram.Message{"message_id": 1, "chat": m["chat"], "text": "hi",
			"from": faketelegram.Person(e2etest.TelegramID(c.world.World.Registered))}
	}
	c.fake.Push(m)
	c.await(rt)
}

func (c *telegramCrowd) ephemeral(rt *rapid.T, p services.Person) {
	group := rapid.SampledFrom([]int64{listedGroup, otherGroup}).Draw(rt, "group")
	m := faketelegram.Text(faketelegram.Group(group), faketelegram.Person(e2etest.TelegramID(p)), c.line(rt))
	before := len(c.fake.Sent())
	c.fake.PushEphemeral(m)
	c.await(rt)
	if slices.ContainsFunc(c.fake.Sent()[before:], func(m faketelegram.Sent) bool { return m.Ephemeral != 0 }) {
		c.seen["Telegram: an ephemeral answer"]++
	}
}

// shown draws a message that is there for p and that fits, if there is one.
func (c *telegramCrowd) shown(rt *rapid.T, p services.Person, fits func(faketelegram.Sent) bool) (m faketelegram.Sent, ok bool) {
	all := slices.DeleteFunc(c.fake.Sent(), func(m faketelegram.Sent) bool {
		return m.Deleted || m.Reader != 0 && m.Reader != e2etest.TelegramID(p) || !fits(m)
	})
	if len(all) == 0 {
		return m, false
	}
	return all[len(all)-1-rapid.IntRange(0, min(len(all), 20)-1).Draw(rt, "message")], true
}

func chatOf(m faketelegram.Sent) faketelegram.Chat {
	if m.Chat > 0 {
		return faketelegram.Private(m.Chat)
	}
	return faketelegram.Group(m.Chat)
}

func (c *telegramCrowd) reply(rt *rapid.T, p services.Person) {
	asks := func(m faketelegram.Sent) bool { return m.Markup.ForceReply && m.ID != 0 }
	m, ok := c.shown(rt, p, asks)
	if !ok {
		return
	}
	said := []string{c.world.World.Idle.Hex(), "0x12", "/price", "x"}
	if m.Reader != 0 {
		said = append(said, askedPrivately(c.world.World))
	}
	c.fake.Push(says(chatOf(m), p, rapid.SampledFrom(said).Draw(rt, "text")).ReplyingTo(m))
	c.await(rt)
	c.seen["Telegram: a question was answered"]++
}

// data are what the buttons of a message hand back.
func data(m faketelegram.Sent) []string {
	var all []string
	for _, row := range m.Markup.Rows {
		for _, b := range row {
			if b.Data != "" {
				all = append(all, b.Data)
			}
		}
	}
	return all
}

func (c *telegramCrowd) press(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m faketelegram.Sent) bool { return m.ID != 0 && len(data(m)) > 0 })
	if !ok {
		return
	}
	c.fake.Press(e2etest.TelegramID(p), chatOf(m), m.ID, rapid.SampledFrom(data(m)).Draw(rt, "button"))
	c.await(rt)
	c.seen["Telegram: a button was pressed"]++
}

func (c *telegramCrowd) pressEphemeral(rt *rapid.T) {
	for _, m := range slices.Backward(c.fake.Sent()) {
		if m.Ephemeral != 0 && !m.Deleted && len(data(m)) > 0 {
			c.fake.PressEphemeral(chatOf(m), m.Ephemeral, rapid.SampledFrom(data(m)).Draw(rt, "button"))
			c.await(rt)
			return
		}
	}
}

func (c *telegramCrowd) forge(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m faketelegram.Sent) bool { return m.ID != 0 })
	if !ok {
		return
	}
	state := rapid.SampledFrom(c.forged()).Draw(rt, "state")
	c.fake.Press(e2etest.TelegramID(p), chatOf(m), m.ID, state)
	c.await(rt)
}

func (c *telegramCrowd) inline(rt *rapid.T, p services.Person) {
	query := rapid.SampledFrom([]string{
		"", "price", "price 7d", "supply", c.world.World.Idle.Hex(), "mylogins", "exists", "verify " + c.world.World.Idle.Hex(), "exists 12", strings.Repeat("x", 256),
	}).Draw(rt, "query")
	before := len(c.fake.InlineAnswers())
	id := c.fake.Inline(e2etest.TelegramID(p), query, "")
	c.await(rt)
	for _, a := range c.fake.InlineAnswers()[before:] {
		if a.QueryID != id || len(a.Results) == 0 {
			continue
		}
		c.seen["Telegram: an inline result"]++
		m, sent := c.fake.Choose(id, rapid.SampledFrom(a.Results).Draw(rt, "result").ID, faketelegram.Group(listedGroup))
		if sent && len(data(m)) > 0 {
			c.fake.PressInline(e2etest.TelegramID(p), m.Inline, rapid.SampledFrom(data(m)).Draw(rt, "button"))
			c.await(rt)
		}
	}
}

// await has what is queued answered, and judges what was shown since.
func (c *telegramCrowd) await(rt *rapid.T) {
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
		var reader *services.Person
		for _, p := range c.people() {
			if shown.Reader != 0 && p.UID("Telegram") == strconv.FormatInt(shown.Reader, 10) {
				reader = &p
			}
		}
		if shown.Reader != 0 && reader == nil {
			rt.Errorf("%s shows something to %d, who has asked nothing: %q", shown.Method, shown.Reader, shown.Text)
			continue
		}
		c.see(rt, "Telegram", shown.Method, reader, shown.Text)
	}
	c.judged = len(all)
}
