package discord

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Behaviour is how the gateway treats a connection. If InsteadOfHello, InsteadOfReady or InsteadOfResumed is nil, the
// gateway behaves like Discord. If it is empty but not nil, the gateway sends nothing instead.
type Behaviour struct {
	Heartbeat        time.Duration // the interval; 0 means the previous Behaviour's
	NoACK            bool          // heartbeats are not acknowledged
	InsteadOfHello   []Action
	InsteadOfReady   []Action // the answer to each IDENTIFY
	InsteadOfResumed []Action // the answer to RESUME
	AfterReady       []Action // follows READY and RESUMED
	ResumeURL        string   // the URL in READY for RESUME; "" means the fake's own
}

// Action is one thing that the gateway does. Exactly one of Op, Close, Stall and Drop is set.
type Action struct {
	Op        int  // sends this opcode
	Resumable bool // the data of op 9; if false, the session ends
	Close     int  // closes the connection with this code
	Stall     bool // from now on, sends nothing
	Drop      bool // ends the connection without a close code
}

// Opcodes of the gateway.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes
const (
	opHeartbeat      = 1
	opIdentify       = 2
	opPresenceUpdate = 3
	opResume         = 6
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatACK   = 11
)

// Codes that the gateway sends when it closes a connection.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
const (
	closeUnknownOpcode        = 4001
	closeDecodeError          = 4002
	closeAuthenticationFailed = 4004
	closeAlreadyAuthenticated = 4005
	closeInvalidSequence      = 4007
	closeSessionTimedOut      = 4009
	closeDisallowedIntents    = 4014
)

// intentsPrivileged are GUILD_MEMBERS, GUILD_PRESENCES and MESSAGE_CONTENT. The bot was not granted any of them.
// https://discord.com/developers/docs/events/gateway#privileged-intents
const intentsPrivileged = 1<<1 | 1<<8 | 1<<15

// conn is one gateway connection.
type conn struct {
	ws        *websocket.Conn
	behaviour Behaviour
	writing   sync.Mutex    // serializes writes to ws
	stalled   chan struct{} // closed by an Action with Stall
	stalling  sync.Once
	toResume  bool        // the bot connected to resumePath
	closed    atomic.Bool // the server has sent a close code
	session   *session    // nil until READY or RESUMED was sent; guarded by the server's lock
}

// packet is a message of the gateway. Only dispatches have a Sequence and a Type.
type packet struct {
	Op       int    `json:"op"`
	Data     any    `json:"d"`
	Sequence *int   `json:"s,omitempty"`
	Type     string `json:"t,omitempty"`
}

// Behave sets the Behaviour of connections that the bot opens from now on.
func (s *Server) Behave(b Behaviour) {
	s.Change(func() {
		b.Heartbeat = cmp.Or(b.Heartbeat, s.behaviour.Heartbeat)
		s.behaviour = b
	})
}

// Do takes an action on every open connection.
func (s *Server) Do(action Action) { s.each(func(c *conn) { s.do(c, action) }) }

// Limit sets how many sessions the bot may still start, and after which time that number is reset.
func (s *Server) Limit(remaining int, resetAfter time.Duration) {
	s.Change(func() {
		s.remaining = remaining
		s.resetAfter = resetAfter
	})
}

// Identifies returns the time of every IDENTIFY.
func (s *Server) Identifies() []time.Time { return list(s, &s.identifies) }

// Connects returns how many times a connection became READY or RESUMED.
func (s *Server) Connects() int { return get(s, &s.connects) }

// Heartbeats returns how many heartbeats the gateway received, on all connections.
func (s *Server) Heartbeats() int { return get(s, &s.heartbeats) }

// Connected returns how many connections are READY or RESUMED now.
func (s *Server) Connected() int {
	return locked(s, func() (connected int) {
		for c := range s.conns {
			if c.session != nil {
				connected++
			}
		}
		return connected
	})
}

// each calls do for every open connection, without the lock.
func (s *Server) each(do func(*conn)) {
	for _, c := range locked(s, func() []*conn { return slices.Collect(maps.Keys(s.conns)) }) {
		do(c)
	}
}

var upgrader = websocket.Upgrader{}

// serveGateway serves one connection. It blocks until the connection ends.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, stalled: make(chan struct{}), toResume: r.URL.Path == resumePath}
	s.Change(func() {
		c.behaviour = s.behaviour
		s.conns[c] = true
	})
	defer ws.Close()
	defer s.Change(func() {
		delete(s.conns, c)
		if c.session != nil && c.session.conn == c {
			c.session.conn = nil
		}
	})
	if c.behaviour.InsteadOfHello != nil {
		s.doAll(c, c.behaviour.InsteadOfHello)
	} else {
		c.send(packet{Op: opHello, Data: map[string]any{"heartbeat_interval": c.behaviour.Heartbeat.Milliseconds()}})
	}
	for s.read(c) == nil {
	}
}

// read blocks until it has handled one packet. After an error, the connection must be closed.
func (s *Server) read(c *conn) error {
	// Like Discord, close a connection that sends no heartbeats.
	c.ws.SetReadDeadline(time.Now().Add(2*c.behaviour.Heartbeat + time.Second))
	var p struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if err := c.ws.ReadJSON(&p); err != nil {
		if !c.closed.Load() && websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
			s.endSession(c)
		}
		return err
	}
	switch p.Op {
	case opHeartbeat:
		s.Change(func() { s.heartbeats++ })
		if !c.behaviour.NoACK {
			c.send(packet{Op: opHeartbeatACK})
		}
	case opIdentify:
		s.identify(c, p.Data)
	case opPresenceUpdate:
		s.updatePresence(c, p.Data)
	case opResume:
		s.resume(c, p.Data)
	default:
		c.closeWith(closeUnknownOpcode)
	}
	return nil
}

// identify handles IDENTIFY.
func (s *Server) identify(c *conn, data []byte) {
	var d struct {
		Token      string            `json:"token"`
		Intents    *int              `json:"intents"`
		Properties map[string]string `json:"properties"`
	}
	malformed := json.Unmarshal(data, &d) != nil || d.Intents == nil || d.Properties == nil
	s.Change(func() {
		s.identifies = append(s.identifies, time.Now())
		s.remaining--
	})
	switch {
	case malformed:
		c.closeWith(closeDecodeError)
	case d.Token != s.Token:
		c.closeWith(closeAuthenticationFailed)
	case get(s, &c.session) != nil:
		c.closeWith(closeAlreadyAuthenticated)
	case *d.Intents&intentsPrivileged != 0:
		c.closeWith(closeDisallowedIntents)
	case c.behaviour.InsteadOfReady != nil:
		s.doAll(c, c.behaviour.InsteadOfReady)
	default:
		s.ready(c)
		s.doAll(c, c.behaviour.AfterReady)
	}
}

func (s *Server) doAll(c *conn, actions []Action) {
	for _, a := range actions {
		s.do(c, a)
	}
}

// do takes an action on a connection. After some actions, Discord does not let the bot resume the session; do then ends
// the session.
func (s *Server) do(c *conn, a Action) {
	endsSession := a.Op == opInvalidSession && !a.Resumable ||
		a.Close == closeInvalidSequence || a.Close == closeSessionTimedOut
	if endsSession {
		s.endSession(c)
	}
	switch {
	case a.Stall:
		c.stalling.Do(func() { close(c.stalled) })
	case a.Close != 0:
		c.closeWith(a.Close)
	case a.Drop:
		c.ws.NetConn().Close()
	case a.Op == opInvalidSession:
		c.send(packet{Op: opInvalidSession, Data: a.Resumable})
	default:
		c.send(packet{Op: a.Op})
	}
}

// closeWith closes the connection with a code. It does not change the session.
func (c *conn) closeWith(code int) {
	c.closed.Store(true)
	message := websocket.FormatCloseMessage(code, "scripted")
	c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	c.ws.Close()
}

// send sends p, unless the connection is stalled.
func (c *conn) send(p packet) {
	select {
	case <-c.stalled:
		return
	default:
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ws.WriteJSON(p)
}
