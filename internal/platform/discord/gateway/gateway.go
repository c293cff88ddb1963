// Package gateway keeps one connection to Discord's gateway, for the interactions of slash commands and for the bot's
// status. It handles Hello, heartbeats, identify, resume, backoff and close codes. It does not read interactions.
//
// It uses discordgo's types but not its Session. Session locks up for ever if Discord asks for a reconnect before
// READY, identifies again each time that Discord invalidates a session, ignores the address at which to resume, and
// hides close codes. These cannot be turned off, and too many identifies make Discord reset the bot's token.
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

	"herald/internal/platform/discord/api"
	"herald/internal/ratelimit"
	"herald/internal/secret"
	"herald/internal/transport"
)

// The limits of identifies. https://discord.com/developers/docs/events/gateway#session-start-limit-object
var (
	// identifyBudget allows 970 identifies a day. Beyond 1,000 a day, Discord resets the bot's token.
	identifyBudget = ratelimit.Limit{Key: "budget", Burst: 10, Every: 90 * time.Second}
	// identifyGap keeps the session: if a bot identifies again within 5 seconds, Discord invalidates it.
	identifyGap = ratelimit.Limit{Key: "gap", Burst: 1, Every: 5 * time.Second}
)

const (
	// helloTime bounds the wait until the websocket is open, and then the wait for Hello.
	helloTime = 5 * time.Second
	// readyTime bounds the wait from Hello to READY.
	readyTime = 20 * time.Second
	// maxPause bounds the wait between two attempts to connect. It is short because only
	// identifies must be rare.
	maxPause = 5 * time.Second
	// stableAfter is the least time between two lost connections with which the bot resumes the
	// second without a pause.
	stableAfter = time.Minute
	// maxResumes bounds the attempts in a row to resume one session. After them, the
	// interactions that Discord would replay are too old to be answered.
	maxResumes = 3
	// statusEvery is how often the status is updated. Discord takes 5 updates in 20
	// seconds.
	statusEvery = time.Minute
)

// Config is what a Gateway works with. All but Insecure, Dial and Status are
// required.
type Config struct {
	Token secret.Value
	// API is asked for the gateway's address, and for how many sessions Discord
	// will start today.
	API *api.Client
	// Insecure allows a gateway without TLS.
	Insecure bool
	// Dial connects to the gateway; nil: by TCP, through the environment's proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger
	// Count is called with one of these: identified, connected, resumed,
	// disconnected, identify_throttled. It must not block.
	Count func(event string)
	// Connected is called with the bot's name at every READY and RESUMED. It must
	// not block.
	Connected func(name string)
	// Lost is called with the error of each connection that could not be made, or was lost within
	// stableAfter of the one before. It must not block.
	Lost func(err error)
	// Status returns the text under the bot's name in member lists, at most 128
	// characters; empty shows none. It is called on every connection and then every
	// minute, and must return when ctx is done. nil: there is no status.
	Status func(ctx context.Context) string
}

// Gateway is the bot's side of the connection.
type Gateway struct {
	Config
	alive    atomic.Bool
	latency  atomic.Int64 // of the last heartbeat, in nanoseconds
	sequence atomic.Int64 // of the session's newest dispatch, 0 before the first

	// The fields below are used by Run's goroutine alone.
	session  *session  // nil: the next connection identifies
	name     string    // the bot's
	failures int       // calls of connect in a row without READY or RESUMED
	lostAt   time.Time // when a connection with READY or RESUMED last ended

	identifies *ratelimit.Memory // by identifyBudget and identifyGap
}

// session outlives its connection: when it is resumed, Discord replays what the bot
// missed. https://discord.com/developers/docs/events/gateway#resuming
type session struct {
	id      string
	address string // the URL to resume at
	resumes int    // attempts to resume since the last READY or RESUMED
}

// New returns a Gateway that is not connected.
func New(c Config) *Gateway { return &Gateway{Config: c, identifies: ratelimit.NewMemory()} }

// Alive reports whether the gateway is connected: READY or RESUMED came, and heartbeats
// are acknowledged.
func (g *Gateway) Alive() bool { return g.alive.Load() }

// Latency returns the round-trip time of the last heartbeat, or 0 before the first.
func (g *Gateway) Latency() time.Duration { return time.Duration(g.latency.Load()) }

// fatalCloses has the errors for the close codes after which no connection can succeed.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
var fatalCloses = map[int]api.FatalError{
	4004: api.ErrToken,
	4010: "DISCORD_BOT_TOKEN: Discord wants another shard than 0 of 1 (close code 4010)",
	4011: "DISCORD_PUBLIC_KEY: must be set, to take interactions by HTTP: the bot is in too many guilds for " +
		"one gateway connection (close code 4011)",
	4012: "DISCORD_API_URL: the gateway does not speak this version of the API (close code 4012)",
	4013: "DISCORD_API_URL: the gateway refuses a connection without intents (close code 4013)",
	4014: "DISCORD_BOT_TOKEN: the application lacks an intent that the gateway wants (close code 4014)",
}

// Receive is called with the data of each INTERACTION_CREATE, and must not block. A
// replayed interaction is late, and may have been received before.
type Receive func(interaction json.RawMessage, replayed bool)

// Run keeps the bot connected until ctx is done and then returns nil. It returns an
// api.FatalError if no later connection can succeed.
//
// Run resumes a lost connection at once, or after 1 to 2 seconds if the one before was
// lost within stableAfter. While connecting fails, the pauses grow to maxPause. A pause is
// no shorter than Discord's Retry-After, up to api.TokenLife. Run asks for a new session
// only after Discord refused to resume, or after maxResumes.
func (g *Gateway) Run(ctx context.Context, receive Receive) error {
	for {
		err := g.connect(ctx, receive)
		connected := g.alive.Swap(false)
		if ctx.Err() != nil {
			return nil
		}
		if fatal, is := errors.AsType[api.FatalError](err); is {
			return fatal
		}
		stable := connected && time.Since(g.lostAt) >= stableAfter // lostAt is of the connection before
		if !stable {
			g.Lost(err)
		}
		_, atLeast := api.Retryable(err)
		pause := max(g.pauseAfter(connected, stable), min(atLeast, api.TokenLife))
		g.Log.Debug("no connection to the gateway, trying again", "err", err, "pause", pause)
		g.Count("disconnected")
		if !transport.Sleep(ctx, pause) {
			return nil
		}
	}
}

// pauseAfter notes whether a call of connect has connected, and returns the pause before the
// next call. stable says that it connected, stableAfter or longer after the last loss.
func (g *Gateway) pauseAfter(connected, stable bool) time.Duration {
	g.failures++
	if connected {
		g.failures, g.lostAt = 0, time.Now()
	}
	if stable && g.session != nil {
		return 0
	}
	return transport.Backoff{First: 2 * time.Second, Max: maxPause}.After(max(1, g.failures))
}

// connect serves one connection and returns why it ended.
func (g *Gateway) connect(ctx context.Context, receive Receive) error {
	address, err := g.nextAddress(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{NetDialContext: g.Dial, Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloTime}
	ws, _, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", transport.Clean(err))
	}
	c := &conn{Gateway: g, ws: ws, receive: receive}
	return c.serve(ctx)
}

// nextAddress returns the URL to connect to. To resume the session, that is the session's, and
// the attempt is counted. Otherwise nextAddress drops the session, asks Discord for the URL, and
// blocks until the bot may identify.
func (g *Gateway) nextAddress(ctx context.Context) (string, error) {
	if g.session != nil && g.session.resumes < maxResumes {
		g.session.resumes++
		return g.session.address, nil
	}
	g.session = nil
	var resp discordgo.GatewayBotResponse
	if err := g.API.Call(ctx, http.MethodGet, discordgo.EndpointGatewayBot, nil, &resp); err != nil {
		return "", fmt.Errorf("ask for the gateway: %w", err)
	}
	if wait := g.budgetWait(ctx, resp.SessionStartLimit); wait > 0 {
		g.Count("identify_throttled")
		g.Log.Error("identified too often, waiting", "wait", wait)
		if !transport.Sleep(ctx, wait) {
			return "", ctx.Err()
		}
	}
	if !transport.Sleep(ctx, g.identifies.Peek(ctx, identifyGap)) {
		return "", ctx.Err()
	}
	return g.checkAddress(resp.URL)
}

// budgetWait returns how long the bot must wait before it identifies, by its own budget and by Discord's. It returns
// 0 if the bot may identify now.
func (g *Gateway) budgetWait(ctx context.Context, limit discordgo.SessionInformation) time.Duration {
	wait := g.identifies.Peek(ctx, identifyBudget)
	if limit.Total > 0 && limit.Remaining <= 0 {
		wait = max(wait, time.Duration(limit.ResetAfter)*time.Millisecond)
	}
	return wait
}

// noteIdentify counts an identify that is sent now. nextAddress has waited for its slots.
func (g *Gateway) noteIdentify() {
	g.identifies.Reserve(context.Background(), ratelimit.MaxAhead, identifyBudget, identifyGap)
}

// checkAddress returns Discord's URL with the API version and the encoding. It fails if the URL
// has no TLS and Insecure is not set: the bot's token is sent there.
func (g *Gateway) checkAddress(given string) (string, error) {
	address, err := url.Parse(given)
	if err != nil || address.Host == "" || address.Scheme != "wss" && (address.Scheme != "ws" || !g.Insecure) {
		return "", errors.New("the gateway's address is not a wss:// URL")
	}
	address.RawQuery = url.Values{"v": {discordgo.APIVersion}, "encoding": {"json"}}.Encode()
	return address.String(), nil
}
