// Package gateway keeps one connection to Discord's gateway, for the interactions of slash commands and for the bot's
// status. It does not parse interactions.
//
// The gateway greets each connection with Hello. The bot then identifies, which begins a session, and Discord answers
// READY. While connected, the bot sends heartbeats, which Discord acknowledges. If the connection is lost, the bot can
// resume the session on another connection: Discord replays what the bot missed, and sends RESUMED. If a bot identifies
// too often, Discord resets its token, so the bot resumes whenever it can.
//
// The package uses discordgo's types but not its Session. A Session blocks forever if Discord asks for a reconnect
// before READY, identifies again each time that Discord invalidates a session, ignores the URL to resume at, and hides
// close codes. None of that can be turned off.
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
	// identifyGap spaces identifies. If a bot identifies again within 5 seconds, Discord invalidates the session.
	identifyGap = ratelimit.Limit{Key: "gap", Burst: 1, Every: 5 * time.Second}
)

const (
	// helloTimeout limits the wait until the websocket is open, and then the wait for Hello.
	helloTimeout = 5 * time.Second
	// readyTimeout limits the wait from Hello to READY or RESUMED.
	readyTimeout = 20 * time.Second
	// maxPause is the maximum wait between two attempts to connect. It is short, because only identifies must be rare.
	maxPause = 5 * time.Second
	// stableAfter is the minimum time between two lost connections. After a shorter time, the bot pauses before it
	// resumes.
	stableAfter = time.Minute
	// maxResumes is the maximum number of attempts in a row to resume one session. After them, the interactions that
	// Discord would replay are too old to be answered.
	maxResumes = 3
	// statusEvery is how often the status is updated. Discord accepts 5 updates in 20 seconds.
	statusEvery = time.Minute
)

// Config is what a Gateway works with. Insecure, Dial and Status may be zero.
type Config struct {
	Token secret.Value
	// API is asked for the gateway's URL, and for how many sessions Discord will start today.
	API *api.Client
	// Insecure allows a gateway without TLS.
	Insecure bool
	// Dial connects to the gateway. If it is nil, the connection is made by TCP, through the environment's proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger
	// Count is called with one of these events: identified, connected, resumed, disconnected, identify_throttled. It
	// must not block.
	Count func(event string)
	// Connected is called with the bot's name at every READY and RESUMED. It must not block.
	Connected func(name string)
	// Lost is called with the error of each connection that could not be made, or was lost less than stableAfter after
	// another. It must not block.
	Lost func(err error)
	// Status returns the text under the bot's name in member lists, at most 128 characters, or "" to show none. It is
	// called on every connection, and then once per statusEvery. It must return when ctx is done. If Status is nil, the
	// bot has no status.
	Status func(ctx context.Context) string
}

// Gateway is the bot's side of the connection.
type Gateway struct {
	Config
	alive    atomic.Bool
	latency  atomic.Int64 // of the last heartbeat, in nanoseconds
	sequence atomic.Int64 // the sequence number of the session's newest event, or 0 before the first

	// The fields below are used only by Run's goroutine.

	session  *session  // the session to resume; if it is nil, the next connection identifies
	name     string    // the bot's name
	failures int       // how many connections in a row were not made, or ended before READY or RESUMED
	lostAt   time.Time // when the last connection that had READY or RESUMED was lost

	identifies *ratelimit.Memory // counts identifyBudget and identifyGap
}

// session is a session that can be resumed on another connection.
// https://discord.com/developers/docs/events/gateway#resuming
type session struct {
	id      string
	url     string // where to resume it
	resumes int    // attempts to resume it since the last READY or RESUMED
}

// New returns a Gateway that is not connected.
func New(c Config) *Gateway { return &Gateway{Config: c, identifies: ratelimit.NewMemory()} }

// Alive reports whether the bot is connected: the connection had READY or RESUMED, and has not ended.
func (g *Gateway) Alive() bool { return g.alive.Load() }

// Latency returns the round-trip time of the last heartbeat, or 0 before the first.
func (g *Gateway) Latency() time.Duration { return time.Duration(g.latency.Load()) }

// fatalCloses maps the close codes after which no connection can succeed to errors.
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

// Receive is called with the data of each INTERACTION_CREATE. It must not block. A replayed interaction is late, and
// may have been received before.
type Receive func(interaction json.RawMessage, replayed bool)

// Run keeps the bot connected. It blocks until ctx is done, and then returns nil. It returns an api.FatalError if no
// later connection can succeed.
//
// After a lost connection, Run resumes the session at once, or after 1 to 2 seconds if another connection was lost less
// than stableAfter ago. While connections cannot be made, the pauses grow to maxPause. A pause is never shorter than
// Discord's Retry-After, up to api.TokenLife. Run begins a new session only if Discord refuses to resume the old one,
// or after maxResumes attempts.
func (g *Gateway) Run(ctx context.Context, receive Receive) error {
	for {
		err := g.connect(ctx, receive)
		end := g.noteEnd()
		if ctx.Err() != nil {
			return nil
		}
		if fatal, isFatal := errors.AsType[api.FatalError](err); isFatal {
			return fatal
		}
		if end != stable {
			g.Lost(err)
		}
		_, minWait := api.Retryable(err)
		pause := max(g.pauseAfter(end), min(minWait, api.TokenLife))
		g.Log.Debug("no connection to the gateway, trying again", "err", err, "pause", pause)
		g.Count("disconnected")
		if !transport.Sleep(ctx, pause) {
			return nil
		}
	}
}

// ending is how a connection ended.
type ending int

const (
	// notConnected: the connection was not made, or ended before READY or RESUMED.
	notConnected ending = iota
	// unstable: the connection was lost after READY or RESUMED, and another one less than stableAfter before.
	unstable
	// stable: the connection was lost after READY or RESUMED, and no other one less than stableAfter before.
	stable
)

// noteEnd marks the bot as not connected, and returns how the connection ended.
func (g *Gateway) noteEnd() ending {
	wasConnected := g.alive.Swap(false)
	if !wasConnected {
		g.failures++
		return notConnected
	}
	end := unstable
	if time.Since(g.lostAt) >= stableAfter {
		end = stable
	}
	g.failures = 0
	g.lostAt = time.Now()
	return end
}

// pauseAfter returns the pause before the next connection.
func (g *Gateway) pauseAfter(end ending) time.Duration {
	if end == stable && g.session != nil {
		return 0
	}
	return transport.Backoff{First: 2 * time.Second, Max: maxPause}.After(max(1, g.failures))
}

// connect makes one connection and serves it. It blocks until the connection ends, and returns why it ended.
func (g *Gateway) connect(ctx context.Context, receive Receive) error {
	address, err := g.nextURL(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{NetDialContext: g.Dial, Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloTimeout}
	ws, _, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", transport.Clean(err))
	}
	c := &conn{Gateway: g, ws: ws, receive: receive}
	return c.serve(ctx)
}

// nextURL returns the URL to connect to. If there is a session that may be resumed once more, it counts the attempt and
// returns the session's URL. Otherwise, it forgets the session, asks Discord for the URL, and blocks until the bot may
// identify.
func (g *Gateway) nextURL(ctx context.Context) (string, error) {
	if g.session != nil && g.session.resumes < maxResumes {
		g.session.resumes++
		return g.session.url, nil
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
	return g.checkURL(resp.URL)
}

// budgetWait returns how long the bot must wait before it identifies: until its own budget and Discord's both allow it.
func (g *Gateway) budgetWait(ctx context.Context, limit discordgo.SessionInformation) time.Duration {
	wait := g.identifies.Peek(ctx, identifyBudget)
	if limit.Total > 0 && limit.Remaining <= 0 {
		wait = max(wait, time.Duration(limit.ResetAfter)*time.Millisecond)
	}
	return wait
}

// noteIdentify counts an identify that is about to be sent. nextURL has already waited for the slots.
func (g *Gateway) noteIdentify() {
	g.identifies.Reserve(context.Background(), ratelimit.MaxAhead, identifyBudget, identifyGap)
}

// checkURL returns Discord's URL with the API version and the encoding. Unless Insecure is set, it fails if the URL
// does not use TLS, because the bot's token is sent there.
func (g *Gateway) checkURL(given string) (string, error) {
	parsed, err := url.Parse(given)
	isAllowed := err == nil && parsed.Host != "" &&
		(parsed.Scheme == "wss" || (parsed.Scheme == "ws" && g.Insecure))
	if !isAllowed {
		return "", errors.New("the gateway's address is not a wss:// URL")
	}
	parsed.RawQuery = url.Values{"v": {discordgo.APIVersion}, "encoding": {"json"}}.Encode()
	return parsed.String(), nil
}
