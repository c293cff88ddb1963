package telegram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
)

// update is an update of Telegram, https://core.telegram.org/bots/api#update. Press and Join replace the library's
// fields with the same JSON names.
type update struct {
	models.Update
	// Press is a callback query. The library decodes its message twice, which takes longer than all the rest of the
	// update (BenchmarkDecode).
	Press *callbackQuery `json:"callback_query"`
	// Join is a join request. The library's type has no QueryID.
	Join *joinRequest `json:"chat_join_request"`

	command *command // what parse returns
	onWait  func()   // passed on as outbox.Message.OnWait
}

// callbackQuery is the press of a button below a message of the bot.
type callbackQuery struct {
	ID   string      `json:"id"`
	From models.User `json:"from"`
	// Message is the message with the button. Its Date is 0 if the bot has no access to it.
	Message *models.Message `json:"message"`
	Data    string          `json:"data"`
}

// joinRequest is a user's request to join a group. The bot may write to UserChatID for 5 minutes
// or until the request is processed, whichever is first, even if the user never started the bot.
type joinRequest struct {
	models.ChatJoinRequest
	// QueryID is set if Telegram waits for answerChatJoinRequestQuery, for 10 seconds.
	QueryID string `json:"query_id"`
}

// request returns the request of u's command, or nil if u has no command.
func (u *update) request() *chat.Request {
	if u.command == nil {
		return nil
	}
	return &u.command.request
}

// read decodes an update. answerable is false if the update is of a kind that cannot ask anything, or cannot be
// decoded. An update that cannot be decoded has only its ID, so that it can be acknowledged.
func (a *Adapter) read(raw []byte) (u *update, answerable bool) {
	u = new(update)
	if json.Unmarshal(raw, u) != nil {
		a.Count("update_undecodable")
		return onlyWithID(raw), false
	}
	inline := u.InlineQuery != nil && u.InlineQuery.From != nil // parse checks the senders of other kinds.
	return u, u.Message != nil || u.Press != nil || inline || u.Join != nil || addsBot(u.MyChatMember)
}

// leadingID returns the ID of an update that begins with its ID, as all updates from Telegram do, or else 0.
func leadingID(raw []byte) int64 {
	digits, beginsWithID := bytes.CutPrefix(raw, []byte(`{"update_id":`))
	end := bytes.IndexByte(digits, ',')
	if !beginsWithID || end < 0 {
		return 0
	}
	id, err := strconv.ParseInt(string(digits[:end]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// onlyWithID returns an update that has only the ID of raw. The ID is 0 if even that cannot be decoded.
func onlyWithID(raw []byte) *update {
	u := new(update)
	var id struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &id) == nil {
		u.ID = id.ID
	}
	return u
}

// message returns the new message or, for a press, the message with the button. For a change of the bot's membership it
// returns a message that has only the chat. For any other update it returns nil.
func (u *update) message() *models.Message {
	switch {
	case u.Press != nil:
		return u.Press.Message
	case u.MyChatMember != nil:
		return &models.Message{Chat: u.MyChatMember.Chat}
	}
	return u.Message
}

// chat returns the ID of the chat of u's message, or 0.
func (u *update) chat() int64 {
	if m := u.message(); m != nil {
		return m.Chat.ID
	}
	return 0
}

// textOf returns the text of m or, if it has none, the caption of its picture or other attachment.
func textOf(m *models.Message) (text string, entities []models.MessageEntity) {
	if m.Text == "" {
		return m.Caption, m.CaptionEntities
	}
	return m.Text, m.Entities
}

// hasAttachment reports whether m has a picture, a sticker, a voice message or the like.
func hasAttachment(m *models.Message) bool {
	return len(m.Photo) > 0 || m.Sticker != nil || m.Voice != nil || m.Audio != nil || m.Video != nil ||
		m.VideoNote != nil || m.Animation != nil || m.Document != nil || m.Story != nil ||
		m.Contact != nil || m.Location != nil || m.Poll != nil || m.Dice != nil
}

// nameOf returns first and last name.
func nameOf(u *models.User) string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

// maxSupergroup is above the IDs of all supergroups. A supergroup with the ID maxSupergroup-n has the number n in its
// links.
const maxSupergroup = -1_000_000_000_000

// linkTo returns a link that opens a group for its members, or "" if there is none. Apps cannot open a private group
// itself, but can open its first message.
func linkTo(c *models.Chat) string {
	switch {
	case c.Username != "":
		return "https://t.me/" + c.Username
	case c.ID < maxSupergroup:
		return fmt.Sprintf("https://t.me/c/%d/1", maxSupergroup-c.ID)
	}
	return ""
}

func isPrivate(c *models.Chat) bool { return c.Type == models.ChatTypePrivate }

func isGroup(c *models.Chat) bool {
	return c.Type == models.ChatTypeGroup || c.Type == models.ChatTypeSupergroup
}

// within reports whether the bounds of e, which Telegram counts in UTF-16 units, lie within units.
func within(e *models.MessageEntity, units []uint16) bool {
	return e.Offset >= 0 && e.Length > 0 && e.Offset <= len(units) && e.Length <= len(units)-e.Offset
}
