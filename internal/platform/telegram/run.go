package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/outbox"
)

// Run implements chat.Adapter.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &session{Adapter: a, tasks: chat.NewTasks(ctx, h, a.Log, a.Count), running: ctx, fail: fail}
	// The number before the colon is the bot's, and no secret.
	number, _, _ := strings.Cut(a.Token.Reveal(), ":")
	s.out = outbox.New(outbox.Config{
		API: a.api, Limiter: a.Limiter, Pacing: a.Pacing, Bot: "telegram " + number, Count: a.Count, Unauthorized: s.unauthorized,
	})

	// If it fails, ctx has ended, and poll and receive return at once.
	_ = s.repeat(ctx, func() (err error) { s.me, err = a.api.GetMe(ctx); return err })
	var profile sync.WaitGroup
	defer profile.Wait()
	profile.Go(func() { s.syncProfile(ctx) })

	offsets := &offsetTracker{}
	if a.WebhookURL == "" {
		s.poll(ctx, offsets)
	} else {
		s.receive(ctx)
	}
	a.ready.Store(false)

	s.out.Drain(time.Now().Add(lastSlot))
	s.tasks.Drain()
	if errors.Is(context.Cause(ctx), errToken) {
		return errToken
	}
	if a.WebhookURL == "" {
		s.commit(ctx, offsets)
	}
	return nil
}
