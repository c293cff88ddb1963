package telegramtest

import (
	"fmt"
	"net/http"
	"time"

	"herald/internal/demo/fake/faketest"
	faketelegram "herald/internal/demo/fake/telegram"
)

// Fault is one way for a call to fail. The zero Fault has no effect.
type Fault = faketest.Fault

// Status refuses a call with an error in the form of the Bot API.
func Status(code int) Fault { return Fault{Status: code, Description: http.StatusText(code)} }

// NoRights refuses a message because the bot may not write to the chat.
func NoRights() Fault {
	return Fault{
		Status:      http.StatusBadRequest,
		Description: "Bad Request: not enough rights to send text messages to the chat",
	}
}

// Page refuses a call with the HTML page of a proxy. The page contains the path of the request, which includes the
// bot's token.
func Page(code int) Fault { return Fault{Status: code, Page: true} }

// TooMany refuses a call with status 429, and tells the bot how long to wait.
func TooMany(wait time.Duration) Fault {
	text := fmt.Sprintf("Too Many Requests: retry after %d", int(wait.Seconds()))
	return Fault{Status: http.StatusTooManyRequests, Description: text, RetryAfter: wait}
}

// Hang sends no response until the client disconnects.
func Hang() Fault { return Fault{Hang: true} }

// Held delays a call until release is closed. If the client disconnects first, the call is not carried out.
func Held(release <-chan struct{}) Fault { return Fault{Held: release} }

// ResetBefore closes the connection before the call is carried out.
func ResetBefore() Fault { return Fault{Drop: true} }

// Fail queues faults for a method. Each is used for one of the method's next calls.
func (s *Server) Fail(method string, faults ...Fault) { s.faults.Add(method, faults...) }

// Break sets the fault of all calls of a method for which Fail has queued none. The zero Fault ends it.
func (s *Server) Break(method string, fault Fault) { s.faults.Set(method, fault) }

// Heal deletes the faults that Fail has queued for a method.
func (s *Server) Heal(method string) { s.faults.Clear(method) }

// Delivered records the status of the bot's response to a delivery by webhook. Unless it is 2xx, getWebhookInfo then
// reports a failure.
func (s *Server) Delivered(status int) {
	if status/100 != 2 {
		s.FailDelivery(fmt.Sprintf("Wrong response from the webhook: %d %s", status, http.StatusText(status)))
	}
}

// refuse writes the response of a fault that refuses a call.
func refuse(f Fault, w http.ResponseWriter, r *http.Request) {
	if f.Page {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, "<html><title>Proxy</title>%s</html>", r.URL.Path)
		return
	}
	faketelegram.Refuse(w, f.Status, f.Description, f.RetryAfter)
}
