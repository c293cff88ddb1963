package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// Opcodes of the gateway.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opACK            = 11
)

// sessionCloses are the codes with which Discord ends the session too. After
// any other it can be resumed.
var sessionCloses = []int{4003, 4007, 4009}

// closeToResume is the code with which we leave a connection whose session is
// to be kept: Discord drops the session at 1000 and 1001.
const closeToResume = 4000

const (
	// maxPacket bounds one packet in bytes; READY lists up to 2,500 guilds.
	maxPacket = 16 << 20
	// writeTime bounds one write to a peer that reads nothing.
	writeTime = 10 * time.Second
	// maxHeartbeat is longer than any interval that Discord asks for.
	maxHeartbeat = 10 * time.Minute
)

type packet struct {
	Op       int             `json:"op"`
	Data     json.RawMessage `json:"d"`
	Sequence int64           `json:"s"` // of dispatches, from 1
	Type     string          `json:"t"`
}

// conn is one connection to the gateway, from Hello to its end. Only serve's
// goroutine uses it, but for reading.
type conn struct {
	*Gateway
	ws       *websocket.Conn
	take     func(interaction json.RawMessage, replayed bool)
	interval time.Duration    // of heartbeats; 0 before Hello
	beatDue  <-chan time.Time // nil before Hello
	acked    bool             // the last heartbeat was
	beatAt   time.Time        // when the last heartbeat was sent
	expired  <-chan time.Time // Hello or READY has not come in time; nil after both
	shown    *string          // the status that was sent; nil before one
}

// serve takes the connection from Hello to its end and returns why it ended. A
// peer that falls silent acknowledges no heartbeat either, and so is left within
// two.
func (c *conn) serve(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	defer c.leave(ctx)
	reads := make(chan read)
	go c.readAll(reading, reads)
	c.expired = time.After(handshakeTime)
	for {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.expired:
			err = errors.New("the gateway did not say Hello and READY in time")
		case <-c.beatDue:
			err = c.beat()
		case <-c.changed:
			err = c.show()
		case r := <-reads:
			switch {
			case r.err != nil:
				err = c.ended(r.err)
			case c.interval == 0:
				err = c.hello(r.packet)
			default:
				err = c.handle(r.packet)
			}
		}
		if err != nil {
			return err
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

// read is a packet, or the error that ended the connection.
type read struct {
	packet
	err error
}

// readAll sends every packet, then the error that ended the connection, until
// ctx is done. What is not JSON is a packet with an opcode that means nothing.
func (c *conn) readAll(ctx context.Context, out chan<- read) {
	c.ws.SetReadLimit(maxPacket)
	for {
		var r read
		_, raw, err := c.ws.ReadMessage()
		switch {
		case err != nil:
			r.err = err
		case json.Unmarshal(raw, &r.packet) != nil:
			c.Count("malformed")
			r.packet = packet{Op: -1}
		}
		select {
		case out <- r:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// hello starts the heartbeats and asks for the session.
func (c *conn) hello(p packet) error {
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	if p.Op != opHello || json.Unmarshal(p.Data, &hello) != nil ||
		hello.Interval <= 0 || hello.Interval > maxHeartbeat.Milliseconds() {
		return errors.New("the gateway did not begin with Hello")
	}
	c.interval = time.Duration(hello.Interval) * time.Millisecond
	// Discord asks for a random part of the interval before the first.
	c.beatDue = time.After(rand.N(c.interval))
	c.acked = true
	c.expired = time.After(handshakeTime)
	return c.identifyOrResume()
}

// identifyOrResume begins a session, or goes on with the one there is. It asks
// for no intents: interactions arrive without any.
func (c *conn) identifyOrResume() error {
	if s := c.session; s != nil {
		return c.write(opResume, map[string]any{"token": c.Token.Reveal(), "session_id": s.id, "seq": c.sequence})
	}
	c.sequence = 0
	copy(c.identified[:], c.identified[1:])
	c.identified[maxIdentifies-1] = time.Now()
	c.Count("identified")
	return c.write(opIdentify, map[string]any{
		"token":      c.Token.Reveal(),
		"intents":    discordgo.IntentsNone,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "herald", "device": "herald"},
	})
}

// handle returns an error for a packet that ends the connection.
func (c *conn) handle(p packet) error {
	switch p.Op {
	case opHeartbeat:
		return c.heartbeat()
	case opACK:
		c.acked = true
		c.latency.Store(int64(time.Since(c.beatAt)))
	case opReconnect:
		return errors.New("the gateway asked for a new connection")
	case opInvalidSession:
		var resumable bool
		if json.Unmarshal(p.Data, &resumable) != nil || !resumable {
			c.session = nil
		}
		return errors.New("the gateway called the session invalid")
	case opDispatch:
		return c.dispatch(p)
	}
	return nil
}

func (c *conn) dispatch(p packet) error {
	if p.Sequence > 0 {
		c.sequence = p.Sequence
	}
	switch p.Type {
	case "READY":
		c.keepSession(p.Data)
		return c.connected("connected")
	case "RESUMED":
		if c.session == nil {
			return errors.New("the gateway resumed a session that does not exist")
		}
		c.session.resumes = 0
		return c.connected("resumed")
	case "INTERACTION_CREATE":
		c.take(p.Data, c.connectedAt.IsZero())
	}
	return nil
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
	address, err := c.checkAddress(told.Address)
	if err != nil {
		c.Log.Warn("this session cannot be resumed", "err", err)
		return
	}
	c.session = &session{id: told.ID, address: address}
}

func (c *conn) connected(event string) error {
	c.expired = nil
	c.connectedAt = time.Now()
	c.alive.Store(true)
	c.Count(event)
	c.Connected(c.name)
	return c.show()
}

// show sends the status, unless it was sent on this connection, once that stands.
// A session that is resumed may still have another.
// https://discord.com/developers/docs/events/gateway-events#update-presence
func (c *conn) show() error {
	text := c.status.Load()
	if c.connectedAt.IsZero() || text == nil || c.shown != nil && *c.shown == *text {
		return nil
	}
	c.shown = text
	activities := []any{}
	if *text != "" {
		// A custom status shows its state, and not its name, which must be there.
		// discordgo's type would send a time in a form that Discord has not.
		activities = append(activities, map[string]any{"name": "Custom Status", "type": discordgo.ActivityTypeCustom, "state": *text})
	}
	return c.write(opPresence, map[string]any{"since": nil, "activities": activities, "status": discordgo.StatusOnline, "afk": false})
}

// beat sends a heartbeat, unless the one before was not acknowledged.
func (c *conn) beat() error {
	if !c.acked {
		return errors.New("the gateway did not acknowledge a heartbeat")
	}
	c.acked = false
	c.beatDue = time.After(c.interval)
	return c.heartbeat()
}

func (c *conn) heartbeat() error {
	c.beatAt = time.Now()
	if c.sequence > 0 {
		return c.write(opHeartbeat, c.sequence)
	}
	return c.write(opHeartbeat, nil)
}

func (c *conn) write(op int, data any) error {
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if err := c.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// ended words the end of a connection without the text that the peer gave.
func (c *conn) ended(err error) error {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return fmt.Errorf("read from the gateway: %w", err)
	}
	if err, ok := fatalCloses[closed.Code]; ok {
		return err
	}
	if slices.Contains(sessionCloses, closed.Code) {
		c.session = nil
	}
	return fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
}
