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
	t      *testing.T
	fake   *faketelegram.Server
	hook   string // empty where the bot polls
	judged int    // how much of what was shown
}

func newTelegramCrowd(t *testing.T, s *crowd) *telegramCrowd {
	c := &telegramCrowd{crowd: s, t: t, fake: faketelegram.New(t)}
	moderator := e2etest.TelegramID(s.world.World.Newcomer)
	// The stranger has not started the bot.
	c.fake.Start(e2etest.TelegramID(s.world.World.Registered))
	c.fake.Start(moderator)
	c.fake.Promote(listedGroup, faketelegram.BotID, "administrator")
	c.fake.Promote(listedGroup, moderator, "administrator")
	c.fake.Promote(otherGroup, moderator, "administrator")
	return c
}

func (c *telegramCrowd) actions() map[string]func(*rapid.T, services.Person) {
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

func (c *telegramCrowd) line(rt *rapid.T) string {
	return "/" + strings.Join(rapid.SampledFrom(c.lines()).Draw(rt, "line"), " ")
}

func (c *telegramCrowd) command(rt *rapid.T, p services.Person) {
	m := says(faketelegram.ChatOf(rapid.SampledFrom([]int64{listedGroup, otherGroup, e2etest.TelegramID(p)}).Draw(rt, "chat")), p, c.line(rt))
	if rapid.Bool().Draw(rt, "as a reply") {
		m["reply_to_message"] = faketelegram.Message{"message_id": 1, "chat": m["chat"], "text": "hi",
			"from": faketelegram.Person(e2etest.TelegramID(c.world.World.Registered))}
	}
	c.fake.Push(m)
	c.await(rt)
}

func (c *telegramCrowd) ephemeral(rt *rapid.T, p services.Person) {
	group := rapid.SampledFrom([]int64{listedGroup, otherGroup}).Draw(rt, "group")
	before := len(c.fake.Sent())
	c.fake.PushEphemeral(faketelegram.Text(faketelegram.ChatOf(group), faketelegram.Person(e2etest.TelegramID(p)), c.line(rt)))
	c.await(rt)
	if slices.ContainsFunc(c.fake.Sent()[before:], func(m faketelegram.Sent) bool { return m.Ephemeral != 0 }) {
		c.seen["Telegram: an ephemeral answer"]++
	}
}

// shown draws a message that p can see and that fits, if there is one.
func (c *telegramCrowd) shown(rt *rapid.T, p services.Person, fits func(faketelegram.Sent) bool) (m faketelegram.Sent, ok bool) {
	all := slices.DeleteFunc(c.fake.Sent(), func(m faketelegram.Sent) bool {
		return m.Deleted || m.Reader != 0 && m.Reader != e2etest.TelegramID(p) || !fits(m)
	})
	if len(all) == 0 {
		return m, false
	}
	return all[len(all)-1-rapid.IntRange(0, min(len(all), 20)-1).Draw(rt, "message")], true
}

func (c *telegramCrowd) reply(rt *rapid.T, p services.Person) {
	m, ok := c.shown(rt, p, func(m faketelegram.Sent) bool { return m.Markup.ForceReply && m.ID != 0 })
	if !ok {
		return
	}
	texts := []string{c.world.World.Idle.Hex(), "0x12", "/price", "x"}
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

func (c *telegramCrowd) press(rt *rapid.T, p services.Person) {
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
		reader := c.person("Telegram", strconv.FormatInt(shown.Reader, 10))
		if shown.Reader != 0 && reader == nil {
			rt.Errorf("%s shows something to %d, who has asked nothing: %q", shown.Method, shown.Reader, shown.Text)
			continue
		}
		c.see(rt, "Telegram", shown.Method, reader, shown.Text)
	}
	c.judged = len(all)
}
