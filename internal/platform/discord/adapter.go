// Package discord is the adapter for Discord: it turns interactions into requests and
// replies into messages.
//
// Interactions arrive over the gateway (package gateway) or, with a public key, by HTTP
// (http.go). Either way a session parses one (parse.go), has it handled, renders the
// reply (render.go) and delivers it (package api). Parse and render are pure. The press
// of a button is a request like a command.
//
// The command decides who sees an answer, before it runs. A button does not decide that,
// since anybody can forge one. A picture is sent by an edit of a deferred answer: the
// first response must come within 3 seconds and does not wait for an upload, and the
// answer arrives without its picture if need be.
//
// It must not import commands, core or another adapter.
package discord

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/discord/gateway"
	"herald/internal/transport"
)

// maxName bounds the name that Discord gives the bot, in characters.
const maxName = 40

// Adapter joins Discord to a Handler. It implements chat.Adapter, and
// http.Handler for interactions that arrive by HTTP.
type Adapter struct {
	Config
	api      *api.Client
	gateway  *gateway.Gateway
	inFlight atomic.Int64
	session  atomic.Pointer[session] // nil unless Run takes interactions by HTTP
	name     atomic.Value            // the bot's, a string; empty until it is connected
	ids      atomic.Value            // Discord's IDs of commands by name, a map[string]string; empty until they are registered
}

// New returns an adapter that has contacted nobody.
func New(c Config) *Adapter {
	c.Log = c.Log.With("platform", Platform)
	a := &Adapter{Config: c, api: api.New(c.Token, c.APIURL, c.Log, c.Count)}
	a.gateway = gateway.New(gateway.Config{
		Token: c.Token, API: a.api, Insecure: strings.HasPrefix(c.APIURL, "http://"),
		Log: c.Log, Count: c.Count, Connected: a.connected, Status: c.Status,
	})
	return a
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether interactions can arrive now: the gateway is connected, or Run
// takes them by HTTP.
func (a *Adapter) Ready() bool { return a.session.Load() != nil || a.gateway.Alive() }

// InFlight returns how many interactions are in flight.
func (a *Adapter) InFlight() int { return int(a.inFlight.Load()) }

// HeartbeatLatency is the round trip of the gateway's last heartbeat; 0 before the first,
// and without a gateway.
func (a *Adapter) HeartbeatLatency() time.Duration { return a.gateway.Latency() }

// Run implements chat.Adapter. It takes interactions while the commands are being
// registered.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	s := &session{Adapter: a, tasks: chat.NewTasks(ctx, h, a.Log, a.Count)}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return a.register(running, h.Commands()) })
	if a.PublicKey != nil {
		a.session.Store(s)
	} else {
		group.Go(func() error { return a.gateway.Run(running, s.receive) })
	}
	<-running.Done()
	a.session.Store(nil)
	err := group.Wait()
	if !s.tasks.Drain() {
		a.Log.Error("commands in flight were left unanswered")
	}
	return err
}

// register writes the commands to Discord, and retries until they are there or ctx is
// done. Its only error is api.ErrToken.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	err := transport.Policy{
		Backoff: transport.Backoff{First: 2 * time.Second, Max: time.Minute},
		Again: func(err error) (bool, time.Duration) {
			_, atLeast := api.Retryable(err)
			return !errors.Is(err, api.ErrToken), atLeast // A permission may be granted later.
		},
		OnRetry: func(err error, _ int, pause time.Duration) {
			a.Log.Warn("registering commands failed, trying again", "err", err, "pause", pause)
		},
	}.Do(ctx, func(ctx context.Context) error { return a.registerOnce(ctx, commands) })
	if errors.Is(err, api.ErrToken) {
		return err
	}
	return nil
}

// registerOnce replaces the application's commands by these, and keeps their IDs. By HTTP
// it calls Connected then. Commands that Discord has already do not count towards its 200
// new ones a day.
func (a *Adapter) registerOnce(ctx context.Context, commands chat.Commands) error {
	app, err := a.api.Application(ctx)
	if err != nil {
		return err
	}
	if _, wrong := a.compare(app); wrong != nil {
		a.Log.Warn("interactions may not arrive", "err", wrong)
	}
	endpoint := discordgo.EndpointApplicationGlobalCommands(app.ID)
	if a.GuildID != "" {
		endpoint = discordgo.EndpointApplicationGuildCommands(app.ID, a.GuildID)
	}
	var written []struct{ ID, Name string }
	if err := a.api.Call(ctx, http.MethodPut, endpoint, definitions(commands, a.GuildID == ""), &written); err != nil {
		return err
	}
	ids := map[string]string{}
	for _, c := range written {
		ids[c.Name] = c.ID
	}
	a.ids.Store(ids)
	if a.PublicKey != nil {
		a.connected(app.Name)
	}
	return nil
}

// commandID returns Discord's ID of a command, for a mention such as </price:1234>. It is
// "" until the commands are registered.
func (a *Adapter) commandID(name string) string {
	ids, _ := a.ids.Load().(map[string]string)
	return ids[name]
}

// connected calls Connected with the bot's name, cleaned: the name is text of Discord.
func (a *Adapter) connected(name string) {
	name = string(chat.NewUntrusted(name, maxName))
	a.name.Store(name)
	a.Connected(name)
}

// Check asks Discord for the token's application, and compares it with the settings. It
// returns sentences for an operator. Its error is a *config.WrongError if Discord
// contradicts a setting.
func (a *Adapter) Check(ctx context.Context) (learned []string, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, err
	}
	return a.compare(app)
}

// compare returns what app says about the bot, and a *config.WrongError if it contradicts
// PublicKey.
func (a *Adapter) compare(app api.Application) (learned []string, err error) {
	learned = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	host := chat.NewUntrusted(config.Host(app.Endpoint), 2*maxName) // without the path, which may be a secret
	wrong := &config.WrongError{Settings: "DISCORD_PUBLIC_KEY"}
	switch {
	case a.PublicKey == nil && app.Endpoint == "":
		return append(learned, "interactions come over the gateway"), nil
	case a.PublicKey == nil:
		wrong.Problem = fmt.Sprintf("the application has an interactions endpoint URL, at %s, so nothing comes over "+
			"the gateway: remove that URL in the Developer Portal, or take interactions by HTTP", host)
	case app.VerifyKey != "" && app.VerifyKey != hex.EncodeToString(a.PublicKey):
		wrong.Problem = "the application has another public key than the one that is set"
	case app.Endpoint == "":
		return append(learned, "it has no interactions endpoint URL yet: while the bot runs, enter "+
			"https://<your host>/discord/interactions in the Developer Portal"), nil
	default:
		return append(learned, fmt.Sprintf("interactions come by HTTP, to %s", host)), nil
	}
	return learned, wrong
}
