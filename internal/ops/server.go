package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"herald/internal/config"
	"herald/internal/platform"
)

// Settings are what an operator chooses.
type Settings struct {
	// Addr is the host:port at which health, metrics and webhooks are served. If it is "", they are not served.
	Addr string
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "HTTP server",
			Name:    "HTTP_ADDR",
			Default: "127.0.0.1:8080",
			Example: "0.0.0.0:8080",
			Comment: "Address that serves /healthz, /readyz, /metrics and webhooks; off: none does. " +
				"In a container, it must be 0.0.0.0:8080 to be reachable from outside.",
			Set: config.Field(&s.Addr, parseAddr),
		},
	}
}

// parseAddr parses HTTP_ADDR. It returns "" for config.Off.
func parseAddr(value string) (string, error) {
	if value == config.Off {
		return "", nil
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil || !config.ValidPort(port) || strings.ContainsAny(host, "/@") {
		return "", errors.New("must be host:port or off")
	}
	return value, nil
}

// Limits of the HTTP server.
const (
	// readTimeout limits how long a client may take to send a request, including its body.
	readTimeout = 10 * time.Second
	// writeTimeout limits the time from the end of a request's header to the end of the response.
	writeTimeout = 30 * time.Second
	// idleTimeout limits how long a connection may wait for its next request.
	idleTimeout   = 2 * time.Minute
	maxHeaderSize = 16 << 10 // bytes
	// MaxConnections is the maximum number of open connections. Further connections wait in the listener's queue.
	// Discord's interactions use at most 7,000 connections, so at least 1,000 are left for everything else.
	MaxConnections = 8000
)

// Server answers /healthz, /readyz and /metrics, and the platforms' webhooks.
type Server struct {
	http     http.Server
	mux      *http.ServeMux
	listener net.Listener
}

// NewServer returns a Server on listener. It accepts connections once Serve is called. Close closes the listener.
//
// running is done when the bot begins to stop. From then on, /healthz answers 503. A proxy in front of several replicas
// then sends requests to the others. Only after that should the caller call Close, because Close breaks the connections
// that wait in the listener's queue.
func NewServer(
	running context.Context, listener net.Listener, m *Metrics, adapters []platform.Adapter, log *slog.Logger,
) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { serveHealth(running, w) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { serveReady(w, adapters) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return &Server{
		http: http.Server{
			Handler:           mux,
			MaxHeaderBytes:    maxHeaderSize,
			ReadHeaderTimeout: readTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		mux:      mux,
		listener: netutil.LimitListener(listener, MaxConnections),
	}
}

// serveHealth answers 200 until running is done, and then 503.
func serveHealth(running context.Context, w http.ResponseWriter) {
	if running.Err() != nil {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// serveReady answers with a line for each platform, such as "telegram: connected". The status is 200 if all are Ready,
// and otherwise 503.
func serveReady(w http.ResponseWriter, adapters []platform.Adapter) {
	status := http.StatusOK
	lines := ""
	for _, a := range adapters {
		ready, state := stateOf(a)
		if !ready {
			status = http.StatusServiceUnavailable
		}
		lines += fmt.Sprintf("%s: %s\n", a.Platform(), state)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, lines)
}

// stateOf reports whether the adapter is Ready, and describes its state in a few words.
func stateOf(a platform.Adapter) (ready bool, state string) {
	if a.Ready() {
		return true, "connected"
	}
	if e, explains := a.(explainer); explains {
		return false, e.NotReady()
	}
	return false, "not connected"
}

// explainer is implemented by adapters that can say why they are not Ready.
type explainer interface {
	// NotReady returns in a few words why Ready returns false.
	NotReady() string
}

// Addr returns the address at which the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle registers the handler of POST requests for a path. It panics if the path has a handler already. Call it before
// Serve. The handler must respond within writeTimeout-readTimeout, 20 seconds, of the request's end.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle("POST "+path, h) }

// Serve answers requests. It blocks until Close is called, and then returns nil. It returns an error if the listener
// fails.
func (s *Server) Serve() error {
	err := s.http.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve HTTP_ADDR: %w", err)
}

// Close stops listening, if Serve was called. It blocks for at most a second until the requests in flight are answered,
// and then closes the remaining connections.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}
