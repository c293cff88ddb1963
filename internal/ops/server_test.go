package ops

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"herald/internal/chat"
)

// platform is an adapter that is connected or not.
type platform struct {
	chat.Adapter
	name  chat.Platform
	ready bool
}

func (p *platform) Platform() chat.Platform { return p.name }
func (p *platform) Ready() bool             { return p.ready }

// call asks a server that exports m and adapters.
func call(m *Metrics, adapters []chat.Adapter, method, path string) *httptest.ResponseRecorder {
	s := newServer(nil, m, adapters, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestCloseGivesARequestInHandASecond(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Second / 2: "held", time.Hour: ""} {
		inMemory(t, func(t *testing.T, w wire, hold chan struct{}) {
			conn := w.dial(request("POST /hold"))
			time.AfterFunc(after, func() { close(hold) })
			go func() {
				if body, err := response(conn); body != want || (err == nil) != (want != "") {
					t.Errorf("a request that takes %v gets %q, %v", after, body, err)
				}
			}()
		})
	}
}

func TestAPathThatIsAddedTakesPOSTAlone(t *testing.T) {
	s := newServer(nil, NewMetrics(), nil, slog.New(slog.DiscardHandler))
	s.Handle("/hook", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for method, want := range map[string]int{http.MethodPost: http.StatusOK, http.MethodGet: http.StatusMethodNotAllowed} {
		w := httptest.NewRecorder()
		if s.http.Handler.ServeHTTP(w, httptest.NewRequest(method, "/hook", nil)); w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
	}
}

func TestReadyOnlyWhileEveryPlatformIsConnected(t *testing.T) {
	for _, test := range []struct {
		telegram, discord bool
		status            int
		body              string
	}{
		{true, false, 503, "telegram: connected\ndiscord: not connected\n"},
		{false, true, 503, "telegram: not connected\ndiscord: connected\n"},
		{true, true, 200, "telegram: connected\ndiscord: connected\n"},
	} {
		adapters := []chat.Adapter{&platform{name: "telegram", ready: test.telegram}, &platform{name: "discord", ready: test.discord}}
		if w := call(NewMetrics(), adapters, http.MethodGet, "/readyz"); w.Code != test.status || w.Body.String() != test.body {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.status, test.body)
		}
		if w := call(NewMetrics(), adapters, http.MethodGet, "/healthz"); w.Code != http.StatusOK {
			t.Errorf("/healthz answers %d", w.Code)
		}
	}
}
