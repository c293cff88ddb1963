package telegram

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// User is a person in an update.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	// Language is what the person's app is set to; it may be empty.
	Language string `json:"language_code,omitempty"`
}

// Chat is where a message stands: "private", "group", "supergroup", "channel".
type Chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
	// Title is what a group calls itself; it may be empty.
	Title string `json:"title,omitempty"`
	// IsDirectMessages marks the direct messages of a channel.
	IsDirectMessages bool `json:"is_direct_messages,omitempty"`
}

// Private is the private chat of a user with the bot.
func Private(user int64) Chat { return Chat{ID: user, Type: "private"} }

// Group is a supergroup.
func Group(id int64) Chat { return Chat{ID: id, Type: "supergroup"} }

// DirectMessages is the chat of a channel's direct messages. Each user has a topic there.
func DirectMessages(id int64) Chat { return Chat{ID: id, Type: "supergroup", IsDirectMessages: true} }

// ChatOf is the chat with this ID, of either kind.
func ChatOf(id int64) Chat {
	if id > 0 {
		return Private(id)
	}
	return Group(id)
}

// Person is a user who is not a bot.
func Person(id int64) User { return User{ID: id, FirstName: "Somebody"} }

// Message is a message as it stands in an update; further fields, like
// "reply_to_message", are added to it.
type Message map[string]any

// Text is a message with an entity for each bot command and each mention in it, as Telegram
// marks them. Somebody who writes to a channel's direct messages writes in their own topic.
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
		kind := map[string]string{"/": "bot_command", "@": "mention"}[bare[:min(len(bare), 1)]]
		if len(bare) > 1 && kind != "" {
			entities = append(entities, Entity{Type: kind, Offset: offset, Length: len(utf16.Encode([]rune(bare)))})
		}
		offset += len(utf16.Encode([]rune(word)))
	}
	return entities
}

// AsCaption turns the text of the message into the caption of a picture.
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

// In puts the message into a topic.
func (m Message) In(thread int64) Message {
	m["is_topic_message"] = true
	m["message_thread_id"] = thread
	return m
}

// ReplyingTo makes the message a reply to one of the bot's, as an app does that
// was forced to.
func (m Message) ReplyingTo(sent Sent) Message {
	m["reply_to_message"] = sent.Message()
	return m
}

// Push queues a message for polling and returns the IDs of its update and its
// message. Somebody who writes privately has started the bot.
func (s *Server) Push(m Message) (updateID, messageID int64) {
	s.Change(func() { updateID = s.pushMessage(m) })
	return updateID, m["message_id"].(int64)
}

// pushMessage is Push under the lock.
func (s *Server) pushMessage(m Message) (updateID int64) {
	s.number(m)
	s.watch(Event{Said: m})
	return s.push("message", m)
}

// number gives m the next ID, under the lock, unless it has its own.
func (s *Server) number(m Message) {
	chat, _ := m["chat"].(Chat)
	messageID, given := m["message_id"].(int64)
	if !given {
		messageID = s.nextID
		s.nextID++
		m["message_id"] = messageID
	}
	s.tell(m)
	s.others[[2]int64{chat.ID, messageID}] = true
	s.directMessages[chat.ID] = chat.IsDirectMessages
	if chat.Type == "private" {
		s.started[chat.ID] = true
	}
}

// push queues an update of a kind, under the lock.
func (s *Server) push(kind string, member any) (updateID int64) {
	q := s.update(kind, member)
	s.queue = append(s.queue, q)
	return q.id
}

func (s *Server) update(kind string, member any) queued {
	id := s.nextUpdate
	s.nextUpdate++
	raw, err := json.Marshal(map[string]any{"update_id": id, kind: member})
	if err != nil {
		panic("telegram: an update that is not JSON: " + err.Error())
	}
	return queued{id: id, kind: kind, raw: raw}
}

// PushRaw queues the members of an update other than its ID, as they are:
// `"poll":{"id":5}`. They may be wrong.
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

// Update is a message as a webhook's body, which can be delivered repeatedly.
func (s *Server) Update(m Message) (body []byte) {
	s.Change(func() {
		s.number(m)
		body = s.update("message", m).raw
	})
	return body
}

// Dequeue takes the updates that are queued out of the queue, as bodies for a
// webhook: a press is queued, taken out and delivered. Kinds that setWebhook did
// not ask for are lost.
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
