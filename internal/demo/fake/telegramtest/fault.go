package telegramtest

import (
	"fmt"
	"net/http"
	"time"

	"herald/internal/demo/fake/faketest"
	faketelegram "herald/internal/demo/fake/telegram"
)

// Fault is one way for a call to go wrong. The zero Fault changes nothing.
type Fault = faketest.Fault

// Status responds with the Bot API's own form of an error and has no effect.
func Status(code int) Fault { return Fault{Status: code, Description: http.StatusText(code)} }

// NoRights refuses a message for the chat, and not for its content.
func NoRights() Fault {
	return Fault{
		Status:      http.StatusBadRequest,
		Description: "Bad Request: not enough rights to send text messages to the chat",
	}
}

// Page responds with a proxy's page, which repeats the path that was asked for.
func Page(code int) Fault { return Fault{Status: code, Page: true} }

// TooMany responds with 429 and how long to wait.
func TooMany(wait time.Duration) Fault {
	text := fmt.Sprintf("Too Many Requests: retry after %d", int(wait.Seconds()))
	return Fault{Status: http.StatusTooManyRequests, Description: text, RetryAfter: wait}
}

// Hang sends no response until the client goes away.
func Hang() Fault { return Fault{Hang: true} }

// Held carries the call out, but not before release is closed, and not at all if
// the client goes away before.
func Held(release <-chan struct{}) Fault { return Fault{Held: release} }

// ResetBefore breaks the connection and has no effect.
func ResetBefore() Fault { return Fault{Drop: true} }

// Fail makes the next calls of a method go wrong, one call a fault.
func (s *Server) Fail(method string, faults ...Fault) { s.faults.Add(method, faults...) }

// Break puts a fault on every call of a method that has none from Fail. The zero Fault mends the method.
func (s *Server) Break(method string, fault Fault) { s.faults.Set(method, fault) }

// Heal forgets the faults that are left of a method.
func (s *Server) Heal(method string) { s.faults.Clear(method) }

// Delivered takes the status that a delivery was answered with.
func (s *Server) Delivered(status int) {
	if status/100 != 2 {
		s.FailDelivery(fmt.Sprintf("Wrong response from the webhook: %d %s", status, http.StatusText(status)))
	}
}

// raise writes a fault that refuses a call.
func raise(f Fault, w http.ResponseWriter, r *http.Request) {
	if f.Page {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, "<html><title>Proxy</title>%s</html>", r.URL.Path)
		return
	}
	faketelegram.Refuse(w, f.Status, f.Description, f.RetryAfter)
}
