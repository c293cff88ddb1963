// Package gateway keeps one connection to Discord's gateway, for the
// interactions of slash commands: Hello, heartbeats, identify, resume, back-off
// and close codes; and for the bot's status. It knows nothing of what is in an
// interaction.
//
// It uses discordgo's types but not its Session, which locks up for ever when
// Discord asks for a reconnect before READY, identifies again by itself as
// often as Discord invalidates a session, ignores the address to resume at, and
// hides the code that a connection was closed with. None of it can be turned
// off, and too many identifies make Discord reset the bot's token. So this
// package speaks the few opcodes that interactions need on a websocket of its
// own.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"herald/internal/secret"
	"herald/internal/transport"
)

// Discord resets the token of a bot that identifies more than 1,000 times a
// day; 960 leave it no way to get there, whatever fails and how.
// https://discord.com/developers/docs/events/gateway#session-start-limit-object
const (
	maxIdentifies  = 10
	identifyWindow = 15 * time.Minute
)

const (
	// handshakeTime bounds the wait for the websocket, for Hello, and for READY.
	handshakeTime = 20 * time.Second
	// stableAfter is how long a connection lasts that was no failure.
	stableAfter = time.Minute
)

// maxResumes is how often in a row resuming one session is tried. What it would
// replay after that is too old to be answered.
const maxResumes = 3

// Config is what a Gateway works with. All but Insecure and Dial are required.
type Config struct {
	Token secret.Value
	// Ask makes the call GET /gateway/bot, which returns the gateway's address
	// and how many sessions Discord will start today. With a FatalError, Run
	// ends.
	Ask func(context.Context) (discordgo.GatewayBotResponse, error)
	// Insecure allows a gateway without TLS, for a REST origin without it.
	Insecure bool
	// Dial connects to the gateway; nil is by TCP, through the proxy of the
	// environment.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger
	// Count is called with one of these: identified, connected, resumed,
	// disconnected, identify_held, malformed. It must not block.
	Count func(event string)
	// Connected is called with the bot's name at every READY and RESUMED. It must
	// not block.
	Connected func(name string)
}

// Gateway is the bot's side of the connection.
type Gateway struct {
	Config
	alive atomic.Bool
	// status is shown in the member list; changed wakes the connection to send it.
	status  atomic.Pointer[string]
	changed chan struct{}
	latency atomic.Int64 // nanoseconds

	// What follows is used by Run and what it calls, and outlives a connection.
	name        string                   // the bot's, by the last READY
	session     *session                 // nil: there is none to resume
	sequence    int64                    // of the newest dispatch of the session, 0 before one
	connectedAt time.Time                // READY or RESUMED came; zero before
	identified  [maxIdentifies]time.Time // the newest identifies, the newest last
}

// session is what Discord keeps of a lost connection, to replay what the bot
// missed. https://discord.com/developers/docs/events/gateway#resuming
type session struct {
	id      string
	address string // where to resume
	resumes int    // in a row, that have not succeeded yet
}

// New makes a Gateway that has not connected to anything.
func New(c Config) *Gateway {
	return &Gateway{Config: c, changed: make(chan struct{}, 1)}
}

// Alive reports whether the gateway is connected: it said READY or RESUMED, and
// acknowledges heartbeats.
func (g *Gateway) Alive() bool { return g.alive.Load() }

// Show puts a text of at most 128 characters under the bot's name in member
// lists, in every session from now on; empty takes it away. It does not block.
// Discord takes at most 5 changes in 20 seconds: callers leave a few seconds
// between two.
func (g *Gateway) Show(text string) {
	g.status.Store(&text)
	select {
	case g.changed <- struct{}{}:
	default: // The connection is yet to look, and will find it.
	}
}

// Latency is how long the last acknowledged heartbeat took to be; 0 before the
// first.
func (g *Gateway) Latency() time.Duration { return time.Duration(g.latency.Load()) }

// FatalError is a fault of the settings: no later connection will succeed.
type FatalError struct{ Problem string }

func (e *FatalError) Error() string { return e.Problem }

// ErrToken is the FatalError of a token that Discord refuses.
var ErrToken error = &FatalError{"DISCORD_BOT_TOKEN: Discord refuses it"}

// fatalCloses are the codes after which Discord forbids to connect again.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
var fatalCloses = map[int]error{
	4004: ErrToken,
	4010: &FatalError{"DISCORD_BOT_TOKEN: Discord wants another shard than 0 of 1 (close code 4010)"},
	4011: &FatalError{"DISCORD_PUBLIC_KEY: the bot is in too many guilds for one gateway connection; " +
		"set it to take interactions by HTTP (close code 4011)"},
	4012: &FatalError{"DISCORD_API_URL: the gateway does not speak API v" + discordgo.APIVersion + " (close code 4012)"},
	4013: &FatalError{"DISCORD_API_URL: the gateway refuses to send no intents (close code 4013)"},
	4014: &FatalError{"DISCORD_BOT_TOKEN: the application lacks an intent that the gateway wants (close code 4014)"},
}

// Run keeps the connection until ctx is done and then returns nil. It calls
// take, which must not block, with the data of each INTERACTION_CREATE;
// replayed ones come late, and may have been taken before. It returns a
// FatalError when no later connection would succeed.
//
// A lost connection is resumed at once, and then after growing pauses. There is
// a new session only if Discord refuses to resume, or does not answer.
func (g *Gateway) Run(ctx context.Context, take func(interaction json.RawMessage, replayed bool)) error {
	for failures := 1; ; failures++ {
		g.connectedAt = time.Time{}
		err := g.connect(ctx, take)
		g.alive.Store(false)
		if ctx.Err() != nil {
			return nil
		}
		if fatal, ok := errors.AsType[*FatalError](err); ok {
			return fatal
		}
		if !g.connectedAt.IsZero() && time.Since(g.connectedAt) >= stableAfter {
			failures = 1
		}
		pause := g.pause(failures)
		g.Log.Warn("no connection to the gateway, trying again", "err", err, "pause", pause)
		g.Count("disconnected")
		if !transport.Sleep(ctx, pause) {
			return nil
		}
	}
}

// pause is how long to wait after so many failures in a row.
func (g *Gateway) pause(failures int) time.Duration {
	if g.session != nil {
		failures-- // the first attempt to resume is at once
	}
	if failures == 0 {
		return 0
	}
	// Discord asks for 1 to 5 seconds before another identify.
	return transport.Backoff{First: 2 * time.Second, Max: time.Minute}.After(failures)
}

// connect serves one connection and returns why it ended.
func (g *Gateway) connect(ctx context.Context, take func(json.RawMessage, bool)) error {
	address, err := g.address(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{NetDialContext: g.Dial, Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeTime}
	ws, _, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", transport.Clean(err))
	}
	return (&conn{Gateway: g, ws: ws, take: take}).serve(ctx)
}

// address is where to connect: where the session can be resumed, or where
// Discord starts another, once it may be asked for one.
func (g *Gateway) address(ctx context.Context) (string, error) {
	if g.session != nil && g.session.resumes < maxResumes {
		g.session.resumes++
		return g.session.address, nil
	}
	g.session = nil
	if wait := time.Until(g.identified[0].Add(identifyWindow)); wait > 0 {
		g.Count("identify_held")
		g.Log.Error("connected too often, waiting", "wait", wait)
		if !transport.Sleep(ctx, wait) {
			return "", ctx.Err()
		}
	}
	told, err := g.Ask(ctx)
	if err != nil {
		return "", fmt.Errorf("ask for the gateway: %w", err)
	}
	if limit := told.SessionStartLimit; limit.Total > 0 && limit.Remaining <= 0 {
		reset := time.Duration(limit.ResetAfter) * time.Millisecond
		g.Count("identify_held")
		g.Log.Error("no session is left for this bot, waiting", "wait", reset)
		transport.Sleep(ctx, reset)
		return "", errors.New("ask for the gateway: no session was left")
	}
	return g.checkAddress(told.URL)
}

// checkAddress completes an address that Discord told. The bot's token goes
// there, so it must be as well protected as the REST origin.
func (g *Gateway) checkAddress(told string) (string, error) {
	address, err := url.Parse(told)
	if err != nil || address.Host == "" || address.Scheme != "wss" && (address.Scheme != "ws" || !g.Insecure) {
		return "", errors.New("the gateway's address is not a wss:// URL")
	}
	address.RawQuery = url.Values{"v": {discordgo.APIVersion}, "encoding": {"json"}}.Encode()
	return address.String(), nil
}
