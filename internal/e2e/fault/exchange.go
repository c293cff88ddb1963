package fault

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"time"

	"herald/internal/demo/fake/services"
	"herald/internal/service/rest/resttest"
	"herald/internal/transport"
)

// serve answers a request in place of the service.
type serve func(exchange)

// exchange is a request to a service that has a fault, and the response.
type exchange struct {
	service *Service
	w       http.ResponseWriter
	r       *http.Request
	body    []byte // the request's body
}

// right returns the service's right answer.
func (x exchange) right() *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	x.service.right.ServeHTTP(rec, x.r)
	return rec
}

// sendAltered sends right with another status and body.
func (x exchange) sendAltered(right *httptest.ResponseRecorder, status int, body []byte) {
	maps.Copy(x.w.Header(), right.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// breakOff sends raw bytes instead of a response, and closes the connection.
func (x exchange) breakOff(raw string) { resttest.Broken(raw)(x.w, x.r) }

// reset sends raw bytes instead of a response, and resets the connection.
func (x exchange) reset(raw string) { resttest.Reset(raw)(x.w, x.r) }

// wait blocks for d. If the client leaves or the service closes meanwhile, it panics with
// http.ErrAbortHandler, because a handler that returns sends an answer.
func (x exchange) wait(d time.Duration) {
	if !transport.Sleep(x.r.Context(), d) {
		panic(http.ErrAbortHandler)
	}
}

// answering returns a serve that gives every request the same answer.
func answering(status int, contentType, body string) serve {
	return func(x exchange) {
		if contentType != "" {
			x.w.Header().Set("Content-Type", contentType)
		}
		x.w.WriteHeader(status)
		_, _ = io.WriteString(x.w, body)
	}
}

// answerJSON returns a serve that answers every request with body.
func answerJSON(body string) serve { return answering(http.StatusOK, "application/json", body) }

// replaced returns a serve that answers rightly, except that it replaces what matches pattern.
func replaced(pattern, with string) serve {
	part := regexp.MustCompile(pattern)
	return func(x exchange) {
		right := x.right()
		x.sendAltered(right, right.Code, part.ReplaceAll(right.Body.Bytes(), []byte(with)))
	}
}

// altered returns a serve that answers with a copy of the service's handler, of type H, which alter has
// changed.
func altered[H http.Handler](alter func(h *H, w services.World)) serve {
	return func(x exchange) {
		handler := x.service.right.(H)
		alter(&handler, x.service.world)
		handler.ServeHTTP(x.w, x.r)
	}
}
