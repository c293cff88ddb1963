package telegram

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Sent is a message of the bot in its current state.
type Sent struct {
	ID     int64 // 0 if the message is ephemeral or was sent by inline mode
	Chat   int64
	Thread int64 // the topic of a group, or 0
	// DirectTopic is the topic in the direct messages of a channel, or 0 in other chats.
	DirectTopic int64
	// ReplyTo is the ID of the message to which this one replies, or 0. An ephemeral message replies to an ephemeral one.
	ReplyTo int64
	// Ephemeral is the ID of an ephemeral message, or 0.
	Ephemeral int64
	// Reader is the only user that can read the message, or 0 if everyone in the chat can.
	Reader   int64
	Text     string // the caption if there is a Photo
	Entities []Entity
	Photo    []byte
	Markup   Markup
	Silent   bool
	At       time.Time
	Edits    int
	Deleted  bool
}

// reply is the parameter reply_parameters: the message to which a new one replies. It has an ID or, if it is ephemeral,
// an Ephemeral. If AllowWithout is set, the message need not exist.
type reply struct {
	ID           *int64 `json:"message_id"`
	Ephemeral    int64  `json:"ephemeral_message_id"`
	AllowWithout bool   `json:"allow_sending_without_reply"`
}

// send handles sendMessage and sendPhoto. The caller must hold the lock.
func (s *Server) send(method string, p params, files map[string][]byte) (result any, refused *refusal) {
	m := &Sent{
		Chat:        arg[int64](p, "chat_id"),
		Thread:      arg[int64](p, "message_thread_id"),
		DirectTopic: arg[int64](p, "direct_messages_topic_id"),
		Silent:      arg[bool](p, "disable_notification"),
		At:          time.Now(),
	}
	if m.Chat > 0 {
		m.Reader = m.Chat
	}
	if refused := readContent(m, method, p, files); refused != nil {
		return nil, refused
	}
	if refused := s.reachable(m.Chat); refused != nil {
		return nil, refused
	}
	if refused := s.mayPost(m); refused != nil {
		return nil, refused
	}
	if to := receiverOf(p); to.User != 0 {
		refused = s.addEphemeral(m, to, p)
	} else {
		refused = s.addVisible(m, arg[*reply](p, "reply_parameters"))
	}
	if refused != nil {
		return nil, refused
	}
	s.sent = append(s.sent, m)
	s.show(m)
	return m.Message(), nil
}

// mayPost returns nil if the bot may send the message to its chat and topic. The caller must hold the lock.
func (s *Server) mayPost(m *Sent) *refusal {
	switch {
	case s.muted[m.Chat]:
		return bad("not enough rights to send text messages to the chat")
	case m.Photo != nil && s.withoutPhotos[m.Chat]:
		return bad("not enough rights to send photos to the chat")
	case m.Thread != 0 && s.lostTopics[inChat{m.Chat, m.Thread}]:
		return bad("message thread not found")
	case (m.DirectTopic != 0) != s.directMessages[m.Chat]:
		return bad("direct_messages_topic_id is for the direct messages of a channel, and required there")
	}
	return nil
}

// readContent reads the text, the picture and the markup of a call into m, and checks them.
func readContent(m *Sent, method string, p params, files map[string][]byte) (refused *refusal) {
	m.Markup, refused = readMarkup(p["reply_markup"])
	if refused != nil {
		return refused
	}
	switch method {
	case "sendPhoto":
		m.Text = arg[string](p, "caption")
		m.Entities = arg[[]Entity](p, "caption_entities")
		return readPhoto(m, arg[string](p, "photo"), files)
	case "editMessageMedia":
		media := arg[struct {
			Media    string   `json:"media"`
			Caption  string   `json:"caption"`
			Entities []Entity `json:"caption_entities"`
		}](p, "media")
		m.Text = media.Caption
		m.Entities = media.Entities
		return readPhoto(m, media.Media, files)
	}
	m.Text = arg[string](p, "text")
	m.Entities = arg[[]Entity](p, "entities")
	return checkText(m.Text, m.Entities)
}

// readPhoto sets m's picture to the uploaded file that source refers to. The caption must have been read.
func readPhoto(m *Sent, source string, files map[string][]byte) *refusal {
	name, isUpload := strings.CutPrefix(source, attached)
	if !isUpload || files[name] == nil {
		return bad("there is no photo in the request")
	}
	if refused := checkPhoto(files[name]); refused != nil {
		return refused
	}
	m.Photo = files[name]
	return checkCaption(m.Text, m.Entities)
}

// addVisible adds a message that everyone in the chat sees, as a reply if r is not nil. The caller must hold the lock.
func (s *Server) addVisible(m *Sent, r *reply) *refusal {
	if r != nil {
		if r.ID == nil || *r.ID <= 0 {
			return bad("message identifier is not specified")
		}
		switch {
		case s.exists(inChat{m.Chat, *r.ID}):
			m.ReplyTo = *r.ID
		case !r.AllowWithout:
			return bad("message to be replied not found")
		}
	}
	m.ID = s.nextID
	s.nextID++
	s.own[inChat{m.Chat, m.ID}] = m
	return nil
}

// exists reports whether there is a message with this ID, of the bot or of a user. The caller must hold the
// lock.
func (s *Server) exists(key inChat) bool { return s.own[key] != nil || s.others[key] }

// edit handles the methods that change a message. The caller must hold the lock.
func (s *Server) edit(method string, p params, files map[string][]byte) (result any, refused *refusal) {
	key := inChat{arg[int64](p, "chat_id"), arg[int64](p, "message_id")}
	m := s.own[key]
	switch {
	case m == nil && s.others[key]:
		return nil, bad("message can't be edited")
	case m == nil:
		return nil, bad("message to edit not found")
	case method == "editMessageText" && m.Photo != nil:
		return nil, bad("there is no text in the message to edit")
	}
	edited := *m
	if refused := readContent(&edited, method, p, files); refused != nil {
		return nil, refused
	}
	hasSameText := Shown(edited.Text, edited.Entities, edited.Markup) == Shown(m.Text, m.Entities, m.Markup)
	if hasSameText && bytes.Equal(edited.Photo, m.Photo) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same")
	}
	edited.Edits++
	*m = edited
	s.show(m)
	return m.Message(), nil
}

// deleteLimit is how long a message can be deleted after it was sent.
// https://core.telegram.org/bots/api#deletemessage
const deleteLimit = 48 * time.Hour

func (s *Server) deleteMessage(p params) (result any, refused *refusal) {
	key := inChat{arg[int64](p, "chat_id"), arg[int64](p, "message_id")}
	m := s.own[key]
	if m == nil {
		return nil, bad("message to delete not found")
	}
	if time.Since(m.At) > deleteLimit {
		return nil, bad("message can't be deleted")
	}
	s.remove(key)
	return true, nil
}

// remove removes a message from its chat. The caller must hold the lock.
func (s *Server) remove(key inChat) {
	if m := s.own[key]; m != nil {
		m.Deleted = true
		s.show(m)
	}
	delete(s.own, key)
	delete(s.others, key)
}

// Message returns the message as Telegram sends it to the bot.
func (m *Sent) Message() Message {
	kind := "supergroup"
	if m.Chat > 0 {
		kind = "private"
	}
	message := Message{
		"message_id": m.ID,
		"date":       m.At.Unix(),
		"chat":       Chat{ID: m.Chat, Type: kind},
		"from":       map[string]any{"id": BotID, "is_bot": true, "first_name": "Herald", "username": Username},
	}
	if m.Thread != 0 {
		message.In(m.Thread)
	}
	if m.DirectTopic != 0 {
		message["chat"] = DirectMessages(m.Chat)
		message["direct_messages_topic"] = map[string]any{"topic_id": m.DirectTopic}
	}
	if m.Ephemeral != 0 {
		message["ephemeral_message_id"] = m.Ephemeral
		message["receiver_user"] = Person(m.Reader)
	}
	if m.Edits > 0 {
		message["edit_date"] = m.At.Unix()
	}
	if len(m.Markup.Rows) > 0 {
		message["reply_markup"] = m.Markup
	}
	textField, entitiesField := "text", "entities"
	if m.Photo != nil {
		textField, entitiesField = "caption", "caption_entities"
		id := fmt.Sprintf("photo-%d", m.ID)
		message["photo"] = []map[string]any{{"file_id": id, "file_unique_id": id, "width": 800, "height": 400}}
	}
	if m.Text != "" {
		message[textField] = m.Text
	}
	if m.Entities != nil {
		message[entitiesField] = m.Entities
	}
	return message
}
