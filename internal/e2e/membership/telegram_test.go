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

// number returns an ID of Telegram.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// deliver posts an update until a process takes it, as Telegram does, or answerTime is over.
func (w *world) deliver(body []byte) (taken bool) {
	for end := time.Now().Add(answerTime); time.Now().Before(end); time.Sleep(time.Second) {
		client := w.client()
		if client == nil {
			continue
		}
		ctx, cancel := context.WithDeadline(context.Background(), end)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://bot"+e2etest.WebhookPath, bytes.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", e2etest.WebhookSecret)
		resp, err := client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		cancel()
		if err == nil && resp.StatusCode == http.StatusOK {
			return true
		}
	}
	return false
}

// commandOnTelegram has a person send a text in a group, or privately with "". Answers in
// groups are not read: what is private there comes to the private chat.
func (w *world) commandOnTelegram(p *person, group, text string) (*card, bool) {
	to := faketelegram.Private(number(p.id))
	if group != "" {
		to = faketelegram.Group(number(group))
	}
	m := faketelegram.Text(to, faketelegram.Person(number(p.id)), text)
	if group != "" {
		if tag := w.telegram.Tag(to.ID, number(p.id)); tag != "" {
			m["sender_tag"] = tag
		}
	}
	before := len(w.telegram.Sent())
	if !w.deliver(w.telegram.Update(m)) {
		return &card{}, false
	}
	return w.awaitSent(to.ID, before)
}

// awaitSent blocks until a message stands in a chat that came after the first n of all, or
// until answerTime is over.
func (w *world) awaitSent(to int64, n int) (*card, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	c := &card{}
	err := w.telegram.Wait(ctx, func() bool { return c.stands(to, w.telegram.Sent()[n:]) })
	return c, err == nil
}

// stands makes c the first message that stands in a chat, and reports whether there is one.
func (c *card) stands(in int64, all []faketelegram.Sent) bool {
	i := slices.IndexFunc(all, func(m faketelegram.Sent) bool { return m.Chat == in && !m.Deleted })
	if i >= 0 {
		*c = *telegramCard(all[i])
	}
	return i >= 0
}

func telegramCard(m faketelegram.Sent) *card {
	c := &card{message: m.ID, text: m.Text}
	for _, b := range slices.Concat(m.Markup.Rows...) {
		c.states = append(c.states, b.Data)
	}
	return c
}

// pressOnTelegram has a person press a button of a card in their private chat.
func (w *world) pressOnTelegram(p *person, c *card, state string) (*card, bool) {
	private := faketelegram.Private(number(p.id))
	before := w.telegram.Sent()
	edits := func(all []faketelegram.Sent) (n int, now *card) {
		for _, m := range all {
			if m.ID == c.message && m.Chat == private.ID {
				return m.Edits, telegramCard(m)
			}
		}
		return 0, nil
	}
	then, _ := edits(before)
	var body []byte
	w.pressing.Lock() // Dequeue returns the presses of all.
	w.telegram.Press(number(p.id), private, c.message, state)
	if bodies := w.telegram.Dequeue(); len(bodies) == 1 {
		body = bodies[0]
	}
	w.pressing.Unlock()
	if body == nil || !w.deliver(body) {
		return &card{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	result := &card{}
	err := w.telegram.Wait(ctx, func() bool {
		all := w.telegram.Sent()
		now, edited := edits(all)
		if now > then {
			result = edited
			return true
		}
		return result.stands(private.ID, all[len(before):])
	})
	return result, err == nil
}
