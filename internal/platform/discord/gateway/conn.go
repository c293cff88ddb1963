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
	// closeToResume is the code that closes a connection and keeps its session. Discord
	// drops the session at 1000 and 1001.
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

// conn is one connection to the gateway. The goroutine of serve reads packets and calls
// receive itself: handing over to another goroutine would delay each interaction.
type conn struct {
	*Gateway
	ws         *websocket.Conn
	receive    Receive
	interval   time.Duration  // between two heartbeats
	background sync.WaitGroup // the goroutines that send heartbeats and the status
	writing    sync.Mutex
	beatAt     atomic.Pointer[time.Time] // when the last heartbeat was sent
}

// serve blocks from Hello until the connection ends, and returns why it ended. It closes
// the connection when no heartbeat was acknowledged for two intervals.
func (c *conn) serve(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer c.background.Wait()
	defer c.close(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { c.close(ctx) })() // a read ignores ctx, but fails then
	if err := c.readHello(); err != nil {
		return err
	}
	c.identifyOrResume()
	c.background.Go(func() { c.sendHeartbeats(running) })
	for {
		p, err := c.read()
		if err == nil {
			err = c.handle(p)
		}
		if err != nil {
			return err
		}
		ready := p.Type == "READY" || p.Type == "RESUMED"
		if ready && c.Status != nil {
			c.background.Go(func() { c.showStatus(running) })
		}
		if ready || p.Op == opACK && c.Alive() {
			_ = c.ws.SetReadDeadline(time.Now().Add(2 * c.interval))
		}
	}
}

// readHello reads the first packet, and sets the interval from it. It sets the deadline
// for READY to readyTime from now.
func (c *conn) readHello() error {
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
	c.interval = time.Duration(hello.Interval) * time.Millisecond
	if p.Op != opHello || err != nil || c.interval <= 0 {
		return errors.New("the gateway did not begin with Hello")
	}
	_ = c.ws.SetReadDeadline(time.Now().Add(readyTime))
	return nil
}

// sendHeartbeats sends one every interval until ctx is done, the first after a random
// part of the interval, as Discord asks.
func (c *conn) sendHeartbeats(ctx context.Context) {
	for wait := rand.N(c.interval); transport.Sleep(ctx, wait); wait = c.interval {
		c.heartbeat()
	}
}

// close closes the connection. If ctx is done, it makes Discord end the session too.
func (c *conn) close(ctx context.Context) {
	code := closeToResume
	if ctx.Err() != nil {
		code = websocket.CloseNormalClosure
	}
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	c.ws.Close()
}

// read returns the next packet. Its error holds no text of the peer.
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
		return p, errors.New("the gateway sent a packet that is not JSON")
	}
	return p, nil
}

// identifyOrResume resumes the session if there is one, and otherwise asks for a new one. It
// asks for no intents, because interactions need none.
func (c *conn) identifyOrResume() {
	if s := c.session; s != nil {
		c.write(opResume, map[string]any{"token": c.Token.Reveal(), "session_id": s.id, "seq": c.sequence.Load()})
		return
	}
	c.sequence.Store(0)
	c.noteIdentify()
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
		c.receive(p.Data, !c.Alive())
	case p.Type == "READY":
		c.handleReady(p.Data)
		c.established("connected")
	case p.Type == "RESUMED" && c.session != nil:
		c.session.resumes = 0
		c.established("resumed")
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

// established marks the gateway as alive after READY or RESUMED, counts event and calls
// Connected.
func (c *conn) established(event string) {
	c.alive.Store(true)
	c.Count(event)
	c.Connected(c.name)
}

// handleReady sets the bot's name from READY. It sets the session if the URL to resume at
// is safe; otherwise the next connection identifies.
func (c *conn) handleReady(data json.RawMessage) {
	var ready struct {
		SessionID string `json:"session_id"`
		ResumeURL string `json:"resume_gateway_url"`
		User      struct {
			Name string `json:"username"`
		} `json:"user"`
	}
	_ = json.Unmarshal(data, &ready) // on failure the URL is empty, which is not safe
	c.name = ready.User.Name
	if address, err := c.checkAddress(ready.ResumeURL); err == nil {
		c.session = &session{id: ready.SessionID, address: address}
	}
}

// heartbeat sends a heartbeat, and notes when for Latency.
func (c *conn) heartbeat() {
	now := time.Now()
	c.beatAt.Store(&now)
	var sequence any // null before there is one
	if n := c.sequence.Load(); n > 0 {
		sequence = n
	}
	c.write(opHeartbeat, sequence)
}

// showStatus sends the status now, and every statusEvery if it has changed. It blocks
// until ctx is done. It also sends an empty first status, because a resumed session may
// still show an older one.
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
			// A custom status shows its state. Its name is required and not shown.
			// discordgo's type would send a time in a form that Discord refuses.
			activities = append(activities, map[string]any{
				"name":  "Custom Status",
				"type":  discordgo.ActivityTypeCustom,
				"state": text,
			})
		}
		c.write(opPresence, map[string]any{
			"since":      nil,
			"activities": activities,
			"status":     discordgo.StatusOnline,
			"afk":        false,
		})
	}
}

// write sends a packet. It closes the connection if that fails, so that read fails too.
func (c *conn) write(op int, data any) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if c.ws.WriteJSON(map[string]any{"op": op, "d": data}) != nil {
		c.ws.Close()
	}
}
