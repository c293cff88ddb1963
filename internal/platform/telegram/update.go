package telegram

import (
	"encoding/json"
	"fmt"
	"strings"

	"herald/internal/chat"
)

// update and the types below hold only the fields of
// https://core.telegram.org/bots/api#update that are read here, so that a kind of
// message that is newer than this program still decodes.
type update struct {
	ID      int64          `json:"update_id"`
	Message *message       `json:"message"`
	Press   *callbackQuery `json:"callback_query"`
	Inline  *inlineQuery   `json:"inline_query"`
	Join    *joinRequest   `json:"chat_join_request"`
	Member  *membership    `json:"my_chat_member"`

	command *command // what parse returns
	waits   func()   // passed on as outbox.Message.Waits; nil by webhook
}

// request returns what u asks the Handler, or nil if that is nothing.
func (u *update) request() *chat.Request {
	if u.command == nil {
		return nil
	}
	return &u.command.request
}

// read decodes an update, and reports whether it may ask something. The ID is set even if
// the rest is not of the expected form, so that the update can be acknowledged.
func (a *Adapter) read(raw []byte) (u *update, answerable bool) {
	u = new(update)
	if json.Unmarshal(raw, u) != nil {
		a.Count("update_undecodable")
		return &update{ID: u.ID}, false // The rest may be there in part.
	}
	return u, u.Message != nil || u.Press != nil || u.Inline != nil || u.Join != nil || u.Member.added()
}

// message returns the message that was written, or the one with the pressed button, or for a
// change of membership one that has only its chat. It is nil for any other update.
func (u *update) message() *message {
	switch {
	case u.Press != nil:
		return u.Press.Message
	case u.Member != nil:
		return &message{Chat: u.Member.Chat}
	}
	return u.Message
}

// chat returns the ID of the chat that u came from, or 0 if it came from none.
func (u *update) chat() int64 {
	if m := u.message(); m != nil {
		return m.Chat.ID
	}
	return 0
}

type message struct {
	ID            int64     `json:"message_id"` // 0 for an ephemeral one
	EphemeralID   int64     `json:"ephemeral_message_id"`
	Date          int64     `json:"date"` // Unix time; 0 for one that is out of reach
	Thread        int64     `json:"message_thread_id"`
	InTopic       bool      `json:"is_topic_message"`
	From          *tgUser   `json:"from"`
	SenderChat    *tgChat   `json:"sender_chat"`
	SenderTag     string    `json:"sender_tag"` // or an administrator's title; in supergroups alone
	Chat          tgChat    `json:"chat"`
	ForwardOrigin *struct{} `json:"forward_origin"`
	ViaBot        *struct{} `json:"via_bot"`
	ReplyTo       *message  `json:"reply_to_message"`
	AutoForward   bool      `json:"is_automatic_forward"` // a channel's post, in its discussion group
	TopicCreated  *struct{} `json:"forum_topic_created"`
	MigrateTo     int64     `json:"migrate_to_chat_id"` // the ID of the supergroup that this group becomes
	Text          string    `json:"text"`
	Entities      []entity  `json:"entities"`
	attachments
}

// attachments are what a person may send instead of a text.
type attachments struct {
	Photo, Sticker, Voice, Audio, Video, Animation, Document, Story, Contact, Location, Poll, Dice present

	VideoNote present `json:"video_note"`
}

// present is true if the JSON has the member, whatever its form.
type present bool

func (p *present) UnmarshalJSON([]byte) error { *p = true; return nil }

// callbackQuery is the press of a button below a message of the bot.
type callbackQuery struct {
	ID      string   `json:"id"`
	From    tgUser   `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

// inlineQuery is text that somebody writes behind the bot's name in any chat.
type inlineQuery struct {
	ID    string `json:"id"`
	From  tgUser `json:"from"`
	Query string `json:"query"` // at most 256 characters
}

// joinRequest is somebody's request to join a group.
type joinRequest struct {
	Chat tgChat `json:"chat"`
	From tgUser `json:"from"`
	// UserChat is the private chat with the person. For 5 minutes, and until the request is
	// processed, the bot may write there though the person never started the bot.
	UserChat int64 `json:"user_chat_id"`
	Date     int64 `json:"date"` // Unix time
	// QueryID is set if Telegram waits for answerChatJoinRequestQuery, for 10 seconds.
	QueryID string `json:"query_id"`
}

type tgUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Language  string `json:"language_code"`
}

// name returns first and last name.
func (u tgUser) name() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

type tgChat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"` // empty for a private chat
	// Username is that of a public chat.
	Username string `json:"username"`
}

// maxSupergroup is above the ID of every supergroup: there it is less by the group's own number.
const maxSupergroup = -1_000_000_000_000

// link returns the address that opens a group for its members, or "" if none does.
func (c tgChat) link() string {
	switch {
	case c.Username != "":
		return "https://t.me/" + c.Username
	case c.ID < maxSupergroup: // Apps open no address of a group, but one of its first message.
		return fmt.Sprintf("https://t.me/c/%d/1", maxSupergroup-c.ID)
	}
	return ""
}

func (c tgChat) private() bool { return c.Type == "private" }

func (c tgChat) group() bool { return c.Type == "group" || c.Type == "supergroup" }

// entity marks a span of a text, counted in UTF-16 units. Its bounds are not checked.
type entity struct {
	Type   string  `json:"type"`
	Offset int     `json:"offset"`
	Length int     `json:"length"`
	URL    string  `json:"url"`
	User   *tgUser `json:"user"`
}

// within reports whether the bounds of e lie within units.
func (e entity) within(units []uint16) bool {
	return e.Offset >= 0 && e.Length > 0 && e.Offset <= len(units) && e.Length <= len(units)-e.Offset
}
