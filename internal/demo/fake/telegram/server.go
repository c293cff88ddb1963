// Package telegram is a fake of the Bot API's server, for tests and for the demo. It refuses the calls that Telegram
// refuses, and every call that violates the Bot API's own description. That is botapi.json: version 10.1 of
// https://core.telegram.org/bots/api, and the ephemeral messages of 10.2 and 10.3, from the references of aiogram and
// grammY and from https://github.com/tdlib/telegram-bot-api/issues/873. The description lacks the methods that decline,
// restrict or remove a user, so the server refuses them.
//
// The demo starts the server with Start, and shows its events (Watch). Tests use it as a telegramtest.Server, which
// adds faults and assertions that are not linked into the program.
//
// Like Telegram, the server keeps an update until a getUpdates with a higher offset, lets the bot write only to users
// that have started it, and refuses getUpdates while a webhook is set.
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

// Token is the only token that the server accepts.
const Token = "123456789:TEST-token_0123456789abcdefghijklm"

// BotID is the bot's ID, and Username its username until Rename changes it.
const (
	BotID    = 123456789
	Username = "herald_bot"
)

// Webhook has the parameters of the latest setWebhook. If URL is "", no webhook is set.
type Webhook struct {
	URL, Secret    string
	AllowedUpdates []string
}

// inChat identifies a message, a user or a topic in a chat.
type inChat struct{ chat, id int64 }

// Server is the fake. Its methods are safe for concurrent use.
type Server struct {
	// URL is the address of the Bot API server, or "" if there is no network.
	URL string

	http    *http.Server    // nil if there is no network
	closing context.Context // done once Close was called
	close   context.CancelFunc
	// intercept is called with each call that the description allows. If it is nil, the server handles the call.
	intercept Interceptor

	fake.State     // guards the fields below
	queue          []queued
	nextUpdate     int64     // ID
	nextID         int64     // of a message
	poller         int64     // number of the latest getUpdates
	lastOffset     int64     // of the latest getUpdates
	lastPoll       time.Time // time of the latest getUpdates
	allowed        []string  // kinds of updates, from the latest getUpdates that named some
	sent           []*Sent
	violations     []string
	started        map[int64]bool    // users that have started the bot
	own            map[inChat]*Sent  // the bot's messages
	others         map[inChat]bool   // messages of users
	status         map[inChat]string // statuses of users
	muted          map[int64]bool    // chats in which the bot may not write
	moved          map[int64]int64   // IDs of supergroups by the IDs of the groups that they were
	lostTopics     map[inChat]bool   // topics that were deleted
	withoutPhotos  map[int64]bool    // chats that forbid pictures
	directMessages map[int64]bool    // chats that are the direct messages of a channel
	name           string            // the bot's username
	revoked        bool              // whether the token is revoked
	webhook        Webhook
	failedAt       time.Time     // when the latest delivery failed, or zero
	failure        string        // the error of that delivery
	ahead          time.Duration // how far the server's clock is ahead of this machine's

	menus        map[MenuKey][]Command
	descriptions map[[2]string]string // by kind and language

	nextEphemeral int64 // ID of an ephemeral message
	ephemerals    map[inChat]ephemeral

	nextQuery     int64 // the latest ID of a press, an inline query or a join request's query
	presses       map[string]*press
	notices       []Notice
	queries       map[string]*inlineQuery // inline queries
	inlineAnswers []InlineAnswer

	joins    joinRequests
	inviting map[int64]Right  // to add members, by chat
	barred   map[int64]string // why approvals are refused, by user
	chats    map[int64]ChatInfo

	tagging map[int64]Right   // to set tags, by chat
	tags    map[inChat]string // tags of users
	tagged  []TagCall

	people map[int64]User // users set by SetUser
	watch  func(Event)
}

// queued is an update that is not acknowledged yet.
type queued struct {
	id   int64
	kind string // the name of the update's content, or "" if it is from PushRaw
	raw  json.RawMessage
}

// Start starts a Server on a free port of 127.0.0.1.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the fake of the Bot API: %w", err)
	}
	s := New()
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close stops the server, and ends every call that waits.
func (s *Server) Close() {
	s.close()
	if s.http != nil {
		_ = s.http.Close()
	}
}

// New returns a Server without a network. Its calls go to ServeHTTP.
func New() *Server {
	closing, end := context.WithCancel(context.Background())
	return &Server{
		closing:        closing,
		close:          end,
		nextUpdate:     1000,
		nextID:         1,
		nextEphemeral:  1,
		started:        map[int64]bool{},
		own:            map[inChat]*Sent{},
		others:         map[inChat]bool{},
		status:         map[inChat]string{},
		muted:          map[int64]bool{},
		moved:          map[int64]int64{},
		name:           Username,
		lostTopics:     map[inChat]bool{},
		withoutPhotos:  map[int64]bool{},
		directMessages: map[int64]bool{},
		menus:          map[MenuKey][]Command{},
		descriptions:   map[[2]string]string{},
		ephemerals:     map[inChat]ephemeral{},
		presses:        map[string]*press{},
		queries:        map[string]*inlineQuery{},
		inviting:       map[int64]Right{},
		barred:         map[int64]string{},
		chats:          map[int64]ChatInfo{},
		tagging:        map[int64]Right{},
		tags:           map[inChat]string{},
		people:         map[int64]User{},
		watch:          func(Event) {},
	}
}

// list returns a copy of a field under the lock.
func list[T any](s *Server, field *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*field) })
}

// locked calls f under the lock.
func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// Sent returns the bot's messages so far in their current state, in the order in which they were sent. It includes
// deleted messages.
func (s *Server) Sent() []Sent {
	return locked(s, func() (all []Sent) {
		for _, m := range s.sent {
			all = append(all, *m)
		}
		return all
	})
}

// SentIf returns those of the messages that match. It copies no others, which makes it faster than Sent.
func (s *Server) SentIf(matches func(*Sent) bool) []Sent {
	return locked(s, func() (some []Sent) {
		for _, m := range s.sent {
			if matches(m) {
				some = append(some, *m)
			}
		}
		return some
	})
}

// Forget empties the lists of messages and answers, so that a long run needs no more memory than a short one. Messages
// and join requests that are younger than keep can still be answered, edited and pressed. If a user's request is
// forgotten, the user counts as a member, like a user that never made a request.
func (s *Server) Forget(keep time.Duration) {
	s.Lock()
	defer s.Unlock()
	isOld := func(at time.Time) bool { return time.Since(at) >= keep }
	maps.DeleteFunc(s.own, func(_ inChat, m *Sent) bool { return isOld(m.At) })
	maps.DeleteFunc(s.ephemerals, func(_ inChat, e ephemeral) bool { return isOld(e.at) })
	maps.DeleteFunc(s.presses, func(_ string, p *press) bool { return p.answered || isOld(p.at) })
	maps.DeleteFunc(s.queries, func(_ string, q *inlineQuery) bool { return q.answered || isOld(q.at) })
	s.joins.forget(isOld)
	s.sent = nil
	s.notices = nil
	s.inlineAnswers = nil
}

// Pending returns the IDs of the updates that are not acknowledged yet.
func (s *Server) Pending() []int64 {
	var ids []int64
	for _, q := range list(s, &s.queue) {
		ids = append(ids, q.id)
	}
	return ids
}

// Webhook returns the current webhook.
func (s *Server) Webhook() Webhook { return locked(s, func() Webhook { return s.webhook }) }

// Violations returns the errors of all calls that violated the description.
func (s *Server) Violations() []string { return list(s, &s.violations) }
