package services

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Fault is a way in which a service fails while somebody tries what the bot then
// says. Package fault, for tests, has many more.
type Fault string

// The faults.
const (
	// Well is none.
	Well Fault = ""
	// Down answers 503.
	Down Fault = "down"
	// Slow never answers.
	Slow Fault = "slow"
	// Nonsense answers 200 with a page of HTML.
	Nonsense Fault = "nonsense"
	// Limit is the price provider's: too many calls.
	Limit Fault = "limit"
	// OnePool is the chain's: a pool that refuses every call.
	OnePool Fault = "one pool fails"
	// Behind is the chain's: its newest block is an hour old.
	Behind Fault = "behind"
)

// behind is how old the newest block is with Behind.
const behind = time.Hour

// commonFaults are those that every service has.
func commonFaults() map[Fault]http.Handler {
	return map[Fault]http.Handler{
		Down: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		}),
		Slow: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			// Only once the body is read is it noticed that the client is gone.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}),
		Nonsense: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><title>Welcome</title></html>")
		}),
	}
}

func (m market) faults() map[Fault]http.Handler {
	all := commonFaults()
	all[Limit] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m.refuse(w, http.StatusTooManyRequests, "429", "Too Many Requests")
	})
	return all
}

func (n Node) faults(w World) map[Fault]http.Handler {
	all := commonFaults()
	broken := n
	broken.Contracts = maps.Clone(n.Contracts)
	broken.Contracts[w.Pools[0].Address] = func(Node, uint64, []byte) ([]byte, error) { return nil, Reverted("") }
	all[OnePool] = broken
	late := n
	late.Now = func() time.Time { return n.Now().Add(-behind) }
	all[Behind] = late
	return all
}

// Faults are the service's, in alphabetical order.
func (s *Service) Faults() []Fault { return slices.Sorted(maps.Keys(s.faults)) }

// Fault is the one that it has, or Well.
func (s *Service) Fault() Fault {
	if f := s.fault.Load(); f != nil {
		return *f
	}
	return Well
}

// Fail gives the service a fault from the next call on, or, with Well, takes it.
func (s *Service) Fail(f Fault) error {
	if _, known := s.faults[f]; !known && f != Well {
		return fmt.Errorf("the service %s has no fault of that name", s.Name)
	}
	s.fault.Store(&f)
	return nil
}

// answer answers rightly or with the fault.
func (s *Service) answer(w http.ResponseWriter, r *http.Request) {
	if fails := s.faults[s.Fault()]; fails != nil {
		fails.ServeHTTP(w, r)
		return
	}
	s.Handler.ServeHTTP(w, r)
}
