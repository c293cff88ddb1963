package ops

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"herald/internal/chat"
)

// Bounds of the HTTP server.
const (
	readTimeout = 10 * time.Second // of a request, its body included
	// writeTimeout is how long a client may take to read a response, from when
	// it begins: webhooks hold their request until the answer is out.
	writeTimeout  = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeaderSize = 16 << 10
	// maxConnections has room for a burst of 5,000 interactions of Discord's.
	// Each takes some 15 KiB while nothing is asked.
	maxConnections = 8000
)

// Server answers /healthz, /readyz and /metrics, and lends its address to the
// platforms that call in by HTTP.
type Server struct {
	http        http.Server
	mux         *http.ServeMux
	listener    net.Listener
	connections connections
}

// Listen opens addr, a host and port.
func Listen(addr string, m *Metrics, adapters []chat.Adapter, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on HTTP_ADDR: %w", err)
	}
	return newServer(listener, m, adapters, log), nil
}

func newServer(listener net.Listener, m *Metrics, adapters []chat.Adapter, log *slog.Logger) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, adapters) })
	mux.Handle("GET /metrics", m.handler())
	crowd := newCrowd(listener)
	s := &Server{
		http: http.Server{
			Handler:           crowd.closing(mux),
			ReadHeaderTimeout: readTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderSize,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		mux:         mux,
		listener:    crowd,
		connections: connections{most: maxConnections, open: map[net.Conn]*list.Element{}},
	}
	s.http.ConnState = func(conn net.Conn, state http.ConnState) {
		crowd.changed(conn, state)
		s.connections.changed(conn, state)
	}
	return s
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

// Handle adds a path before Serve. Its handler may hold a request for as long as
// it likes before it responds.
func (s *Server) Handle(path string, h http.Handler) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		held := &heldResponse{ResponseWriter: w, arrived: time.Now()}
		h.ServeHTTP(held, r)
		held.begin() // An empty response is written after this.
	})
}

// heldResponse has its client read it within writeTimeout from when it begins,
// where the server counts from the request.
type heldResponse struct {
	http.ResponseWriter
	arrived time.Time
	begun   bool
}

func (h *heldResponse) begin() {
	begun := h.begun
	h.begun = true
	// At once, the server's own deadline is as good.
	if !begun && time.Since(h.arrived) > time.Second {
		_ = http.NewResponseController(h.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
	}
}

// WriteHeader implements http.ResponseWriter.
func (h *heldResponse) WriteHeader(status int) {
	h.begin()
	h.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (h *heldResponse) Write(body []byte) (int, error) {
	h.begin()
	return h.ResponseWriter.Write(body)
}

// Unwrap is for http.ResponseController.
func (h *heldResponse) Unwrap() http.ResponseWriter { return h.ResponseWriter }

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
