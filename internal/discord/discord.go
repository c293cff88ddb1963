// Package discord is the adapter for Discord: it turns interactions into
// requests and replies into embeds.
//
// It may import chat, transport and its SDK, never commands, core or another
// adapter. Interactions arrive over the gateway or, with a public key, by
// HTTP; both end in the same way through parse, Handler and render, of which
// parse and render are pure.
//
// REST goes through discordgo, whose rate limiter, error texts and log are
// kept out of the way (see origin). The gateway does not: discordgo's Session
// locks up for ever when Discord asks for a reconnect before READY, identifies
// again by itself as often as Discord invalidates a session, and hides the
// code that a connection was closed with. None of it can be turned off, and
// too many identifies make Discord reset the bot's token. So gateway.go
// speaks the few opcodes that interactions need on a websocket of its own.
package discord

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"herald/internal/chat"
)

// Platform is Discord's name in logs, metrics and OPERATORS.
const Platform chat.Platform = "discord"

// tokenLife is how long an interaction can be answered.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const tokenLife = 15 * time.Minute

const (
	// maxInHand bounds the commands handled at once.
	maxInHand = 256
	// maxRefusals bounds the answers "busy" that are on their way at once.
	maxRefusals = 64
)

// Config is what an Adapter works with. All fields but ApplicationID, GuildID
// and PublicKey are required.
type Config struct {
	Token string
	// ApplicationID owns the commands; empty = asked from Discord.
	ApplicationID string
	// APIURL is the REST origin, as in https://discord.com.
	APIURL string
	// GuildID registers the commands in this guild alone; empty = global.
	GuildID string
	// PublicKey verifies interactions that arrive by HTTP; nil = gateway.
	PublicKey ed25519.PublicKey
	Handler   chat.Handler
	Dedup     chat.Dedup
	// CommandTimeout bounds one command, above 0 and below the 15 minutes in
	// which an interaction can be answered.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is told of one of these: interaction, duplicate, ignored,
	// malformed, busy, dropped, panic; deferred, answered, answer_expired,
	// answer_failed, rate_limited, retried; identified, identify_held,
	// connected, disconnected; bad_signature; commands_written,
	// commands_current. It must not block.
	Count func(event string)
}

// Adapter joins Discord to a Handler. It implements chat.Adapter, and
// http.Handler for interactions that arrive by HTTP.
type Adapter struct {
	Config
	pace     pace
	rest     *discordgo.Session
	insecure bool // APIURL is plain http
	gateway  link
	// dial connects to the gateway; nil is by TCP.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	slots    chan struct{}
	refusals chan struct{}

	mu     sync.Mutex // guards what follows
	open   bool
	inHand sync.WaitGroup
	handle context.Context // of handlers
	send   context.Context // of answers
	on     atomic.Bool
}

// pace holds every wait, so that tests need not.
type pace struct {
	deferAfter time.Duration // from arrival to the deferral
	callback   time.Duration // from arrival to giving up on the first answer
	retry      time.Duration // first pause before another try of a REST call
	retryMax   time.Duration
	reconnect  time.Duration // first pause before another gateway connection
	handshake  time.Duration // for Hello, and again for READY
	stable     time.Duration // a connection that lasted is no fault
	drain      time.Duration // for the commands in hand
}

var defaultPace = pace{
	// Discord waits 3 s for the first answer.
	deferAfter: 2 * time.Second,
	callback:   4 * time.Second,
	retry:      100 * time.Millisecond,
	retryMax:   30 * time.Second,
	reconnect:  time.Second,
	handshake:  20 * time.Second,
	stable:     time.Minute,
	drain:      chat.DrainTime,
}

// reconnectMax caps the pause between two connections to the gateway, and
// between two tries to register the commands.
const reconnectMax = time.Minute

var (
	tokenForm     = regexp.MustCompile(`^[!-~]+$`)
	snowflakeForm = regexp.MustCompile(`^[0-9]{1,20}$`)
)

// New checks the configuration and contacts nobody. Its errors name the
// setting and never repeat its value.
func New(c Config) (*Adapter, error) {
	api, err := url.Parse(c.APIURL)
	switch {
	case !tokenForm.MatchString(c.Token):
		return nil, errors.New("DISCORD_BOT_TOKEN: is empty or holds white space")
	case err != nil, api.Scheme != "https" && api.Scheme != "http", api.Host == "", api.User != nil,
		api.Path != "" && api.Path != "/", api.RawQuery != "", api.Fragment != "":
		return nil, errors.New("DISCORD_API_URL: is not an origin such as https://discord.com")
	case c.ApplicationID != "" && !snowflakeForm.MatchString(c.ApplicationID):
		return nil, errors.New("DISCORD_APPLICATION_ID: is not a number")
	case c.GuildID != "" && !snowflakeForm.MatchString(c.GuildID):
		return nil, errors.New("DISCORD_GUILD_ID: is not a number")
	case c.PublicKey != nil && len(c.PublicKey) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("DISCORD_PUBLIC_KEY: has %d bytes, not %d", len(c.PublicKey), ed25519.PublicKeySize)
	case c.CommandTimeout <= 0 || c.CommandTimeout >= tokenLife:
		return nil, fmt.Errorf("COMMAND_TIMEOUT: is not above 0 and below %v", tokenLife)
	}
	rest, err := newSession(c.Token, api)
	if err != nil {
		return nil, err
	}
	return &Adapter{
		Config:   c,
		pace:     defaultPace,
		rest:     rest,
		insecure: api.Scheme == "http",
		slots:    make(chan struct{}, maxInHand),
		refusals: make(chan struct{}, maxRefusals),
	}, nil
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready tells whether interactions can arrive now: with the gateway, after
// READY and while something was read within two heartbeats; by HTTP, while Run
// takes them.
func (a *Adapter) Ready() bool {
	if a.PublicKey != nil {
		return a.on.Load()
	}
	return a.gateway.alive()
}

// Run implements chat.Adapter. Commands are registered beside the service, so
// that a failure there does not keep interactions waiting.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	a.Handler = h
	handle, stopHandling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHandling()
	send, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	a.mu.Lock()
	a.open, a.handle, a.send = true, handle, send
	a.mu.Unlock()
	a.on.Store(true)

	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return a.register(running) })
	if a.PublicKey == nil {
		group.Go(func() error { return a.serveGateway(running) })
	} else {
		group.Go(func() error { <-running.Done(); return nil })
	}
	err := group.Wait()
	a.on.Store(false)
	a.drain(stopHandling)
	a.rest.Client.CloseIdleConnections()
	return err
}

// drain waits for the commands in hand. In its last tenth handlers are told to
// stop, so that what they then say still reaches the asker.
func (a *Adapter) drain(stopHandling context.CancelFunc) {
	a.mu.Lock()
	a.open = false
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		a.inHand.Wait()
		close(done)
	}()
	defer time.AfterFunc(a.pace.drain*9/10, stopHandling).Stop()
	select {
	case <-done:
	case <-time.After(a.pace.drain):
		a.Log.Error("commands in hand were left unanswered", "platform", Platform)
	}
}

// enter counts one interaction in, unless the adapter takes none.
func (a *Adapter) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.inHand.Add(1)
	}
	return a.open
}

// Check asks Discord whose the token is, for `bot check`.
func (a *Adapter) Check(ctx context.Context) (detail string, err error) {
	id, err := a.askApplicationID(ctx)
	switch {
	case refusedToken(err):
		return "", errToken
	case err != nil:
		return "", err
	case a.ApplicationID != "" && a.ApplicationID != id:
		return "", errors.New("DISCORD_APPLICATION_ID: the token belongs to another application")
	}
	return "application " + id, nil
}
