// Package discord is the adapter for Discord: it turns interactions into requests and
// replies into messages.
//
// Interactions arrive over the gateway (package gateway) or, with a public key, by HTTP
// (http.go). Either way a session parses one (parse.go), has it handled, renders the
// reply (render.go) and delivers it (package api). Parse and render are pure. The press
// of a button is a request like a command.
//
// The command's Visibility decides who sees its answer, before the command runs. A button
// never decides, since anybody can forge one. The first response must come within 3
// seconds, so it does not wait for the upload of a picture: an edit adds the picture, and
// the answer stays without one if the upload fails.
//
// It must not import commands, core or another adapter.
package discord

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/discord/gateway"
	"herald/internal/ratelimit"
)

// maxName bounds the bot's name as Discord reports it, in characters.
const maxName = 40

// Adapter joins Discord to a Handler. It implements platform.Adapter, and
// http.Handler for interactions that arrive by HTTP.
type Adapter struct {
	Config
	api      *api.Client
	gateway  *gateway.Gateway
	inFlight atomic.Int64
	// session is the one that ServeHTTP uses; nil: Run takes no interactions by HTTP.
	session atomic.Pointer[session]
	// botName is the bot's display name, and userID its user ID. They are "" until Discord has
	// told them.
	botName, userID atomic.Pointer[string]
	// commandIDs maps commands' names to Discord's IDs. It is empty until they are registered.
	commandIDs atomic.Pointer[map[string]string]
	// hasCommands is whether Discord had the commands of this version when it was last asked.
	hasCommands atomic.Bool
	// hasWarned is set once the log says that interactions may not arrive.
	hasWarned atomic.Bool
	// guilds maps the ID of a guild to what was last fetched of it.
	guilds sync.Map
	// diagnoses limits how often diagnose fetches a guild.
	diagnoses *ratelimit.Memory
	// shown orders the answers to presses, by the message's ID.
	shown platform.Shown
}

// New returns an adapter. It contacts nobody.
func New(c Config) *Adapter {
	c.Log = c.Log.With("platform", Platform)
	a := &Adapter{Config: c, api: api.New(c.Token, c.APIURL, c.Log, c.Count), diagnoses: ratelimit.NewMemory()}
	a.botName.Store(new(string))
	a.userID.Store(new(string))
	a.commandIDs.Store(new(map[string]string))
	a.gateway = gateway.New(gateway.Config{
		Token: c.Token, API: a.api, Insecure: strings.HasPrefix(c.APIURL, "http://"),
		Log: c.Log, Count: c.Count, Connected: a.connected, Lost: c.Retried, Status: c.Status,
	})
	return a
}

// Platform implements platform.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether interactions can arrive now, and Discord has the bot's commands.
func (a *Adapter) Ready() bool { return a.isConnected() && a.hasCommands.Load() }

// NotReady returns why Ready returns false, for /readyz.
func (a *Adapter) NotReady() string {
	if a.isConnected() {
		return "connected, but the commands are not registered"
	}
	return "not connected"
}

// isConnected reports whether interactions can arrive now: the gateway is connected, or Run takes
// them by HTTP.
func (a *Adapter) isConnected() bool { return a.session.Load() != nil || a.gateway.Alive() }

// InFlight returns how many interactions are in flight.
func (a *Adapter) InFlight() int { return int(a.inFlight.Load()) }

// HeartbeatLatency returns the round-trip time of the gateway's last heartbeat. It returns 0
// before the first, and without a gateway.
func (a *Adapter) HeartbeatLatency() time.Duration { return a.gateway.Latency() }

// Run implements platform.Adapter. It takes interactions at once, while it registers the commands.
// The only errors are those of keepRegistered and of the gateway's Run.
func (a *Adapter) Run(ctx context.Context, h platform.Handler) error {
	s := &session{Adapter: a, work: platform.NewWork(ctx, h, a.Log, a.Count)}
	group, running := errgroup.WithContext(ctx) // The first error ends running.
	group.Go(func() error { return a.keepRegistered(running, h.Commands()) })
	if a.PublicKey != nil {
		a.session.Store(s)
	} else {
		group.Go(func() error { return a.gateway.Run(running, s.receive) })
	}
	<-running.Done() // By HTTP nothing else blocks until then.
	a.session.Store(nil)
	err := group.Wait()
	if !s.work.Drain() {
		a.Log.Error("commands in flight were left unanswered")
	}
	return err
}

// commandID returns Discord's ID of a command, for a mention such as </price:1234>. It
// returns "" until the commands are registered.
func (a *Adapter) commandID(name string) string { return (*a.commandIDs.Load())[name] }

// connected stores the bot's name and calls Connected, after it has made the name harmless.
func (a *Adapter) connected(name string) {
	name = string(chat.NewUntrusted(name, maxName))
	a.botName.Store(&name)
	a.Connected(name)
}

// Check fetches the token's application, its commands, and the servers of StakerRoles and of
// moderated, which are IDs, from Discord. It blocks meanwhile. It returns what `bot check` prints:
// details and the bot's rights. The error is a *config.WrongError if Discord contradicts a setting.
func (a *Adapter) Check(
	ctx context.Context, commands chat.Commands, moderated ...string,
) (details []string, rights []platform.Right, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, nil, err
	}
	details, err = a.checkApplication(app)
	found, unknown := a.checkCommands(ctx, app.ID, commands)
	if unknown == nil {
		details = append(details, found)
	}
	return details, a.Rights(ctx, moderated...), cmp.Or(err, unknown)
}

// checkApplication returns the name of app, and how interactions arrive. If app contradicts
// PublicKey, it returns the name alone and a *config.WrongError.
func (a *Adapter) checkApplication(app api.Application) (details []string, err error) {
	details = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	host := chat.NewUntrusted(config.Host(app.Endpoint), 2*maxName) // without the path, which may be a secret
	contradiction := func(problem string) error {
		return &config.WrongError{Settings: "DISCORD_PUBLIC_KEY", Problem: problem}
	}
	switch {
	case a.PublicKey == nil && app.Endpoint != "":
		return details, contradiction(fmt.Sprintf("the application has an interactions endpoint URL, at %s, "+
			"so nothing comes over the gateway: remove that URL in the Developer Portal, "+
			"or take interactions by HTTP", host))
	case a.PublicKey == nil:
		return append(details, "interactions come over the gateway"), nil
	case app.VerifyKey != "" && app.VerifyKey != hex.EncodeToString(a.PublicKey):
		return details, contradiction("the application has another public key than the one that is set")
	case app.Endpoint == "":
		return append(details, "it has no interactions endpoint URL yet: while the bot runs, enter "+
			"https://<your host>/discord/interactions in the Developer Portal"), nil
	}
	return append(details, fmt.Sprintf("interactions come by HTTP, to %s", host)), nil
}
