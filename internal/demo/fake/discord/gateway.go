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

// Behaviour is how the gateway treats a connection. An empty list is other than nil: it
// does nothing.
type Behaviour struct {
	Heartbeat        time.Duration // the interval; 0 keeps the one that was set before
	NoACK            bool          // heartbeats are not acknowledged
	InsteadOfHello   []Action
	InsteadOfReady   []Action // the answer to each IDENTIFY
	InsteadOfResumed []Action // the answer to RESUME
	AfterReady       []Action // follows READY and RESUMED
	ResumeURL        string   // in READY; empty is the right one
}

// Action is one thing that the gateway does. Exactly one of Op, Close, Stall and Drop is
// set.
type Action struct {
	Op        int  // is sent
	Resumable bool // the data of op 9; if false, the session ends
	Close     int  // is the code that closes the connection
	Stall     bool // nothing is sent from now on
	Drop      bool // the connection ends without a close code
}

// intentsPrivileged are GUILD_MEMBERS, GUILD_PRESENCES and MESSAGE_CONTENT. This bot was
// not granted any.
// https://discord.com/developers/docs/events/gateway#privileged-intents
const intentsPrivileged = 1<<1 | 1<<8 | 1<<15

// conn is one gateway connection.
type conn struct {
	ws        *websocket.Conn
	behaviour Behaviour
	writing   sync.Mutex
	stalled   chan struct{}
	stalling  sync.Once
	resumes   bool        // it came to resumePath
	closed    atomic.Bool // by the server
	session   *session    // set once READY or RESUMED was sent; guarded by the server's lock
}

type packet struct {
	Op       int    `json:"op"`
	Data     any    `json:"d"`
	Sequence *int   `json:"s,omitempty"`
	Type     string `json:"t,omitempty"`
}

// Behave sets how connections are treated that are made from now on.
func (s *Server) Behave(b Behaviour) {
	s.Change(func() {
		b.Heartbeat = cmp.Or(b.Heartbeat, s.behaviour.Heartbeat)
		s.behaviour = b
	})
}

// Do acts on every connection.
func (s *Server) Do(action Action) { s.each(func(c *conn) { s.do(c, action) }) }

// Limit sets how many sessions are left today, and when there are more.
func (s *Server) Limit(remaining int, resetAfter time.Duration) {
	s.Change(func() {
		s.remaining = remaining
		s.resetAfter = resetAfter
	})
}

// Identifies returns the time of every IDENTIFY.
func (s *Server) Identifies() []time.Time { return list(s, &s.identifies) }

// Connects returns how many connections became READY or RESUMED.
func (s *Server) Connects() int { return get(s, &s.connects) }

// Heartbeats returns how many heartbeats came on all connections.
func (s *Server) Heartbeats() int { return get(s, &s.heartbeats) }

// Connected returns how many connections are READY or RESUMED now.
func (s *Server) Connected() int {
	return locked(s, func() (n int) {
		for c := range s.conns {
			if c.session != nil {
				n++
			}
		}
		return n
	})
}

func (s *Server) each(do func(*conn)) {
	for _, c := range locked(s, func() []*conn { return slices.Collect(maps.Keys(s.conns)) }) {
		do(c)
	}
}

var upgrader = websocket.Upgrader{}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, stalled: make(chan struct{}), resumes: r.URL.Path == resumePath}
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
		c.send(packet{Op: 10, Data: map[string]any{"heartbeat_interval": c.behaviour.Heartbeat.Milliseconds()}})
	}
	for s.read(c) == nil {
	}
}

// read handles one packet. Its error ends the connection.
func (s *Server) read(c *conn) error {
	// Discord closes a connection without heartbeats.
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
	case 1:
		s.Change(func() { s.heartbeats++ })
		if !c.behaviour.NoACK {
			c.send(packet{Op: 11})
		}
	case 2:
		s.identify(c, p.Data)
	case 3:
		s.updatePresence(c, p.Data)
	case 6:
		s.resume(c, p.Data)
	default:
		c.do(Action{Close: 4001})
	}
	return nil
}

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
		c.do(Action{Close: 4002})
	case d.Token != s.Token:
		c.do(Action{Close: 4004})
	case get(s, &c.session) != nil:
		c.do(Action{Close: 4005})
	case *d.Intents&intentsPrivileged != 0:
		c.do(Action{Close: 4014})
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

func (s *Server) do(c *conn, a Action) {
	if a.Op == 9 && !a.Resumable || a.Close == 4007 || a.Close == 4009 {
		s.endSession(c)
	}
	c.do(a)
}

func (c *conn) do(a Action) {
	switch {
	case a.Stall:
		c.stalling.Do(func() { close(c.stalled) })
	case a.Close != 0:
		c.closed.Store(true)
		goodbye := websocket.FormatCloseMessage(a.Close, "scripted")
		c.ws.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Second))
		c.ws.Close()
	case a.Drop:
		c.ws.NetConn().Close()
	case a.Op == 9:
		c.send(packet{Op: 9, Data: a.Resumable})
	default:
		c.send(packet{Op: a.Op})
	}
}

// send writes p unless the connection is stalled.
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
