package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequest bounds what a stand-in reads of a request, in bytes.
const maxRequest = 1 << 20

// Service is one stand-in: a server on the loopback interface that answers
// rightly or, with a Fault, fails. It is safe for concurrent use.
type Service struct {
	handler   http.Handler
	elsewhere string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64

	mu      sync.Mutex
	addr    string
	port    int
	server  *http.Server // nil while nothing listens
	release context.CancelFunc
	served  chan struct{}
}

// URL is the service's origin, without a slash at its end. It stays the same
// through every fault.
func (s *Service) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "http://" + s.addr
}

// Requests counts the requests that have arrived, also those met by a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault makes the service fail in that way from the next request on; the
// zero Fault ends it. A fault that Faults lists for one service fits no other.
// It panics if the service cannot have its port back after a fault that gave
// it away.
func (s *Service) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.Store(&f)
	if f.refuse {
		_ = s.hangUp()
		return
	}
	if err := s.listen(); err != nil {
		panic(fmt.Sprintf("sandbox: %v", err))
	}
}

func (s *Service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listen()
}

func (s *Service) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ports.Delete(s.port)
	return s.hangUp()
}

// listen opens the port, the one of before if there was one. The caller holds
// mu.
func (s *Service) listen() error {
	if s.server != nil {
		return nil
	}
	listener, err := s.openPort()
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	s.addr = listener.Addr().String()
	ctx, release := context.WithCancel(context.Background())
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	s.server, s.release, s.served = server, release, served
	return nil
}

// Ports below those that systems hand out to outgoing connections, from 32768
// on: one of these could take a stand-in's port while a fault has it closed.
const (
	lowestPort = 12000
	portCount  = 20000
)

// ports are those of the stand-ins in this process.
var ports sync.Map

// openPort opens the port of before, or a free one that no other stand-in of
// this process has.
func (s *Service) openPort() (listener net.Listener, err error) {
	if s.addr != "" {
		return net.Listen("tcp", s.addr)
	}
	err = errors.New("no free port was found")
	for range 100 {
		port := lowestPort + rand.IntN(portCount)
		if _, taken := ports.LoadOrStore(port, true); taken {
			continue
		}
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			s.port = port
			return listener, nil
		}
		ports.Delete(port)
	}
	return nil, err
}

// hangUp gives the port away and breaks every connection. The caller holds mu.
func (s *Service) hangUp() error {
	if s.server == nil {
		return nil
	}
	s.release()
	err := s.server.Close()
	<-s.served
	s.server = nil
	return err
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	// Only once a body is read does the server notice that the client left,
	// which ends the faults that wait.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request is too large or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f := s.fault.Load(); f != nil && f.serve != nil {
		f.serve(exchange{service: s, w: w, r: r})
		return
	}
	s.handler.ServeHTTP(w, r)
}

// exchange is one request met by a fault.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
}

// right is what the service answers without a fault.
func (x exchange) right() *recording {
	rec := &recording{header: http.Header{}, status: http.StatusOK}
	x.service.handler.ServeHTTP(rec, x.r)
	return rec
}

// recording is a ResponseWriter into memory.
type recording struct {
	header http.Header
	status int
	bytes.Buffer
}

func (rec *recording) Header() http.Header    { return rec.header }
func (rec *recording) WriteHeader(status int) { rec.status = status }

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
