// Package fault makes the fakes of internal/demo/fake/services fail in the ways that Of lists. An Echo is a
// fault of any server. Only tests may import the package.
package fault

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/demo/fake/services"
	"herald/internal/service/rest/resttest"
	"herald/internal/transport"
)

// Fault is one way in which a service fails. The zero Fault changes nothing.
type Fault struct {
	// Name is unique among the faults of a service.
	Name   string
	Effect Effect
	// Reason is what people are told. "" means Nonsense.
	Reason Reason
	// Wait is how long the service asks callers to wait.
	Wait time.Duration

	serve serve
}

// serve answers in place of the service.
type serve func(exchange)

// Effect is what an honest client can still answer during a fault. A wrong answer is never
// allowed.
type Effect int

// The effects.
const (
	// Unanswerable allows only "could not be checked", or the last good answer marked as
	// old.
	Unanswerable Effect = iota
	// OnePoolUnread hides one pool. A wallet with a stake in another pool is still a staker;
	// for other wallets nobody can tell.
	OnePoolUnread
	// Answerable leaves a way to the right answer, such as single calls instead of a batch,
	// and the client must take that way.
	Answerable
)

// Reason is the key of the message that says why a service could not be asked.
type Reason string

// The reasons.
const (
	Unreachable Reason = "reason.unreachable"
	Slow        Reason = "reason.slow"
	Limited     Reason = "reason.limited"
	UsedUp      Reason = "reason.used_up"
	Denied      Reason = "reason.denied"
	Rejected    Reason = "reason.rejected"
	Nonsense    Reason = "reason.malformed"
	NoData      Reason = "reason.no_data"
	Behind      Reason = "reason.behind"
	Paused      Reason = "reason.paused"
	TimedOut    Reason = "reason.timeout"
)

// Reasons lists all of them.
var Reasons = []Reason{Unreachable, Slow, Limited, UsedUp, Denied, Rejected, Nonsense, NoData, Behind, Paused, TimedOut}

// Answer returns a fault that answers everything with this status, content type and body.
func Answer(status int, contentType, body string) Fault {
	return Fault{Name: fmt.Sprintf("%d %s as given", status, contentType), serve: answering(status, contentType, body)}
}

// Late returns a fault that delays the correct answer.
func Late(delay time.Duration) Fault {
	return Fault{Name: "right after " + delay.String(), Effect: Answerable, serve: func(x exchange) {
		x.wait(delay)
		x.service.right.ServeHTTP(x.w, x.r)
	}}
}

// LateUntil returns a fault that delays the correct answer until ready is closed.
func LateUntil(ready <-chan struct{}) Fault {
	return Fault{Name: "right when told", Effect: Answerable, serve: func(x exchange) {
		select {
		case <-ready:
			x.service.right.ServeHTTP(x.w, x.r)
		case <-x.r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}}
}

// Hang returns a fault that accepts requests and never answers.
func Hang() Fault {
	return Fault{Name: "never answers", Reason: Slow, serve: func(x exchange) { x.wait(math.MaxInt64) }}
}

// Drop returns a fault that closes each connection without an answer.
func Drop() Fault {
	return Fault{Name: "closed without an answer", Reason: Unreachable, serve: func(x exchange) { x.breakOff("") }}
}

// exchange is one request that meets a fault.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
	body    []byte // of the request
}

// right returns the service's correct answer.
func (x exchange) right() *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	x.service.right.ServeHTTP(rec, x.r)
	return rec
}

// pass sends an answer with another status and body.
func (x exchange) pass(like *httptest.ResponseRecorder, status int, body []byte) {
	maps.Copy(x.w.Header(), like.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// breakOff sends raw bytes instead of a response, and closes the connection.
func (x exchange) breakOff(raw string) { resttest.Broken(raw)(x.w, x.r) }

// reset sends raw bytes instead of a response, and resets the connection.
func (x exchange) reset(raw string) { resttest.Reset(raw)(x.w, x.r) }

// wait blocks for d. If the client leaves or the service closes meanwhile, it panics with
// http.ErrAbortHandler, because returning would send an answer.
func (x exchange) wait(d time.Duration) {
	if !transport.Sleep(x.r.Context(), d) {
		panic(http.ErrAbortHandler)
	}
}

// answering returns a serve that answers everything in the same way.
func answering(status int, contentType, body string) serve {
	return func(x exchange) {
		if contentType != "" {
			x.w.Header().Set("Content-Type", contentType)
		}
		x.w.WriteHeader(status)
		_, _ = io.WriteString(x.w, body)
	}
}

func answerJSON(body string) serve { return answering(http.StatusOK, "application/json", body) }

// replaced returns a serve that replaces what matches pattern in the right answer.
func replaced(pattern, with string) serve {
	part := regexp.MustCompile(pattern)
	return func(x exchange) {
		right := x.right()
		x.pass(right, right.Code, part.ReplaceAll(right.Body.Bytes(), []byte(with)))
	}
}

// altered returns a serve that changes fields of the service's own handler.
func altered[H http.Handler](alter func(h *H, w services.World)) serve {
	return func(x exchange) {
		handler := x.service.right.(H)
		alter(&handler, x.service.world)
		handler.ServeHTTP(x.w, x.r)
	}
}

// Target is the Name of the core.Service that can fail.
type Target string

// The targets.
const (
	Partner Target = "partner"
	Price   Target = "price"
	Supply  Target = "supply"
	Chain   Target = "chain"
)

// Targets lists the targets of all fakes.
var Targets = targets()

func targets() (all []Target) {
	for _, s := range services.New().Services() {
		all = append(all, Target(s.Name))
	}
	return all
}

// Fakes is the fakes of all services. Each can fail.
type Fakes struct {
	*services.Fakes

	Partner *Service
	Price   *Service
	Supply  *Service
	Chain   *Service

	all       map[Target]*Service
	elsewhere *httptest.Server
	strayed   atomic.Int64
}

// Start serves every fake until the test ends. None has a fault.
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
			t.Errorf("close the stand-ins: %v", err)
		}
	})
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Elsewhere returns the URL to which faults redirect.
func (s *Fakes) Elsewhere() (url string) { return s.elsewhere.URL }

// Strayed returns how many requests arrived at Elsewhere. Each carried credentials to a stranger.
func (s *Fakes) Strayed() int64 { return s.strayed.Load() }

// At returns the service of a target.
func (s *Fakes) At(t Target) *Service { return s.all[t] }

// Service is a fake that can have a Fault. It is safe for concurrent use.
type Service struct {
	*services.Service
	right     http.Handler // answers without a fault
	world     services.World
	elsewhere string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64
}

// Requests returns how many requests have arrived, with and without a fault.
func (s *Service) Requests() int64 { return s.requests.Load() }

// SetFault replaces the service's fault from the next request on; the zero Fault ends it. A
// fault that Of lists for one target must not be set for another.
func (s *Service) SetFault(f Fault) { s.fault.Store(&f) }

// Right serves the service's correct answers at another URL until the test ends.
func (s *Service) Right(t testing.TB) (url string) {
	server := httptest.NewServer(s.right)
	t.Cleanup(server.Close)
	return server.URL
}

// Failing reports whether the service has a fault that leaves no way to the correct answer.
func (s *Service) Failing() bool {
	f := s.fault.Load()
	return f != nil && f.serve != nil && f.Effect != Answerable
}

// ServeHTTP answers with the service's fault, or correctly if it has none.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	// The server notices only after the body is read that the client is gone. That ends faults that wait.
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
