package telegram

import (
	"context"
	"fmt"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// Telegram shows a chat action for 5 seconds, https://core.telegram.org/bots/api#sendchataction.
const (
	typingAfter = 1500 * time.Millisecond
	typingLasts = 4500 * time.Millisecond
)

// typing shows "typing…" in a chat or topic once an answer takes long, until stop is called. Commands that wait there
// at the same time share the calls. A press shows nothing: its button has a spinner. In a channel's direct messages
// Telegram shows nothing.
func (a *answering) typing(to outbox.Destination) (stop func()) {
	if a.press != nil || to.DirectTopic != 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(a.s.work.Commands)
	timer := a.s.work.AfterFunc(typingAfter, a.cmd.request.ID, func() { a.s.showTyping(ctx, to) })
	return func() {
		timer.Stop()
		cancel()
	}
}

// showTyping shows "typing…" until ctx is done.
func (s *session) showTyping(ctx context.Context, to outbox.Destination) {
	limit := ratelimit.Limit{
		Key:   fmt.Sprint("typing ", s.me().ID, " ", to.Chat, " ", to.Thread),
		Burst: 1,
		Every: typingLasts,
	}
	for ctx.Err() == nil {
		wait, isFree := s.adapter.Limiter.Reserve(ctx, 0, limit)
		if isFree {
			wait = typingLasts
			// If it fails, nobody misses it.
			_, _ = botapi.Change(ctx, s.adapter.api, (*bot.Bot).SendChatAction, &bot.SendChatActionParams{
				ChatID:          to.Chat,
				MessageThreadID: to.Thread,
				Action:          models.ChatActionTyping,
			})
		}
		transport.Sleep(ctx, wait)
	}
}
