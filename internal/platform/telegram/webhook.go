package telegram

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

const (
	// maxUpdate bounds a delivery's body in bytes.
	maxUpdate = 1 << 20
	// maxDeliveries is the most that Telegram makes at a time,
	// https://core.telegram.org/bots/api#setwebhook.
	maxDeliveries = 100
	// ackAfter is when a delivery is acknowledged though its answer is not out.
	// Telegram makes one delivery at a time for each chat, and maxDeliveries in all
	// (tdlib/telegram-bot-api 10.0, Client.cpp): what waits for a slot, a service or a
	// 429 must not hold back the others.
	ackAfter = 100 * time.Millisecond
	// deliveredFor is how long Telegram keeps an update for delivery,
	// https://core.telegram.org/bots/api#getting-updates.
	deliveredFor = 24 * time.Hour
	// watchEvery is how often it is checked that Telegram still delivers here.
	watchEvery = time.Minute
	// unknown is no time.
	unknown = -1
)

// receive has Telegram deliver updates to ServeHTTP until ctx is done. A webhook that
// another process has set or deleted is set again.
//
// A call without the secret may come from a stranger, or from Telegram with what another
// process has set. It has the webhook set at once, but only once in watchEvery.
func (s *session) receive(ctx context.Context) {
	s.serving.Store(s)
	defer s.serving.Store(nil)
	for step := s.setWebhook; s.repeat(ctx, func() error { return step(ctx) }) == nil; {
		s.connected()
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
			step = s.checkWebhook
		case <-s.refused:
			transport.Sleep(ctx, time.Until(s.setAt.Add(watchEvery)))
			s.Log.Warn("telegram: a call without the webhook's secret was refused; the webhook is set again, " +
				"in case another process has changed it")
			step = s.setWebhook
		}
	}
}

// setWebhook sets the webhook. Meanwhile the adapter is not ready.
func (s *session) setWebhook(ctx context.Context) error {
	s.ready.Store(false)
	s.setAt = time.Now()
	err := s.api.SetWebhook(ctx, &bot.SetWebhookParams{
		URL:            s.WebhookURL,
		SecretToken:    s.WebhookSecret.Reveal(),
		MaxConnections: maxDeliveries,
		AllowedUpdates: allowedUpdates,
	})
	if err == nil {
		s.failedAt = unknown
	}
	return err
}

// checkWebhook sets the webhook if Telegram has another URL, or if this bot has refused a
// delivery since the check before. Telegram tells of a failure for an hour and more, so
// the first check after the webhook was set only notes when the last one was.
func (s *session) checkWebhook(ctx context.Context) error {
	info, err := s.api.GetWebhookInfo(ctx)
	if err != nil {
		if botapi.ErrorOf(err).Kind != botapi.TooManyRequests { // A 429 is a sign that Telegram is there.
			s.ready.Store(false)
		}
		return err
	}
	if s.failedAt == unknown {
		s.failedAt = info.LastErrorDate
	}
	refused := info.LastErrorDate != s.failedAt && strings.Contains(info.LastErrorMessage, "401")
	if info.URL == s.WebhookURL && !refused {
		return nil
	}
	if err = s.setWebhook(ctx); err == nil {
		s.Count("webhook_replaced")
		s.Log.Warn("telegram: another process had set or deleted the webhook, which is set again")
	}
	return err
}

// ServeHTTP takes one webhook delivery, a POST. It answers 200 once the update's answer is
// out, after ackAfter, or if delivering it again would change nothing; 503 asks
// Telegram to deliver it again in a second.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// For a 503. Otherwise Telegram holds back the chat for longer each time, up to two
	// minutes (tdlib/telegram-bot-api, WebhookActor.cpp).
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(a.serve(r))
}

func (a *Adapter) serve(r *http.Request) (status int) {
	given := []byte(r.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
	if !a.WebhookSecret.IsSet() || subtle.ConstantTimeCompare(given, []byte(a.WebhookSecret.Reveal())) != 1 {
		a.Count("webhook_unauthorized")
		select {
		case a.refused <- struct{}{}:
		default:
		}
		return http.StatusUnauthorized
	}
	s := a.serving.Load()
	if s == nil {
		return http.StatusServiceUnavailable
	}
	// What is longer is cut off, and so no JSON.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpdate))
	if err != nil {
		return http.StatusBadRequest
	}
	// A client that is still writing when the connection closes may never see the response.
	_, _ = io.Copy(io.Discard, r.Body)
	u, answerable := a.read(body)
	if !answerable || u.ID == 0 {
		return http.StatusOK // Otherwise it would be delivered again for ever.
	}
	soon, cancel := context.WithTimeout(r.Context(), ackAfter)
	defer cancel()
	free := a.places.take(soon, u.chat())
	if free == nil {
		a.Count("webhook_full")
		return http.StatusServiceUnavailable
	}
	answered, over := http.StatusOK, make(chan struct{}) // also after a panic, which would come again
	// Telegram hanging up does not undo what is being answered.
	ctx := context.WithoutCancel(r.Context())
	taken := s.tasks.Go(func(id string) {
		defer close(over)
		defer free()
		answered = s.respondOnce(ctx, id, u, free)
	})
	if !taken {
		free()
		return http.StatusServiceUnavailable
	}
	select {
	case <-over:
		return answered
	case <-time.After(ackAfter):
		return http.StatusOK
	}
}

// respondOnce handles one delivered update, unless that has been done or is being
// done, and returns the status for Telegram.
func (s *session) respondOnce(ctx context.Context, id string, u update, free func()) (status int) {
	// Several bots may share one store.
	key := fmt.Sprintf("telegram:update:%d:%d", s.me.ID, u.ID)
	done, over := true, make(chan struct{}) // Also after a panic.
	if first, here := s.delivered.LoadOrStore(u.ID, over); here {
		// A refusal would hold back its chat until the answer is out. The delivery is
		// acknowledged meanwhile, like the first.
		<-first.(chan struct{})
		return s.respondOnce(ctx, id, u, free)
	}
	defer func() {
		s.delivered.Delete(u.ID)
		close(over)
	}()
	switch s.Dedup.Claim(ctx, key) {
	case chat.Answered:
		s.Count("update_repeated")
		return http.StatusOK
	case chat.InFlight: // at a replica
		s.Count("update_repeated")
		return http.StatusServiceUnavailable
	}
	defer func() { s.Dedup.Release(ctx, key, done, deliveredFor) }()
	if done = s.respond(id, u, free); !done {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
