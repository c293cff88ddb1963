package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"
)

const (
	// maxBody bounds an interaction that arrives by HTTP, in bytes.
	maxBody = 256 << 10
	// maxAge bounds the age of a signature, past or future: a captured request
	// is worth nothing later, and sooner its ID was seen.
	maxAge = 5 * time.Minute
)

// ServeHTTP takes interactions at /discord/interactions: 405 for another
// method than POST, 503 while Run does not take any, 413 and 401 before
// anything is parsed, 409 for an interaction seen before.
// https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case a.PublicKey == nil || !a.on.Load():
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
		writeResponse(w, &discordgo.InteractionResponse{Type: discordgo.InteractionResponsePong})
	default:
		a.respondByHTTP(w, i)
	}
}

// verified reads the body of r if Discord signed it lately; otherwise it
// returns the status to refuse it with.
func (a *Adapter) verified(w http.ResponseWriter, r *http.Request) (body []byte, refused int) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	}
	timestamp := r.Header.Get("X-Signature-Timestamp")
	signature, err := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
	if err != nil || !ed25519.Verify(a.PublicKey, append([]byte(timestamp), body...), signature) || !recent(timestamp) {
		a.Count("bad_signature")
		return nil, http.StatusUnauthorized
	}
	return body, 0
}

// recent tells whether a Unix time in seconds is at most maxAge away.
func recent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= maxAge
}

// respondByHTTP writes the first response to an interaction, whole or
// deferred, as soon as there is one.
func (a *Adapter) respondByHTTP(w http.ResponseWriter, i interaction) {
	responses := make(chan *discordgo.InteractionResponse, 1)
	written, done := make(chan struct{}), make(chan struct{})
	x := exchange{interaction: i, arrived: time.Now(), byHTTP: true, done: func() { close(done) }}
	x.respond = func(_ context.Context, response *discordgo.InteractionResponse) error {
		responses <- response
		<-written
		return nil
	}
	defer close(written)
	switch {
	case a.take(x):
	case x.forUs():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	default:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case response := <-responses:
		writeResponse(w, response)
	case <-done:
		w.WriteHeader(http.StatusConflict)
	}
}

func writeResponse(w http.ResponseWriter, response *discordgo.InteractionResponse) {
	body, err := json.Marshal(response)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
	// An edit may follow at once and must find this answered.
	http.NewResponseController(w).Flush()
}
