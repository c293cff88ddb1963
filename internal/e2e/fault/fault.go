package fault

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"time"

	"herald/internal/demo/fake/services"
)

// Fault is one way in which a service fails. The zero Fault is none.
type Fault struct {
	// Name is unique among the faults of a service.
	Name   string
	Effect Effect

	refuse bool           // nothing listens
	serve  func(exchange) // takes the place of the service
}

// Effect is what an honest client can still tell while a fault lasts. None
// allows a wrong answer.
type Effect int

// The effects.
const (
	// Unanswerable leaves nothing to tell but that it could not be checked, or
	// the last good answer marked as old.
	Unanswerable Effect = iota
	// OnePoolUnread hides one pool for good: who stakes in another one is
	// still a staker, of everybody else it cannot be told.
	OnePoolUnread
	// Answerable leaves a way to the right answer, such as single calls in
	// place of a batch; a client that does not take it could not check.
	Answerable
)

// Answer is a service that answers everything with this status, content type
// and body.
func Answer(status int, contentType, body string) Fault {
	return Fault{Name: fmt.Sprintf("%d %s as given", status, contentType), serve: answering(status, contentType, body)}
}

// Late is a service that answers rightly after a delay.
func Late(delay time.Duration) Fault {
	right := Fault{Name: "right", Effect: Answerable, serve: func(x exchange) { x.service.right.ServeHTTP(x.w, x.r) }}
	return right.After(delay)
}

// After is f with a delay before each answer. It fits no service whose port is
// closed.
func (f Fault) After(delay time.Duration) Fault {
	f.Name += " after " + delay.String()
	serve := f.serve
	f.serve = func(x exchange) {
		x.wait(delay)
		serve(x)
	}
	return f
}

// Hang is a service that takes requests and never answers.
func Hang() Fault {
	return Fault{Name: "never answers", serve: func(x exchange) { x.wait(math.MaxInt64) }}
}

// Refuse is a service whose port is closed.
func Refuse() Fault { return Fault{Name: "connection refused", refuse: true} }

// exchange is one request met by a fault.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
	body    []byte // of the request
}

// right is what the service answers without a fault.
func (x exchange) right() *httptest.ResponseRecorder { return x.answerOf(x.service.right) }

func (x exchange) answerOf(h http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, x.r)
	return rec
}

// answer passes an answer on, with another status and body.
func (x exchange) answer(like *httptest.ResponseRecorder, status int, body []byte) {
	maps.Copy(x.w.Header(), like.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// wait aborts the exchange if the client leaves or the service closes
// meanwhile: merely to return would send an answer.
func (x exchange) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// breakOff writes raw bytes to the connection and ends it, with a reset rather
// than an orderly end if asked.
func (x exchange) breakOff(raw []byte, reset bool) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write(raw)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

// redirect leads elsewhere.
func (x exchange) redirect(elsewhere string, status int) {
	http.Redirect(x.w, x.r, elsewhere+x.r.URL.RequestURI(), status)
}

// endless writes a block until the client has enough or a gigabyte is out.
func (x exchange) endless(block []byte) {
	x.w.Header().Set("Content-Type", "application/json")
	for range 1 << 30 / len(block) {
		if _, err := x.w.Write(block); err != nil {
			return
		}
	}
}

// answering answers everything alike.
func answering(status int, contentType, body string) func(exchange) {
	return func(x exchange) {
		if contentType != "" {
			x.w.Header().Set("Content-Type", contentType)
		}
		x.w.WriteHeader(status)
		_, _ = io.WriteString(x.w, body)
	}
}

func answerJSON(body string) func(exchange) {
	return answering(http.StatusOK, "application/json", body)
}

// edited is the right answer with an edited body. A refusal is passed on.
func edited(edit func(x exchange, body string) string) func(exchange) {
	return func(x exchange) {
		right := x.right()
		body := right.Body.String()
		if right.Code == http.StatusOK {
			body = edit(x, body)
		}
		x.answer(right, right.Code, []byte(body))
	}
}

// replaced is the right answer with another text where pattern matches.
func replaced(pattern, with string) func(exchange) {
	part := regexp.MustCompile(pattern)
	return edited(func(_ exchange, body string) string { return part.ReplaceAllString(body, with) })
}

// altered is the service's own handler after a change of its fields.
func altered[H http.Handler](alter func(h *H, w services.World)) func(exchange) {
	return func(x exchange) {
		handler := x.service.right.(H)
		alter(&handler, x.service.world)
		handler.ServeHTTP(x.w, x.r)
	}
}
