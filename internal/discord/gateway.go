package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"herald/internal/transport"
)

// Discord resets the token of a bot that identifies more than 1,000 times a
// day; 960 leave it no way to get there, whatever fails and how.
// https://discord.com/developers/docs/events/gateway#session-start-limit-object
const (
	maxIdentifies  = 10
	identifyWindow = 15 * time.Minute
)

// link is what is known of the connection to the gateway.
type link struct {
	// until is the Unix time in nanoseconds up to which the connection counts
	// as alive, 0 while there is none.
	until atomic.Int64
	// identified are the times of the newest identifies; only serveGateway
	// and what it calls use it.
	identified []time.Time
}

func (l *link) alive() bool { return time.Now().UnixNano() < l.until.Load() }

// wait is how long the next identify has to.
func (l *link) wait() time.Duration {
	if len(l.identified) < maxIdentifies {
		return 0
	}
	return time.Until(l.identified[len(l.identified)-maxIdentifies].Add(identifyWindow))
}

func (l *link) identify() {
	l.identified = append(l.identified, time.Now())
	l.identified = l.identified[max(0, len(l.identified)-maxIdentifies):]
}

// fatalError is a fault of the settings: no other connection will fare better.
type fatalError struct{ text string }

func (e *fatalError) Error() string { return e.text }

// fatalCloses are the codes after which Discord forbids to connect again.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
var fatalCloses = map[int]error{
	4004: errToken,
	4010: &fatalError{"DISCORD_BOT_TOKEN: Discord wants another shard than 0 of 1 (close code 4010)"},
	4011: &fatalError{"DISCORD_PUBLIC_KEY: the bot is in too many guilds for one gateway connection; " +
		"set it to take interactions by HTTP (close code 4011)"},
	4012: &fatalError{"DISCORD_API_URL: the gateway does not speak API v" + discordgo.APIVersion + " (close code 4012)"},
	4013: &fatalError{"DISCORD_API_URL: the gateway refuses to send no intents (close code 4013)"},
	4014: &fatalError{"DISCORD_BOT_TOKEN: the application lacks an intent that the gateway wants (close code 4014)"},
}

// fatal tells whether another try is of no use.
func fatal(err error) bool {
	var f *fatalError
	return errors.As(err, &f) || errors.Is(err, errToken)
}

// serveGateway keeps one connection to the gateway. A lost one is followed by
// a new session rather than resumed: what was missed meanwhile cannot be
// answered within Discord's 3 seconds anyway.
func (a *Adapter) serveGateway(ctx context.Context) error {
	pause := a.pace.reconnect
	for {
		if wait := a.gateway.wait(); wait > 0 {
			a.Count("identify_held")
			a.Log.Error("connected too often, waiting", "platform", Platform, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
		}
		began := time.Now()
		err := a.connect(ctx)
		a.gateway.until.Store(0)
		switch {
		case ctx.Err() != nil:
			return nil
		case refusedToken(err):
			return errToken
		case fatal(err):
			return err
		}
		if time.Since(began) >= a.pace.stable {
			pause = a.pace.reconnect
		}
		a.Count("disconnected")
		a.Log.Warn("no connection to the gateway, trying again", "platform", Platform, "err", err, "pause", pause)
		if !sleep(ctx, jitter(pause)) {
			return nil
		}
		pause = min(2*pause, reconnectMax)
	}
}

// connect serves one connection and tells why it ended.
func (a *Adapter) connect(ctx context.Context) error {
	address, err := a.gatewayAddress(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{NetDialContext: a.dial, Proxy: http.ProxyFromEnvironment, HandshakeTimeout: a.pace.handshake}
	ws, _, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("connect to the gateway: %w", transport.Clean(err))
	}
	c := newConn(ws, a)
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	return c.serve()
}

// gatewayAddress asks where the gateway is, once Discord has a session left
// for this bot.
func (a *Adapter) gatewayAddress(ctx context.Context) (string, error) {
	var told discordgo.GatewayBotResponse
	endpoint := discordgo.EndpointGatewayBot
	if err := a.call(ctx, http.MethodGet, endpoint, endpoint, nil, &told); err != nil {
		return "", fmt.Errorf("ask for the gateway: %w", err)
	}
	if limit := told.SessionStartLimit; limit.Total > 0 && limit.Remaining <= 0 {
		reset := time.Duration(limit.ResetAfter) * time.Millisecond
		a.Count("identify_held")
		a.Log.Error("no session is left for this bot, waiting", "platform", Platform, "wait", reset)
		sleep(ctx, reset)
		return "", errors.New("ask for the gateway: no session was left")
	}
	address, err := url.Parse(told.URL)
	if err != nil || address.Host == "" || address.Scheme != "wss" && (address.Scheme != "ws" || !a.insecure) {
		// The bot's token goes there: no less protected than to the REST origin.
		return "", errors.New("ask for the gateway: its address is not a wss:// URL")
	}
	address.RawQuery = url.Values{"v": {discordgo.APIVersion}, "encoding": {"json"}}.Encode()
	return address.String(), nil
}
