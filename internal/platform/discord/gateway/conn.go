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

const (
	// closeToResume is the code with which we leave a connection whose session is
	// to be kept: Discord drops the session at 1000 and 1001.
	closeToResume = 4000
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
	err      error           // instead of the rest: the connection has ended
}

// conn is one connection to the gateway. Only serve's goroutine uses it, but for
// read.
type conn struct {
	*Gateway
	ws        *websocket.Conn
	receive   Receive
	interval  time.Duration    // of heartbeats; 0 before Hello
	beatDue   <-chan time.Time // nil before Hello
	beatAt    time.Time        // when the last heartbeat was sent
	acked     bool             // the last heartbeat was
	connected bool             // READY or RESUMED came
	shown     *string          // the status that was sent; nil before one
}

// serve takes the connection from Hello to its end and returns why it ended. A
// peer that falls silent acknowledges no heartbeat either, and so is left within
// two.
func (c *conn) serve(ctx context.Context) error {
	packets := make(chan packet)
	go c.read(packets)
	defer func() {
		c.leave(ctx)
		for range packets { // until read has ended
		}
	}()
	expired := time.After(handshakeTime)
	for {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-expired:
			if !c.connected {
				err = errors.New("the gateway did not say Hello and READY in time")
			}
		case <-c.beatDue:
			err = c.beat()
		case <-c.changed:
			err = c.show()
		case p := <-packets:
			switch {
			case p.err != nil:
				err = c.ended(p.err)
			case c.interval == 0:
				err = c.hello(p)
			default:
				err = c.handle(p)
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

// read passes every packet on, and last the error that ended the connection.
// Interactions go to receive from here: a hand-over to serve would cost each of
// them a switch of goroutines.
func (c *conn) read(packets chan<- packet) {
	defer close(packets)
	c.ws.SetReadLimit(maxPacket)
	replayed := true // what comes before READY or RESUMED
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			packets <- packet{err: err}
			return
		}
		var p packet
		if json.Unmarshal(raw, &p) != nil {
			c.Count("malformed")
			continue
		}
		if p.Sequence > 0 {
			c.sequence.Store(p.Sequence)
		}
		switch p.Type {
		case "INTERACTION_CREATE":
			c.receive(p.Data, replayed)
			continue
		case "READY", "RESUMED":
			replayed = false
		}
		packets <- p
	}
}

// hello starts the heartbeats, and begins a session or goes on with the one
// there is. It asks for no intents: interactions arrive without any.
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
	c.beatDue, c.acked = time.After(rand.N(c.interval)), true
	if s := c.session; s != nil {
		return c.write(opResume, map[string]any{"token": c.Token.Reveal(), "session_id": s.id, "seq": c.sequence.Load()})
	}
	c.sequence.Store(0)
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

// dispatch handles what begins a session or goes on with one.
func (c *conn) dispatch(p packet) error {
	event := "connected"
	switch {
	case p.Type == "READY":
		c.keepSession(p.Data)
	case p.Type != "RESUMED":
		return nil
	case c.session == nil:
		return errors.New("the gateway resumed a session that does not exist")
	default:
		c.session.resumes = 0
		event = "resumed"
	}
	c.connected = true
	c.alive.Store(true)
	c.Count(event)
	c.Connected(c.name)
	return c.show()
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

// show sends the status, unless it was sent on this connection. A session that is
// resumed may still have another.
// https://discord.com/developers/docs/events/gateway-events#update-presence
func (c *conn) show() error {
	text := c.status.Load()
	if !c.connected || text == nil || c.shown != nil && *c.shown == *text {
		return nil
	}
	c.shown = text
	activities := []any{}
	if *text != "" {
		// A custom status shows its state, and not its name, which must be there.
		// discordgo's type would send a time in a form that Discord refuses.
		activities = append(activities, map[string]any{"name": "Custom Status", "type": discordgo.ActivityTypeCustom, "state": *text})
	}
	return c.write(opPresence, map[string]any{"since": nil, "activities": activities, "status": discordgo.StatusOnline, "afk": false})
}

// beat sends a heartbeat, unless the one before was not acknowledged.
func (c *conn) beat() error {
	if !c.acked {
		return errors.New("the gateway did not acknowledge a heartbeat")
	}
	c.acked, c.beatDue = false, time.After(c.interval)
	return c.heartbeat()
}

func (c *conn) heartbeat() error {
	c.beatAt = time.Now()
	if sequence := c.sequence.Load(); sequence > 0 {
		return c.write(opHeartbeat, sequence)
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
	if fatal, ok := fatalCloses[closed.Code]; ok {
		return fatal
	}
	if slices.Contains(sessionCloses, closed.Code) {
		c.session = nil
	}
	return fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
}
