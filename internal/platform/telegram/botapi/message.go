package botapi

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/transport"
)

// DateTime is an entity shown in the reader's time zone. The library lacks it. A server
// that does not know it refuses the message.
const DateTime models.MessageEntityType = "date_time"

// Entity is a span of a text and the way to show it,
// https://core.telegram.org/bots/api#messageentity.
type Entity struct {
	Type models.MessageEntityType `json:"type"`
	// Offset and Length are in UTF-16 units.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// URL is where a TextLink leads.
	URL string `json:"url,omitempty"`
	// UnixTime, in seconds, and TimeFormat are a DateTime's,
	// https://core.telegram.org/bots/api#date-time-entity-formatting.
	UnixTime   int64  `json:"unix_time,omitempty"`
	TimeFormat string `json:"date_time_format,omitempty"`
}

// Keyboard is rows of buttons.
type Keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is a button of a Keyboard. One of Data, URL and Copy must be set. The library's
// button sends a copy_text, whether it has one or not.
type Button struct {
	Text string `json:"text"`
	// Style is Primary, Success, or "" for the app's own colour. Servers before Bot API 9.4
	// ignore the field.
	Style string `json:"style,omitempty"`
	// Data comes back when the button is pressed; 1 to 64 bytes.
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
	// Copy has a text for the clipboard, of 1 to 256 characters.
	Copy *models.CopyTextButton `json:"copy_text,omitempty"`
}

// The styles of a Button, https://core.telegram.org/bots/api#inlinekeyboardbutton.
const (
	Primary = "primary" // blue
	Success = "success" // green
)

// Content is the text of a message, or its picture and caption.
type Content struct {
	// Text is 1 to 4,096 UTF-16 units, a caption 0 to 1,024.
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"` // at most 100
	// Markup is a Keyboard, a models.ForceReply or nil. An edit takes only a Keyboard;
	// without one it removes the keyboard.
	Markup models.ReplyMarkup `json:"reply_markup,omitempty"`
	// Picture is a PNG; nil is a text.
	Picture []byte `json:"-"`
}

// caption holds a Content's text as members of a call with a picture.
type caption struct {
	Caption  string   `json:"caption,omitempty"`
	Entities []Entity `json:"caption_entities,omitempty"`
}

func (c *Content) caption() caption { return caption{Caption: c.Text, Entities: c.Entities} }

// Destination is where a message goes.
type Destination struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id,omitempty"` // the topic; 0 outside topics
	// ReplyTo is the ID of the message to reply to, if that still exists; 0 is no reply.
	ReplyTo int64 `json:"-"`
	// Silent notifies without a sound.
	Silent bool `json:"disable_notification,omitempty"`
}

type replyParameters struct {
	MessageID    int64 `json:"message_id,omitempty"`
	EphemeralID  int64 `json:"ephemeral_message_id,omitempty"`
	AllowWithout bool  `json:"allow_sending_without_reply,omitempty"`
}

var noPreview = models.LinkPreviewOptions{IsDisabled: bot.True()}

// pictureName is the part of a form that holds a picture.
const pictureName = "photo"

// Send sends one message (sendMessage or sendPhoto), without a preview of the
// links in it, and returns its ID.
func (c *Client) Send(ctx context.Context, to Destination, content Content) (id int64, err error) {
	reply := replyParameters{MessageID: to.ReplyTo, AllowWithout: to.ReplyTo != 0}
	var request call
	if content.Picture == nil {
		request = jsonCall("sendMessage", &struct {
			Destination
			Content
			Preview models.LinkPreviewOptions `json:"link_preview_options"`
			Reply   replyParameters           `json:"reply_parameters,omitzero"`
		}{to, content, noPreview, reply})
	} else {
		request = photoCall("sendPhoto", &struct {
			Destination
			caption
			Markup models.ReplyMarkup `json:"reply_markup,omitempty"`
			Reply  replyParameters    `json:"reply_parameters,omitzero"`
		}{to, content.caption(), content.Markup, reply}, content.Picture)
	}
	m, err := change[sent](ctx, c, request)
	return m.ID, err
}

// MessageRef is a message of the bot in a chat.
type MessageRef struct {
	Chat      int64 `json:"chat_id"`
	MessageID int64 `json:"message_id"`
}

// Edit replaces the content of a message (editMessageText or editMessageMedia). It succeeds
// and returns false if the message has that content already. A text can become a picture, but
// not the other way round.
func (c *Client) Edit(ctx context.Context, m MessageRef, content Content) (changed bool, err error) {
	type media struct {
		Type  string `json:"type"`
		Media string `json:"media"`
		caption
	}
	var request call
	if content.Picture == nil {
		request = jsonCall("editMessageText", &struct {
			MessageRef
			Content
			Preview models.LinkPreviewOptions `json:"link_preview_options"`
		}{m, content, noPreview})
	} else {
		request = photoCall("editMessageMedia", &struct {
			MessageRef
			Media  media              `json:"media"`
			Markup models.ReplyMarkup `json:"reply_markup,omitempty"`
		}{m, media{Type: "photo", Media: "attach://" + pictureName, caption: content.caption()}, content.Markup}, content.Picture)
	}
	_, err = change[struct{}](ctx, c, request)
	if ErrorOf(err).detail == notModified {
		return false, nil
	}
	return err == nil, err
}

// Remove deletes a message of the bot (deleteMessage). It retries until the call succeeds
// or is refused, or ctx ends. Telegram refuses if the message is gone or older than 48
// hours, or if the bot lacks the right. Remove reports no refusal.
func (c *Client) Remove(ctx context.Context, m MessageRef) {
	_ = transport.Policy{
		Backoff: transport.Backoff{First: 200 * time.Millisecond, Max: 2 * time.Second},
		Again:   Retryable,
	}.Do(ctx, func(ctx context.Context) error { return c.do(ctx, "deleteMessage", m) })
}
