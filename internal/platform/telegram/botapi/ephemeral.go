package botapi

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// An ephemeral message is visible to one member of a group. Bot API 10.2 introduced ephemeral messages, and 10.3
// changed their parameters. An older server ignores parameters that it does not know, and would post the answer for
// everybody. So SendEphemeral answers only an ephemeral message that arrived: it proves that the server knows them.
//
// The parameters of 10.2 and 10.3: https://github.com/tdlib/telegram-bot-api/issues/873 and
// https://docs.aiogram.dev/en/v3.31.0/api/types/ephemeral_message_parameters.html

// EphemeralMessage is an ephemeral message in a group: one that a user sent, or one with a button that they pressed.
// The zero value stands for no message.
type EphemeralMessage struct {
	chat, user int64
	id         int
	press      string // the ID of the callback query, or ""
}

// NewEphemeralMessage returns the message with this ephemeral_message_id in a chat. The user sent it, or pressed a
// button below it: press is then the ID of the callback query, and otherwise "". NewEphemeralMessage returns the zero
// value if chat is not a group, or if user or ephemeralID is not positive.
func NewEphemeralMessage(chat, user int64, ephemeralID int, press string) EphemeralMessage {
	if chat >= 0 || user <= 0 || ephemeralID <= 0 {
		return EphemeralMessage{}
	}
	return EphemeralMessage{chat: chat, user: user, id: ephemeralID, press: press}
}

// Arrived reports whether m is a message, and not the zero value.
func (m EphemeralMessage) Arrived() bool { return m != EphemeralMessage{} }

// SendEphemeral answers an ephemeral message, or the press of its button, so that only its user can read the answer.
// The message must have Arrived. SendEphemeral replaces the ChatID, ReplyParameters and EphemeralMessageParameters of
// params. Telegram takes an answer for 15 seconds after the message or the press.
//
// If the server makes the answer public nevertheless, or its result does not say whether it did, SendEphemeral fails
// with Public and returns the message's ID, or 0 if that is unknown. The caller must then delete the message at once.
func (c *Client) SendEphemeral(
	ctx context.Context, to EphemeralMessage, params bot.SendMessageParams,
) (publicID int, err error) {
	const method = "sendMessage"
	params.ChatID = to.chat
	params.EphemeralMessageParameters = &models.EphemeralMessageParameters{
		ReceiverUserID:  to.user,
		CallbackQueryID: to.press,
	}
	// The answer to a press is a new message too, because an edit of an ephemeral message may have at most 1,024
	// characters: https://github.com/tdlib/telegram-bot-api/issues/881
	params.ReplyParameters = nil
	if to.press == "" {
		params.ReplyParameters = &models.ReplyParameters{EphemeralMessageID: to.id}
	}
	// The call names the receiver by the parameters of 10.2 and of 10.3: a server that knows only one ignores the other.
	// The library has only those of 10.3.
	sent, err := ownCall[messageIDs](ctx, c, c.http, method, &struct {
		*bot.SendMessageParams
		ReceiverUserID  int64  `json:"receiver_user_id"`
		CallbackQueryID string `json:"callback_query_id,omitempty"`
	}{&params, to.user, to.press})
	// If Telegram carried the call out, and only its result is unreadable, sent is zero, and the answer counts as public.
	err = unlessCarriedOut(err)
	if err == nil && sent.EphemeralID == 0 {
		return sent.ID, &Error{Method: method, Kind: Public}
	}
	return 0, err
}
