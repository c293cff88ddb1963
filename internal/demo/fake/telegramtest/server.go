// Package telegramtest is a fake of Telegram for tests. It adds faults, waits, and a record of calls and of what people
// saw. Nothing of it is linked into the program.
package telegramtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/demo/fake"
	"herald/internal/demo/fake/faketest"
	faketelegram "herald/internal/demo/fake/telegram"
)

// Server is a fake of Telegram with faults. Its methods may be called from many goroutines.
type Server struct {
	*faketelegram.Server
	faults faketest.Faults[string]

	record fake.State // guards what follows
	calls  []Call
	seen   []Seen
	watch  func(faketelegram.Event)
}

// Call is one request as the server understood it.
type Call struct {
	Method string
	At     time.Time
	// Params holds each parameter as JSON. An uploaded file is the string "attach://"
	// and its name.
	Params map[string]json.RawMessage
	// Fault is what went wrong with it by Fail.
	Fault Fault
}

// Seen is something that people were shown, at whatever time: a message, each state of
// one that was edited, a notice after a press, results of an inline query, a menu.
type Seen struct {
	Method string // the call that showed it; "message" of a message
	Chat   int64  // 0 if it is in no chat
	// Reader is the one user who saw it; 0 is everybody in the chat, or anybody
	// if it is in no chat.
	Reader int64
	// Text is all that it says, hidden parts too: texts, links, labels of
	// buttons and what they carry.
	Text string
}

// New starts a server that stops with the test. At its end the test fails for each of its
// Violations.
func New(t testing.TB) *Server {
	server, err := faketelegram.Start()
	if err != nil {
		t.Fatal(err)
	}
	return watched(t, server)
}

// NewInMemory is New without a network, for tests in simulated time: the server
// is reached by RoundTrip alone.
func NewInMemory(t testing.TB) *Server {
	server := faketelegram.New()
	server.URL = "http://telegram.invalid"
	return watched(t, server)
}

func watched(t testing.TB, server *faketelegram.Server) *Server {
	s := &Server{Server: server, watch: func(faketelegram.Event) {}}
	s.Intercept(s.serve)
	s.Server.Watch(s.see)
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Violations() {
			t.Errorf("a call that must not be made: %s", v)
		}
	})
	return s
}

// serve records a call, and lets it go wrong.
func (s *Server) serve(
	w http.ResponseWriter, r *http.Request, method string, params map[string]json.RawMessage,
	carryOut func() (respond func()),
) {
	fault := s.faults.Pop(method)
	s.record.Change(func() {
		s.calls = append(s.calls, Call{Method: method, At: time.Now(), Params: params, Fault: fault})
		if strings.HasPrefix(method, "setMy") {
			text, _ := json.Marshal(params)
			s.seen = append(s.seen, Seen{Method: method, Text: string(text)})
		}
	})
	fault.Serve(w, r, func(f Fault) { raise(f, w, r) }, carryOut)
}

// see records what people see.
func (s *Server) see(e faketelegram.Event) {
	s.record.Change(func() {
		switch {
		case e.Message != nil && !e.Message.Deleted:
			m := e.Message
			s.seen = append(s.seen, Seen{
				Method: "message",
				Chat:   m.Chat,
				Reader: m.Reader,
				Text:   faketelegram.Shown(m.Text, m.Entities, m.Markup),
			})
		case e.Notice != nil:
			n := e.Notice
			s.seen = append(s.seen, Seen{
				Method: "answerCallbackQuery",
				Chat:   e.Chat,
				Reader: n.User,
				Text:   n.Text + "\n" + n.URL,
			})
		case e.Inline != nil:
			s.seen = append(s.seen, results(*e.Inline))
		}
	})
	s.watch(e)
}

// results returns what an answer to an inline query shows. While it is cached, Telegram gives it to everybody who sends
// the same query, unless it is personal.
func results(a faketelegram.InlineAnswer) Seen {
	shown := Seen{Method: "answerInlineQuery", Reader: a.User, Text: a.Button + "\n" + a.Start}
	if !a.Personal && a.CacheTime > 0 {
		shown.Reader = 0
	}
	for _, r := range a.Results {
		var markup faketelegram.Markup
		_ = json.Unmarshal(r.Markup, &markup) // It was checked, if there is one.
		message := faketelegram.Shown(r.Content.Text, r.Content.Entities, markup)
		shown.Text += "\n" + strings.Join([]string{message, r.Title, r.Description, r.ID}, "\n")
	}
	return shown
}

// Watch calls f with every event from then on, as faketelegram.Server does.
func (s *Server) Watch(f func(faketelegram.Event)) { s.record.Change(func() { s.watch = f }) }

// RoundTrip makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		if broken := recover(); broken == http.ErrAbortHandler {
			resp, err = nil, errors.New("the connection was reset")
		} else if broken != nil {
			panic(broken)
		}
	}()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Seen returns everything that was shown so far, in order.
func (s *Server) Seen() []Seen {
	return fake.Locked(&s.record, func() []Seen { return slices.Clone(s.seen) })
}

// SeenByOthers returns what was shown to anybody but one user.
func (s *Server) SeenByOthers(user int64) []Seen {
	return slices.DeleteFunc(s.Seen(), func(x Seen) bool { return x.Reader == user })
}

// Calls returns the calls of one method so far, in order.
func (s *Server) Calls(method string) []Call {
	return fake.Locked(&s.record, func() (calls []Call) {
		for _, c := range s.calls {
			if strings.EqualFold(c.Method, method) {
				calls = append(calls, c)
			}
		}
		return calls
	})
}

// Take returns the calls so far, and forgets them and all that Forget does.
func (s *Server) Take(keep time.Duration) (calls []Call) {
	s.record.Change(func() {
		calls = s.calls
		s.calls = nil
		s.seen = nil
	})
	s.Forget(keep)
	return calls
}

// wait waits until something is so, and returns false if that did not happen within limit.
func (s *Server) wait(limit time.Duration, so func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.Wait(ctx, so) == nil
}

// WaitSent waits until n messages were taken and returns all that were by
// then; it is fewer than n when limit is over.
func (s *Server) WaitSent(n int, limit time.Duration) []faketelegram.Sent {
	s.wait(limit, func() bool { return len(s.Sent()) >= n })
	return s.Sent()
}

// WaitAcknowledged waits until no update is queued and reports whether that came.
func (s *Server) WaitAcknowledged(limit time.Duration) bool {
	return s.wait(limit, func() bool { return len(s.Pending()) == 0 })
}

// WaitInline waits for the answer to an inline query. answered is false if there is none within limit.
func (s *Server) WaitInline(
	queryID string, limit time.Duration,
) (answer faketelegram.InlineAnswer, answered bool) {
	answered = s.wait(limit, func() bool {
		all := s.InlineAnswers()
		i := slices.IndexFunc(all, func(a faketelegram.InlineAnswer) bool { return a.QueryID == queryID })
		if i >= 0 {
			answer = all[i]
		}
		return i >= 0
	})
	return answer, answered
}
