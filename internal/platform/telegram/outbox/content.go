package outbox

import (
	"bytes"
	"cmp"
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
)

// Content is the text of a message, or its picture and caption.
type Content struct {
	Text     string                 // 1 to 4,096 UTF-16 units; a caption has 0 to 1,024
	Entities []models.MessageEntity // at most 100
	// Markup is a *models.InlineKeyboardMarkup, a *models.ForceReply or nil. An edit takes
	// only a keyboard; if there is none, the edit removes the one that was there.
	Markup  models.ReplyMarkup
	Picture []byte // a PNG; nil is a message of text
}

// Destination is where a message goes.
type Destination struct {
	Chat   int64
	Thread int // the topic; 0 outside topics
	// DirectTopic is the topic of a channel's direct messages, which a message there must have; 0
	// elsewhere.
	DirectTopic int
	ReplyTo     int  // the ID of the message to reply to, if that still exists; 0 is no reply
	Silent      bool // without a notification sound
}

// Topic returns the number of the topic, of either kind, or 0.
func (to Destination) Topic() int { return cmp.Or(to.Thread, to.DirectTopic) }

// MessageRef is a message of the bot in a chat.
type MessageRef struct {
	Chat      int64
	MessageID int
}

// pictureName names the file of a picture. An edit refers to it as attach://photo.
const pictureName = "photo"

// NoPreview returns options that show no preview of the links in a message.
func NoPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: bot.True()}
}

// textMessage returns the parameters of a message of text.
func textMessage(to Destination, c Content) bot.SendMessageParams {
	return bot.SendMessageParams{
		ChatID:                to.Chat,
		MessageThreadID:       to.Thread,
		DirectMessagesTopicID: to.DirectTopic,
		Text:                  c.Text,
		Entities:              c.Entities,
		LinkPreviewOptions:    NoPreview(),
		DisableNotification:   to.Silent,
		ReplyParameters:       to.reply(),
		ReplyMarkup:           c.Markup,
	}
}

// reply returns the parameters of a reply, or nil.
func (to Destination) reply() *models.ReplyParameters {
	if to.ReplyTo == 0 {
		return nil
	}
	return &models.ReplyParameters{MessageID: to.ReplyTo, AllowSendingWithoutReply: true}
}

// post sends one message, without a preview of the links in it, and returns its ID. The ID is 0
// if Telegram's result cannot be read.
func (o *Outbox) post(ctx context.Context, to Destination, c Content) (id int, err error) {
	var sent *models.Message
	if c.Picture == nil {
		params := textMessage(to, c)
		sent, err = botapi.Change(ctx, o.API, (*bot.Bot).SendMessage, &params)
	} else {
		picture := &models.InputFileUpload{Filename: pictureName + ".png", Data: bytes.NewReader(c.Picture)}
		sent, err = botapi.Change(ctx, o.API, (*bot.Bot).SendPhoto, &bot.SendPhotoParams{
			ChatID:                to.Chat,
			MessageThreadID:       to.Thread,
			DirectMessagesTopicID: to.DirectTopic,
			Photo:                 picture,
			Caption:               c.Text,
			CaptionEntities:       c.Entities,
			DisableNotification:   to.Silent,
			ReplyParameters:       to.reply(),
			ReplyMarkup:           c.Markup,
		})
	}
	if err != nil {
		return 0, err
	}
	return sent.ID, nil // The library's two methods never return nil.
}

// edit replaces the content of a message. changed is false if the message had that content
// already, perhaps from an attempt with an unknown outcome. A text can become a picture, but a
// picture cannot become a text.
func (o *Outbox) edit(ctx context.Context, m MessageRef, c Content) (changed bool, err error) {
	if c.Picture == nil {
		_, err = botapi.Change(ctx, o.API, (*bot.Bot).EditMessageText, &bot.EditMessageTextParams{
			ChatID:             m.Chat,
			MessageID:          m.MessageID,
			Text:               c.Text,
			Entities:           c.Entities,
			LinkPreviewOptions: NoPreview(),
			ReplyMarkup:        c.Markup,
		})
	} else {
		_, err = botapi.Change(ctx, o.API, (*bot.Bot).EditMessageMedia, &bot.EditMessageMediaParams{
			ChatID:    m.Chat,
			MessageID: m.MessageID,
			Media: &models.InputMediaPhoto{
				Media:           "attach://" + pictureName,
				MediaAttachment: bytes.NewReader(c.Picture),
				Caption:         c.Text,
				CaptionEntities: c.Entities,
			},
			ReplyMarkup: c.Markup,
		})
	}
	if err != nil && botapi.ErrorOf(err).NotModified() {
		return false, nil
	}
	return err == nil, err
}
