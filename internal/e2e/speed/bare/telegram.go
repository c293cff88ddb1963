//go:build speed

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// startTelegram polls, or takes deliveries on mux if there is a webhook's URL.
func startTelegram(ctx context.Context, mux *http.ServeMux) error {
	var answer bot.SendMessageParams
	if err := json.Unmarshal([]byte(os.Getenv("ANSWER")), &answer); err != nil {
		return err
	}
	// The library's type has no place for the time of such an entity.
	answer.Entities = slices.DeleteFunc(answer.Entities, func(e models.MessageEntity) bool { return e.Type == "date_time" })
	b, err := bot.New(os.Getenv("TELEGRAM_BOT_TOKEN"),
		bot.WithServerURL(os.Getenv("TELEGRAM_API_URL")),
		bot.WithHTTPClient(time.Minute, pooled()),
		bot.WithWebhookSecretToken(os.Getenv("TELEGRAM_WEBHOOK_SECRET")),
		bot.WithAllowedUpdates(bot.AllowedUpdates{"message"}))
	if err != nil {
		return err
	}
	b.RegisterHandler(bot.HandlerTypeMessageText, "price", bot.MatchTypeCommandStartOnly,
		func(ctx context.Context, b *bot.Bot, u *models.Update) {
			reply := answer
			reply.ChatID, reply.ReplyParameters = u.Message.Chat.ID, &models.ReplyParameters{MessageID: u.Message.ID}
			if _, err := b.SendMessage(ctx, &reply); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	hook := os.Getenv("TELEGRAM_WEBHOOK_URL")
	if hook == "" {
		go b.Start(ctx)
		return nil
	}
	address, err := url.Parse(hook)
	if err != nil {
		return err
	}
	mux.Handle(address.Path, b.WebhookHandler())
	go b.StartWebhook(ctx)
	return nil
}
