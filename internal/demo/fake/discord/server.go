// Package discord is a stand-in of Discord on loopback, for tests and for the demo in the
// browser: the REST routes and the gateway that a bot of commands and buttons uses. It
// refuses calls by Discord's own description of its API (spec.json) and documentation
// (check.go), and knows who sees which answer.
//
// The demo watches what it shows (Watch). Tests use it as a discordtest.Server, which adds
// faults. It imports neither package testing nor any package of Herald outside
// internal/demo/fake.
package discord

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"herald/internal/demo/fake"
)

// Route names a REST call.
type Route string

// The routes.
const (
	Application Route = "application"  // GET /applications/@me
	GatewayBot  Route = "gateway"      // GET /gateway/bot
	GetCommands Route = "get_commands" // GET …/commands
	PutCommands Route = "put_commands" // PUT …/commands
	Callback    Route = "callback"     // POST /interactions/…/callback
	Edit        Route = "edit"         // PATCH /webhooks/…/messages/@original
	FollowUp    Route = "followup"     // POST /webhooks/…
	PutRole     Route = "put_role"     // PUT …/members/…/roles/…
	DeleteRole  Route = "delete_role"  // DELETE …/members/…/roles/…
	Guild       Route = "guild"        // GET /guilds/…
	GuildMember Route = "guild_member" // GET /guilds/…/members/…
)

// Interceptor handles a call. carryOut carries the call out and returns the function that
// writes the response.
type Interceptor func(route Route, w http.ResponseWriter, r *http.Request, carryOut func() (respond func()))

// Server is the stand-in. Its methods may be called from many goroutines.
type Server struct {
	Token         string
	ApplicationID string
	// VerifyKey is the application's public key in hex; empty: it has none. Change guards it.
	VerifyKey string
	// FirstResponse is how long an interaction waits for its first response. It is set
	// before the first interaction.
	FirstResponse time.Duration
	url           string
	http          *http.Server
	served        chan struct{} // closed at its end
	intercept     Interceptor

	// dispatching keeps dispatches in the order of their sequence. It is locked before
	// State.
	dispatching sync.Mutex

	fake.State           // guards what follows
	ids          uint64  // made so far
	endpoint     *string // set by EnterEndpoint
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
	guilds       map[string]*guild
	roleCalls    []RoleCall
}

// BotName is what the bot is called.
const BotName = "Herald"

// Start starts a Discord with one bot on a free port of 127.0.0.1.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start Discord's stand-in: %w", err)
	}
	carryOut := func(_ Route, _ http.ResponseWriter, _ *http.Request, carryOut func() (respond func())) { carryOut()() }
	return NewOn(listener, carryOut), nil
}

// NewOn starts a Discord on a listener, which Close closes. intercept handles every call.
func NewOn(listener net.Listener, intercept Interceptor) *Server {
	s := &Server{
		Token:         "fake." + rand.Text(),
		ApplicationID: "1100000000000000001",
		FirstResponse: firstResponse,
		commands:      map[string][]map[string]any{},
		interactions:  map[string]*Pending{},
		messages:      map[string]*Message{},
		conns:         map[*conn]bool{},
		guilds:        map[string]*guild{},
		behaviour:     Behaviour{Heartbeat: 41250 * time.Millisecond},
		remaining:     1000,
		watch:         func(Shown) {},
		url:           "http://" + listener.Addr().String(),
		served:        make(chan struct{}),
		intercept:     intercept,
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

// ServeHTTP answers one REST call without a network.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Close ends every connection and the server.
func (s *Server) Close() {
	s.each(func(c *conn) { c.ws.NetConn().Close() })
	_ = s.http.Close()
	<-s.served
}

// get returns a value, and list a copy of a list, under the lock.
func get[T any](s *Server, value *T) T { return locked(s, func() T { return *value }) }

func list[T any](s *Server, values *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*values) })
}

func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// Problems returns why payloads were refused. A right adapter gets none.
func (s *Server) Problems() []string { return list(s, &s.problems) }

// Commands returns those registered in a guild, or globally with "", as Discord returns them.
func (s *Server) Commands(guildID string) []map[string]any {
	return locked(s, func() []map[string]any { return slices.Clone(s.commands[guildID]) })
}

// Overwrites returns how many bulk overwrites of commands took effect.
func (s *Server) Overwrites() int { return get(s, &s.overwrites) }

// epoch is when snowflakes begin, in Unix time.
// https://discord.com/developers/docs/reference#snowflakes
const epoch = 1420070400000 * time.Millisecond

// nextID makes a snowflake. The caller holds the lock.
func (s *Server) nextID() string { return s.idAt(time.Now()) }

// idAt makes a snowflake of another time. The caller holds the lock.
func (s *Server) idAt(created time.Time) string {
	s.ids++
	age := max(0, created.UnixMilli()-epoch.Milliseconds())
	return fmt.Sprint(uint64(age)<<22 | s.ids&(1<<22-1))
}

// problem notes a payload that is refused, and returns the refusal.
func (s *Server) problem(err error) *Failure {
	return locked(s, func() *Failure { return s.note(err) })
}

// note is problem for a caller that holds the lock.
func (s *Server) note(err error) *Failure {
	s.problems = append(s.problems, err.Error())
	return &Failure{Status: http.StatusBadRequest, Code: 50035, Message: err.Error()}
}
