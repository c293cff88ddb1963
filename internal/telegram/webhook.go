package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"

	"github.com/go-telegram/bot"

	"herald/internal/chat"
)

// maxUpdate bounds a delivery's body in bytes.
const maxUpdate = 64 << 10

// receive has Telegram deliver updates to ServeHTTP until ctx is done.
func (s *session) receive(ctx context.Context) {
	s.serving.Store(s)
	defer s.serving.Store(nil)
	s.retry(ctx, "setWebhook", func() error {
		_, err := s.api.SetWebhook(ctx, &bot.SetWebhookParams{
			URL:            s.WebhookURL,
			SecretToken:    s.WebhookSecret,
			MaxConnections: windowSize,
			AllowedUpdates: allowedUpdates,
		})
		return clarify("setWebhook", err)
	})
	s.ready.Store(ctx.Err() == nil)
	<-ctx.Done()
}

// ServeHTTP takes one webhook delivery. It answers 200 only once the update's
// answer is out, or when delivering it again would change nothing; 503 asks
// Telegram to deliver it again.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if a.WebhookSecret == "" || !same(r.Header.Get("X-Telegram-Bot-Api-Secret-Token"), a.WebhookSecret) {
		a.Count("webhook_unauthorized")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s := a.serving.Load()
	if s == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	u, err := decode(body)
	if err != nil {
		a.Count("update_undecodable")
	}
	if u.Message == nil || u.ID == 0 {
		// There is nothing to answer, and anything but 200 would have it
		// delivered again for ever.
		w.WriteHeader(http.StatusOK)
		return
	}
	w.WriteHeader(s.accept(r.Context(), u))
}

// accept answers one delivered update and returns the status for Telegram.
func (s *session) accept(ctx context.Context, u update) int {
	j := s.window.begin(u.ID)
	if j == nil {
		if s.window.full() {
			s.Count("webhook_full")
			s.window.shedWaiting()
		}
		return http.StatusServiceUnavailable
	}
	defer s.window.release(u.ID)
	// Telegram hanging up does not undo what is being answered.
	ctx = context.WithoutCancel(ctx)
	key := s.dedupKey(u.ID)
	switch s.Dedup.Begin(ctx, key) {
	case chat.Answered:
		s.Count("update_repeated")
		return http.StatusOK
	case chat.InHand:
		s.Count("update_repeated")
		return http.StatusServiceUnavailable
	}
	settled := s.handle(j, u.Message)
	s.Dedup.End(ctx, key, settled)
	if !settled {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// same compares in a time that tells nothing about either string.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
