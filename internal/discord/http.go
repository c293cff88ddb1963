package discord

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
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
// method than POST, 503 while Run does not take any, 413 and 401 before
// anything is parsed, 409 for an interaction seen before.
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
		writeResponse(w, &discordgo.InteractionResponse{Type: discordgo.InteractionResponsePong})
	case !a.wanted(i):
		w.WriteHeader(http.StatusBadRequest)
	case !a.inHand.TryAcquire(1):
		a.Count("busy")
		writeResponse(w, busy())
	default:
		p := pendingInteraction{interaction: i, arrived: time.Now(), byHTTP: true, flags: visibility(work.Handler, i)}
		a.respondByHTTP(w, work, p)
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

// recent reports whether a Unix time in seconds is at most maxAge away.
func recent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= maxAge
}

// respondByHTTP writes the answer to p if it is ready in time. Otherwise it
// writes a deferral, and the answer is an edit later.
func (a *Adapter) respondByHTTP(w http.ResponseWriter, work *chat.Work, p pendingInteraction) {
	rendered := make(chan *discordgo.MessageEmbed)
	deferred := make(chan struct{})
	begun := a.begin(work, a.inHand, func(id string) {
		defer close(rendered)
		a.once(work, p.interaction, func() error {
			var embed *discordgo.MessageEmbed
			work.Answer(parse(p.interaction, id), func(reply chat.Reply) { embed = render(reply) })
			select {
			case rendered <- embed:
				return nil
			case <-deferred:
				return a.edit(work, p, embed)
			}
		})
	})
	if !begun {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	select {
	case embed, fresh := <-rendered:
		if !fresh {
			w.WriteHeader(http.StatusConflict)
			return
		}
		writeResponse(w, message(embed, p.flags))
	case <-a.deferralTime(p):
		a.Count("deferred")
		writeResponse(w, deferral(p.flags))
		close(deferred)
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
