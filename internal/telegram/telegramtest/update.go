package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"
)

// User is a person in an update.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
}

// Chat is where a message stands: "private", "group", "supergroup", "channel".
type Chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

// Private is the private chat of a user with the bot.
func Private(user int64) Chat { return Chat{user, "private"} }

// Group is a supergroup.
func Group(id int64) Chat { return Chat{id, "supergroup"} }

// Person is a user who is not a bot.
func Person(id int64) User { return User{ID: id, FirstName: "Somebody"} }

// Message is a message as it stands in an update; further fields, like
// "reply_to_message", are added to it.
type Message map[string]any

// Text is a message with an entity for each bot command in it, as Telegram
// marks them.
func Text(chat Chat, from User, text string) Message {
	m := Message{"date": 1750000000, "chat": chat, "from": from, "text": text}
	var entities []Entity
	offset := 0
	for _, word := range strings.SplitAfter(text, " ") {
		bare := strings.TrimSpace(word)
		if len(bare) > 1 && bare[0] == '/' {
			entities = append(entities, Entity{"bot_command", offset, len(utf16.Encode([]rune(bare)))})
		}
		offset += len(utf16.Encode([]rune(word)))
	}
	if entities != nil {
		m["entities"] = entities
	}
	return m
}

// In puts the message into a topic.
func (m Message) In(thread int64) Message {
	m["is_topic_message"], m["message_thread_id"] = true, thread
	return m
}

// Push queues a message for polling and returns the IDs of its update and its
// message. Somebody who writes privately has started the bot.
func (s *Server) Push(m Message) (updateID, messageID int64) {
	s.change(func() {
		updateID, messageID = s.number(m)
		raw, err := json.Marshal(map[string]any{"update_id": updateID, "message": m})
		if err != nil {
			panic("telegramtest: a message that is not JSON: " + err.Error())
		}
		s.queue = append(s.queue, queued{updateID, raw})
	})
	return updateID, messageID
}

// number gives m the next IDs, under the lock, unless it has its own.
func (s *Server) number(m Message) (updateID, messageID int64) {
	chat, _ := m["chat"].(Chat)
	if given, ok := m["message_id"].(int64); ok {
		messageID = given
	} else {
		messageID = s.nextID
		s.nextID++
		m["message_id"] = messageID
	}
	s.messages[[2]int64{chat.ID, messageID}] = true
	if chat.Type == "private" {
		s.started[chat.ID] = true
	}
	updateID = s.nextUpdate
	s.nextUpdate++
	return updateID, messageID
}

// PushRaw queues the members of an update other than its ID, as they are:
// `"poll":{"id":5}`. They may be wrong.
func (s *Server) PushRaw(members string) (updateID int64) {
	s.change(func() {
		updateID = s.nextUpdate
		s.nextUpdate++
		s.queue = append(s.queue, queued{updateID, json.RawMessage(fmt.Sprintf(`{"update_id":%d,%s}`, updateID, members))})
	})
	return updateID
}

// Update is a message as a webhook's body, which can be delivered repeatedly.
func (s *Server) Update(m Message) (body []byte) {
	s.change(func() {
		updateID, _ := s.number(m)
		var err error
		if body, err = json.Marshal(map[string]any{"update_id": updateID, "message": m}); err != nil {
			panic("telegramtest: a message that is not JSON: " + err.Error())
		}
	})
	return body
}

// Deliver posts a body to a webhook with the secret that setWebhook named, and
// returns the status. The address is given since the one of setWebhook is
// public and the program under test listens elsewhere.
func (s *Server) Deliver(ctx context.Context, address string, body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", s.Webhook().Secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
