package telegram

import (
	"fmt"
	"net/http"
	"time"
)

// Fault is one way for a call to go wrong. The zero Fault is none.
type Fault struct {
	status     int
	body       string
	retryAfter int
	hang       bool
	reset      bool
	// held is waited for before the call is carried out.
	held <-chan struct{}
	// carriedOut faults come after the call had its effect.
	carriedOut bool
}

// Status answers with the Bot API's own form of an error and has no effect.
func Status(code int) Fault { return described(code, http.StatusText(code)) }

// NoRights is a refusal that says nothing against what was to be sent.
func NoRights() Fault {
	return described(http.StatusBadRequest, "Bad Request: not enough rights to send text messages to the chat")
}

func described(code int, description string) Fault {
	return Fault{status: code, body: fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, description)}
}

// Page answers with a proxy's page, which repeats the path that was asked for.
func Page(code int) Fault { return Fault{status: code, body: "<html><title>Proxy</title>%s</html>"} }

// TooMany answers 429 and how long to wait.
func TooMany(wait time.Duration) Fault {
	return Fault{status: http.StatusTooManyRequests, retryAfter: int(wait.Seconds())}
}

// Hang answers nothing until the client goes away.
func Hang() Fault { return Fault{hang: true} }

// Held carries the call out, but not before release is closed, and not at all if
// the client goes away before.
func Held(release <-chan struct{}) Fault { return Fault{held: release} }

// ResetBefore breaks the connection and has no effect.
func ResetBefore() Fault { return Fault{reset: true} }

// CarriedOut is the fault raised once the call had its effect.
func (f Fault) CarriedOut() Fault {
	f.carriedOut = true
	return f
}

// Fail makes the next calls of a method go wrong, one call a fault.
func (s *Server) Fail(method string, faults ...Fault) {
	s.change(func() { s.faults[method] = append(s.faults[method], faults...) })
}

// Heal forgets the faults that are left of a method.
func (s *Server) Heal(method string) { s.change(func() { delete(s.faults, method) }) }

// Unclear reports whether a client cannot know if the call was carried out.
func (f Fault) Unclear() bool {
	return f.hang || f.reset || f.status == http.StatusOK || f.status >= http.StatusInternalServerError
}

// nextFault takes the next fault of a method, under the lock.
func (s *Server) nextFault(method string) Fault {
	list := s.faults[method]
	if len(list) == 0 {
		return Fault{}
	}
	s.faults[method] = list[1:]
	return list[0]
}

// raise answers with the fault.
func (s *Server) raise(f Fault, w http.ResponseWriter, r *http.Request) {
	switch {
	case f.hang:
		select {
		case <-r.Context().Done():
		case <-s.quit:
		}
	case f.reset:
		panic(http.ErrAbortHandler)
	case f.retryAfter > 0:
		refuse(w, refusal{code: f.status, text: fmt.Sprintf("Too Many Requests: retry after %d", f.retryAfter), retryAfter: f.retryAfter})
	case f.body[0] == '<':
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		fmt.Fprintf(w, f.body, r.URL.Path)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.status)
		fmt.Fprint(w, f.body)
	}
}
