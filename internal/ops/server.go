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
	// Addr is the host:port of health, metrics and webhooks; empty: none.
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

// Bounds of the HTTP server.
const (
	readTimeout = 10 * time.Second // of a request, its body included
	// writeTimeout bounds a response, from the end of the request's header.
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeaderSize = 16 << 10
	// MaxConnections bounds the open connections. Discord's interactions hold 7,000 of them at
	// most, and so leave some for /healthz and the rest. Further ones wait in the listener's
	// queue.
	MaxConnections = 8000
)

// Server answers /healthz, /readyz and /metrics, and the platforms' webhooks.
type Server struct {
	http     http.Server
	mux      *http.ServeMux
	listener net.Listener
}

// NewServer returns a Server on listener, which Close closes. It answers nothing until Serve.
func NewServer(listener net.Listener, m *Metrics, adapters []platform.Adapter, log *slog.Logger) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, adapters) })
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

// explainer is an adapter that can be connected and not Ready.
type explainer interface {
	// NotReady returns in a few words why Ready returns false.
	NotReady() string
}

// ready lists the platforms' states, with status 503 unless all are Ready.
func ready(w http.ResponseWriter, adapters []platform.Adapter) {
	status, lines := http.StatusOK, ""
	for _, a := range adapters {
		state := "connected"
		if !a.Ready() {
			status, state = http.StatusServiceUnavailable, "not connected"
			if e, explains := a.(explainer); explains {
				state = e.NotReady()
			}
		}
		lines += fmt.Sprintf("%s: %s\n", a.Platform(), state)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, lines)
}

// Addr returns the open address.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle adds a path for POST. Call it before Serve. The handler must respond within 20
// seconds of the request's end.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle("POST "+path, h) }

// Serve answers requests. It blocks until Close and then returns nil.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP_ADDR: %w", err)
	}
	return nil
}

// Close stops listening, blocks for at most a second until the requests in flight are
// answered, and breaks the connections that are left.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}
