// Package telegram is a stand-in of the Bot API's server, for tests and for the demo. It refuses
// what Telegram refuses, and any call that does not fit the Bot API's own description:
// botapi.json, from version 10.1 of
// https://core.telegram.org/bots/api, and the ephemeral messages of 10.2 and 10.3, from
// aiogram's and grammY's reference and https://github.com/tdlib/telegram-bot-api/issues/873.
// Calls that decline, restrict or remove a person are left out, and so refused.
//
// The demo starts it with Start and watches what it shows (Watch). Tests use it as a
// telegramtest.Server, which adds faults and assertions that are not linked into the
// program.
//
// It keeps Telegram's promises and no more: an update stays queued until a
// getUpdates with a higher offset, nobody is written to who has not started
// the bot, and there is no webhook beside polling.
package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"herald/internal/demo/fake"
)

// Token is the one token that the server accepts.
const Token = "123456789:TEST-token_0123456789abcdefghijklm"

// BotID and Username are the bot's, as getMe returns them until Rename.
const (
	BotID    = 123456789
	Username = "herald_bot"
)

// Webhook holds the parameters of the last setWebhook. Without a URL no webhook is set.
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
	// intercept is called with each call that fits the description; nil carries it out.
	intercept Interceptor

	fake.State // guards what follows
	queue      []queued
	nextUpdate int64
	nextID     int64
	poller     int64
	lastOffset int64     // of the last getUpdates
	lastPoll   time.Time // when it came
	allowed    []string  // kinds, as the last getUpdates that named some said
	sent       []*Sent
	violations []string
	started    map[int64]bool
	own        map[[2]int64]*Sent // the bot's messages, by chat and ID
	others     map[[2]int64]bool  // everybody else's
	status     map[[2]int64]string
	muted      map[int64]bool // chats where the bot may not write
	moved      map[int64]int64
	// lostTopics are topics, by chat and number, that the server does not know any more.
	lostTopics     map[[2]int64]bool
	withoutPhotos  map[int64]bool // chats that forbid pictures
	directMessages map[int64]bool // chats that are the direct messages of a channel
	name           string         // the bot's username
	revoked        bool
	webhook        Webhook
	failedAt       time.Time     // the last delivery; zero if none failed
	failure        string        // what getWebhookInfo says of that
	ahead          time.Duration // of this machine's clock

	menus        map[MenuKey][]Command
	descriptions map[[2]string]string // by kind and language

	nextEphemeral int64
	ephemerals    map[[2]int64]ephemeral // by chat and ID

	nextQuery     int64 // the last ID of a press or an inline query
	presses       map[string]*press
	notices       []Notice
	queries       map[string]*inlineQuery
	inlineAnswers []InlineAnswer

	joins    joinRequests
	inviting map[int64]bool // chats where the bot may or may not add members
	// barred holds why the approval of a user's request is refused.
	barred map[int64]string
	chats  map[int64]ChatInfo

	tagging map[int64]bool // chats where the bot may set tags
	tags    map[[2]int64]string
	tagged  []TagCall

	people map[int64]User // how they appear in updates
	watch  func(Event)
}

type queued struct {
	id   int64
	kind string // the member beside the ID; "" of PushRaw
	raw  json.RawMessage
}

// Start starts a server on a free port of 127.0.0.1. Close ends it.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the Bot API's stand-in: %w", err)
	}
	s := New()
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s}
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

// New makes a server without a network, which ServeHTTP reaches.
func New() *Server {
	closing, end := context.WithCancel(context.Background())
	return &Server{
		closing:        closing,
		close:          end,
		nextUpdate:     1000,
		nextID:         1,
		nextEphemeral:  1,
		started:        map[int64]bool{},
		own:            map[[2]int64]*Sent{},
		others:         map[[2]int64]bool{},
		status:         map[[2]int64]string{},
		muted:          map[int64]bool{},
		moved:          map[int64]int64{},
		name:           Username,
		lostTopics:     map[[2]int64]bool{},
		withoutPhotos:  map[int64]bool{},
		directMessages: map[int64]bool{},
		menus:          map[MenuKey][]Command{},
		descriptions:   map[[2]string]string{},
		ephemerals:     map[[2]int64]ephemeral{},
		presses:        map[string]*press{},
		queries:        map[string]*inlineQuery{},
		inviting:       map[int64]bool{},
		barred:         map[int64]string{},
		chats:          map[int64]ChatInfo{},
		tagging:        map[int64]bool{},
		tags:           map[[2]int64]string{},
		people:         map[int64]User{},
		watch:          func(Event) {},
	}
}

// list is a copy of a list.
func list[T any](s *Server, values *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*values) })
}

func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// Sent are the messages taken so far, in order, as they stand: edited ones say
// what they said last, and deleted ones are among them.
func (s *Server) Sent() []Sent {
	return locked(s, func() (all []Sent) {
		for _, m := range s.sent {
			all = append(all, *m)
		}
		return all
	})
}

// Forget drops all that was sent and answered, so that a long run needs no more memory
// than a short one. A message can still be replied to, edited and pressed, and a join
// request answered, for as long as keep. Who made a forgotten request counts as a member,
// like anybody else.
func (s *Server) Forget(keep time.Duration) {
	s.Lock()
	defer s.Unlock()
	old := func(at time.Time) bool { return time.Since(at) >= keep }
	maps.DeleteFunc(s.own, func(_ [2]int64, m *Sent) bool { return old(m.At) })
	maps.DeleteFunc(s.ephemerals, func(_ [2]int64, e ephemeral) bool { return old(e.at) })
	maps.DeleteFunc(s.presses, func(_ string, p *press) bool { return p.answered || old(p.at) })
	maps.DeleteFunc(s.queries, func(_ string, q *inlineQuery) bool { return q.answered || old(q.at) })
	s.joins.forget(old)
	s.sent = nil
	s.notices = nil
	s.inlineAnswers = nil
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

// Violations are the calls that the description does not allow.
func (s *Server) Violations() []string { return list(s, &s.violations) }
