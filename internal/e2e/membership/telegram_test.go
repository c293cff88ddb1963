package membership

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// commandOnTelegram makes a person send a text in a group, or in private if group is "". It blocks until the
// bot sends a message in the same chat, for at most answerTime, and returns that message.
func (w *world) commandOnTelegram(p *person, group, text string) (*card, bool) {
	to := faketelegram.Private(number(p.id))
	if group != "" {
		to = faketelegram.Group(number(group))
	}
	m := faketelegram.Text(to, faketelegram.Person(number(p.id)), text)
	if group != "" {
		if tag := w.telegram.Tag(to.ID, number(p.id)); tag != "" {
			m["sender_tag"] = tag // Messages in groups include the sender's tag.
		}
	}
	before := len(w.telegram.Sent())
	if !w.deliver(w.telegram.Update(m)) {
		return &card{}, false
	}
	return w.awaitSent(to.ID, before)
}

// awaitSent blocks until the bot sends a message to a chat, for at most answerTime. It ignores the
// first n messages that the bot has sent anywhere.
func (w *world) awaitSent(chat int64, n int) (*card, bool) {
	return w.awaitCard(func() *faketelegram.Sent { return firstIn(w.telegram.Sent()[n:], chat) })
}

// awaitCard blocks until find returns a message, for at most answerTime, and returns the message as a card.
func (w *world) awaitCard(find func() *faketelegram.Sent) (c *card, found bool) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	c = &card{}
	err := w.telegram.Wait(ctx, func() bool {
		m := find()
		if m != nil {
			c = telegramCard(*m)
		}
		return m != nil
	})
	return c, err == nil
}

// firstIn returns the first message in a chat that is not deleted, or nil.
func firstIn(all []faketelegram.Sent, chat int64) *faketelegram.Sent {
	i := slices.IndexFunc(all, func(m faketelegram.Sent) bool { return m.Chat == chat && !m.Deleted })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// telegramCard returns a message as a card.
func telegramCard(m faketelegram.Sent) *card {
	c := &card{message: m.ID, text: m.Text}
	for _, b := range slices.Concat(m.Markup.Rows...) {
		c.states = append(c.states, b.Data)
	}
	return c
}

// pressOnTelegram makes a person press the button with this state below a card in their private chat. It
// blocks until the bot edits the card or sends another message there, for at most answerTime, and returns the
// edited card or that message.
func (w *world) pressOnTelegram(p *person, c *card, state string) (*card, bool) {
	private := faketelegram.Private(number(p.id))
	before := w.telegram.Sent()
	editsBefore := editsOf(before, private.ID, c.message)
	press := w.takePress(p, private, c.message, state)
	if press == nil || !w.deliver(press) {
		return &card{}, false
	}
	return w.awaitCard(func() *faketelegram.Sent {
		all := w.telegram.Sent()
		pressed := findMessage(all, private.ID, c.message)
		if pressed != nil && pressed.Edits > editsBefore {
			return pressed
		}
		return firstIn(all[len(before):], private.ID)
	})
}

// takePress presses a button and returns the update that Telegram is to deliver, or nil if there is none.
func (w *world) takePress(p *person, chat faketelegram.Chat, message int64, state string) []byte {
	w.pressing.Lock()
	defer w.pressing.Unlock()
	w.telegram.Press(number(p.id), chat, message, state)
	updates := w.telegram.Dequeue()
	if len(updates) != 1 {
		return nil
	}
	return updates[0]
}

// findMessage returns the message with this ID in a chat, or nil.
func findMessage(all []faketelegram.Sent, chat, id int64) *faketelegram.Sent {
	i := slices.IndexFunc(all, func(m faketelegram.Sent) bool { return m.ID == id && m.Chat == chat })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// editsOf returns how often a message was edited, 0 if there is no such message.
func editsOf(all []faketelegram.Sent, chat, id int64) int {
	m := findMessage(all, chat, id)
	if m == nil {
		return 0
	}
	return m.Edits
}

// number returns an ID of Telegram as a number. It panics if the ID is not a number.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// deliver posts an update every second until a process takes it, as Telegram does, for at most answerTime.
func (w *world) deliver(body []byte) (taken bool) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		client := w.client()
		if client != nil && post(ctx, client, body) {
			return true
		}
	}
	return false
}

// post posts an update once, and reports whether the response is 200.
func post(ctx context.Context, client *http.Client, body []byte) bool {
	const webhook = "http://bot" + e2etest.WebhookPath
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, webhook, bytes.NewReader(body))
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", e2etest.WebhookSecret)
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
