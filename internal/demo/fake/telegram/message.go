package telegram

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Sent is one message that the server took, as it stands.
type Sent struct {
	ID     int64 // 0 of an ephemeral message or one sent by inline mode
	Chat   int64
	Thread int64
	// DirectTopic is the topic of a channel's direct messages; 0 elsewhere.
	DirectTopic int64
	ReplyTo     int64 // in an ephemeral message, an ephemeral one
	// Ephemeral is the ID of an ephemeral message; 0 of any other.
	Ephemeral int64
	// Reader is the one user who can read it; 0 is everybody in the chat.
	Reader   int64
	Text     string // or its picture's caption
	Entities []Entity
	Photo    []byte
	Markup   Markup
	Silent   bool
	At       time.Time
	Edits    int
	Deleted  bool
}

// reply holds reply_parameters.
type reply struct {
	ID        *int64 `json:"message_id"`
	Ephemeral int64  `json:"ephemeral_message_id"`
	Without   bool   `json:"allow_sending_without_reply"`
}

// send carries out sendMessage and sendPhoto, under the lock.
func (s *Server) send(method string, p params, files map[string][]byte) (result any, no *refusal) {
	m := &Sent{
		Chat:   arg[int64](p, "chat_id"),
		Thread: arg[int64](p, "message_thread_id"),

		DirectTopic: arg[int64](p, "direct_messages_topic_id"),
		Silent:      arg[bool](p, "disable_notification"),
		At:          time.Now(),
	}
	if m.Chat > 0 {
		m.Reader = m.Chat
	}
	if no := s.readContent(m, method, p, files); no != nil {
		return nil, no
	}
	if no := s.reachable(m.Chat); no != nil {
		return nil, no
	}
	if no := s.mayPost(m); no != nil {
		return nil, no
	}
	if to := receiverOf(p); to.User != 0 {
		no = s.receive(m, to, p)
	} else if no = s.replyTo(m, arg[*reply](p, "reply_parameters")); no == nil {
		m.ID = s.nextID
		s.nextID++
		s.own[[2]int64{m.Chat, m.ID}] = m
	}
	if no != nil {
		return nil, no
	}
	s.sent = append(s.sent, m)
	s.show(m)
	return m.Message(), nil
}

// mayPost returns why a message may not stand in its chat, or in the topic of it, under the lock.
func (s *Server) mayPost(m *Sent) *refusal {
	switch {
	case s.muted[m.Chat]:
		return bad("not enough rights to send text messages to the chat")
	case m.Photo != nil && s.withoutPhotos[m.Chat]:
		return bad("not enough rights to send photos to the chat")
	case m.Thread != 0 && s.lostTopics[[2]int64{m.Chat, m.Thread}]:
		return bad("message thread not found")
	case (m.DirectTopic != 0) != s.directMessages[m.Chat]:
		return bad("direct_messages_topic_id is for the direct messages of a channel, and required there")
	}
	return nil
}

// readContent reads the text, picture and markup of a message, under the lock.
func (s *Server) readContent(m *Sent, method string, p params, files map[string][]byte) (no *refusal) {
	if m.Markup, no = readMarkup(p["reply_markup"]); no != nil {
		return no
	}
	switch method {
	case "sendPhoto":
		m.Text = arg[string](p, "caption")
		m.Entities = arg[[]Entity](p, "caption_entities")
		return s.readPhoto(m, arg[string](p, "photo"), files)
	case "editMessageMedia":
		media := arg[struct {
			Media    string   `json:"media"`
			Caption  string   `json:"caption"`
			Entities []Entity `json:"caption_entities"`
		}](p, "media")
		m.Text = media.Caption
		m.Entities = media.Entities
		return s.readPhoto(m, media.Media, files)
	}
	m.Text = arg[string](p, "text")
	m.Entities = arg[[]Entity](p, "entities")
	return checkText(m.Text, m.Entities, false)
}

func (s *Server) readPhoto(m *Sent, source string, files map[string][]byte) *refusal {
	name, isUpload := strings.CutPrefix(source, attached)
	if !isUpload || files[name] == nil {
		return bad("there is no photo in the request")
	}
	if no := checkPhoto(files[name]); no != nil {
		return no
	}
	m.Photo = files[name]
	return checkText(m.Text, m.Entities, true)
}

// replyTo makes m a reply, under the lock.
func (s *Server) replyTo(m *Sent, r *reply) *refusal {
	if r == nil {
		return nil
	}
	if r.ID == nil || *r.ID <= 0 {
		return bad("message identifier is not specified")
	}
	switch key := [2]int64{m.Chat, *r.ID}; {
	case s.own[key] != nil || s.others[key]:
		m.ReplyTo = *r.ID
	case !r.Without:
		return bad("message to be replied not found")
	}
	return nil
}

// edit carries out the methods that change a message, under the lock.
func (s *Server) edit(method string, p params, files map[string][]byte) (result any, no *refusal) {
	key := [2]int64{arg[int64](p, "chat_id"), arg[int64](p, "message_id")}
	m := s.own[key]
	switch {
	case m == nil && s.others[key]:
		return nil, bad("message can't be edited")
	case m == nil:
		return nil, bad("message to edit not found")
	case method == "editMessageText" && m.Photo != nil:
		return nil, bad("there is no text in the message to edit")
	}
	after := *m
	if no := s.readContent(&after, method, p, files); no != nil {
		return nil, no
	}
	if Shown(after.Text, after.Entities, after.Markup) == Shown(m.Text, m.Entities, m.Markup) &&
		bytes.Equal(after.Photo, m.Photo) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same")
	}
	after.Edits++
	*m = after
	s.show(m)
	return m.Message(), nil
}

// deletable is how long a message can be deleted,
// https://core.telegram.org/bots/api#deletemessage.
const deletable = 48 * time.Hour

func (s *Server) deleteMessage(p params) (result any, no *refusal) {
	key := [2]int64{arg[int64](p, "chat_id"), arg[int64](p, "message_id")}
	m := s.own[key]
	if m == nil {
		return nil, bad("message to delete not found")
	}
	if time.Since(m.At) > deletable {
		return nil, bad("message can't be deleted")
	}
	s.remove(key)
	return true, nil
}

// remove takes a message out of its chat, under the lock.
func (s *Server) remove(key [2]int64) {
	if m := s.own[key]; m != nil {
		m.Deleted = true
		s.show(m)
	}
	delete(s.own, key)
	delete(s.others, key)
}

// Message returns the message as Telegram shows it to the bot.
func (m *Sent) Message() Message {
	kind := "supergroup"
	if m.Chat > 0 {
		kind = "private"
	}
	u := Message{
		"message_id": m.ID,
		"date":       m.At.Unix(),
		"chat":       Chat{ID: m.Chat, Type: kind},
		"from":       map[string]any{"id": BotID, "is_bot": true, "first_name": "Herald", "username": Username},
	}
	if m.Thread != 0 {
		u.In(m.Thread)
	}
	if m.DirectTopic != 0 {
		u["chat"] = DirectMessages(m.Chat)
		u["direct_messages_topic"] = map[string]any{"topic_id": m.DirectTopic}
	}
	if m.Ephemeral != 0 {
		u["ephemeral_message_id"] = m.Ephemeral
		u["receiver_user"] = Person(m.Reader)
	}
	if m.Edits > 0 {
		u["edit_date"] = m.At.Unix()
	}
	if len(m.Markup.Rows) > 0 {
		u["reply_markup"] = m.Markup
	}
	text, entities := "text", "entities"
	if m.Photo != nil {
		text, entities = "caption", "caption_entities"
		id := fmt.Sprintf("photo-%d", m.ID)
		u["photo"] = []map[string]any{{"file_id": id, "file_unique_id": id, "width": 800, "height": 400}}
	}
	if m.Text != "" {
		u[text] = m.Text
	}
	if m.Entities != nil {
		u[entities] = m.Entities
	}
	return u
}

// ephemeralLimit is how long after an ephemeral message, or a press, its answer
// may come.
const ephemeralLimit = 15 * time.Second

// ephemeral is an ephemeral message: a user's, or the bot's to a user.
type ephemeral struct {
	user int64
	at   time.Time
	sent *Sent // nil if it is the user's
}

// PushEphemeral queues a command that its sender alone sees in a group, and
// returns the IDs of its update and its ephemeral message.
func (s *Server) PushEphemeral(m Message) (updateID, ephemeralID int64) {
	chat, user := m["chat"].(Chat), m["from"].(User)
	s.Change(func() {
		ephemeralID = s.nextEphemeral
		s.nextEphemeral++
		s.ephemerals[[2]int64{chat.ID, ephemeralID}] = ephemeral{user: user.ID, at: time.Now()}
		m["message_id"] = 0
		m["ephemeral_message_id"] = ephemeralID
		s.tell(m)
		s.watch(Event{Said: m})
		updateID = s.push("message", m)
	})
	return updateID, ephemeralID
}

// receiver is the one reader of an ephemeral message.
type receiver struct {
	User       int64  `json:"receiver_user_id"`
	CallbackID string `json:"callback_query_id"`
}

// receiverOf reads the form of 10.3 or else that of 10.2. A User of 0 is everybody.
func receiverOf(p params) receiver {
	if p["ephemeral_message_parameters"] != nil {
		return arg[receiver](p, "ephemeral_message_parameters")
	}
	return receiver{User: arg[int64](p, "receiver_user_id"), CallbackID: arg[string](p, "callback_query_id")}
}

// receive makes m ephemeral, under the lock: an answer to an ephemeral message
// or to a press.
func (s *Server) receive(m *Sent, to receiver, params params) *refusal {
	answers := arg[reply](params, "reply_parameters")
	asked := s.ephemerals[[2]int64{m.Chat, answers.Ephemeral}]
	p := s.presses[to.CallbackID]
	switch {
	case m.Chat >= 0:
		return bad("ephemeral messages can be sent only in groups and supergroups")
	case answers.ID != nil:
		return bad("an ephemeral message can't reply to another kind of message")
	case p != nil && p.user == to.User && p.chat == m.Chat && time.Since(p.at) <= ephemeralLimit:
	case to.CallbackID != "" || asked.at.IsZero() || asked.user != to.User || time.Since(asked.at) > ephemeralLimit:
		return bad("the ephemeral message can't be sent: no message or press of that user to answer")
	}
	m.ReplyTo = answers.Ephemeral
	m.Reader = to.User
	m.Ephemeral = s.nextEphemeral
	s.nextEphemeral++
	s.ephemerals[[2]int64{m.Chat, m.Ephemeral}] = ephemeral{user: to.User, at: m.At, sent: m}
	return nil
}
