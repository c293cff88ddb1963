package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
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
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opACK            = 11
)

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
	Sequence *int64          `json:"s"`
	Type     string          `json:"t"`
}

// conn is one connection to the gateway, from Hello to its end.
type conn struct {
	ws       *websocket.Conn
	adapter  *Adapter
	interval time.Duration
	acked    atomic.Bool // the last heartbeat was
	sequence atomic.Pointer[int64]
	writing  sync.Mutex
	closing  sync.Once
	closed   chan struct{}
}

func newConn(ws *websocket.Conn, a *Adapter) *conn {
	ws.SetReadLimit(maxPacket)
	return &conn{ws: ws, adapter: a, closed: make(chan struct{})}
}

// close ends the connection and whatever waits for it.
func (c *conn) close() {
	c.closing.Do(func() {
		close(c.closed)
		goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = c.ws.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Second))
		c.ws.Close()
	})
}

// serve takes the connection from Hello to its end and tells why it ended.
// Every read has a deadline: a peer that falls silent is gone.
func (c *conn) serve() error {
	c.ws.SetReadDeadline(time.Now().Add(c.adapter.pace.handshake))
	if err := c.hello(); err != nil {
		return err
	}
	c.acked.Store(true)
	go c.beat()
	if err := c.identify(); err != nil {
		return err
	}
	c.ws.SetReadDeadline(time.Now().Add(c.adapter.pace.handshake))
	for ready := false; ; {
		p, err := c.read()
		if err != nil {
			return err
		}
		ready = ready || p.Type == "READY"
		if ready {
			alive := time.Now().Add(2 * c.interval)
			c.ws.SetReadDeadline(alive)
			c.adapter.gateway.until.Store(alive.UnixNano())
		}
		if err := c.take(p); err != nil {
			return err
		}
	}
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

// identify asks for no intents: interactions arrive without any.
func (c *conn) identify() error {
	c.adapter.gateway.identify()
	c.adapter.Count("identified")
	return c.write(opIdentify, map[string]any{
		"token":      c.adapter.Token,
		"intents":    discordgo.IntentsNone,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "herald", "device": "herald"},
	})
}

func (c *conn) take(p packet) error {
	switch p.Op {
	case opHeartbeat:
		return c.write(opHeartbeat, c.sequence.Load())
	case opACK:
		c.acked.Store(true)
	case opReconnect:
		return errors.New("the gateway asked for a new connection")
	case opInvalidSession:
		return errors.New("the gateway called the session invalid")
	case opDispatch:
		if p.Sequence != nil {
			c.sequence.Store(p.Sequence)
		}
		c.dispatch(p)
	}
	return nil
}

func (c *conn) dispatch(p packet) {
	switch p.Type {
	case "READY":
		c.adapter.Count("connected")
		c.adapter.Log.Info("connected to the gateway", "platform", Platform)
	case "INTERACTION_CREATE":
		c.adapter.receive(p.Data)
	}
}

// receive takes an interaction from the gateway. It does not block.
func (a *Adapter) receive(raw []byte) {
	i, err := decode(raw)
	if err != nil {
		a.Count("malformed")
		return
	}
	x := exchange{interaction: i, arrived: time.Now()}
	x.respond = func(ctx context.Context, response *discordgo.InteractionResponse) error {
		return a.callback(ctx, x, response)
	}
	a.take(x)
}

// beat sends a heartbeat every interval and ends the connection when one was
// not acknowledged by the time of the next.
func (c *conn) beat() {
	defer c.close()
	// Discord asks for a random part of the interval before the first.
	for wait := rand.N(c.interval); ; wait = c.interval {
		select {
		case <-time.After(wait):
		case <-c.closed:
			return
		}
		if !c.acked.Swap(false) || c.write(opHeartbeat, c.sequence.Load()) != nil {
			return
		}
	}
}

func (c *conn) write(op int, data any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ws.SetWriteDeadline(time.Now().Add(writeTime))
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
		return packet{}, ended(err)
	}
	var p packet
	if json.Unmarshal(raw, &p) != nil {
		c.adapter.Count("malformed")
		return packet{Op: -1}, nil
	}
	return p, nil
}

// ended words the end of a connection without the text that the peer gave.
func ended(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		if err, ok := fatalCloses[closed.Code]; ok {
			return err
		}
		return fmt.Errorf("the gateway closed the connection with code %d", closed.Code)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the gateway fell silent")
	}
	return fmt.Errorf("read from the gateway: %w", err)
}
