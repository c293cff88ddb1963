// Package telegramtest is a Bot API server for tests. It refuses what
// Telegram refuses, and any call that does not fit the Bot API's own
// description (botapi.json, reduced to methods, parameters, types and which
// are required, from https://core.telegram.org/bots/api).
//
// It keeps Telegram's promises and no more: an update stays queued until a
// getUpdates with a higher offset, nobody is written to who has not started
// the bot, and there is no webhook beside polling.
package telegramtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is the one token that the server accepts.
const Token = "123456789:TEST-token_0123456789abcdefghijklm"

// BotID and Username are who getMe says the bot is.
const (
	BotID    = 123456789
	Username = "herald_bot"
)

// Call is one request as the server understood it.
type Call struct {
	Method string
	At     time.Time
	// Params holds each parameter as JSON.
	Params map[string]json.RawMessage
	// Fault is what went wrong with it by Fail.
	Fault Fault
}

// Entity is a span of a sent text, in UTF-16 units.
type Entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}

// Sent is one message that the server took.
type Sent struct {
	ID       int64
	Chat     int64
	Thread   int64
	ReplyTo  int64
	Text     string
	Entities []Entity
	At       time.Time
}

// Command is an entry of the bot's menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Webhook is what setWebhook last said; an empty URL is none.
type Webhook struct {
	URL            string   `json:"url"`
	Secret         string   `json:"secret_token"`
	MaxConnections int      `json:"max_connections"`
	AllowedUpdates []string `json:"allowed_updates"`
}

// Server is the fake. Its methods may be called from many goroutines.
type Server struct {
	// URL is the Bot API server to configure.
	URL string

	http *httptest.Server
	quit chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when anything changes
	queue      []queued
	nextUpdate int64
	nextID     int64
	poller     int64
	calls      []Call
	sent       []Sent
	violations []string
	offsets    []int64
	started    map[int64]bool
	messages   map[[2]int64]bool
	status     map[[2]int64]string
	moved      map[int64]int64
	closed     map[[2]int64]bool
	revoked    bool
	faults     map[string][]Fault
	menu       []Command
	webhook    Webhook
}

type queued struct {
	id  int64
	raw json.RawMessage
}

// New starts a server that stops with the test. At its end the test fails for
// every call that the Bot API's description does not allow.
func New(t testing.TB) *Server {
	s := newServer(t)
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// NewInMemory is New without a network, for tests in simulated time: the server
// is reached by RoundTrip alone.
func NewInMemory(t testing.TB) *Server {
	s := newServer(t)
	s.URL = "http://telegram.invalid"
	return s
}

func newServer(t testing.TB) *Server {
	s := &Server{
		quit: make(chan struct{}), changed: make(chan struct{}),
		nextUpdate: 1000, nextID: 1,
		started: map[int64]bool{}, messages: map[[2]int64]bool{}, status: map[[2]int64]string{},
		moved: map[int64]int64{}, closed: map[[2]int64]bool{}, faults: map[string][]Fault{},
	}
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("the Bot API does not allow: %s", v)
		}
	})
	t.Cleanup(func() { close(s.quit) })
	return s
}

// change applies f and wakes everybody who waits for something.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until ok, asked under the lock, answers true, and returns false
// if that did not happen within limit.
func (s *Server) until(limit time.Duration, ok func() bool) bool {
	deadline := time.After(limit)
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-deadline:
			return false
		case <-s.quit:
			return false
		}
	}
}

// WaitSent waits until n messages were taken and returns all that were by
// then; it is fewer than n when limit is over.
func (s *Server) WaitSent(n int, limit time.Duration) []Sent {
	s.until(limit, func() bool { return len(s.sent) >= n })
	return s.Sent()
}

// WaitCalls waits until method was called n times, refused calls included, and
// returns those calls.
func (s *Server) WaitCalls(method string, n int, limit time.Duration) []Call {
	s.until(limit, func() bool { return len(s.callsOf(method)) >= n })
	return s.Calls(method)
}

// WaitAcknowledged waits until no update is queued and reports whether that came.
func (s *Server) WaitAcknowledged(limit time.Duration) bool {
	return s.until(limit, func() bool { return len(s.queue) == 0 })
}

// Sent are the messages taken so far, in order.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Take returns the messages and calls so far and forgets them, with the
// offsets, so that a long run needs no more memory than a short one. Nothing
// can reply to a message that was taken.
func (s *Server) Take() ([]Sent, []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, calls := s.sent, s.calls
	for _, m := range sent {
		delete(s.messages, [2]int64{m.Chat, m.ID})
	}
	s.sent, s.calls, s.offsets = nil, nil, nil
	return sent, calls
}

// Calls are the calls of one method so far, in order.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(method)
}

func (s *Server) callsOf(method string) []Call {
	var calls []Call
	for _, c := range s.calls {
		if strings.EqualFold(c.Method, method) {
			calls = append(calls, c)
		}
	}
	return calls
}

// Offsets are the offsets of every getUpdates so far; 0 is none given.
func (s *Server) Offsets() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.offsets)
}

// Pending are the IDs of the updates that are not acknowledged.
func (s *Server) Pending() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int64
	for _, q := range s.queue {
		ids = append(ids, q.id)
	}
	return ids
}

// Menu is what setMyCommands last said.
func (s *Server) Menu() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.menu)
}

// Webhook is what setWebhook last said.
func (s *Server) Webhook() Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.webhook
}

// SetWebhook sets a webhook as another process would.
func (s *Server) SetWebhook(url string) { s.change(func() { s.webhook = Webhook{URL: url} }) }

// Violations are the calls that the Bot API's description does not allow, and
// ExpectViolations forgets them for a test that wants them.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// ExpectViolations returns the violations so far and forgets them.
func (s *Server) ExpectViolations() []string {
	found := s.Violations()
	s.change(func() { s.violations = nil })
	return found
}

// Start lets the bot write to a user, as pressing Start does.
func (s *Server) Start(user int64) { s.change(func() { s.started[user] = true }) }

// Block takes that back.
func (s *Server) Block(user int64) { s.change(func() { delete(s.started, user) }) }

// Revoke makes the server answer 401 to every call.
func (s *Server) Revoke() { s.change(func() { s.revoked = true }) }

// Promote sets a user's status in a chat: "creator", "administrator",
// "member", "left" and so on. It is "member" until then.
func (s *Server) Promote(chat, user int64, status string) {
	s.change(func() { s.status[[2]int64{chat, user}] = status })
}

// Migrate turns a group into a supergroup with another ID.
func (s *Server) Migrate(from, to int64) { s.change(func() { s.moved[from] = to }) }

// CloseTopic makes a topic refuse messages.
func (s *Server) CloseTopic(chat, thread int64) {
	s.change(func() { s.closed[[2]int64{chat, thread}] = true })
}

// Delete removes a message, so that nothing can reply to it.
func (s *Server) Delete(chat, id int64) {
	s.change(func() { delete(s.messages, [2]int64{chat, id}) })
}
