package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

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

// Fakes is the stand-ins, served so that they can fail.
type Fakes struct {
	*services.Fakes

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service
	// Elsewhere is where a service redirects to. Any request that it counts
	// carried credentials to a stranger.
	Elsewhere *Service
}

// Start serves every stand-in on a port of 127.0.0.1, without a fault. The caller
// closes them.
func Start() (*Fakes, error) {
	own := services.New()
	stranger := &services.Service{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	var errs []error
	serve := func(stand *services.Service) *Service {
		s := &Service{stand: stand, right: stand.Handler, world: own.World, elsewhere: stranger.URL()}
		stand.Handler = s
		errs = append(errs, s.listen())
		return s
	}
	s := &Fakes{Fakes: own, Elsewhere: serve(stranger)}
	s.Partner, s.Price, s.Supply, s.Chain = serve(own.Partner), serve(own.Price), serve(own.Supply), serve(own.Chain)
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(fmt.Errorf("start the stand-ins: %w", err), s.Close())
	}
	return s, nil
}

// At returns the service of a target.
func (s *Fakes) At(t Target) *Service {
	return map[Target]*Service{Partner: s.Partner, Price: s.Price, Supply: s.Supply, Chain: s.Chain}[t]
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Fakes) Close() error {
	return errors.Join(s.Elsewhere.stand.Close(), s.Fakes.Close())
}

// Service is a stand-in that answers correctly or, with a Fault, fails. Safe for
// concurrent use.
type Service struct {
	stand     *services.Service
	right     http.Handler // answers without a fault
	world     services.World
	elsewhere string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64

	mu      sync.Mutex
	address string // empty before it was ever served
	refuses bool
}

// URL returns the service's origin, without a slash at its end. It stays the same
// through every fault.
func (s *Service) URL() string { return "http://" + s.address }

// Requests counts the requests that have arrived, with those that met a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault has the service fail in that way from the next request on; the zero
// Fault ends it. A fault that Of lists for one target fits no other.
func (s *Service) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault.Store(&f)
	if f.refuse == s.refuses {
		return
	}
	if f.refuse {
		_ = s.stand.Close()
	} else if err := s.listen(); err != nil {
		panic(fmt.Sprintf("fault: %v", err))
	}
	s.refuses = f.refuse
}

// Each port of this process is another, so that no stand-in takes the port of one
// that refuses connections. All are below 32768, from where systems hand out ports
// to outgoing connections.
var (
	firstPort = rand.Uint32N(20_000)
	ports     atomic.Uint32
)

// listen serves the stand-in at its address, or for the first time at a free one.
func (s *Service) listen() (err error) {
	for range 100 {
		address := s.address
		if address == "" {
			address = fmt.Sprintf("127.0.0.1:%d", 12_000+(firstPort+ports.Add(1))%20_000)
		}
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			if s.address == "" {
				s.address = address
			}
			s.stand.Serve(l)
			return nil
		}
	}
	return fmt.Errorf("listen on loopback: %w", err)
}

// ServeHTTP answers as the service does with its fault.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	// The server notices that the client is gone, which ends faults that wait, once
	// the body is read.
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
