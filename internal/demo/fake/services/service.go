package services

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// maxRequest bounds what a stand-in reads of a request, in bytes.
const maxRequest = 1 << 20

// Service is one stand-in: an HTTP server that answers rightly, unless it is told
// to Fail.
type Service struct {
	// Name says what the bot asks it for, in a word.
	Name string
	// Handler is what answers. A test that wants other answers puts its own in
	// this place before Serve.
	Handler http.Handler

	faults map[Fault]http.Handler
	fault  atomic.Pointer[Fault]

	url    string
	server *http.Server
	served chan struct{}
}

// URL is the service's origin, without a slash at its end, once it is served.
func (s *Service) URL() string { return s.url }

// Serve answers on l until Close, in a goroutine of its own. The service owns l.
func (s *Service) Serve(l net.Listener) {
	server := &http.Server{
		Handler:           http.MaxBytesHandler(http.HandlerFunc(s.answer), maxRequest),
		ReadHeaderTimeout: 10 * time.Second,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	s.url, s.server, s.served = "http://"+l.Addr().String(), server, served
}

// Close frees the port and breaks every connection; calls under way end. It
// does nothing unless the service is served, and it may be served again.
func (s *Service) Close() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	<-s.served
	s.server = nil
	return err
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
