// Package fault lets the stand-ins of package sandbox fail, in every way that
// Of lists. It is for tests alone: the program must not hold it.
package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"herald/internal/demo/fake/services"
)

// Target is a service that can fail.
type Target string

// The targets.
const (
	Partner Target = "partner"
	Price   Target = "price"
	Supply  Target = "supply"
	Chain   Target = "chain"
)

// Targets are all of them.
var Targets = []Target{Partner, Price, Supply, Chain}

// Sandbox is the stand-ins, served so that they can fail.
type Sandbox struct {
	*services.Sandbox

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	// Elsewhere is where a service redirects to whose fault that is. Any
	// request that it counts carried credentials to a stranger.
	Elsewhere *Service
}

// Start serves every stand-in on a port of 127.0.0.1, without a fault. The
// caller closes what it returns.
func Start() (*Sandbox, error) {
	stands := services.New()
	s := &Sandbox{Sandbox: stands}
	stranger := &services.Service{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	var err error
	for _, served := range []struct {
		service **Service
		stand   *services.Service
	}{
		{&s.Elsewhere, stranger}, // first: the others must know its URL
		{&s.Partner, stands.Partner}, {&s.Price, stands.Price}, {&s.Supply, stands.Supply}, {&s.Chain, stands.Chain},
	} {
		service := &Service{stand: served.stand, right: served.stand.Handler, world: stands.World, elsewhere: stranger.URL()}
		served.stand.Handler = service
		*served.service = service
		err = errors.Join(err, service.listen())
		service.url = service.stand.URL()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the sandbox: %w", err), s.Close())
	}
	return s, nil
}

// At is the service of a target.
func (s *Sandbox) At(t Target) *Service {
	return map[Target]*Service{Partner: s.Partner, Price: s.Price, Supply: s.Supply, Chain: s.Chain}[t]
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Sandbox) Close() error {
	err := s.Elsewhere.stand.Close()
	for _, service := range []*Service{s.Partner, s.Price, s.Supply, s.Chain} {
		err = errors.Join(err, service.close())
	}
	return err
}

// Service is a stand-in that answers rightly or, with a Fault, fails. It may be
// used from many goroutines.
type Service struct {
	stand     *services.Service
	right     http.Handler // what answers without a fault
	world     services.World
	url       string
	elsewhere string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64

	mu   sync.Mutex // guards stand and what follows
	port int        // 0 before it was ever served
	held io.Closer  // keeps the port while connections are refused; else nil
}

// URL is the service's origin, without a slash at its end. It stays the same
// through every fault.
func (s *Service) URL() string { return s.url }

// Requests counts the requests that have arrived, also those met by a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault makes the service fail in that way from the next request on; the
// zero Fault ends it. A fault that Of lists for one target fits no other.
func (s *Service) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.Store(&f)
	switch {
	case f.refuse && s.held == nil:
		_ = s.stand.Close()
		held, err := hold(s.port)
		if err != nil {
			panic(fmt.Sprintf("fault: %v", err))
		}
		s.held = held
	case !f.refuse && s.held != nil:
		_ = s.held.Close()
		if err := s.listen(); err != nil {
			panic(fmt.Sprintf("fault: %v", err))
		}
		s.held = nil
	}
}

// hold binds a port of loopback without listening, so that connections to it are
// refused and no other stand-in takes it.
func hold(port int) (io.Closer, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	syscall.CloseOnExec(fd)
	held := os.NewFile(uintptr(fd), "held port")
	// Connections that have ended keep their port for a minute from who does not
	// reuse addresses. Once bound, who does reuse them must not have this one.
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold a port of loopback: %w", err), held.Close())
	}
	return held, nil
}

func (s *Service) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		return s.held.Close()
	}
	return s.stand.Close()
}

// listen serves the stand-in on the port of before, or on a new one.
func (s *Service) listen() (err error) {
	for range 100 {
		port := s.port
		if port == 0 {
			port = lowestPort + rand.IntN(portCount)
		}
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			s.port = port
			s.stand.Serve(l)
			return nil
		}
	}
	return fmt.Errorf("listen on loopback: %w", err)
}

// Ports below those that systems hand out to outgoing connections, from 32768
// on: one of these could take a stand-in's port while a fault has it closed.
const (
	lowestPort = 12000
	portCount  = 20000
)

// ServeHTTP answers as the service does with its fault.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	// Only once a body is read does the server notice that the client left,
	// which ends the faults that wait.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the request is too large or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f := s.fault.Load(); f != nil && f.serve != nil {
		f.serve(exchange{service: s, w: w, r: r, body: body})
		return
	}
	s.right.ServeHTTP(w, r)
}
