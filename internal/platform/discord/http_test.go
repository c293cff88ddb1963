package discord

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/ops"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/platformtest"
)

func TestAnUnsignedOrOldInteractionIsRefused(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), byHTTP)
	s := h.newSession(t.Context(), h.handler)
	defer s.work.Drain()
	h.session.Store(s)
	command := []byte(`{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":1}}`)
	big := append([]byte(`{"id":"`), bytes.Repeat([]byte("1"), maxBody)...)
	at := time.Now()
	signature, now := h.fake.Sign(command, at).Get("X-Signature-Ed25519"), strconv.FormatInt(at.Unix(), 10)
	const read, unread = true, false
	for name, tt := range map[string]struct {
		body      []byte
		signature string // empty is right for the body
		timestamp string
		want      int
		read      bool
	}{
		"no signature":                {command, " ", now, 401, unread},
		"no timestamp":                {command, signature, "", 401, unread},
		"signature that is no hex":    {command, strings.Repeat("zz", ed25519.SignatureSize), now, 401, unread},
		"signature of 63 bytes":       {command, signature[2:], now, 401, unread},
		"timestamp that is no number": {command, signature, now + "x", 401, unread},
		"six minutes old":             {command, "", strconv.FormatInt(at.Add(-6*time.Minute).Unix(), 10), 401, read},
		"six minutes ahead":           {command, "", strconv.FormatInt(at.Add(6*time.Minute).Unix(), 10), 401, read},
		"signature of another body":   {[]byte("{}"), signature, now, 401, read},
		"signature of another time":   {command, signature, strconv.FormatInt(at.Unix()-1, 10), 401, read},
		"too large":                   {big, "", now, 413, read},
		"no JSON":                     {[]byte("{"), "", now, 400, read},
		"nothing we made":             {[]byte(`{"id":"1","type":3,"token":"t"}`), "", now, 400, read},
	} {
		t.Run(name, func(t *testing.T) {
			body := bytes.NewReader(tt.body)
			r := httptest.NewRequest(http.MethodPost, "/discord/interactions", body)
			if tt.signature == "" {
				seconds, err := strconv.ParseInt(tt.timestamp, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				tt.signature = h.fake.Sign(tt.body, time.Unix(seconds, 0)).Get("X-Signature-Ed25519")
			}
			r.Header.Set("X-Signature-Ed25519", tt.signature)
			r.Header.Set("X-Signature-Timestamp", tt.timestamp)
			w := httptest.NewRecorder()
			before := h.events.Of("bad_signature")
			h.ServeHTTP(w, r)
			equal(t, "status", w.Code, tt.want)
			equal(t, "the body is read", body.Len() < len(tt.body), tt.read)
			equal(t, "it is counted", h.events.Of("bad_signature") > before, tt.want == 401)
		})
	}
	equal(t, "handled", len(h.handler.Requests()), 0)
	// Only a right signature proves that this machine's clock is wrong.
	equal(t, "lines about the clock", h.logged.Lines("clock"), 2)
}

// The connection of a deferred answer is closed, so that no interaction waits behind it.
func TestADeferredAnswerKeepsNoOtherWaiting(t *testing.T) {
	simulate(t, byHTTP, func(t *testing.T, h *adapterTest) {
		h.fake.Client.Transport.(*http.Transport).MaxConnsPerHost = 1
		h.reply(time.Minute, &chat.Reply{Title: chat.Say("at last")})
		for range 3 {
			p := h.send(t, command("price"))
			pass(api.FirstResponse)
			equal(t, "it is deferred", p.Answer().Deferred, true)
		}
		pass(time.Minute)
		h.counted(t, "answered", 3)
	})
}

// Each interaction in flight may hold a connection of the server that answers /healthz.
func TestInteractionsLeaveConnectionsForHealth(t *testing.T) {
	if left := ops.MaxConnections - maxByHTTP; left < 1000 {
		t.Errorf("%d connections are left", left)
	}
}

func TestInteractionsAreTakenWhileItRuns(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), byHTTP)
	ping := []byte(`{"id":"1","type":1,"token":"t"}`)
	post := func(want int, answer string) {
		t.Helper()
		r, w := httptest.NewRequest(http.MethodPost, "/discord/interactions", bytes.NewReader(ping)), httptest.NewRecorder()
		r.Header = h.fake.Sign(ping, time.Now())
		h.ServeHTTP(w, r)
		equal(t, "status", w.Code, want)
		equal(t, "body", w.Body.String(), answer)
	}
	post(http.StatusServiceUnavailable, "")
	h.run(t)
	platformtest.WaitUntil(t, "ready", h.Ready)
	post(http.StatusOK, `{"type":1}`)
	equal(t, "Run", h.stop(), nil)
	post(http.StatusServiceUnavailable, "")
}
