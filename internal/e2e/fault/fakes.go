package fault

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
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

	elsewhere *httptest.Server
	strayed   atomic.Int64
}

// Start serves every stand-in, without a fault. The caller closes them.
func Start() (*Fakes, error) {
	s := &Fakes{Fakes: services.New()}
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) }))
	failing := func(own *services.Service) *Service {
		failing := &Service{Service: own, right: own.Handler, world: s.World, elsewhere: s.Elsewhere()}
		own.Handler = failing
		return failing
	}
	s.Partner, s.Price = failing(s.Fakes.Partner), failing(s.Fakes.Price)
	s.Supply, s.Chain = failing(s.Fakes.Supply), failing(s.Fakes.Chain)
	return s, s.Serve()
}

// Elsewhere is where a service redirects to.
func (s *Fakes) Elsewhere() (url string) { return s.elsewhere.URL }

// Strayed counts the requests that came Elsewhere: each carried credentials to a
// stranger.
func (s *Fakes) Strayed() int64 { return s.strayed.Load() }

// At returns the service of a target.
func (s *Fakes) At(t Target) *Service {
	return map[Target]*Service{Partner: s.Partner, Price: s.Price, Supply: s.Supply, Chain: s.Chain}[t]
}

// Close breaks every connection and frees the ports. Calls under way end.
func (s *Fakes) Close() error {
	err := s.Fakes.Close()
	s.elsewhere.Close()
	return err
}

// Service is a stand-in that answers correctly or, with a Fault, fails. Safe for
// concurrent use.
type Service struct {
	*services.Service
	right     http.Handler // answers without a fault
	world     services.World
	elsewhere string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64
}

// Requests counts the requests that have arrived, with those that met a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault has the service fail in that way from the next request on; the zero
// Fault ends it. A fault that Of lists for one target fits no other.
func (s *Service) SetFault(f Fault) { s.fault.Store(&f) }

// Failing reports whether its fault leaves no way to the right answer.
func (s *Service) Failing() bool {
	f := s.fault.Load()
	return f != nil && f.serve != nil && f.Effect != Answerable
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
