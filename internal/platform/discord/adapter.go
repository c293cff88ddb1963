// Package discord is the adapter for Discord: it turns interactions into requests and replies into messages.
//
// An interaction passes through these files from top to bottom:
//
//	session.go   receive takes it from the gateway (package gateway); http.go takes it over HTTP
//	parse.go     the interaction becomes a Request
//	session.go   handle claims it; answer gets the Reply and delivers it
//	deferral.go  if the answer is not ready after 1.2 seconds, a first response promises it
//	target.go    where the answer is shown, and whether the message with the button stays as it is
//	render.go    the Reply becomes a message
//	delivery.go  the calls that deliver the message (package api makes them)
//
// The other files:
//
//	commands.go, register.go  define the bot's commands, and register them
//	roles.go                  gives and removes the roles that follow a stake
//	guild.go, rights.go       cache a server's roles, and judge what the bot may do there
//	settings.go, check.go     the settings, and `bot check`
//
// The command's Visibility decides who sees its answer, before the command runs. A button never decides, because
// anybody can forge one. The first response must come within 3 seconds, so it does not wait for the upload of a
// picture: an edit adds the picture, and the answer has none if the upload fails.
//
// The package must not import commands, core or another adapter.
package discord

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/chat"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/discord/gateway"
	"herald/internal/ratelimit"
)

// maxName limits the length of the bot's name as Discord reports it, in characters.
const maxName = 40

// Adapter joins Discord to a Handler. It implements platform.Adapter, http.Handler for interactions that arrive by
// HTTP, and chat.BadgeGiver for the roles that come with a stake.
type Adapter struct {
	Config
	api      *api.Client
	gateway  *gateway.Gateway
	inFlight atomic.Int64 // interactions
	// session answers the interactions that ServeHTTP receives. It is nil unless Run takes interactions by HTTP now.
	session atomic.Pointer[session]
	// botName is the bot's display name. It is "" until Discord has told it.
	botName atomic.Pointer[string]
	// userID is the bot's user ID. It is "" until Discord has told it.
	userID atomic.Pointer[string]
	// commandIDs maps commands' names to Discord's IDs. It is empty until they are registered.
	commandIDs atomic.Pointer[map[string]string]
	// hasCommands is whether Discord had the commands of this version when it was last asked.
	hasCommands atomic.Bool
	// hasWarned is set once the log says that interactions may not arrive.
	hasWarned atomic.Bool
	// guilds maps the ID of a guild to the guild that was last fetched.
	guilds sync.Map
	// diagnoses limits how often diagnose fetches a guild.
	diagnoses *ratelimit.Memory
	// shown decides which answers replace messages with buttons.
	shown platform.Shown
}

// New returns an adapter. It does not call Discord.
func New(c Config) *Adapter {
	c.Log = c.Log.With("platform", Platform)
	a := &Adapter{Config: c, api: api.New(c.Token, c.APIURL, c.Log, c.Count), diagnoses: ratelimit.NewMemory()}
	a.botName.Store(new(string))
	a.userID.Store(new(string))
	a.commandIDs.Store(new(map[string]string))
	a.gateway = gateway.New(gateway.Config{
		Token:     c.Token,
		API:       a.api,
		Insecure:  strings.HasPrefix(c.APIURL, "http://"),
		Log:       c.Log,
		Count:     c.Count,
		Connected: a.connected,
		Lost:      c.Retried,
		Status:    c.Status,
	})
	return a
}

// Platform implements platform.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether interactions can arrive now, and Discord has the bot's commands.
func (a *Adapter) Ready() bool { return a.isConnected() && a.hasCommands.Load() }

// NotReady returns in a few words why Ready returns false. /readyz shows them.
func (a *Adapter) NotReady() string {
	if a.isConnected() {
		return "connected, but the commands are not registered"
	}
	return "not connected"
}

// isConnected reports whether interactions can arrive now: the gateway is connected, or Run takes them by HTTP.
func (a *Adapter) isConnected() bool { return a.session.Load() != nil || a.gateway.Alive() }

// InFlight returns how many interactions are in flight.
func (a *Adapter) InFlight() int { return int(a.inFlight.Load()) }

// HeartbeatLatency returns the round-trip time of the gateway's last heartbeat. It returns 0 before the first, and if
// interactions arrive by HTTP.
func (a *Adapter) HeartbeatLatency() time.Duration { return a.gateway.Latency() }

// Run implements platform.Adapter. It accepts interactions while it still registers the commands. Its only errors are
// those of keepRegistered and of the gateway's Run.
func (a *Adapter) Run(ctx context.Context, h platform.Handler) error {
	s := a.newSession(ctx, h)
	group, running := errgroup.WithContext(ctx) // The first error ends running.
	group.Go(func() error { return a.keepRegistered(running, h.Commands()) })
	if a.PublicKey != nil {
		a.session.Store(s)
	} else {
		group.Go(func() error { return a.gateway.Run(running, s.receive) })
	}
	<-running.Done() // ctx is done, or one of the group has failed.
	a.session.Store(nil)
	err := group.Wait()
	if !s.work.Drain() {
		a.Log.Error("commands in flight were left unanswered")
	}
	return err
}

// commandID returns Discord's ID of a command, for a mention such as </price:1234>. It returns "" until the commands
// are registered.
func (a *Adapter) commandID(name string) string { return (*a.commandIDs.Load())[name] }

// connected stores the bot's name, made harmless, and calls Connected with it.
func (a *Adapter) connected(name string) {
	name = string(chat.NewUntrusted(name, maxName))
	a.botName.Store(&name)
	a.Connected(name)
}
