// Package telegramtest is a fake of Telegram for tests. To the fake of package internal/demo/fake/telegram it adds
// faults, methods that wait for the bot, and records of the bot's calls and of what users were shown. Only tests may
// import it.
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

// Server is a fake of Telegram with faults. It is safe for concurrent use.
type Server struct {
	*faketelegram.Server
	faults faketest.Faults[string]

	record fake.State // guards the fields below
	calls  []Call
	seen   []Seen
	watch  func(faketelegram.Event)
}

// Call is a call of the bot.
type Call struct {
	Method string
	At     time.Time
	// Params are the parameters by name, as JSON. A parameter with an uploaded file is "attach://", followed by the
	// file's name.
	Params map[string]json.RawMessage
	// Fault is the fault of the call. It is zero unless Fail or Break has set one.
	Fault Fault
}

// Seen is a text that users were shown: a state of a message, the answer to a press, the results of an inline query, or
// a menu or description of the bot.
type Seen struct {
	// Method is the call that showed the text. It is "message" for a message.
	Method string
	// Chat is the chat that showed the text, or 0 if it was not shown in a chat.
	Chat int64
	// Reader is the only user that could see the text. It is 0 if all users in Chat could or, if Chat is 0, all users.
	Reader int64
	// Text includes hidden parts: the addresses of links, and the labels and data of buttons.
	Text string
}

// New starts a Server on a free port of 127.0.0.1, and stops it when the test ends. The test fails if the server has
// Violations then.
func New(t testing.TB) *Server {
	server, err := faketelegram.Start()
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, server)
}

// NewInMemory is like New, without a network, for tests in simulated time. Calls can only be made by RoundTrip.
func NewInMemory(t testing.TB) *Server {
	server := faketelegram.New()
	server.URL = "http://telegram.invalid"
	return newServer(t, server)
}

// newServer returns a Server that adds faults and records to a fake.
func newServer(t testing.TB, server *faketelegram.Server) *Server {
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

// serve records a call, and answers it with its fault.
func (s *Server) serve(
	w http.ResponseWriter, r *http.Request, method string, params map[string]json.RawMessage,
	handle func() (respond func()),
) {
	fault := s.faults.Pop(method)
	s.record.Change(func() {
		s.calls = append(s.calls, Call{Method: method, At: time.Now(), Params: params, Fault: fault})
		if strings.HasPrefix(method, "setMy") {
			text, _ := json.Marshal(params)
			s.seen = append(s.seen, Seen{Method: method, Text: string(text)})
		}
	})
	fault.Serve(w, r, func(f Fault) { refuse(f, w, r) }, handle)
}

// see records the texts that users see because of an event.
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
			s.seen = append(s.seen, inlineResults(*e.Inline))
		}
	})
	s.watch(e)
}

// inlineResults returns the text of an answer to an inline query. While Telegram caches the answer, it shows the answer
// to everyone who sends the same query, unless it is personal.
func inlineResults(a faketelegram.InlineAnswer) Seen {
	shown := Seen{Method: "answerInlineQuery", Reader: a.User, Text: a.Button + "\n" + a.Start}
	if !a.Personal && a.CacheTime > 0 {
		shown.Reader = 0
	}
	for _, r := range a.Results {
		var markup faketelegram.Markup
		_ = json.Unmarshal(r.Markup, &markup) // cannot fail: the fake has checked it
		message := faketelegram.Shown(r.Content.Text, r.Content.Entities, markup)
		shown.Text += "\n" + strings.Join([]string{message, r.Title, r.Description, r.ID}, "\n")
	}
	return shown
}

// Watch makes the server call f with every event from now on, like Watch of faketelegram.Server.
func (s *Server) Watch(f func(faketelegram.Event)) { s.record.Change(func() { s.watch = f }) }

// RoundTrip implements http.RoundTripper. It makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		// A handler panics with http.ErrAbortHandler to close the connection.
		if aborted := recover(); aborted == http.ErrAbortHandler {
			resp, err = nil, errors.New("the connection was reset")
		} else if aborted != nil {
			panic(aborted)
		}
	}()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Seen returns all texts that were shown so far, in order.
func (s *Server) Seen() []Seen {
	return fake.Locked(&s.record, func() []Seen { return slices.Clone(s.seen) })
}

// SeenByOthers returns all texts that other users than this one could see.
func (s *Server) SeenByOthers(user int64) []Seen {
	return slices.DeleteFunc(s.Seen(), func(seen Seen) bool { return seen.Reader == user })
}

// Calls returns the calls of a method so far, in order. It ignores the case of the method.
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

// Take returns the calls so far, and deletes them and what Seen returns. It also calls Forget with keep.
func (s *Server) Take(keep time.Duration) (calls []Call) {
	s.record.Change(func() {
		calls = s.calls
		s.calls = nil
		s.seen = nil
	})
	s.Forget(keep)
	return calls
}

// wait blocks until done returns true, and reports whether it did within limit.
func (s *Server) wait(limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.Wait(ctx, done) == nil
}

// WaitSent blocks until the bot has sent n messages, or for limit. It returns all messages so far.
func (s *Server) WaitSent(n int, limit time.Duration) []faketelegram.Sent {
	s.wait(limit, func() bool { return len(s.Sent()) >= n })
	return s.Sent()
}

// WaitAcknowledged blocks until the bot has acknowledged all updates, and reports whether it did within limit.
func (s *Server) WaitAcknowledged(limit time.Duration) bool {
	return s.wait(limit, func() bool { return len(s.Pending()) == 0 })
}

// WaitInline blocks until the bot has answered an inline query, and returns the answer. answered is false if there is
// none within limit.
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
