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
	// maxBody is the maximum size of an interaction that arrives by HTTP, in bytes.
	maxBody = 256 << 10
	// maxAge is the maximum distance between now and the time of a signature, in either direction. Answered interactions
	// are remembered for longer, so that a captured request is not answered again.
	maxAge = 5 * time.Minute
)

// accepted is returned in place of an HTTP status by functions that do not refuse a request.
const accepted = 0

// ServeHTTP answers a POST to /discord/interactions with one interaction, and blocks until a deferred answer is edited.
// It refuses a request with status
//   - 401 if the signature is missing or wrong, or its time is further from now than maxAge;
//   - 413 if the body is too large;
//   - 400 if the body cannot be read, or is not an interaction for the bot;
//   - 503 if no session runs, too many interactions are in flight, or this one was seen before.
//
// https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := http.StatusServiceUnavailable
	if s := a.session.Load(); s != nil {
		status = s.serve(w, r)
	}
	if status != accepted {
		w.WriteHeader(status)
	}
}

// serve answers the interaction in r and returns accepted, or returns the status to refuse it with.
func (s *session) serve(w http.ResponseWriter, r *http.Request) (status int) {
	body, status := s.verifiedBody(w, r)
	if status == http.StatusUnauthorized {
		s.count("bad_signature")
	}
	if status != accepted {
		return status
	}
	i, forUs := decode(body)
	if i.Type == discordgo.InteractionPing {
		_ = response{Type: discordgo.InteractionResponsePong}.write(w)
		return accepted
	}
	if !forUs {
		s.count("ignored")
		return http.StatusBadRequest
	}
	i.Arrived = time.Now()
	i.w = w
	isAnswered := false
	s.admit(maxByHTTP, s.work.Do, func(reference string) { // work.Do blocks until this function returns.
		i.reference = reference
		isAnswered = s.handle(i)
	})
	if !isAnswered {
		return http.StatusServiceUnavailable
	}
	return accepted
}

// write sends r as the body of an HTTP response. It returns once the body is flushed, because Discord would refuse an
// edit before that. If the connection fails, it returns api.ErrOutcomeUnknown.
func (r response) write(w http.ResponseWriter) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	switch r.Type {
	case discordgo.InteractionResponseDeferredChannelMessageWithSource,
		discordgo.InteractionResponseDeferredMessageUpdate:
		// ServeHTTP returns only once the answer is delivered. Another request on this connection would wait until then, so
		// the connection is not kept alive.
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

// verifiedBody returns the body of r and accepted, if Discord signed it within maxAge. Otherwise, it returns the status
// to refuse r with. It reads the body only if the headers have the form of a signature.
func (s *session) verifiedBody(w http.ResponseWriter, r *http.Request) (body []byte, status int) {
	timestamp := r.Header.Get("X-Signature-Timestamp")
	seconds, timeErr := strconv.ParseInt(timestamp, 10, 64)
	signature, hexErr := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
	if timeErr != nil || hexErr != nil || len(signature) != ed25519.SignatureSize {
		return nil, http.StatusUnauthorized
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
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
	return body, accepted
}
