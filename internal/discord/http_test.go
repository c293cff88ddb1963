package discord

import (
	"bytes"
	"crypto/ed25519"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/discord/discordtest"
)

func TestInteractionByHTTPIsAnsweredInTheBody(t *testing.T) {
	h, address := byHTTP(t, nil)
	p, status, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "mylogins"})
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	if a := p.Answer(); a.Deferred || !a.Ephemeral || !strings.Contains(a.Text(), "mylogins") {
		t.Errorf("%+v", a)
	}
	h.wait(t, "answered", func() bool { return h.counts.of("answered") == 1 })
	if h.fake.Calls(discordtest.Callback)+h.fake.Calls(discordtest.GatewayBot) != 0 {
		t.Error("something else than the body was used")
	}
}

func TestSlowInteractionByHTTPIsDeferredThenEdited(t *testing.T) {
	release := make(chan struct{})
	h, address := byHTTP(t, func(h *harness, _ *Config) { h.until(release, "at last") })
	// The edit can reach Discord before the body that it edits.
	h.fake.Script(discordtest.Edit, discordtest.Fault{Status: 404, Code: 10015}, discordtest.Fault{Status: 404, Code: 10015})
	p, status, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
	if err != nil || status != http.StatusOK || !p.Answer().Deferred {
		t.Fatalf("status %d, %v, %+v", status, err, p.Answer())
	}
	close(release)
	if a, err := p.Wait(h.ctx); err != nil || !strings.Contains(a.Text(), "at last") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestMoreThanTheBoundByHTTPAreToldToWait(t *testing.T) {
	release := make(chan struct{})
	h, address := byHTTP(t, func(h *harness, _ *Config) { h.until(release, "done") },
		func(a *Adapter) { a.inHand = make(chan struct{}, 1) })
	first, _, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
	if err != nil || !first.Answer().Deferred {
		t.Fatalf("%+v, %v", first.Answer(), err)
	}
	if n := h.InHand(); n != 1 {
		t.Errorf("%d in hand, want 1", n)
	}
	second, status, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price", GuildID: "7"})
	if a := second.Answer(); err != nil || status != http.StatusOK || !a.Ephemeral || !strings.Contains(a.Text(), "Busy") {
		t.Errorf("status %d, %v, %+v", status, err, a)
	}
	close(release)
	if _, err := first.Wait(h.ctx); err != nil {
		t.Error(err)
	}
	h.wait(t, "the end of the first", func() bool { return h.counts.of("answered") == 1 })
	third, _, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
	if a := third.Answer(); err != nil || !strings.Contains(a.Text(), "done") {
		t.Errorf("%v, %+v", err, a)
	}
}

// The edit of a deferred answer is in hand, though its HTTP request is over.
func TestStoppingFinishesWhatWasDeferredByHTTP(t *testing.T) {
	release := make(chan struct{})
	h, address := byHTTP(t, func(h *harness, _ *Config) { h.until(release, "done") })
	p, _, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
	if err != nil || !p.Answer().Deferred {
		t.Fatalf("%+v, %v", p.Answer(), err)
	}
	h.stop()
	h.wait(t, "unreadiness", func() bool { return !h.Ready() })
	close(release)
	if err := <-h.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if a := p.Answer(); !strings.Contains(a.Text(), "done") {
		t.Errorf("%+v", a)
	}
}

func TestReplayedInteractionIsNotAnsweredAgain(t *testing.T) {
	h, address := byHTTP(t, nil)
	i := discordtest.Interaction{Command: "price", ID: "1234567", Token: "again"}
	for n, want := range []int{http.StatusOK, http.StatusConflict} {
		_, status, err := h.fake.Post(h.ctx, address, i)
		if err != nil || status != want {
			t.Errorf("delivery %d: status %d, %v", n, status, err)
		}
		h.wait(t, "an end", func() bool { return h.counts.of("answered") == 1 })
	}
	if got := len(h.handler.Requests()); got != 1 {
		t.Errorf("handled %d times", got)
	}
}

func TestPingIsAnsweredWithPong(t *testing.T) {
	h, address := byHTTP(t, nil)
	resp, err := h.fake.PostRaw(h.ctx, address, []byte(`{"id":"1","type":1,"token":"t"}`), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || string(body) != `{"type":1}` {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestHTTPRefusals(t *testing.T) {
	h, address := byHTTP(t, nil)
	command := []byte(`{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":1}}`)
	now := time.Now()
	signed := func(body []byte, at time.Time) http.Header { return h.fake.Sign(body, at) }
	without := func(name string) http.Header {
		header := signed(command, now)
		header.Del(name)
		return header
	}
	other := func(name, value string) http.Header {
		header := signed(command, now)
		header.Set(name, value)
		return header
	}
	big := append([]byte(`{"id":"`), bytes.Repeat([]byte("1"), maxBody)...)
	tests := []struct {
		name, method string
		body         []byte
		header       http.Header
		want         int
	}{
		{"another method", http.MethodGet, nil, nil, http.StatusMethodNotAllowed},
		{"no signature", http.MethodPost, command, without("X-Signature-Ed25519"), http.StatusUnauthorized},
		{"no timestamp", http.MethodPost, command, without("X-Signature-Timestamp"), http.StatusUnauthorized},
		{"signature of another body", http.MethodPost, command, signed([]byte("{}"), now), http.StatusUnauthorized},
		{"signature too short", http.MethodPost, command, other("X-Signature-Ed25519", "00ff"), http.StatusUnauthorized},
		{"signature no hex", http.MethodPost, command, other("X-Signature-Ed25519", "zz"), http.StatusUnauthorized},
		{"timestamp changed", http.MethodPost, command, other("X-Signature-Timestamp", "1"), http.StatusUnauthorized},
		{"old", http.MethodPost, command, signed(command, now.Add(-6*time.Minute)), http.StatusUnauthorized},
		{"from the future", http.MethodPost, command, signed(command, now.Add(6*time.Minute)), http.StatusUnauthorized},
		{"ten years old", http.MethodPost, command, signed(command, now.AddDate(-10, 0, 0)), http.StatusUnauthorized},
		{"too large", http.MethodPost, big, signed(big, now), http.StatusRequestEntityTooLarge},
		{"no JSON", http.MethodPost, []byte("{"), signed([]byte("{"), now), http.StatusBadRequest},
		{"nothing we made", http.MethodPost, []byte(`{"id":"1","type":3,"token":"t"}`),
			signed([]byte(`{"id":"1","type":3,"token":"t"}`), now), http.StatusBadRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(h.ctx, test.method, address, bytes.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = test.header
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != test.want {
				t.Errorf("status %d, want %d", resp.StatusCode, test.want)
			}
		})
	}
	if got := len(h.handler.Requests()); got != 0 {
		t.Errorf("%d refused interactions were handled", got)
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestHeadersAreLookedAtBeforeTheBodyIsRead(t *testing.T) {
	h := prepare(t, func(h *harness, c *Config) { c.PublicKey = h.fake.PublicKey })
	h.work.Store(chat.NewWork(t.Context(), h.handler, h.Log, h.Count))
	now, signature := strconv.FormatInt(time.Now().Unix(), 10), strings.Repeat("0f", ed25519.SignatureSize)
	for name, header := range map[string]struct{ signature, timestamp string }{
		"none":                        {"", ""},
		"no signature":                {"", now},
		"no timestamp":                {signature, ""},
		"signature that is no hex":    {strings.Repeat("zz", ed25519.SignatureSize), now},
		"signature of 63 bytes":       {signature[2:], now},
		"signature of 65 bytes":       {signature + "00", now},
		"timestamp that is no number": {signature, now + "x"},
		"timestamp with a fraction":   {signature, now + ".0"},
		"timestamp in milliseconds":   {signature, now + "000"},
		"timestamp of an hour ago":    {signature, strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)},
		"timestamp of an hour ahead":  {signature, strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/discord/interactions", unread{t})
			r.Header.Set("X-Signature-Ed25519", header.signature)
			r.Header.Set("X-Signature-Timestamp", header.timestamp)
			w := httptest.NewRecorder()
			before := h.counts.of("bad_signature")
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || h.counts.of("bad_signature") != before+1 {
				t.Errorf("status %d, counted %v", w.Code, h.counts.events)
			}
		})
	}
}

// TestABodyTakesNoMemoryBeforeItIsThere has bodies announced that never come, as
// anybody can who makes up a signature.
func TestABodyTakesNoMemoryBeforeItIsThere(t *testing.T) {
	h := prepare(t, func(h *harness, c *Config) { c.PublicKey = h.fake.PublicKey })
	h.work.Store(chat.NewWork(t.Context(), h.handler, h.Log, h.Count))
	const requests = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		r := httptest.NewRequest(http.MethodPost, "/discord/interactions", http.NoBody)
		r.ContentLength = maxBody
		r.Header.Set("X-Signature-Ed25519", strings.Repeat("0f", ed25519.SignatureSize))
		r.Header.Set("X-Signature-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Fatalf("status %d", w.Code)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > maxBody/4 {
		t.Errorf("each request took %d bytes", each)
	}
}

// While an answer is awaited that was deferred, its connection is not used for
// the next interaction, which would wait too.
func TestADeferredAnswerKeepsNoOtherWaiting(t *testing.T) {
	release := make(chan struct{})
	h, address := byHTTP(t, func(h *harness, _ *Config) { h.until(release, "at last") })
	h.fake.Client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for range 3 {
		p, status, err := h.fake.Post(h.ctx, address, discordtest.Interaction{Command: "price"})
		if err != nil || status != http.StatusOK || !p.Answer().Deferred {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	close(release)
	h.wait(t, "the answers", func() bool { return h.counts.of("answered") == 3 })
}

func TestNothingIsTakenBeforeAndAfterRun(t *testing.T) {
	h := prepare(t, func(h *harness, c *Config) { c.PublicKey = h.fake.PublicKey })
	server := httptest.NewServer(h.Adapter)
	defer server.Close()
	post := func(want int) {
		t.Helper()
		_, status, err := h.fake.Post(h.ctx, server.URL, discordtest.Interaction{Command: "price"})
		if err != nil || status != want {
			t.Errorf("status %d, want %d; %v", status, want, err)
		}
	}
	post(http.StatusServiceUnavailable)
	h.run(t)
	h.wait(t, "Ready", h.Ready)
	post(http.StatusOK)
	h.stop()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
	post(http.StatusServiceUnavailable)
}

func FuzzServeHTTP(f *testing.F) {
	f.Add([]byte(`{"id":"1","type":1,"token":"t"}`), "aa", "1700000000")
	f.Add([]byte{}, strings.Repeat("0", 128), "-9223372036854775808")
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	a, err := New(Config{Settings: Settings{APIURL: "https://discord.com", PublicKey: public},
		Log: slog.New(slog.DiscardHandler), Count: func(string) {}})
	if err != nil {
		f.Fatal(err)
	}
	a.work.Store(chat.NewWork(f.Context(), &chattest.Handler{}, a.Log, a.Count))
	f.Fuzz(func(t *testing.T, body []byte, signature, timestamp string) {
		r := httptest.NewRequest(http.MethodPost, "/discord/interactions", bytes.NewReader(body))
		r.Header.Set("X-Signature-Ed25519", signature)
		r.Header.Set("X-Signature-Timestamp", timestamp)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("an unsigned body got %d", w.Code)
		}
	})
}
