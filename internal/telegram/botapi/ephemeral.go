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
// that SendEphemeral sent in answer. Its zero value is none.
type EphemeralMessage struct{ chat, user, id int64 }

// NewEphemeralMessage is the message that a user sent in a chat under this
// ephemeral_message_id. It is none, and ok false, unless the update named one,
// of a user, in a group.
func NewEphemeralMessage(chat, user, ephemeralID int64) (m EphemeralMessage, ok bool) {
	if chat >= 0 || user <= 0 || ephemeralID <= 0 {
		return EphemeralMessage{}, false
	}
	return EphemeralMessage{chat, user, ephemeralID}, true
}

// SendEphemeral answers an ephemeral message, for its sender's eyes alone, and
// returns the answer. Telegram takes it within 15 seconds of the message.
func (c *Client) SendEphemeral(ctx context.Context, to EphemeralMessage, content Content) (EphemeralMessage, error) {
	return c.sendEphemeral(ctx, to, content, replyParameters{EphemeralID: to.id}, ephemeral{Receiver: to.user})
}

// ReplaceEphemeral puts a message in the place of the ephemeral one whose button
// was pressed, and returns it. Telegram takes it within 15 seconds of the press.
func (c *Client) ReplaceEphemeral(ctx context.Context, pressed EphemeralMessage, callbackID string, content Content) (EphemeralMessage, error) {
	return c.sendEphemeral(ctx, pressed, content, replyParameters{}, ephemeral{pressed.user, callbackID, true})
}

type ephemeral struct {
	Receiver   int64  `json:"receiver_user_id"`
	CallbackID string `json:"callback_query_id,omitempty"`
	Replace    bool   `json:"replace_callback_query_message,omitempty"`
}

func (c *Client) sendEphemeral(ctx context.Context, to EphemeralMessage, content Content, reply replyParameters, e ephemeral) (EphemeralMessage, error) {
	const method = "sendMessage"
	if to == (EphemeralMessage{}) {
		return to, cannotBeMade(method)
	}
	m, err := call[sent](ctx, c, method, &struct {
		Chat int64 `json:"chat_id"`
		Content
		Preview   linkPreview     `json:"link_preview_options"`
		Reply     replyParameters `json:"reply_parameters,omitzero"`
		Ephemeral ephemeral       `json:"ephemeral_message_parameters"`
	}{to.chat, content, noPreview, reply, e})
	if err != nil {
		return EphemeralMessage{}, err
	}
	if m.ID > 0 && m.EphemeralID == 0 {
		// An older server than that of the message took it.
		_ = c.DeleteMessage(ctx, to.chat, m.ID)
		return EphemeralMessage{}, &Error{Method: method, Kind: Refused, detail: "the server took it as public"}
	}
	answer, _ := NewEphemeralMessage(to.chat, to.user, m.EphemeralID)
	return answer, nil
}

// DeleteEphemeral deletes an ephemeral message.
func (c *Client) DeleteEphemeral(ctx context.Context, m EphemeralMessage) error {
	const method = "deleteEphemeralMessage"
	if m == (EphemeralMessage{}) {
		return cannotBeMade(method)
	}
	_, err := call[unread](ctx, c, method, &struct {
		Chat     int64 `json:"chat_id"`
		Receiver int64 `json:"receiver_user_id"`
		ID       int64 `json:"ephemeral_message_id"`
	}{m.chat, m.user, m.id})
	return err
}
