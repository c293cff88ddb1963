package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// conn is one connection to the gateway, from Hello to its end.
type conn struct {
	*Gateway
	ws       *websocket.Conn
	take     func(interaction json.RawMessage, replayed bool)
	interval time.Duration // of heartbeats
	ready    bool          // READY or RESUMED has come
	acked    atomic.Bool   // the last heartbeat was
	sequence atomic.Int64  // of the newest dispatch, for heartbeats; 0 is none
	writing  sync.Mutex
}

// serve takes the connection from Hello to its end and returns why it ended.
// Every read has a deadline: a peer that falls silent is gone.
func (c *conn) serve(running context.Context) error {
	ctx, end := context.WithCancelCause(running)
	defer end(nil)
	leave := func() {
		code := closeToResume
		if running.Err() != nil {
			code = websocket.CloseNormalClosure
		}
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
		c.ws.Close()
	}
	defer leave()
	defer context.AfterFunc(ctx, leave)()

	c.ws.SetReadLimit(maxPacket)
	c.extend(c.timings.handshake)
	if err := c.hello(); err != nil {
		return err
	}
	c.acked.Store(true)
	if err := c.identifyOrResume(); err != nil {
		return err
	}
	go c.beat(ctx, end)
	c.extend(c.timings.handshake)
	for {
		p, err := c.read()
		if err == nil {
			err = c.handle(p)
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if c.ready {
			c.aliveUntil.Store(c.extend(2 * c.interval).UnixNano())
		}
	}
}

// extend gives the other side until then to say something.
func (c *conn) extend(by time.Duration) (until time.Time) {
	until = time.Now().Add(by)
	_ = c.ws.SetReadDeadline(until)
	return until
}

func (c *conn) hello() error {
	p, err := c.read()
	if err != nil {
		return err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	if p.Op != opHello || json.Unmarshal(p.Data, &hello) != nil ||
		hello.Interval <= 0 || hello.Interval > maxHeartbeat.Milliseconds() {
		return errors.New("the gateway did not begin with Hello")
	}
	c.interval = time.Duration(hello.Interval) * time.Millisecond
	return nil
}

// identifyOrResume begins a session, or goes on with the one there is. It asks
// for no intents: interactions arrive without any.
func (c *conn) identifyOrResume() error {
	if s := c.session; s != nil {
		c.sequence.Store(s.sequence)
		return c.write(opResume, map[string]any{"token": c.Token.Reveal(), "session_id": s.id, "seq": s.sequence})
	}
	c.identified = append(c.identified, time.Now())
	c.identified = c.identified[max(0, len(c.identified)-maxIdentifies):]
	c.Count("identified")
	return c.write(opIdentify, map[string]any{
		"token":      c.Token.Reveal(),
		"intents":    discordgo.IntentsNone,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "herald", "device": "herald"},
	})
}

// handle returns an error for what ends the connection.
func (c *conn) handle(p packet) error {
	switch p.Op {
	case opHeartbeat:
		return c.heartbeat()
	case opACK:
		c.acked.Store(true)
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
	switch p.Type {
	case "READY":
		c.keepSession(p.Data)
		c.connected("connected")
	case "RESUMED":
		if c.session == nil {
			return errors.New("the gateway resumed a session that does not exist")
		}
		c.session.resumes = 0
		c.connected("resumed")
	case "INTERACTION_CREATE":
		c.take(p.Data, !c.ready)
	}
	if p.Sequence > 0 {
		c.sequence.Store(p.Sequence)
	}
	if p.Sequence > 0 && c.session != nil {
		c.session.sequence = p.Sequence
	}
	return nil
}

// keepSession keeps what READY says of the session, if that is enough to resume
// it.
func (c *conn) keepSession(ready json.RawMessage) {
	var told struct {
		ID      string `json:"session_id"`
		Address string `json:"resume_gateway_url"`
	}
	_ = json.Unmarshal(ready, &told) // what is malformed has no safe address
	address, err := c.checkAddress(told.Address)
	if err != nil {
		c.Log.Warn("this session cannot be resumed", "err", err)
		return
	}
	c.session = &session{id: told.ID, address: address}
}

func (c *conn) connected(event string) {
	c.ready = true
	c.connectedAt = time.Now()
	c.Count(event)
	c.Log.Info("connected to the gateway", "resumed", event == "resumed")
}

// beat sends a heartbeat every interval and ends the connection when one was
// not acknowledged by the time of the next.
func (c *conn) beat(ctx context.Context, end context.CancelCauseFunc) {
	// Discord asks for a random part of the interval before the first.
	for wait := rand.N(c.interval); ; wait = c.interval {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if !c.acked.Swap(false) {
			end(errors.New("the gateway did not acknowledge a heartbeat"))
			return
		}
		if err := c.heartbeat(); err != nil {
			end(err)
			return
		}
	}
}

func (c *conn) heartbeat() error {
	if sequence := c.sequence.Load(); sequence > 0 {
		return c.write(opHeartbeat, sequence)
	}
	return c.write(opHeartbeat, nil)
}

func (c *conn) write(op int, data any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if err := c.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// read returns the next packet; one that is not JSON is the zero packet with
// an opcode that means nothing.
func (c *conn) read() (packet, error) {
	_, raw, err := c.ws.ReadMessage()
	if err != nil {
		return packet{}, c.ended(err)
	}
	var p packet
	if json.Unmarshal(raw, &p) != nil {
		c.Count("malformed")
		return packet{Op: -1}, nil
	}
	return p, nil
}

// ended words the end of a connection without the text that the peer gave.
func (c *conn) ended(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		if err, ok := fatalCloses[closed.Code]; ok {
			return err
		}
		if slices.Contains(sessionCloses, closed.Code) {
			c.session = nil
		}
		return fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the gateway fell silent")
	}
	return fmt.Errorf("read from the gateway: %w", err)
}
