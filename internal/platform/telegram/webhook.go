package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
	"herald/internal/transport"
)

// maxUpdate bounds a delivery's body in bytes, and maxDiscarded how much more of
// a longer one is read and dropped: a client that is still writing when the
// connection closes may never see the response.
const (
	maxUpdate    = 1 << 20
	maxDiscarded = 64 << 20
)

// maxDeliveries is the most that Telegram makes at a time,
// https://core.telegram.org/bots/api#setwebhook.
const maxDeliveries = 100

// ackAfter is when a delivery is acknowledged though its answer is not out. Telegram
// makes one delivery at a time for each chat, and maxDeliveries in all
// (tdlib/telegram-bot-api 10.0, Client.cpp): what waits for a slot, a service or a
// 429 must not hold back the others.
const ackAfter = 300 * time.Millisecond

// watchEvery is how often it is checked that Telegram still delivers here.
const watchEvery = time.Minute

// receive has Telegram deliver updates to ServeHTTP until ctx is done. A webhook that
// another process has set or deleted is set again.
func (s *session) receive(ctx context.Context) {
	s.serving.Store(s)
	defer s.serving.Store(nil)
	set := func() error {
		return s.api.SetWebhook(ctx, &bot.SetWebhookParams{
			URL:            s.WebhookURL,
			SecretToken:    s.WebhookSecret.Reveal(),
			MaxConnections: maxDeliveries,
			AllowedUpdates: allowedUpdates,
		})
	}
	err := s.repeat(ctx, set)
	for err == nil {
		s.connected()
		if !transport.Sleep(ctx, watchEvery) {
			return
		}
		err = s.repeat(ctx, func() error {
			info, err := s.api.GetWebhookInfo(ctx)
			if err == nil && info.URL == s.WebhookURL {
				return nil
			}
			s.ready.Store(false)
			if err != nil {
				return err
			}
			s.Count("webhook_replaced")
			s.Log.Warn("telegram: another process has set or deleted the webhook, which is set again")
			return set()
		})
	}
}

// ServeHTTP takes one webhook delivery. It answers 200 once the update's answer is
// out, after ackAfter, or if delivering it again would change nothing; 503 asks
// Telegram to deliver it again.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !a.WebhookSecret.IsSet() || !same(r.Header.Get("X-Telegram-Bot-Api-Secret-Token"), a.WebhookSecret.Reveal()) {
		a.Count("webhook_unauthorized")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s := a.serving.Load()
	if s == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpdate+1))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(body) > maxUpdate {
		a.Count("update_too_large")
		_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded)
		w.WriteHeader(http.StatusOK) // It would be delivered again for ever.
		return
	}
	u, err := decode(body)
	if err != nil {
		a.Count("update_undecodable")
	}
	if !u.answerable() || u.ID == 0 {
		// There is nothing to answer, and anything but 200 would have it
		// delivered again for ever.
		w.WriteHeader(http.StatusOK)
		return
	}
	select {
	case a.inFlight <- struct{}{}:
	default:
		a.Count("webhook_full")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	status := make(chan int, 1)
	// Telegram hanging up does not undo what is being answered.
	ctx := context.WithoutCancel(r.Context())
	taken := s.tasks.Go(func(id string) {
		defer func() { <-a.inFlight }()
		result := http.StatusOK // An update that makes this program panic would do so again.
		defer func() { status <- result }()
		result = s.respondOnce(ctx, id, u)
	})
	if !taken {
		<-a.inFlight
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	late := time.NewTimer(ackAfter)
	defer late.Stop()
	select {
	case code := <-status:
		w.WriteHeader(code)
	case <-late.C:
		w.WriteHeader(http.StatusOK)
	}
}

// respondOnce handles one delivered update, unless that has been done or is being
// done, and returns the status for Telegram.
func (s *session) respondOnce(ctx context.Context, id string, u update) (status int) {
	// Several bots may share one store.
	key := fmt.Sprintf("telegram:update:%d:%d", s.me.ID, u.ID)
	switch s.Dedup.Claim(ctx, key) {
	case chat.Answered:
		s.Count("update_repeated")
		return http.StatusOK
	case chat.InFlight:
		s.Count("update_repeated")
		return http.StatusServiceUnavailable
	}
	done := true // Also after a panic.
	defer func() { s.Dedup.Release(ctx, key, done) }()
	if done = s.respond(id, u); !done {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// same compares in constant time, whatever the lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
