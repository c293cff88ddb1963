// Package telegram is a stand-in of the Bot API's server, for tests and for the demo
// in the browser. It refuses what Telegram refuses, and any call that does not fit the
// Bot API's own description (botapi.json, version 10.1 reduced to methods,
// parameters, types and which are required, from
// https://core.telegram.org/bots/api, and what newer adds). MakeOlder makes
// it a server of an older version.
//
// A test starts it with New and asks it afterwards; the demo starts it with
// Start and watches what it shows (Watch). It imports no package testing, which would
// be linked into the program.
//
// It keeps Telegram's promises and no more: an update stays queued until a
// getUpdates with a higher offset, nobody is written to who has not started
// the bot, and there is no webhook beside polling.
package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/internal/demo/fake"
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
	// Params holds each parameter as JSON. An uploaded file is the string "attach://"
	// and its name.
	Params map[string]json.RawMessage
	// Fault is what went wrong with it by Fail.
	Fault Fault
}

// Webhook is what setWebhook last said. Without a URL no webhook is set.
type Webhook struct {
	URL, Secret    string
	AllowedUpdates []string
}

// Server is the fake. Its methods may be called from many goroutines.
type Server struct {
	// URL is the Bot API server to configure.
	URL string

	http    *http.Server    // nil in memory
	closing context.Context // done once Close was called
	close   context.CancelFunc
	faults  fake.Faults[string]

	fake.State // guards what follows
	queue      []queued
	nextUpdate int64
	nextID     int64
	poller     int64
	lastOffset int64     // of the last getUpdates
	lastPoll   time.Time // when it came
	allowed    []string  // kinds, as the last getUpdates that named some said
	calls      []Call
	sent       []*Sent
	seen       []Seen
	violations []string
	started    map[int64]bool
	own        map[[2]int64]*Sent // the bot's messages, by chat and ID
	others     map[[2]int64]bool  // everybody else's
	status     map[[2]int64]string
	moved      map[int64]int64
	revoked    bool
	webhook    Webhook
	failedAt   time.Time     // the last delivery; zero if none failed
	failure    string        // what getWebhookInfo says of that
	ahead      time.Duration // of this machine's clock
	older      Older

	menus        map[MenuKey][]Command
	descriptions map[[2]string]string // by kind and language

	nextEphemeral int64
	ephemerals    map[[2]int64]ephemeral // by chat and ID

	nextQuery     int64 // the last ID of a press or an inline query
	presses       map[string]*press
	notices       []Notice
	queries       map[string]*inlineQuery
	inlineAnswers []InlineAnswer

	people map[int64]User // how they appear in updates
	watch  func(Event)
}

type queued struct {
	id   int64
	kind string // the member beside the ID; "" of PushRaw
	raw  json.RawMessage
}

// TB is as much of testing.TB as is needed.
type TB interface {
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// New starts a server that stops with the test. At its end the test fails for
// every call that the Bot API's description does not allow.
func New(t TB) *Server {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	s.judge(t)
	return s
}

// NewInMemory is New without a network, for tests in simulated time: the server
// is reached by RoundTrip alone.
func NewInMemory(t TB) *Server {
	s := newServer()
	s.URL = "http://telegram.invalid"
	s.judge(t)
	return s
}

// judge has the server stop and be judged at the end of the test.
func (s *Server) judge(t TB) {
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("the Bot API does not allow: %s", v)
		}
	})
	t.Cleanup(s.Close)
}

// Start starts a server on a free port of 127.0.0.1. Close ends it.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the Bot API's stand-in: %w", err)
	}
	s := newServer()
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close ends the server and every call that waits. It is called once.
func (s *Server) Close() {
	s.close()
	if s.http != nil {
		_ = s.http.Close()
	}
}

func newServer() *Server {
	closing, end := context.WithCancel(context.Background())
	return &Server{
		closing: closing, close: end,
		nextUpdate: 1000, nextID: 1, nextEphemeral: 1,
		started: map[int64]bool{}, own: map[[2]int64]*Sent{}, others: map[[2]int64]bool{}, status: map[[2]int64]string{},
		moved: map[int64]int64{},
		menus: map[MenuKey][]Command{}, descriptions: map[[2]string]string{}, ephemerals: map[[2]int64]ephemeral{},
		presses: map[string]*press{}, queries: map[string]*inlineQuery{},
		people: map[int64]User{}, watch: func(Event) {},
	}
}

// list is a copy of a list.
func list[T any](s *Server, values *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*values) })
}

func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// until waits until ok, asked under the lock, answers true, and returns false
// if that did not happen within limit.
func (s *Server) until(limit time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.Wait(ctx, func() bool { return locked(s, ok) }) == nil
}

// WaitSent waits until n messages were taken and returns all that were by
// then; it is fewer than n when limit is over.
func (s *Server) WaitSent(n int, limit time.Duration) []Sent {
	s.until(limit, func() bool { return len(s.sent) >= n })
	return s.Sent()
}

// WaitAcknowledged waits until no update is queued and reports whether that came.
func (s *Server) WaitAcknowledged(limit time.Duration) bool {
	return s.until(limit, func() bool { return len(s.queue) == 0 })
}

// Sent are the messages taken so far, in order, as they stand: edited ones say
// what they said last, and deleted ones are among them.
func (s *Server) Sent() []Sent {
	return locked(s, s.messages)
}

func (s *Server) messages() []Sent {
	var all []Sent
	for _, m := range s.sent {
		all = append(all, *m)
	}
	return all
}

// Take returns the calls so far. It forgets them and all that was sent, seen and
// answered, so that a long run needs no more memory than a short one. A message can
// be replied to, edited and pressed for as long as keep, and then is unknown; Watch
// tells of all of them.
func (s *Server) Take(keep time.Duration) []Call {
	s.Lock()
	defer s.Unlock()
	calls, old := s.calls, func(at time.Time) bool { return time.Since(at) >= keep }
	maps.DeleteFunc(s.own, func(_ [2]int64, m *Sent) bool { return old(m.At) })
	maps.DeleteFunc(s.ephemerals, func(_ [2]int64, e ephemeral) bool { return old(e.at) })
	maps.DeleteFunc(s.presses, func(_ string, p *press) bool { return p.answered || old(p.at) })
	maps.DeleteFunc(s.queries, func(_ string, q *inlineQuery) bool { return q.answered || old(q.at) })
	s.sent, s.calls = nil, nil
	s.seen, s.notices, s.inlineAnswers = nil, nil, nil
	return calls
}

// Calls are the calls of one method so far, in order.
func (s *Server) Calls(method string) []Call {
	return locked(s, func() []Call { return s.callsOf(method) })
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

// Pending are the IDs of the updates that are not acknowledged.
func (s *Server) Pending() []int64 {
	var ids []int64
	for _, q := range list(s, &s.queue) {
		ids = append(ids, q.id)
	}
	return ids
}

// Webhook is what setWebhook last said.
func (s *Server) Webhook() Webhook { return locked(s, func() Webhook { return s.webhook }) }

// Violations are the calls that the Bot API's description does not allow.
func (s *Server) Violations() []string { return list(s, &s.violations) }

// memoryResponse is what the server writes to a RoundTrip.
type memoryResponse struct {
	bytes.Buffer
	header http.Header
	status int
}

func (m *memoryResponse) Header() http.Header { return m.header }

func (m *memoryResponse) WriteHeader(status int) { m.status = status }

// RoundTrip makes one call without a network.
func (s *Server) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if broken := recover(); broken == http.ErrAbortHandler {
			resp, err = nil, errors.New("the connection was reset")
		} else if broken != nil {
			panic(broken)
		}
	}()
	s.serve(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, ContentLength: int64(w.Len()), Body: io.NopCloser(w), Request: req,
	}, nil
}
