// Package discord is a stand-in of Discord on loopback, for tests and for the demo in
// the browser: its REST routes and its gateway, as far as an adapter of commands
// and buttons uses them. It refuses what Discord refuses, by Discord's own
// description of its API (spec.json) and its documentation (check.go), and knows who
// sees which answer.
//
// A test asks it afterwards; the demo watches what it shows (Watch). It imports no
// package testing, which would be linked into the program.
//
// It knows no adapter and nothing of this program: what holds here should hold
// against Discord.
package discord

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"herald/internal/demo/fake"
)

// Route names what a fault can be put on.
type Route string

// The routes.
const (
	Application Route = "application"  // GET /applications/@me
	GatewayBot  Route = "gateway"      // GET /gateway/bot
	PutCommands Route = "put_commands" // PUT …/commands
	Callback    Route = "callback"     // POST /interactions/…/callback
	Edit        Route = "edit"         // PATCH /webhooks/…/messages/@original
	FollowUp    Route = "followup"     // POST /webhooks/…
)

// Fault is what happens to one call instead of its usual response, or in addition
// to it. A refusal without a Code is a proxy's HTML page.
type Fault = fake.Fault

// Server is the fake. Its methods may be called from any goroutine.
type Server struct {
	Token         string
	ApplicationID string
	// PublicKey verifies what Post sends.
	PublicKey  ed25519.PublicKey
	privateKey ed25519.PrivateKey
	// Client is what Post calls the bot with.
	Client *http.Client
	// FirstResponse is how long an interaction waits for its first response. It is
	// changed before the first interaction.
	FirstResponse time.Duration
	url           string
	http          *http.Server
	served        chan struct{} // closed at its end
	faults        fake.Faults[Route]

	// dispatching keeps dispatches in the order of their sequence. It is taken
	// before the lock.
	dispatching sync.Mutex

	fake.State           // guards what follows
	ids          uint64  // made so far
	endpoint     *string // by EnterEndpoint
	calls        map[Route]int
	problems     []string
	commands     map[string][]map[string]any // by guild, "" is global
	overwrites   int
	interactions map[string]*Pending // by token
	messages     map[string]*Message // by ID
	conns        map[*conn]bool
	behaviour    Behaviour
	session      *session // that can be resumed
	resumes      int
	connects     int
	identifies   []time.Time
	presences    []time.Time
	heartbeats   int
	remaining    int
	resetAfter   time.Duration
	watch        func(Shown)
}

// BotName is what the bot is called.
const BotName = "Herald"

// New is Start for a test, which has no use for the error.
func New() *Server {
	s, err := Start()
	if err != nil {
		panic(err)
	}
	return s
}

// Start starts a Discord with one bot on a free port of 127.0.0.1. Close ends it.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start Discord's stand-in: %w", err)
	}
	return NewOn(listener), nil
}

// Wire is a network in memory, so that a bot and its Discord can live in
// simulated time.
type Wire = fake.Network

// NewWire makes a network without connections. It takes 50 ms to connect, so that
// what happens between two connections happens in this order.
func NewWire() *Wire {
	w := fake.NewNetwork()
	w.DialTime = 50 * time.Millisecond
	return w
}

// NewOn is New on a listener of the caller's, which Close closes: one in
// memory lets all of it run in simulated time.
func NewOn(listener net.Listener) *Server {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	s := &Server{
		Token:         "fake." + rand.Text(),
		ApplicationID: "1100000000000000001",
		PublicKey:     public,
		privateKey:    private,
		calls:         map[Route]int{},
		commands:      map[string][]map[string]any{},
		interactions:  map[string]*Pending{},
		messages:      map[string]*Message{},
		conns:         map[*conn]bool{},
		behaviour:     Behaviour{Heartbeat: 41250 * time.Millisecond},
		remaining:     1000,
		watch:         func(Shown) {},
		url:           "http://" + listener.Addr().String(),
		served:        make(chan struct{}),
		Client:        &http.Client{Transport: &http.Transport{}},
		FirstResponse: firstResponse,
	}
	s.http = &http.Server{Handler: s.routes()}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener)
	}()
	return s
}

// URL is the REST origin, for DISCORD_API_URL.
func (s *Server) URL() string { return s.url }

// Close ends every connection and the server.
func (s *Server) Close() {
	s.each(func(c *conn) { c.ws.NetConn().Close() })
	_ = s.http.Close()
	<-s.served
	s.Client.CloseIdleConnections()
}

// get returns a value under the lock, list a copy of a list.
func get[T any](s *Server, value *T) T { return locked(s, func() T { return *value }) }

func list[T any](s *Server, values *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*values) })
}

func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// Script puts faults on the next calls of route, one each.
func (s *Server) Script(route Route, faults ...Fault) { s.faults.Add(route, faults...) }

// Break puts fault on every call of route that has no scripted one; the zero
// Fault mends it.
func (s *Server) Break(route Route, fault Fault) { s.faults.Set(route, fault) }

// Calls counts the calls of route, refused ones too.
func (s *Server) Calls(route Route) int {
	return locked(s, func() int { return s.calls[route] })
}

// Problems are the refusals of payloads, which only a faulty adapter gets.
func (s *Server) Problems() []string { return list(s, &s.problems) }

// Commands are those registered in a guild, or globally with "", as sent.
func (s *Server) Commands(guildID string) []map[string]any {
	return locked(s, func() []map[string]any { return slices.Clone(s.commands[guildID]) })
}

// Overwrites counts the bulk overwrites of commands that took effect.
func (s *Server) Overwrites() int { return get(s, &s.overwrites) }

// epoch is when snowflakes begin, in Unix time.
// https://discord.com/developers/docs/reference#snowflakes
const epoch = 1420070400000 * time.Millisecond

// nextID makes a snowflake. The caller holds mu.
func (s *Server) nextID() string { return s.idAt(time.Now()) }

// idAt makes a snowflake of another time. The caller holds mu.
func (s *Server) idAt(created time.Time) string {
	s.ids++
	age := max(0, created.UnixMilli()-epoch.Milliseconds())
	return fmt.Sprint(uint64(age)<<22 | s.ids&(1<<22-1))
}

// problem notes a payload that is refused.
func (s *Server) problem(err error) *failure {
	return locked(s, func() *failure { return s.note(err) })
}

// note is problem for a caller that holds mu.
func (s *Server) note(err error) *failure {
	s.problems = append(s.problems, err.Error())
	return &failure{status: http.StatusBadRequest, code: 50035, message: err.Error()}
}
