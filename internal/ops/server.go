package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"herald/internal/chat"
)

// Bounds of the HTTP server. Webhooks hold their request until the answer is
// out, so that writing may take as long as a command and its delivery.
const (
	readTimeout   = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeaderSize = 16 << 10
)

// Server answers /healthz, /readyz and /metrics, and lends its address to the
// platforms that call in by HTTP.
type Server struct {
	http     http.Server
	mux      *http.ServeMux
	listener net.Listener
}

// Listen opens addr, a host and port.
func Listen(addr string, m *Metrics, adapters []chat.Adapter, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on HTTP_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, adapters) })
	mux.Handle("GET /metrics", m.handler())
	crowd := newCrowd(listener)
	return &Server{
		http: http.Server{
			Handler:           crowd.closing(mux),
			ConnState:         crowd.changed,
			ReadHeaderTimeout: readTimeout,
			ReadTimeout:       readTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderSize,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		mux:      mux,
		listener: crowd,
	}, nil
}

// ready lists which platforms are connected; 503 unless all are.
func ready(w http.ResponseWriter, adapters []chat.Adapter) {
	status, lines := http.StatusOK, ""
	for _, a := range adapters {
		state := "connected"
		if !a.Ready() {
			status, state = http.StatusServiceUnavailable, "not connected"
		}
		lines += fmt.Sprintf("%s: %s\n", a.Platform(), state)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, lines)
}

// Addr is the address that is open.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle adds a path before Serve.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// Serve answers until Close.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP_ADDR: %w", err)
	}
	return nil
}

// Close stops listening and gives the requests in hand a second to end.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}
