package botapi

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// Only one member of a group sees an ephemeral message. They came with Bot API 10.2 and
// got another form in 10.3. An older server ignores parameters that it does not know and
// would make the same message public. A message that arrived as ephemeral is the only
// sign that the server knows them, so every call here needs one. The forms are described in
// aiogram's and grammY's reference of EphemeralMessageParameters and in
// https://github.com/tdlib/telegram-bot-api/issues/873.

// EphemeralMessage is an ephemeral message in a group: one that arrived, or one
// with a button that was pressed. The zero value is no such message.
type EphemeralMessage struct {
	chat, user int64
	id         int
	press      string
}

// NewEphemeralMessage returns the message that a user sent in a chat under this
// ephemeral_message_id; press is the ID of the callback query if they pressed a button
// below it, or else "". It returns zero unless a user in a group and an ID are named.
func NewEphemeralMessage(chat, user int64, ephemeralID int, press string) EphemeralMessage {
	if chat >= 0 || user <= 0 || ephemeralID <= 0 {
		return EphemeralMessage{}
	}
	return EphemeralMessage{chat: chat, user: user, id: ephemeralID, press: press}
}

// Arrived reports whether m is not zero.
func (m EphemeralMessage) Arrived() bool { return m != EphemeralMessage{} }

// SendEphemeral answers an ephemeral message, or the press below one. Only its user can read
// the answer. SendEphemeral sets where params go and what they reply to. Telegram refuses an
// answer after 15 seconds. The message with the button stays: an ephemeral message cannot be
// replaced by another
// (https://docs.aiogram.dev/en/v3.31.0/api/types/ephemeral_message_parameters.html),
// and an edit of one may have at most 1,024 characters
// (https://github.com/tdlib/telegram-bot-api/issues/881).
//
// The call names the receiver twice, in the forms of 10.2 and of 10.3, because a server that
// knows only one of them would ignore the other and make the message public. The library has
// only the form of 10.3. If the server makes the message public nevertheless, SendEphemeral
// fails with Public and returns the message's ID. The caller must then delete the message at
// once. Otherwise the ID is 0.
func (c *Client) SendEphemeral(ctx context.Context, to EphemeralMessage, params bot.SendMessageParams) (publicID int, err error) {
	params.ChatID = to.chat
	params.EphemeralMessageParameters = &models.EphemeralMessageParameters{ReceiverUserID: to.user, CallbackQueryID: to.press}
	params.ReplyParameters = nil
	if to.press == "" {
		params.ReplyParameters = &models.ReplyParameters{EphemeralMessageID: to.id}
	}
	const method = "sendMessage"
	sent, err := call[models.Message](ctx, c, c.http, method, &struct {
		*bot.SendMessageParams
		ReceiverUserID  int64  `json:"receiver_user_id"`
		CallbackQueryID string `json:"callback_query_id,omitempty"`
	}{&params, to.user, to.press})
	err = unlessCarriedOut(err)
	if err == nil && sent.EphemeralMessageID == 0 {
		return sent.ID, &Error{Method: method, Kind: Public}
	}
	return 0, err
}
