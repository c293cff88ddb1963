package telegram

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// User is a user or a bot in an update.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	// Language is the language of the user's app, or "".
	Language string `json:"language_code,omitempty"`
}

// Chat is a chat. Its Type is "private", "group", "supergroup" or "channel".
type Chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
	// Title is the name of a group, or "".
	Title string `json:"title,omitempty"`
	// IsDirectMessages marks the direct messages of a channel.
	IsDirectMessages bool `json:"is_direct_messages,omitempty"`
}

// Private returns the private chat of a user with the bot.
func Private(user int64) Chat { return Chat{ID: user, Type: "private"} }

// Group returns a supergroup. Its ID must be negative.
func Group(id int64) Chat { return Chat{ID: id, Type: "supergroup"} }

// DirectMessages returns the chat of a channel's direct messages. Each user has a topic there.
func DirectMessages(id int64) Chat { return Chat{ID: id, Type: "supergroup", IsDirectMessages: true} }

// ChatOf returns the chat with this ID: a private chat if the ID is positive, otherwise a supergroup.
func ChatOf(id int64) Chat {
	if id > 0 {
		return Private(id)
	}
	return Group(id)
}

// Person returns a user that is not a bot.
func Person(id int64) User { return User{ID: id, FirstName: "Somebody"} }

// Message is a message as it appears in an update. Callers may add fields, such as
// "reply_to_message".
type Message map[string]any

// Text returns a text message of a user. Like Telegram, it marks bot commands and mentions with entities. In the direct
// messages of a channel, the message is in the user's topic.
func Text(chat Chat, from User, text string) Message {
	m := Message{"date": time.Now().Unix(), "chat": chat, "from": from, "text": text}
	if chat.IsDirectMessages {
		m["direct_messages_topic"] = map[string]any{"topic_id": from.ID, "user": from}
	}
	if entities := entitiesOf(text); entities != nil {
		m["entities"] = entities
	}
	return m
}

// entitiesOf returns the bot commands and the mentions in a text.
func entitiesOf(text string) (entities []Entity) {
	offset := 0
	for _, word := range strings.SplitAfter(text, " ") {
		bare := strings.TrimRight(strings.TrimSpace(word), ",:")
		if kind := entityType(bare); kind != "" {
			entities = append(entities, Entity{Type: kind, Offset: offset, Length: len(utf16.Encode([]rune(bare)))})
		}
		offset += len(utf16.Encode([]rune(word)))
	}
	return entities
}

// entityType returns the type of the entity that a word is, or "" if it is none.
func entityType(word string) string {
	switch {
	case len(word) < 2:
		return ""
	case word[0] == '/':
		return "bot_command"
	case word[0] == '@':
		return "mention"
	}
	return ""
}

// AsCaption changes the message to a picture with the text as its caption, and returns it.
func (m Message) AsCaption() Message {
	m["caption"] = m["text"]
	m["caption_entities"] = m["entities"]
	m["photo"] = []map[string]any{{"file_id": "x", "file_unique_id": "y", "width": 9, "height": 9}}
	for _, name := range []string{"text", "entities"} {
		delete(m, name)
	}
	for _, name := range []string{"caption", "caption_entities"} {
		if m[name] == nil || m[name] == "" {
			delete(m, name)
		}
	}
	return m
}

// In moves the message to a topic of its chat, and returns it.
func (m Message) In(thread int64) Message {
	m["is_topic_message"] = true
	m["message_thread_id"] = thread
	return m
}

// ReplyingTo makes the message a reply to a message of the bot, and returns it.
func (m Message) ReplyingTo(sent Sent) Message {
	m["reply_to_message"] = sent.Message()
	return m
}

// Push queues the update of a message, and returns the IDs of the update and of the message. The sender of a
// message in a private chat has thereby started the bot.
func (s *Server) Push(m Message) (updateID, messageID int64) {
	s.Change(func() { updateID = s.pushMessage(m) })
	return updateID, m["message_id"].(int64)
}

// pushMessage is like Push. The caller must hold the lock.
func (s *Server) pushMessage(m Message) (updateID int64) {
	s.addMessage(m)
	s.watch(Event{Said: m})
	return s.push("message", m)
}

// addMessage adds a message of a user to its chat. If it has no ID, it gets the next one. The caller must hold the
// lock.
func (s *Server) addMessage(m Message) {
	chat, _ := m["chat"].(Chat)
	messageID, hasID := m["message_id"].(int64)
	if !hasID {
		messageID = s.nextID
		s.nextID++
		m["message_id"] = messageID
	}
	s.setSenderTag(m)
	s.others[inChat{chat.ID, messageID}] = true
	s.directMessages[chat.ID] = chat.IsDirectMessages
	if chat.Type == "private" {
		s.started[chat.ID] = true
	}
}

// push queues an update of a kind. The caller must hold the lock.
func (s *Server) push(kind string, content any) (updateID int64) {
	q := s.newUpdate(kind, content)
	s.queue = append(s.queue, q)
	return q.id
}

// newUpdate returns an update with the next ID. The caller must hold the lock.
func (s *Server) newUpdate(kind string, content any) queued {
	id := s.nextUpdate
	s.nextUpdate++
	raw, err := json.Marshal(map[string]any{"update_id": id, kind: content})
	if err != nil {
		panic("telegram: an update that is not JSON: " + err.Error())
	}
	return queued{id: id, kind: kind, raw: raw}
}

// PushRaw queues an update. members are the members of its JSON object except the ID, such as `"poll":{"id":5}`. They
// may be invalid.
func (s *Server) PushRaw(members string) (updateID int64) {
	s.Change(func() {
		updateID = s.nextUpdate
		s.nextUpdate++
		s.queue = append(s.queue, queued{
			id:  updateID,
			raw: json.RawMessage(fmt.Sprintf(`{"update_id":%d,%s}`, updateID, members)),
		})
	})
	return updateID
}

// Update returns the body that a webhook gets for a message. The message is not queued, so the caller
// delivers it, once or several times.
func (s *Server) Update(m Message) (body []byte) {
	s.Change(func() {
		s.addMessage(m)
		body = s.newUpdate("message", m).raw
	})
	return body
}

// Dequeue removes all updates from the queue, and returns the bodies that a webhook gets for them. It discards
// updates of kinds that setWebhook did not ask for.
func (s *Server) Dequeue() (bodies [][]byte) {
	s.Change(func() {
		for _, q := range s.queue {
			if allows(s.webhook.AllowedUpdates, q.kind) {
				bodies = append(bodies, q.raw)
			}
		}
		s.queue = nil
	})
	return bodies
}
