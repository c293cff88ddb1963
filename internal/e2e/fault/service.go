package fault

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"herald/internal/demo/fake/services"
)

// Fakes is the fakes of all services. Each can fail.
type Fakes struct {
	*services.Fakes

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service

	all       map[Target]*Service
	elsewhere *httptest.Server // where faults redirect requests
	strayed   atomic.Int64     // requests that arrived there
}

// Start serves every fake until the test ends. They have no faults at first.
func Start(t testing.TB) *Fakes {
	t.Helper()
	s := &Fakes{Fakes: services.New(), all: map[Target]*Service{}}
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) }))
	t.Cleanup(s.elsewhere.Close)
	for _, own := range s.Services() {
		failing := &Service{Service: own, right: own.Handler, world: s.World, elsewhere: s.Elsewhere()}
		own.Handler, s.all[Target(own.Name)] = failing, failing
	}
	s.Partner, s.Price, s.Supply, s.Chain = s.all[Partner], s.all[Price], s.all[Supply], s.all[Chain]
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the fakes: %v", err)
		}
	})
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Elsewhere returns the URL to which some faults redirect requests. The bot must not follow them, because its
// requests carry credentials.
func (s *Fakes) Elsewhere() (url string) { return s.elsewhere.URL }

// Strayed returns how many requests arrived at Elsewhere.
func (s *Fakes) Strayed() int64 { return s.strayed.Load() }

// At returns the service of a target.
func (s *Fakes) At(t Target) *Service { return s.all[t] }

// Service is a fake that can have a Fault. It is safe for concurrent use.
type Service struct {
	*services.Service
	right     http.Handler // answers as if there were no fault
	world     services.World
	elsewhere string

	fault    atomic.Pointer[Fault] // nil, or the zero Fault, if the service works
	requests atomic.Int64
}

// Requests returns how many requests have arrived so far, including those that met a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault sets the service's fault from the next request on. The zero Fault ends it. A fault that Of lists for
// one target must not be set for another.
func (s *Service) SetFault(f Fault) { s.fault.Store(&f) }

// Right serves the service's right answers at another URL until the test ends, whatever the service's fault is.
func (s *Service) Right(t testing.TB) (url string) {
	server := httptest.NewServer(s.right)
	t.Cleanup(server.Close)
	return server.URL
}

// Failing reports whether the service has a fault that leaves no way to the right answer.
func (s *Service) Failing() bool {
	f, hasFault := s.currentFault()
	return hasFault && f.Effect != Answerable
}

func (s *Service) currentFault() (f Fault, hasFault bool) {
	set := s.fault.Load()
	if set == nil || set.serve == nil {
		return Fault{}, false
	}
	return *set, true
}

// ServeHTTP answers with the service's fault, or rightly if it has none.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	// Only after the body is read does the server notice that a client leaves, which ends a fault that waits.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the request is too large or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f, hasFault := s.currentFault(); hasFault {
		f.serve(exchange{service: s, w: w, r: r, body: body})
		return
	}
	s.right.ServeHTTP(w, r)
}
