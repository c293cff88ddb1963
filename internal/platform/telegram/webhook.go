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
	"herald/internal/transport"
)

const (
	// maxUpdate limits a delivery's body, in bytes.
	maxUpdate = 1 << 20
	// maxDeliveries is how many deliveries Telegram makes at a time,
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
	// failureUnknown is the value of webhook.failedAt between the call that sets the webhook and the next check.
	failureUnknown = -1
)

// webhook takes the updates that Telegram delivers to ServeHTTP, during one Run.
type webhook struct {
	s *session
	// failedAt is the time of the last failed delivery before the webhook was set, in Unix seconds by Telegram's clock.
	// Telegram reports an old failure for more than an hour. So the first check after the call that sets the webhook
	// stores its time, and a later failure is new if it has another time.
	failedAt int
}

// receive sets the webhook, so that Telegram delivers updates to ServeHTTP. It sets the webhook again if another
// process changes or deletes it. It blocks until ctx is done or the token is refused.
//
// A delivery without the secret may come from a stranger, and does not change the webhook. If it comes from Telegram,
// with the secret of another process, check finds it in Telegram's report.
func (h *webhook) receive(ctx context.Context) {
	h.s.adapter.hook.Store(h)
	defer h.s.adapter.hook.Store(nil)
	if h.s.repeat(ctx, func() error { return h.set(ctx) }) != nil {
		return
	}
	h.s.connected()
	for transport.Sleep(ctx, watchEvery) {
		if h.s.repeat(ctx, func() error { return h.check(ctx) }) != nil {
			return
		}
		h.s.connected()
	}
}

// set sets the webhook. Meanwhile the adapter is not ready.
func (h *webhook) set(ctx context.Context) error {
	a := h.s.adapter
	a.ready.Store(false)
	_, err := botapi.Change(ctx, a.api, (*bot.Bot).SetWebhook, &bot.SetWebhookParams{
		URL:            a.Settings.WebhookURL,
		SecretToken:    a.Settings.WebhookSecret.Reveal(),
		MaxConnections: maxDeliveries,
		AllowedUpdates: a.allowedUpdates(),
	})
	if err == nil {
		h.failedAt = failureUnknown
	}
	return err
}

// check asks Telegram about the webhook. It sets the webhook again if Telegram has another URL, or reports that this
// bot has refused a delivery since the webhook was set: Telegram then has another secret.
func (h *webhook) check(ctx context.Context) error {
	a := h.s.adapter
	info, err := a.api.GetWebhookInfo(ctx)
	if err != nil {
		if botapi.ErrorOf(err).Kind != botapi.TooManyRequests { // A 429 shows that Telegram can be reached.
			a.ready.Store(false)
		}
		return err
	}
	if h.failedAt == failureUnknown {
		h.failedAt = info.LastErrorDate
	}
	isNewFailure := info.LastErrorDate != h.failedAt // never in the first check after set
	secretDiffers := isNewFailure && strings.Contains(info.LastErrorMessage, "401")
	if info.URL == a.Settings.WebhookURL && !secretDiffers {
		return nil
	}
	err = h.set(ctx)
	if err != nil {
		return err
	}
	a.Count("webhook_replaced")
	a.Log.Warn("telegram: another process had set or deleted the webhook, which is set again")
	return nil
}

// ServeHTTP takes one webhook delivery, a POST. It responds:
//
//	200  the answer is delivered, takes longer than ackAfter, or delivering the update again would change nothing
//	503  Telegram is to deliver the update again in a second
//	401  the secret is missing or wrong
//	400  the body cannot be read
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Telegram reads this header of a 503. If it is missing, Telegram holds back the chat longer each time, up to two
	// minutes (tdlib/telegram-bot-api, WebhookActor.cpp).
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
	h := a.hook.Load()
	if h == nil {
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
	switch {
	case !answerable, u.ID == 0:
		return http.StatusOK // Telegram would deliver it again for ever.
	case u.Join != nil:
		return h.passOn(u)
	}
	return h.start(u)
}

// passOn passes on a join request to be answered, unless it is claimed or done. It returns the status for Telegram.
func (h *webhook) passOn(u *update) (status int) {
	key, progress := h.claim(u)
	if progress != claim.New {
		return h.repeated(progress)
	}
	if !h.s.acceptJoin(u.Join) {
		h.s.adapter.Dedup.Release(key)
		return http.StatusServiceUnavailable
	}
	h.s.adapter.Dedup.MarkDone(key, deliveredFor)
	return http.StatusOK
}

// start starts a goroutine that answers an update. It blocks until the update is answered, but for at most ackAfter,
// and returns the status for Telegram.
func (h *webhook) start(u *update) (status int) {
	flight := h.s.adapter.inFlight.tryEnter()
	if flight == nil {
		h.s.adapter.Count("webhook_full")
		return http.StatusServiceUnavailable
	}
	u.onWait = flight.stopRunning
	ended := make(chan int, 1)
	started := h.s.work.Go(func(id string) {
		result := http.StatusOK // even after a panic, because the update would panic again
		defer func() {
			flight.leave()
			ended <- result
		}()
		result = h.answer(id, u)
	})
	if !started {
		flight.leave()
		return http.StatusServiceUnavailable
	}
	select {
	case status = <-ended:
		return status
	case <-time.After(ackAfter):
		return http.StatusOK
	}
}

// answer answers an update unless it is claimed or done, and returns the status for Telegram.
func (h *webhook) answer(id string, u *update) (status int) {
	u.command = h.s.parseRenamed(u)
	key, progress := h.claim(u)
	if progress != claim.New {
		return h.repeated(progress)
	}
	markDone := func() { h.s.adapter.Dedup.MarkDone(key, deliveredFor) }
	acknowledged := time.AfterFunc(ackAfter, markDone) // because a command may take longer than its claim lasts
	answered := true                                   // even after a panic, because the update would panic again
	defer func() {
		switch {
		case !acknowledged.Stop(): // The update is marked as done already.
		case answered:
			markDone()
		default:
			h.s.adapter.Dedup.Release(key)
		}
	}()
	answered = h.s.respond(id, u)
	if !answered {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// claim claims the right to answer an update among all replicas. It returns the claim's key, and how far the answer was
// before.
func (h *webhook) claim(u *update) (key string, p claim.Progress) {
	// Several bots may share one store.
	key = fmt.Sprintf("telegram:update:%d:%d", h.s.me().ID, u.ID)
	return key, h.s.work.Claim(h.s.adapter.Dedup, key, u.request())
}

// repeated counts a delivery of an update whose claim is not New, and returns the status for Telegram. If the answer is
// in flight, Telegram is to deliver the update again, because that answer may still fail.
func (h *webhook) repeated(p claim.Progress) (status int) {
	h.s.adapter.Count("update_repeated")
	if p == claim.InFlight {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
