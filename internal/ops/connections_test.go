package ops

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

// memoryListener listens in memory, so that connections wait in simulated time.
type memoryListener struct{ accepted chan net.Conn }

func (l memoryListener) Accept() (net.Conn, error) {
	conn, open := <-l.accepted
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l memoryListener) Close() error {
	close(l.accepted)
	return nil
}

func (l memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// dial opens a connection, and sends the beginning of a request. It does not wait until the server reads it.
func (l memoryListener) dial(beginning string) net.Conn {
	client, server := net.Pipe()
	go func() {
		l.accepted <- server
		io.WriteString(client, beginning)
	}()
	synctest.Wait()
	return client
}

// serveInMemory runs test with a server that listens on l, in simulated time. The server answers POST /hold with "held"
// once hold is closed. serveInMemory fails the test if a goroutine of the server is left at the end.
func serveInMemory(t *testing.T, test func(t *testing.T, l memoryListener, hold chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		l := memoryListener{make(chan net.Conn)}
		hold := make(chan struct{})
		s := NewServer(context.Background(), l, NewMetrics(), nil, slog.New(slog.DiscardHandler))
		s.Handle("/hold", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-hold:
				io.WriteString(w, "held")
			case <-r.Context().Done():
			}
		}))
		ended := make(chan error, 1)
		go func() { ended <- s.Serve() }()
		test(t, l, hold)
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// request returns a request without a body. line is its beginning, such as "GET /healthz".
func request(line string) string { return line + " HTTP/1.1\r\nHost: herald\r\n\r\n" }

// readResponse reads a response, and returns its body.
func readResponse(conn net.Conn) (string, error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// isClosed reports whether the server has closed the connection.
func isClosed(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now())
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestHealthIsAnsweredUntilThereAreTooManyConnections(t *testing.T) {
	serveInMemory(t, func(t *testing.T, l memoryListener, _ chan struct{}) {
		silent := []net.Conn{l.dial("")}
		for range 2000 {
			silent = append(silent, l.dial(""))
		}
		body, err := readResponse(l.dial(request("GET /healthz")))
		if err != nil || body != "ok\n" {
			t.Errorf("/healthz is answered with %q, %v", body, err)
		}

		for len(silent) < MaxConnections {
			silent = append(silent, l.dial(""))
		}
		late := l.dial(request("GET /healthz"))
		late.SetReadDeadline(time.Now().Add(time.Second))
		if body, err := readResponse(late); err == nil {
			t.Errorf("beyond the limit, /healthz is answered with %q", body)
		}
		late.SetReadDeadline(time.Now().Add(readTimeout)) // Until then, silent connections are closed.
		body, err = readResponse(late)
		if err != nil || body != "ok\n" {
			t.Errorf("once there is room, /healthz is answered with %q, %v", body, err)
		}
		time.Sleep(time.Second)
		if !isClosed(silent[0]) {
			t.Error("a connection without a request stays open")
		}
	})
}

func TestSlowClientsAreDisconnected(t *testing.T) {
	for name, test := range map[string]struct {
		sends string
		reads bool // whether the client reads what the server sends
		after time.Duration
	}{
		"nothing": {
			sends: "",
			reads: true,
			after: readTimeout,
		},
		"half a header": {
			sends: "GET /healthz HTTP/1.1\r\nHost: h",
			reads: true,
			after: readTimeout,
		},
		"half a body": {
			sends: "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
			reads: true,
			after: readTimeout,
		},
		"no second request": {
			sends: request("GET /healthz"),
			reads: true,
			after: idleTimeout,
		},
		"a GET whose answer is not read": {
			sends: request("GET /metrics"),
			reads: false,
			after: writeTimeout,
		},
		"a POST whose answer is not read": {
			sends: request("POST /hold"),
			reads: false,
			after: writeTimeout,
		},
	} {
		t.Run(name, func(t *testing.T) {
			serveInMemory(t, func(t *testing.T, l memoryListener, hold chan struct{}) {
				close(hold)
				conn := l.dial(test.sends)
				if test.reads {
					go io.Copy(io.Discard, conn)
				}
				time.Sleep(test.after + time.Second)
				synctest.Wait()
				if !isClosed(conn) {
					t.Error("the connection stays open")
				}
			})
		})
	}
}

// fakePlatform is an adapter that serveReady can ask for its name and whether it is Ready.
type fakePlatform struct {
	platform.Adapter
	name  chat.Platform
	ready bool
}

func (p *fakePlatform) Platform() chat.Platform { return p.name }
func (p *fakePlatform) Ready() bool             { return p.ready }

// get requests a path of a server that exports m and the states of adapters.
func get(m *Metrics, adapters []platform.Adapter, path string) *httptest.ResponseRecorder {
	s := NewServer(context.Background(), nil, m, adapters, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestHealthzAnswers503OnceTheBotBeginsToStop(t *testing.T) {
	running, stop := context.WithCancel(context.Background())
	s := NewServer(running, nil, NewMetrics(), nil, slog.New(slog.DiscardHandler))
	stop()
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d, want 503", w.Code)
	}
}

func TestCloseGivesARequestInFlightASecond(t *testing.T) {
	for took, want := range map[time.Duration]string{
		time.Second / 2: "held",
		time.Hour:       "", // The connection is closed.
	} {
		serveInMemory(t, func(t *testing.T, l memoryListener, hold chan struct{}) {
			conn := l.dial(request("POST /hold"))
			time.AfterFunc(took, func() { close(hold) })
			go func() {
				body, err := readResponse(conn)
				isAnswered := err == nil
				if isAnswered != (want != "") || body != want {
					t.Errorf("a request that takes %v gets %q, %v", took, body, err)
				}
			}()
		})
	}
}

func TestAnAddedPathAcceptsOnlyPOST(t *testing.T) {
	s := NewServer(context.Background(), nil, NewMetrics(), nil, slog.New(slog.DiscardHandler))
	s.Handle("/hook", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for method, want := range map[string]int{
		http.MethodPost: http.StatusOK,
		http.MethodGet:  http.StatusMethodNotAllowed,
	} {
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, httptest.NewRequest(method, "/hook", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
	}
}

// explaining is a platform that says why it is not ready.
type explaining struct{ fakePlatform }

func (*explaining) NotReady() string { return "connected, but without commands" }

func TestAPlatformSaysWhyItIsNotReady(t *testing.T) {
	for ready, want := range map[bool]string{
		true:  "discord: connected\n",
		false: "discord: connected, but without commands\n",
	} {
		adapters := []platform.Adapter{&explaining{fakePlatform{name: "discord", ready: ready}}}
		w := get(NewMetrics(), adapters, "/readyz")
		if (w.Code == http.StatusOK) != ready || w.Body.String() != want {
			t.Errorf("ready %t: %d %q, want %q", ready, w.Code, w.Body, want)
		}
	}
}

func TestReadyOnlyWhileEveryPlatformIsConnected(t *testing.T) {
	for _, test := range []struct {
		telegram, discord bool
		status            int
		body              string
	}{
		{
			telegram: true,
			discord:  false,
			status:   503,
			body:     "telegram: connected\ndiscord: not connected\n",
		},
		{
			telegram: false,
			discord:  true,
			status:   503,
			body:     "telegram: not connected\ndiscord: connected\n",
		},
		{
			telegram: true,
			discord:  true,
			status:   200,
			body:     "telegram: connected\ndiscord: connected\n",
		},
	} {
		adapters := []platform.Adapter{
			&fakePlatform{name: "telegram", ready: test.telegram},
			&fakePlatform{name: "discord", ready: test.discord},
		}
		w := get(NewMetrics(), adapters, "/readyz")
		if w.Code != test.status || w.Body.String() != test.body {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.status, test.body)
		}
		if w := get(NewMetrics(), adapters, "/healthz"); w.Code != http.StatusOK {
			t.Errorf("/healthz answers %d whatever is connected, want 200", w.Code)
		}
	}
}
