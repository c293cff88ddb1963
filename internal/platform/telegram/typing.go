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

const (
	// typingAfter is how long an answer takes before "typing…" is shown.
	typingAfter = 1500 * time.Millisecond
	// typingLasts is the time from one call to the next. Telegram shows "typing…" for 5 seconds after a call,
	// https://core.telegram.org/bots/api#sendchataction.
	typingLasts = 4500 * time.Millisecond
)

// typing shows "typing…" in a chat or topic if an answer takes long, until stop is called. Commands that wait there at
// the same time share the calls. typing does nothing for a press, because its button has a spinner, nor in a channel's
// direct messages, because Telegram shows nothing there.
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
		wait, reserved := s.adapter.Limiter.Reserve(ctx, 0, limit)
		if reserved {
			wait = typingLasts
			// If this call fails, nothing is lost.
			_, _ = botapi.Change(ctx, s.adapter.api, (*bot.Bot).SendChatAction, &bot.SendChatActionParams{
				ChatID:          to.Chat,
				MessageThreadID: to.Thread,
				Action:          models.ChatActionTyping,
			})
		}
		transport.Sleep(ctx, wait)
	}
}
