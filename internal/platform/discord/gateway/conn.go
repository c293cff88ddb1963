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
	// closeToResume is a close code after which Discord keeps the session. After 1000 or 1001, Discord would end it.
	closeToResume = 4000
	// maxPacket is the maximum size of a packet in bytes. READY lists up to 2,500 guilds.
	maxPacket = 16 << 20
	// writeTimeout is the time limit for one write. A peer may have stopped reading.
	writeTimeout = 10 * time.Second
)

// packet is what the gateway sends. Only an event has a Type and a Sequence. Other packets are told apart by Op.
type packet struct {
	Op       int             `json:"op"`
	Data     json.RawMessage `json:"d"`
	Sequence int64           `json:"s"` // the number of the event in its session, from 1
	Type     string          `json:"t"`
}

// isReady reports whether p is the event that begins or resumes a session.
func (p packet) isReady() bool { return p.Type == "READY" || p.Type == "RESUMED" }

// conn is one connection to the gateway. The goroutine of serve reads packets and also calls receive, because a second
// goroutine would delay each interaction.
type conn struct {
	*Gateway
	ws         *websocket.Conn
	receive    Receive
	interval   time.Duration  // between two heartbeats
	background sync.WaitGroup // the goroutines that send heartbeats and the status
	writing    sync.Mutex
	beatAt     atomic.Pointer[time.Time] // when the last heartbeat was sent
}

// serve handles the connection from Hello to its end. It blocks until then, and returns why the connection ended. It
// ends the connection if no heartbeat is acknowledged for two intervals.
func (c *conn) serve(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer c.background.Wait()
	defer c.close(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { c.close(ctx) })() // A read ignores ctx, but fails once c is closed.
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
		if p.isReady() && c.Status != nil {
			c.background.Go(func() { c.showStatus(running) })
		}
		isAcknowledged := p.Op == opACK && c.Alive()
		if p.isReady() || isAcknowledged {
			_ = c.ws.SetReadDeadline(time.Now().Add(2 * c.interval))
		}
	}
}

// readHello reads the first packet, and sets the interval from it. It sets the deadline for READY or RESUMED.
func (c *conn) readHello() error {
	c.ws.SetReadLimit(maxPacket)
	_ = c.ws.SetReadDeadline(time.Now().Add(helloTimeout))
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
	_ = c.ws.SetReadDeadline(time.Now().Add(readyTimeout))
	return nil
}

// sendHeartbeats sends a heartbeat every interval. It blocks until ctx is done. It sends the first one after a random
// part of the interval, as Discord requires.
func (c *conn) sendHeartbeats(ctx context.Context) {
	for wait := rand.N(c.interval); transport.Sleep(ctx, wait); wait = c.interval {
		c.heartbeat()
	}
}

// close closes the connection. If ctx is done, the bot ends, so Discord also ends the session.
func (c *conn) close(ctx context.Context) {
	code := closeToResume
	if ctx.Err() != nil {
		code = websocket.CloseNormalClosure
	}
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	c.ws.Close()
}

// read blocks for the next packet and returns it. Its error contains no text from the peer. It is an api.FatalError if
// no later connection can succeed.
func (c *conn) read() (p packet, err error) {
	_, raw, err := c.ws.ReadMessage()
	closed, isClosed := errors.AsType[*websocket.CloseError](err)
	switch {
	case isClosed:
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

// identifyOrResume resumes the session if there is one, and otherwise identifies, which begins a new one. It identifies
// without intents, because interactions need none.
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

// handle handles one packet. It returns an error if the packet ends the connection.
func (c *conn) handle(p packet) error {
	if p.Sequence > 0 {
		c.sequence.Store(p.Sequence)
	}
	switch {
	case p.Type == "INTERACTION_CREATE":
		isReplayed := !c.Alive() // Discord replays events before RESUMED.
		c.receive(p.Data, isReplayed)
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

// established marks the bot as connected after READY or RESUMED, counts event and calls Connected.
func (c *conn) established(event string) {
	c.alive.Store(true)
	c.Count(event)
	c.Connected(c.name)
}

// handleReady sets the bot's name and the session from READY. If the URL to resume at is not safe, it sets no session,
// and the next connection identifies.
func (c *conn) handleReady(data json.RawMessage) {
	var ready struct {
		SessionID string `json:"session_id"`
		ResumeURL string `json:"resume_gateway_url"`
		User      struct {
			Name string `json:"username"`
		} `json:"user"`
	}
	_ = json.Unmarshal(data, &ready) // If it fails, the URL is "", which is not safe.
	c.name = ready.User.Name
	if resumeURL, err := c.checkURL(ready.ResumeURL); err == nil {
		c.session = &session{id: ready.SessionID, url: resumeURL}
	}
}

// heartbeat sends a heartbeat, and sets beatAt for Latency.
func (c *conn) heartbeat() {
	now := time.Now()
	c.beatAt.Store(&now)
	var sequence any // null before the first event
	if n := c.sequence.Load(); n > 0 {
		sequence = n
	}
	c.write(opHeartbeat, sequence)
}

// showStatus sends the status now, and every statusEvery if it has changed. It blocks until ctx is done. It sends the
// first status even if it is empty, because a resumed session may still show an older status.
func (c *conn) showStatus(ctx context.Context) {
	var shown string
	isFirst := true
	for ctx.Err() == nil {
		text := c.Status(ctx)
		if ctx.Err() != nil {
			return
		}
		if isFirst || text != shown {
			c.sendStatus(text)
		}
		shown = text
		isFirst = false
		transport.Sleep(ctx, statusEvery)
	}
}

// sendStatus sends a status. An empty text removes the status.
// https://discord.com/developers/docs/events/gateway-events#update-presence
func (c *conn) sendStatus(text string) {
	activities := []any{}
	if text != "" {
		// A custom status shows its state. Its name is required and not shown. discordgo's type would send a time in a form
		// that Discord refuses.
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

// write sends a packet. If that fails, it closes the connection, so that read fails too.
func (c *conn) write(op int, data any) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	if c.ws.WriteJSON(map[string]any{"op": op, "d": data}) != nil {
		c.ws.Close()
	}
}
