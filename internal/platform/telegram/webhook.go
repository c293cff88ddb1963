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

	"herald/internal/claim"
	"herald/internal/platform/telegram/botapi"
)

const (
	// maxUpdate bounds a delivery's body in bytes.
	maxUpdate = 1 << 20
	// maxDeliveries is the most that Telegram makes at a time,
	// https://core.telegram.org/bots/api#setwebhook.
	maxDeliveries = 100
	// ackAfter is how long a delivery waits for its answer before it is acknowledged.
	// Telegram makes one delivery at a time for each chat, and maxDeliveries in all
	// (tdlib/telegram-bot-api 10.0, Client.cpp). An answer that waits for a slot, a
	// service or a 429 must not hold back the others.
	ackAfter = 100 * time.Millisecond
	// deliveredFor is how long Telegram keeps an update for delivery,
	// https://core.telegram.org/bots/api#getting-updates.
	deliveredFor = 24 * time.Hour
	// watchEvery is the time between two checks that Telegram still delivers here.
	watchEvery = time.Minute
	// failureUnknown is the value of failedAt from setWebhook to the next check.
	failureUnknown = -1
)

// receive has Telegram deliver updates to ServeHTTP, and blocks until ctx is done or the
// token is refused. It sets the webhook again if another process has set or deleted it.
//
// A call without the secret may come from a stranger, and changes nothing here. If it comes from
// Telegram, with the secret of another process, checkWebhook finds it in Telegram's report.
func (s *session) receive(ctx context.Context) {
	s.a.serving.Store(s)
	defer s.a.serving.Store(nil)
	for step := s.setWebhook; s.repeat(ctx, func() error { return step(ctx) }) == nil; {
		s.connected()
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
			step = s.checkWebhook
		}
	}
}

// setWebhook sets the webhook. Meanwhile the adapter is not ready.
func (s *session) setWebhook(ctx context.Context) error {
	s.a.ready.Store(false)
	_, err := botapi.Change(ctx, s.a.api, (*bot.Bot).SetWebhook, &bot.SetWebhookParams{
		URL:            s.a.Settings.WebhookURL,
		SecretToken:    s.a.Settings.WebhookSecret.Reveal(),
		MaxConnections: maxDeliveries,
		AllowedUpdates: s.a.allowedUpdates(),
	})
	if err == nil {
		s.failedAt = failureUnknown
	}
	return err
}

// checkWebhook sets the webhook if Telegram has another URL, or reports that a delivery was
// refused since the last check. Telegram reports a failure for more than an hour, so the
// first check after the webhook was set only stores the time of the last failure.
func (s *session) checkWebhook(ctx context.Context) error {
	info, err := s.a.api.GetWebhookInfo(ctx)
	if err != nil {
		if botapi.ErrorOf(err).Kind != botapi.TooManyRequests { // A 429 is a sign that Telegram is there.
			s.a.ready.Store(false)
		}
		return err
	}
	if s.failedAt == failureUnknown {
		s.failedAt = info.LastErrorDate
	}
	refused := info.LastErrorDate != s.failedAt && strings.Contains(info.LastErrorMessage, "401")
	if info.URL == s.a.Settings.WebhookURL && !refused {
		return nil
	}
	if err = s.setWebhook(ctx); err == nil {
		s.a.Count("webhook_replaced")
		s.a.Log.Warn("telegram: another process had set or deleted the webhook, which is set again")
	}
	return err
}

// ServeHTTP takes one webhook delivery, a POST. It responds 200 once the update's answer is
// out, after ackAfter, or if delivering the update again would change nothing. It responds
// 503 to have Telegram deliver the update again in a second, 401 without the secret, and
// 400 if the body cannot be read.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Telegram reads this header of a 503. Without it, Telegram would hold back the chat
	// longer each time, up to two minutes (tdlib/telegram-bot-api, WebhookActor.cpp).
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(a.serve(r))
}

// serve handles a delivery and returns the status for Telegram.
func (a *Adapter) serve(r *http.Request) (status int) {
	given := []byte(r.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
	secret := a.Settings.WebhookSecret
	if !secret.IsSet() || subtle.ConstantTimeCompare(given, []byte(secret.Reveal())) != 1 {
		a.Count("webhook_unauthorized")
		return http.StatusUnauthorized
	}
	s := a.serving.Load()
	if s == nil {
		return http.StatusServiceUnavailable
	}
	// A longer body is cut off, and is then not valid JSON.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpdate))
	if err != nil {
		return http.StatusBadRequest
	}
	// A client that is still writing when the connection closes may never see the response.
	_, _ = io.Copy(io.Discard, r.Body)
	u, answerable := a.read(body)
	if !answerable || u.ID == 0 {
		return http.StatusOK // Telegram would deliver it again for ever.
	}
	if u.Join != nil {
		return s.takeJoin(u)
	}
	soon, cancel := context.WithTimeout(r.Context(), ackAfter)
	defer cancel()
	p := a.places.hold(soon, u.chat())
	if p == nil || p.Full() {
		a.Count("webhook_full")
		return http.StatusServiceUnavailable
	}
	return s.startAnswer(u, p)
}

// startAnswer answers an update in a goroutine of its own. It blocks until the goroutine
// ends, but for ackAfter at most, and returns the status for Telegram.
func (s *session) startAnswer(u *update, p *place) (status int) {
	result, ended := http.StatusOK, make(chan struct{}) // OK even after a panic, which would come again
	started := s.work.Go(func(id string) {
		defer close(ended)
		defer p.Free()
		result = s.respondOnce(id, u, p)
	})
	if !started {
		p.Free()
		return http.StatusServiceUnavailable
	}
	select {
	case <-ended:
		return result
	case <-time.After(ackAfter):
		return http.StatusOK
	}
}

// respondOnce handles one delivered update, unless the update is answered or in flight, and
// returns the status for Telegram.
func (s *session) respondOnce(id string, u *update, p *place) (status int) {
	u.command = s.parseRenamed(u)
	release, status := s.claim(u)
	if release == nil {
		return status
	}
	done := true // even after a panic
	defer func() { release(done) }()
	if done = s.respond(id, u, p); !done {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// takeJoin accepts a join request that was not accepted before, and returns the status for
// Telegram at once: the answer may take minutes.
func (s *session) takeJoin(u *update) (status int) {
	release, status := s.claim(u)
	if release == nil {
		return status
	}
	accepted := s.acceptJoin(u.Join)
	release(accepted)
	if !accepted {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// claim marks an update as in flight. release ends that, and must be called; it is nil if the
// update is answered or in flight, and Telegram is then to get the status.
func (s *session) claim(u *update) (release func(answered bool), status int) {
	if _, inFlight := s.delivered.LoadOrStore(u.ID, true); inFlight {
		// The first delivery will be acknowledged too, before its answer is out.
		s.a.Count("update_repeated")
		return nil, http.StatusOK
	}
	// Several bots may share one store.
	key := fmt.Sprintf("telegram:update:%d:%d", s.me().ID, u.ID)
	if progress := s.work.Claim(s.a.Dedup, key, u.request()); progress != claim.New {
		s.a.Count("update_repeated")
		s.delivered.Delete(u.ID)
		if progress == claim.InFlight { // at a replica
			return nil, http.StatusServiceUnavailable
		}
		return nil, http.StatusOK
	}
	id := u.ID
	return func(answered bool) {
		if answered {
			s.a.Dedup.MarkDone(key, deliveredFor)
		} else {
			s.a.Dedup.Release(key)
		}
		s.delivered.Delete(id)
	}, http.StatusOK
}
