package discord

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

const (
	// maxBody bounds an interaction that arrives by HTTP, in bytes.
	maxBody = 256 << 10
	// maxAge bounds the age of a signature, past or future. A request that was
	// captured is refused later, and until then because its ID is known.
	maxAge = 5 * time.Minute
)

// ServeHTTP takes interactions at /discord/interactions: 405 for another
// method than POST, 503 while Run does not take any and where there is no room,
// 413 and 401 before anything is parsed, 409 for an interaction seen before.
// https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	work := a.work.Load()
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case work == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, status := a.verified(w, r)
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	i, err := decode(body)
	switch {
	case err != nil:
		a.Count("malformed")
		w.WriteHeader(http.StatusBadRequest)
	case i.Type == discordgo.InteractionPing:
		_ = writeResponse(w, response{Type: discordgo.InteractionResponsePong})
	case !a.wanted(i):
		w.WriteHeader(http.StatusBadRequest)
	default:
		a.answerByHTTP(w, work, i)
	}
}

// verified reads the body of r if Discord signed it lately; otherwise it
// returns the status to refuse it with. The body is read only if the headers
// have the form of a signature and the time of one.
func (a *Adapter) verified(w http.ResponseWriter, r *http.Request) (body []byte, refused int) {
	timestamp := r.Header.Get("X-Signature-Timestamp")
	signature, err := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
	if err != nil || len(signature) != ed25519.SignatureSize || !recent(timestamp) {
		a.Count("bad_signature")
		return nil, http.StatusUnauthorized
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	case !ed25519.Verify(a.PublicKey, slices.Concat([]byte(timestamp), body), signature):
		a.Count("bad_signature")
		return nil, http.StatusUnauthorized
	}
	return body, 0
}

// recent reports whether a Unix time in seconds is at most maxAge away.
func recent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= maxAge
}

// answerByHTTP answers i in the body of the response; what is deferred there is
// edited later, before this returns.
func (a *Adapter) answerByHTTP(w http.ResponseWriter, work *chat.Tasks, i *interaction) {
	fresh := false
	begun := a.start(work.Do, func(id string) {
		fresh = a.take(work, id, &pendingInteraction{
			interaction: i, arrived: time.Now(), byHTTP: true,
			respond: func(r response) error { return writeResponse(w, r) },
		})
	})
	switch {
	case !begun:
		w.WriteHeader(http.StatusServiceUnavailable)
	case !fresh:
		w.WriteHeader(http.StatusConflict)
	}
}

func writeResponse(w http.ResponseWriter, r response) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a response: %w", err)
	}
	if r.Type == discordgo.InteractionResponseDeferredChannelMessageWithSource || r.Type == discordgo.InteractionResponseDeferredMessageUpdate {
		// The next request on this connection would wait until the answer is out.
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
	// An edit may follow at once and must find this answered.
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("write a response: %w", err)
	}
	return nil
}
