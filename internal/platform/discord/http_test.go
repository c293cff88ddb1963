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
	"herald/internal/chat/chattest"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/platform/discord/api"
)

func TestWhatDiscordDidNotSignLatelyIsRefused(t *testing.T) {
	h := newHarness(t, fakediscord.New(), byHTTP)
	h.session.Store(&session{Adapter: h.Adapter, tasks: chat.NewTasks(t.Context(), h.handler, h.Log, h.Count)})
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
			if w.Code != tt.want || (body.Len() < len(tt.body)) != tt.read || (h.events.Of("bad_signature") > before) != (tt.want == 401) {
				t.Errorf("status %d, %d bytes left, counted %v", w.Code, body.Len(), h.events)
			}
		})
	}
	if n := len(h.handler.Requests()); n != 0 {
		t.Errorf("%d of them were handled", n)
	}
	// Only what Discord signed can tell that this machine's clock is wrong.
	if n := h.logged.Lines("clock"); n != 2 {
		t.Errorf("%d lines tell of the clock:\n%s", n, h.logged)
	}
}

// While an answer is awaited that was deferred, its connection is not used for
// the next interaction, which would wait too.
func TestADeferredAnswerKeepsNoOtherWaiting(t *testing.T) {
	simulate(t, byHTTP, func(t *testing.T, h *harness) {
		h.fake.Client.Transport.(*http.Transport).MaxConnsPerHost = 1
		h.reply(time.Minute, chat.Reply{Title: chat.Say("at last")})
		for range 3 {
			p := h.send(t, command("price"))
			pass(api.FirstResponse)
			if !p.Answer().Deferred {
				t.Error("nothing was promised")
			}
		}
		pass(time.Minute)
		if h.events.Of("answered") != 3 {
			t.Errorf("counted %v", h.events)
		}
	})
}

func TestInteractionsAreTakenWhileItRuns(t *testing.T) {
	h := newHarness(t, fakediscord.New(), byHTTP)
	ping := []byte(`{"id":"1","type":1,"token":"t"}`)
	post := func(want int, answer string) {
		t.Helper()
		r, w := httptest.NewRequest(http.MethodPost, "/discord/interactions", bytes.NewReader(ping)), httptest.NewRecorder()
		r.Header = h.fake.Sign(ping, time.Now())
		if h.ServeHTTP(w, r); w.Code != want || w.Body.String() != answer {
			t.Errorf("status %d, want %d; %s", w.Code, want, w.Body)
		}
	}
	post(http.StatusServiceUnavailable, "")
	h.run(t)
	chattest.WaitUntil(t, "ready", h.Ready)
	post(http.StatusOK, `{"type":1}`)
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	post(http.StatusServiceUnavailable, "")
}
