// Package fault makes the stand-ins of internal/demo/fake/services fail, in every
// way that Of lists, and puts a Front that can fail before any other server. It is
// for tests alone: the program must not hold it.
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

// Fault is one way in which a service fails. The zero Fault changes nothing.
type Fault struct {
	// Name is unique among the faults of a service.
	Name   string
	Effect Effect

	serve serve
}

// serve answers in place of the service.
type serve func(exchange)

// Effect is what an honest client can still tell while a fault lasts. A wrong
// answer is never allowed.
type Effect int

// The effects.
const (
	// Unanswerable leaves only "could not be checked", or the last good answer
	// marked as old.
	Unanswerable Effect = iota
	// OnePoolUnread hides one pool for good: who stakes in another one is still a
	// staker; of everybody else it cannot be told.
	OnePoolUnread
	// Answerable leaves a way to the right answer, such as single calls in place
	// of a batch. A client that does not take it could not check.
	Answerable
)

// Answer is a service that answers everything with this status, content type and
// body.
func Answer(status int, contentType, body string) Fault {
	return Fault{Name: fmt.Sprintf("%d %s as given", status, contentType), serve: answering(status, contentType, body)}
}

// Late is a service that answers correctly after a delay.
func Late(delay time.Duration) Fault {
	return Fault{Name: "right after " + delay.String(), Effect: Answerable, serve: func(x exchange) {
		x.wait(delay)
		x.service.right.ServeHTTP(x.w, x.r)
	}}
}

// Hang is a service that takes requests and never answers.
func Hang() Fault {
	return Fault{Name: "never answers", serve: func(x exchange) { x.wait(math.MaxInt64) }}
}

// Drop is a service that closes each connection without an answer.
func Drop() Fault {
	return Fault{Name: "closed without an answer", serve: func(x exchange) { breakOff(x.w, "", false) }}
}

// exchange is one request that meets a fault.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
	body    []byte // of the request
}

// from returns what a handler answers to the request.
func (x exchange) from(h http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, x.r)
	return rec
}

func (x exchange) right() *httptest.ResponseRecorder { return x.from(x.service.right) }

// pass sends an answer on, with another status and body.
func (x exchange) pass(like *httptest.ResponseRecorder, status int, body []byte) {
	maps.Copy(x.w.Header(), like.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// wait aborts the exchange if the client leaves or the service closes meanwhile:
// to return would send an answer.
func (x exchange) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// breakOff writes raw bytes to the connection and ends it, if asked with a reset
// rather than in good order.
func breakOff(w http.ResponseWriter, raw string, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, raw)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

// endless writes a block until the client has enough or a gigabyte is out.
func endless(w http.ResponseWriter, block []byte) {
	w.Header().Set("Content-Type", "application/json")
	for range 1 << 30 / len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// answering answers everything alike.
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

// edited is the right answer with an edited body. A refusal is passed on.
func edited(edit func(x exchange, body string) string) serve {
	return func(x exchange) {
		right := x.right()
		body := right.Body.String()
		if right.Code == http.StatusOK {
			body = edit(x, body)
		}
		x.pass(right, right.Code, []byte(body))
	}
}

// replaced is the right answer with another text where pattern matches.
func replaced(pattern, with string) serve {
	part := regexp.MustCompile(pattern)
	return edited(func(_ exchange, body string) string { return part.ReplaceAllString(body, with) })
}

// altered is the service's own handler after a change of its fields.
func altered[H http.Handler](alter func(h *H, w services.World)) serve {
	return func(x exchange) {
		handler := x.service.right.(H)
		alter(&handler, x.service.world)
		handler.ServeHTTP(x.w, x.r)
	}
}
