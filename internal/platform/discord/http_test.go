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

// post is a request that the adapter refuses.
type post struct {
	body      []byte
	signature string // in hex; "" stands for Discord's signature of body and at
	at        string // the time in the header, in Unix seconds

	want       int  // the status
	bodyIsRead bool // whether the adapter reads the body
}

// checkRefused posts to the adapter, and checks that it refuses each request and handles no interaction.
func (h *adapterTest) checkRefused(t *testing.T, cases map[string]post) {
	t.Helper()
	for name, tt := range cases {
		body := bytes.NewReader(tt.body)
		r := httptest.NewRequest(http.MethodPost, "/discord/interactions", body)
		signature := tt.signature
		if signature == "" {
			seconds, err := strconv.ParseInt(tt.at, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			signature = h.signature(tt.body, time.Unix(seconds, 0))
		}
		r.Header.Set("X-Signature-Ed25519", signature)
		r.Header.Set("X-Signature-Timestamp", tt.at)
		w := httptest.NewRecorder()
		before := h.events.Of("bad_signature")
		h.ServeHTTP(w, r)
		equal(t, name+": status", w.Code, tt.want)
		equal(t, name+": the body is read", body.Len() < len(tt.body), tt.bodyIsRead)
		equal(t, name+": it is counted as bad_signature", h.events.Of("bad_signature") > before, tt.want == 401)
	}
	equal(t, "handled", len(h.handler.Requests()), 0)
}

// signature returns Discord's signature of a body, as hex.
func (h *adapterTest) signature(body []byte, at time.Time) string {
	return h.fake.Sign(body, at).Get("X-Signature-Ed25519")
}

// newHTTPTest returns an adapterTest whose Adapter accepts interactions by HTTP, although Run was not called.
func newHTTPTest(t *testing.T) *adapterTest {
	t.Helper()
	h := newAdapterTest(t, discordtest.New(), byHTTP)
	s := h.newSession(t.Context(), h.handler)
	t.Cleanup(func() { s.work.Drain() })
	h.session.Store(s)
	return h
}

// seconds returns a time in the form of the header: in Unix seconds.
func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

var postedCommand = []byte(`{"id":"1","type":2,"token":"t","user":{"id":"5"},"data":{"name":"price","type":1}}`)

func TestABodyWithoutASignatureIsNotRead(t *testing.T) {
	h := newHTTPTest(t)
	at := time.Now()
	now := seconds(at)
	signature := h.signature(postedCommand, at)
	notHex := strings.Repeat("zz", ed25519.SignatureSize)
	h.checkRefused(t, map[string]post{
		"no signature":         {body: postedCommand, signature: " ", at: now, want: 401},
		"no time":              {body: postedCommand, signature: signature, at: "", want: 401},
		"not hex":              {body: postedCommand, signature: notHex, at: now, want: 401},
		"63 bytes":             {body: postedCommand, signature: signature[2:], at: now, want: 401},
		"a time with a letter": {body: postedCommand, signature: signature, at: now + "x", want: 401},
	})
}

func TestAnInteractionWithAnotherSignatureIsRefused(t *testing.T) {
	h := newHTTPTest(t)
	at := time.Now()
	signature := h.signature(postedCommand, at)
	before := seconds(at.Add(-time.Second))
	h.checkRefused(t, map[string]post{
		"of another body": {body: []byte("{}"), signature: signature, at: seconds(at), want: 401, bodyIsRead: true},
		"of another time": {body: postedCommand, signature: signature, at: before, want: 401, bodyIsRead: true},
	})
	equal(t, "lines about the clock", h.logged.Lines("clock"), 0)
}

// Discord's signature is right, so the log says that this machine's clock may be wrong.
func TestAnOldInteractionIsRefused(t *testing.T) {
	h := newHTTPTest(t)
	ago, ahead := seconds(time.Now().Add(-6*time.Minute)), seconds(time.Now().Add(6*time.Minute))
	h.checkRefused(t, map[string]post{
		"six minutes old":   {body: postedCommand, at: ago, want: 401, bodyIsRead: true},
		"six minutes ahead": {body: postedCommand, at: ahead, want: 401, bodyIsRead: true},
	})
	equal(t, "lines about the clock", h.logged.Lines("clock"), 2)
}

func TestASignedBodyThatIsNotAnInteractionIsRefused(t *testing.T) {
	h := newHTTPTest(t)
	now := seconds(time.Now())
	big := append([]byte(`{"id":"`), bytes.Repeat([]byte("1"), maxBody)...)
	h.checkRefused(t, map[string]post{
		"too large":        {body: big, at: now, want: 413, bodyIsRead: true},
		"not JSON":         {body: []byte("{"), at: now, want: 400, bodyIsRead: true},
		"without a sender": {body: []byte(`{"id":"1","type":3,"token":"t"}`), at: now, want: 400, bodyIsRead: true},
	})
}

// Discord has one connection. After a deferral, the bot closes it, so that the next interaction opens another.
func TestADeferredAnswerDoesNotDelayOtherInteractions(t *testing.T) {
	simulate(t, byHTTP, func(t *testing.T, h *adapterTest) {
		h.fake.Client.Transport.(*http.Transport).MaxConnsPerHost = 1
		h.replyAfter(time.Minute, &chat.Reply{Title: chat.Say("at last")})
		for range 3 {
			p := h.send(t, command("price"))
			pass(api.FirstResponse)
			equal(t, "it is deferred", p.Answer().Deferred, true)
		}
		pass(time.Minute)
		h.checkCount(t, "answered", 3)
	})
}

// Each interaction in flight may hold a connection of the server, which also answers /healthz.
func TestInteractionsLeaveConnectionsForHealthChecks(t *testing.T) {
	if left := ops.MaxConnections - maxByHTTP; left < 1000 {
		t.Errorf("%d connections are left, want at least 1000", left)
	}
}

func TestInteractionsAreAcceptedWhileTheAdapterRuns(t *testing.T) {
	h := newAdapterTest(t, discordtest.New(), byHTTP)
	ping := []byte(`{"id":"1","type":1,"token":"t"}`)
	checkPing := func(wantStatus int, wantBody string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/discord/interactions", bytes.NewReader(ping))
		r.Header = h.fake.Sign(ping, time.Now())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		equal(t, "status", w.Code, wantStatus)
		equal(t, "body", w.Body.String(), wantBody)
	}
	checkPing(http.StatusServiceUnavailable, "")
	h.run(t)
	platformtest.WaitUntil(t, "ready", h.Ready)
	checkPing(http.StatusOK, `{"type":1}`)
	equal(t, "Run", h.stop(), nil)
	checkPing(http.StatusServiceUnavailable, "")
}
