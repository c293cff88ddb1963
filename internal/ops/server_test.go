package ops

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// platform is an adapter that is connected or not.
type platform struct {
	chat.Adapter
	name  chat.Platform
	ready atomic.Bool
}

func (p *platform) Platform() chat.Platform { return p.name }
func (p *platform) Ready() bool             { return p.ready.Load() }
func (p *platform) InHand() int             { return 3 }

// serve runs a server until the test ends, and demands that Serve then ends
// without an error.
func serve(t *testing.T, m *Metrics, adapters []chat.Adapter, callbacks map[string]http.Handler) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", m, adapters, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for path, handler := range callbacks {
		s.Handle(path, handler)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

func call(t *testing.T, s *Server, method, path string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func TestReadyOnlyWhileEveryPlatformIsConnected(t *testing.T) {
	a, b := &platform{name: "telegram"}, &platform{name: "discord"}
	s := serve(t, NewMetrics(), []chat.Adapter{a, b}, nil)
	for _, test := range []struct {
		telegram, discord bool
		status            int
		body              string
	}{
		{false, false, 503, "telegram: not connected\ndiscord: not connected\n"},
		{true, false, 503, "telegram: connected\ndiscord: not connected\n"},
		{false, true, 503, "telegram: not connected\ndiscord: connected\n"},
		{true, true, 200, "telegram: connected\ndiscord: connected\n"},
	} {
		a.ready.Store(test.telegram)
		b.ready.Store(test.discord)
		if status, _, body := call(t, s, http.MethodGet, "/readyz"); status != test.status || body != test.body {
			t.Errorf("telegram %v, discord %v: %d %q, want %d %q",
				test.telegram, test.discord, status, body, test.status, test.body)
		}
		if status, _, _ := call(t, s, http.MethodGet, "/healthz"); status != http.StatusOK {
			t.Errorf("telegram %v, discord %v: /healthz answers %d", test.telegram, test.discord, status)
		}
	}
}

func TestOnlyKnownPathsAndMethodsAreAnswered(t *testing.T) {
	called := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method+" called back") })
	s := serve(t, NewMetrics(), nil, map[string]http.Handler{"/hooks/telegram": called})
	for _, test := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodPost, "/hooks/telegram", 200, "POST called back"},
		{http.MethodGet, "/healthz", 200, "ok"},
		{http.MethodPost, "/healthz", 405, ""},
		{http.MethodPost, "/metrics", 405, ""},
		{http.MethodGet, "/", 404, ""},
		{http.MethodGet, "/hooks", 404, ""},
		{http.MethodPost, "/hooks/telegram/more", 404, ""},
		{http.MethodGet, "/debug/pprof/", 404, ""},
	} {
		status, _, body := call(t, s, test.method, test.path)
		if status != test.status || !strings.Contains(body, test.body) {
			t.Errorf("%s %s: %d %q, want %d %q", test.method, test.path, status, body, test.status, test.body)
		}
	}
}

func TestCloseGivesARequestInHandASecond(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Second / 2: "held", time.Hour: ""} {
		synctest.Test(t, func(t *testing.T) {
			w := wire{make(chan net.Conn)}
			s := newServer(w, NewMetrics(), nil, slog.New(slog.DiscardHandler))
			s.Handle("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(after):
					io.WriteString(w, "held")
				case <-r.Context().Done():
				}
			}))
			go s.Serve()
			conn := w.dial(request("/slow"))
			closed := make(chan struct{})
			go func() {
				s.Close()
				close(closed)
			}()
			if body, err := response(conn); body != want || (err == nil) != (want != "") {
				t.Errorf("a request that takes %v gets %q, %v", after, body, err)
			}
			<-closed
		})
	}
}

func TestAnAddressInUseIsToldWithTheSetting(t *testing.T) {
	s := serve(t, NewMetrics(), nil, nil)
	_, err := Listen(s.Addr(), NewMetrics(), nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "HTTP_ADDR") {
		t.Errorf("a second Listen on %s: %v", s.Addr(), err)
	}
}
