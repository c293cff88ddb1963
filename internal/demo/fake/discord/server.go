// Package discord is a fake of Discord on loopback, for tests and for the demo in the browser. It has the REST routes
// and the gateway that a bot with commands and buttons uses. The gateway is the WebSocket over which Discord sends
// interactions: the uses of commands and the presses of buttons. The bot answers them by REST calls.
//
// The fake refuses calls that violate Discord's own description of its API (spec.json) or its documentation (check.go),
// and records who can see each message. The demo shows the messages (Watch). Tests use the fake as a
// discordtest.Server, which adds faults.
//
// The package imports neither package testing nor any package of Herald outside internal/demo/fake.
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

// Interceptor decides how a call is answered. handle handles the call, and returns the function that writes the
// response to w. An Interceptor may call neither, only handle, or both.
type Interceptor func(route Route, w http.ResponseWriter, r *http.Request, handle func() (respond func()))

// Server is the fake. Its methods are safe for concurrent use.
type Server struct {
	Token         string
	ApplicationID string
	// VerifyKey is the application's public key in hex, or "" if it has none. Set it in a call of Change.
	VerifyKey string
	// FirstResponse is the maximum time between an interaction and its first response. Set it before the first
	// interaction.
	FirstResponse time.Duration

	url       string
	http      *http.Server
	served    chan struct{} // closed when the server has stopped
	intercept Interceptor

	// dispatching keeps dispatches in the order of their sequence numbers. Lock it before State.
	dispatching sync.Mutex

	fake.State // guards the fields below

	ids      uint64   // number of IDs made so far
	endpoint *string  // the interactions endpoint URL, or nil
	problems []string // errors of payloads that violated Discord's rules

	commands   map[string][]map[string]any // by guild; "" is global
	overwrites int                         // number of successful PutCommands

	interactions map[string]*Pending // by token
	messages     map[string]*Message // by ID
	watch        func(Shown)

	// The gateway.
	conns      map[*conn]bool // open connections
	behaviour  Behaviour      // of new connections
	session    *session       // the session that can be resumed, or nil
	resumes    int            // number of successful RESUMEs
	connects   int            // number of times that a connection became READY or RESUMED
	identifies []time.Time    // times of IDENTIFYs
	presences  []time.Time    // times at which the presence was set
	heartbeats int            // number of heartbeats received
	remaining  int            // number of sessions that the bot may still start
	resetAfter time.Duration  // the time after which remaining is reset

	guilds    map[string]*guild // by ID
	roleCalls []RoleCall        // successful calls, in order
}

// BotName is the bot's username.
const BotName = "Herald"

// Start starts a Server for one bot on a free port of 127.0.0.1.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the fake of Discord: %w", err)
	}
	handleAndRespond := func(_ Route, _ http.ResponseWriter, _ *http.Request, handle func() (respond func())) {
		respond := handle()
		respond()
	}
	return NewOn(listener, handleAndRespond), nil
}

// NewOn starts a Server for one bot on a listener, which Close closes. It passes every REST call to intercept.
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

// URL returns the origin of the REST routes, for DISCORD_API_URL.
func (s *Server) URL() string { return s.url }

// ServeHTTP answers one REST call without a network.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Close closes all connections and stops the server. It blocks until the server has stopped.
func (s *Server) Close() {
	s.each(func(c *conn) { c.ws.NetConn().Close() })
	_ = s.http.Close()
	<-s.served
}

// get returns a field under the lock.
func get[T any](s *Server, field *T) T { return locked(s, func() T { return *field }) }

// list returns a copy of a field under the lock.
func list[T any](s *Server, field *[]T) []T {
	return locked(s, func() []T { return slices.Clone(*field) })
}

// locked calls f under the lock.
func locked[T any](s *Server, f func() T) T { return fake.Locked(&s.State, f) }

// Problems returns the errors of all payloads that violated Discord's rules. A correct adapter causes none.
func (s *Server) Problems() []string { return list(s, &s.problems) }

// Commands returns the commands of a guild, or the global commands if guildID is "", as Discord returns them.
func (s *Server) Commands(guildID string) []map[string]any {
	return locked(s, func() []map[string]any { return slices.Clone(s.commands[guildID]) })
}

// Overwrites returns how many times all commands of a guild, or all global commands, were replaced.
func (s *Server) Overwrites() int { return get(s, &s.overwrites) }

// epoch is the time from which snowflakes count, in Unix time.
// https://discord.com/developers/docs/reference#snowflakes
const epoch = 1420070400000 * time.Millisecond

// nextID returns a new snowflake: an ID whose upper bits are the time of its creation. The caller must hold the lock.
func (s *Server) nextID() string { return s.idAt(time.Now()) }

// idAt returns a new snowflake with this time. The caller must hold the lock.
func (s *Server) idAt(created time.Time) string {
	s.ids++
	age := max(0, created.UnixMilli()-epoch.Milliseconds())
	return fmt.Sprint(uint64(age)<<22 | s.ids&(1<<22-1))
}

// refuse records a problem with a payload, and returns Discord's Failure.
func (s *Server) refuse(err error) *Failure {
	return locked(s, func() *Failure { return s.refuseLocked(err) })
}

// refuseLocked is like refuse. The caller must hold the lock.
func (s *Server) refuseLocked(err error) *Failure {
	s.problems = append(s.problems, err.Error())
	return &Failure{Status: http.StatusBadRequest, Code: 50035, Message: err.Error()}
}
