package telegram

import (
	"fmt"
	"net/http"
	"time"

	"herald/internal/demo/fake"
)

// SetWebhook sets a webhook as another process would, without a secret.
func (s *Server) SetWebhook(url string) { s.Change(func() { s.webhook = Webhook{URL: url} }) }

// FailDelivery has getWebhookInfo tell that a delivery has just failed, whatever
// webhook is set later.
func (s *Server) FailDelivery(why string) {
	s.Change(func() { s.failedAt, s.failure = time.Now().Add(s.ahead), why })
}

// Delivered takes the status that a delivery was answered with.
func (s *Server) Delivered(status int) {
	if status/100 != 2 {
		s.FailDelivery(fmt.Sprintf("Wrong response from the webhook: %d %s", status, http.StatusText(status)))
	}
}

// SetAhead sets how far the server's clock is ahead of this machine's.
func (s *Server) SetAhead(d time.Duration) { s.Change(func() { s.ahead = d }) }

// Start lets the bot write to a user, as pressing Start does.
func (s *Server) Start(user int64) { s.Change(func() { s.started[user] = true }) }

// Revoke makes the server answer 401 to every call.
func (s *Server) Revoke() { s.Change(func() { s.revoked = true }) }

// Meet has a user appear like this where they press a button or ask an inline
// query. Until then they are Person.
func (s *Server) Meet(u User) { s.Change(func() { s.people[u.ID] = u }) }

// person is a user as they appear, under the lock.
func (s *Server) person(id int64) User {
	if u, met := s.people[id]; met {
		return u
	}
	return Person(id)
}

// Promote sets a user's status in a chat: "creator", "administrator",
// "member", "left" and so on. It is "member" until then.
func (s *Server) Promote(chat, user int64, status string) {
	s.Change(func() { s.status[[2]int64{chat, user}] = status })
}

// Migrate turns a group into a supergroup with another ID.
func (s *Server) Migrate(from, to int64) { s.Change(func() { s.moved[from] = to }) }

// Delete removes a message, so that nothing can reply to it.
func (s *Server) Delete(chat, id int64) {
	s.Change(func() { s.remove([2]int64{chat, id}) })
}

// Fault is one way for a call to go wrong. The zero Fault changes nothing.
type Fault = fake.Fault

// Status responds with the Bot API's own form of an error and has no effect.
func Status(code int) Fault { return Fault{Status: code, Description: http.StatusText(code)} }

// NoRights is a refusal that says nothing against what was to be sent.
func NoRights() Fault {
	return Fault{Status: http.StatusBadRequest, Description: "Bad Request: not enough rights to send text messages to the chat"}
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

// Heal forgets the faults that are left of a method.
func (s *Server) Heal(method string) { s.faults.Clear(method) }

// raise writes a fault that refuses a call.
func raise(f Fault, w http.ResponseWriter, r *http.Request) {
	if f.Page {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, "<html><title>Proxy</title>%s</html>", r.URL.Path)
		return
	}
	refuse(w, refusal{code: f.Status, text: f.Description, retryAfter: int(f.RetryAfter.Seconds())})
}
