package botapi

import (
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// BenchmarkSendMessage compares the call of this package with the library's,
// over a transport that answers at once. Parameters are made for each message,
// as by any caller.
func BenchmarkSendMessage(b *testing.B) {
	c := newClient(b, "http://bot.invalid", answer{status: 200, body: sentJSON})
	b.Run("as JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := c.SendMessage(b.Context(), Destination{Chat: 5, ReplyTo: 7}, Content{
				Text: "The price", Entities: []Entity{{Type: Bold, Length: 9}},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by the library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := c.bot().SendMessage(b.Context(), &bot.SendMessageParams{
				ChatID: int64(5), Text: "The price",
				Entities:           []models.MessageEntity{{Type: models.MessageEntityTypeBold, Length: 9}},
				LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: bot.True()},
				ReplyParameters:    &models.ReplyParameters{MessageID: 7, AllowSendingWithoutReply: true},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
