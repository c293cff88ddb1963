package discord

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/platform/discord/api"
)

const (
	// maxBody bounds an interaction that arrives by HTTP, in bytes.
	maxBody = 256 << 10
	// maxAge bounds the age of a signature, past or future. Until then, the ID of a captured
	// request is known.
	maxAge = 5 * time.Minute
)

// ServeHTTP answers a POST to /discord/interactions with one interaction, and blocks until
// a deferred answer is edited. It refuses with 401 (signature), 413 (size), 400 (form), or
// 503: Run takes none, too many are in flight, or the interaction was seen before.
// https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refused := http.StatusServiceUnavailable
	if s := a.session.Load(); s != nil {
		refused = s.serve(w, r)
	}
	if refused != 0 {
		w.WriteHeader(refused)
	}
}

// serve answers the interaction in r and returns 0, or the status to refuse it with.
func (s *session) serve(w http.ResponseWriter, r *http.Request) (refused int) {
	body, refused := s.verified(w, r)
	if refused == http.StatusUnauthorized {
		s.count("bad_signature")
	}
	if refused != 0 {
		return refused
	}
	i, forUs := decode(body)
	if i.Type == discordgo.InteractionPing {
		_ = response{Type: discordgo.InteractionResponsePong}.write(w)
		return 0
	}
	if !forUs {
		s.count("ignored")
		return http.StatusBadRequest
	}
	refused = http.StatusServiceUnavailable
	i.Arrived = time.Now()
	i.w = w
	s.admit(maxByHTTP, s.work.Do, func(reference string) {
		i.reference = reference
		if s.handle(i) {
			refused = 0
		}
	})
	return refused
}

// write sends r as the body of an HTTP response, and returns once the body is flushed. An
// edit before that would fail. After a failure of the connection, the outcome is unknown.
func (r response) write(w http.ResponseWriter) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	switch r.Type {
	case discordgo.InteractionResponseDeferredChannelMessageWithSource,
		discordgo.InteractionResponseDeferredMessageUpdate:
		// The next request on this connection would wait until the answer is out.
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
	if http.NewResponseController(w).Flush() != nil {
		return api.ErrOutcomeUnknown
	}
	return nil
}

// verified returns the body of r if Discord signed it within maxAge, and otherwise the
// status to refuse it with. It reads the body only if the headers have the form of a
// signature.
func (s *session) verified(w http.ResponseWriter, r *http.Request) (body []byte, refused int) {
	timestamp := r.Header.Get("X-Signature-Timestamp")
	seconds, malformed := strconv.ParseInt(timestamp, 10, 64)
	signature, err := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
	if malformed != nil || err != nil || len(signature) != ed25519.SignatureSize {
		return nil, http.StatusUnauthorized
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	case !ed25519.Verify(s.publicKey, slices.Concat([]byte(timestamp), body), signature):
		return nil, http.StatusUnauthorized
	}
	if age := time.Since(time.Unix(seconds, 0)); age.Abs() > maxAge {
		s.log.Log(s.work.Sends, s.work.Rarely(slog.LevelWarn, "clock"),
			"a signed interaction is not of now: perhaps this machine's clock is wrong", "age", age)
		return nil, http.StatusUnauthorized
	}
	return body, 0
}
