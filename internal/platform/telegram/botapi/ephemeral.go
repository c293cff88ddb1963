package botapi

import "context"

// Ephemeral messages, which one member of a group alone sees, are of Bot API
// 10.2 and 10.3. A server before them ignores parameters that it does not know
// and would make the same message public, so that a message that arrived as
// ephemeral is the only safe sign that the server knows them. Every call here
// needs such a message. The forms are those of aiogram's and grammY's reference
// of EphemeralMessageParameters and of
// https://github.com/tdlib/telegram-bot-api/issues/873.

// EphemeralMessage is an ephemeral message in a group: one that arrived, or one
// below which a button was pressed. Its zero value is none.
type EphemeralMessage struct{ chat, user, id int64 }

// NewEphemeralMessage is the message that a user sent in a chat under this
// ephemeral_message_id. It is zero unless the update named one, of a user, in a
// group.
func NewEphemeralMessage(chat, user, ephemeralID int64) EphemeralMessage {
	if chat >= 0 || user <= 0 || ephemeralID <= 0 {
		return EphemeralMessage{}
	}
	return EphemeralMessage{chat, user, ephemeralID}
}

// SendEphemeral answers an ephemeral message, or the press with this callbackID
// of a button of one, for its user's eyes alone. Telegram takes it within 15
// seconds. A message whose button was pressed stays: it cannot
// be replaced like one that everybody sees
// (https://docs.aiogram.dev/en/v3.31.0/api/types/ephemeral_message_parameters.html),
// and an edit of it may have 1,024 characters only
// (https://github.com/tdlib/telegram-bot-api/issues/881).
func (c *Client) SendEphemeral(ctx context.Context, to EphemeralMessage, callbackID string, content Content) error {
	type ephemeral struct {
		Receiver   int64  `json:"receiver_user_id"`
		CallbackID string `json:"callback_query_id,omitempty"`
	}
	var reply replyParameters
	if callbackID == "" {
		reply.EphemeralID = to.id
	}
	const method = "sendMessage"
	if to == (EphemeralMessage{}) {
		return cannotBeMade(method)
	}
	m, err := call[sent](ctx, c, method, &struct {
		Chat int64 `json:"chat_id"`
		Content
		Preview   linkPreview     `json:"link_preview_options"`
		Reply     replyParameters `json:"reply_parameters,omitzero"`
		Ephemeral ephemeral       `json:"ephemeral_message_parameters"`
	}{to.chat, content, noPreview, reply, ephemeral{to.user, callbackID}})
	if err == nil && m.ID > 0 && m.EphemeralID == 0 {
		// An older server than that of the message took it.
		_ = c.DeleteMessage(ctx, MessageRef{to.chat, m.ID})
		return &Error{Method: method, Kind: Refused, detail: "the server took it as public"}
	}
	return err
}

// DeleteEphemeral deletes an ephemeral message.
func (c *Client) DeleteEphemeral(ctx context.Context, m EphemeralMessage) error {
	const method = "deleteEphemeralMessage"
	if m == (EphemeralMessage{}) {
		return cannotBeMade(method)
	}
	return do(ctx, c, method, &struct {
		Chat     int64 `json:"chat_id"`
		Receiver int64 `json:"receiver_user_id"`
		ID       int64 `json:"ephemeral_message_id"`
	}{m.chat, m.user, m.id})
}
