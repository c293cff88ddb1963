package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"herald/internal/transport"
)

// Opcodes of the gateway.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
const (
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opACK            = 11
)

const (
	// closeToResume is the code with which we leave a connection whose session is
	// to be kept: Discord drops the session at 1000 and 1001.
	closeToResume = 4000
	// maxPacket bounds one packet in bytes; READY lists up to 2,500 guilds.
	maxPacket = 16 << 20
	// writeTime bounds one write to a peer that reads nothing.
	writeTime = 10 * time.Second
)

type packet struct {
	Op       int             `json:"op"`
	Data     json.RawMessage `json:"d"`
	Sequence int64           `json:"s"` // of dispatches, from 1
	Type     string          `json:"t"`
}

// conn is one connection to the gateway. serve's goroutine reads, and hands
// interactions over itself: one goroutine more would cost each a switch. Another
// sends heartbeats, and one the status.
type conn struct {
	*Gateway
	ws        *websocket.Conn
	receive   Receive
	writing   sync.Mutex
	beatAt    atomic.Pointer[time.Time] // when the last heartbeat was sent
	connected bool                      // READY or RESUMED came
}

// serve takes the connection from Hello to its end and returns why it ended. It closes
// the connection after two unacknowledged heartbeats.
func (c *conn) serve(ctx context.Context) error {
	beating, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer c.leave(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { c.leave(ctx) })() // which ends a read

	c.ws.SetReadLimit(maxPacket)
	_ = c.ws.SetReadDeadline(time.Now().Add(helloTime))
	p, err := c.read()
	if err != nil {
		return err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	err = json.Unmarshal(p.Data, &hello)
	interval := time.Duration(hello.Interval) * time.Millisecond
	if p.Op != opHello || err != nil || interval <= 0 {
		return errors.New("the gateway did not begin with Hello")
	}
	_ = c.ws.SetReadDeadline(time.Now().Add(readyTime))
	c.begin()
	beside.Go(func() {
		// Discord asks for a random part of the interval at first.
		for wait := rand.N(interval); transport.Sleep(beating, wait); wait = interval {
			c.heartbeat()
		}
	})
	for {
		if p, err = c.read(); err != nil {
			return err
		}
		if err = c.handle(p); err != nil {
			return err
		}
		stands := p.Type == "READY" || p.Type == "RESUMED"
		if stands && c.Status != nil {
			beside.Go(func() { c.showStatus(beating) })
		}
		if stands || p.Op == opACK && c.connected {
			_ = c.ws.SetReadDeadline(time.Now().Add(2 * interval))
		}
	}
}

// leave closes the connection, and ends the session too if ctx is done.
func (c *conn) leave(ctx context.Context) {
	code := closeToResume
	if ctx.Err() != nil {
		code = websocket.CloseNormalClosure
	}
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	c.ws.Close()
}

// read returns the next packet. Its error has no text that the peer gave.
func (c *conn) read() (p packet, err error) {
	_, raw, err := c.ws.ReadMessage()
	closed, is := errors.AsType[*websocket.CloseError](err)
	switch {
	case is:
		if fatal, known := fatalCloses[closed.Code]; known {
			return p, fatal
		}
		return p, fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
	case err != nil:
		return p, fmt.Errorf("read from the gateway: %w", err)
	case json.Unmarshal(raw, &p) != nil:
		return p, errors.New("the gateway sent what is not JSON")
	}
	return p, nil
}

// begin goes on with the session there is, or asks for one. It asks for no
// intents: interactions arrive without any.
func (c *conn) begin() {
	if s := c.session; s != nil {
		c.write(opResume, map[string]any{"token": c.Token.Reveal(), "session_id": s.id, "seq": c.sequence.Load()})
		return
	}
	c.sequence.Store(0)
	c.identified = time.Now()
	c.restored = c.identified.Add(max(time.Until(c.restored), 0) + identifyEvery)
	c.Count("identified")
	c.write(opIdentify, map[string]any{
		"token":      c.Token.Reveal(),
		"intents":    discordgo.IntentsNone,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "herald", "device": "herald"},
	})
}

// handle returns an error for a packet that ends the connection.
func (c *conn) handle(p packet) error {
	if p.Sequence > 0 {
		c.sequence.Store(p.Sequence)
	}
	switch {
	case p.Type == "INTERACTION_CREATE":
		c.receive(p.Data, !c.connected)
	case p.Type == "READY":
		c.keepSession(p.Data)
		c.stands("connected")
	case p.Type == "RESUMED" && c.session != nil:
		c.session.resumes = 0
		c.stands("resumed")
	case p.Op == opHeartbeat:
		c.heartbeat()
	case p.Op == opACK:
		if at := c.beatAt.Load(); at != nil {
			c.latency.Store(int64(time.Since(*at)))
		}
	case p.Op == opReconnect:
		return errors.New("the gateway asked for a new connection")
	case p.Op == opInvalidSession:
		var resumable bool
		if json.Unmarshal(p.Data, &resumable) != nil || !resumable {
			c.session = nil
		}
		return errors.New("the gateway called the session invalid")
	}
	return nil
}

// stands notes that the connection stands now.
func (c *conn) stands(event string) {
	c.connected = true
	c.alive.Store(true)
	c.Count(event)
	c.Connected(c.name)
}

// keepSession keeps what READY says of the bot, and of the session if that is
// enough to resume it.
func (c *conn) keepSession(ready json.RawMessage) {
	var told struct {
		ID      string `json:"session_id"`
		Address string `json:"resume_gateway_url"`
		User    struct {
			Name string `json:"username"`
		} `json:"user"`
	}
	_ = json.Unmarshal(ready, &told) // what is malformed has no safe address
	c.name = told.User.Name
	if address, err := c.checkAddress(told.Address); err == nil {
		c.session = &session{id: told.ID, address: address}
	}
}

func (c *conn) heartbeat() {
	now := time.Now()
	c.beatAt.Store(&now)
	var sequence any // null before there is one
	if n := c.sequence.Load(); n > 0 {
		sequence = n
	}
	c.write(opHeartbeat, sequence)
}

// showStatus keeps the status up to date until ctx is done. A session that is
// resumed may still have another.
// https://discord.com/developers/docs/events/gateway-events#update-presence
func (c *conn) showStatus(ctx context.Context) {
	var shown *string
	for ; ctx.Err() == nil; transport.Sleep(ctx, statusEvery) {
		text := c.Status(ctx)
		if ctx.Err() != nil || shown != nil && *shown == text {
			continue
		}
		shown = &text
		activities := []any{}
		if text != "" {
			// A custom status shows its state, and not its name, which must be there.
			// discordgo's type would send a time in a form that Discord refuses.
			activities = append(activities, map[string]any{"name": "Custom Status", "type": discordgo.ActivityTypeCustom, "state": text})
		}
		c.write(opPresence, map[string]any{"since": nil, "activities": activities, "status": discordgo.StatusOnline, "afk": false})
	}
}

// write sends a packet. A connection that takes none is closed, and read fails.
func (c *conn) write(op int, data any) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if c.ws.WriteJSON(map[string]any{"op": op, "d": data}) != nil {
		c.ws.Close()
	}
}
