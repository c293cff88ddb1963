// Package discord is the adapter for Discord: it turns interactions into
// requests and replies into messages.
//
// Interactions arrive over the gateway (package gateway) or, with a public key,
// by HTTP (http.go). Either way a session parses one (parse.go), has it handled,
// renders the reply (render.go) and sends it (package api). Parse and render are
// pure. A command and the press of a button are requests alike.
//
// Who sees an answer is decided by the command before it runs, and never by a
// button, which anybody can forge. A picture is sent by an edit of what was
// promised, so that the first response, which must come within 3 seconds, does
// not depend on an upload, and an answer does not depend on its picture.
//
// It must not import commands, core or another adapter.
package discord

import (
	"cmp"
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
	session  atomic.Pointer[session] // set while interactions are taken by HTTP
	// name is the bot's, a string, and ids has the IDs of its commands by their names, a
	// map[string]string. Both are empty until Discord has told them.
	name, ids atomic.Value
}

// New makes an adapter that has contacted nobody.
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

// Ready reports whether interactions can arrive now: over the gateway while it
// is connected, by HTTP while Run takes them.
func (a *Adapter) Ready() bool { return a.session.Load() != nil || a.gateway.Alive() }

// InFlight counts the interactions in flight.
func (a *Adapter) InFlight() int { return int(a.inFlight.Load()) }

// HeartbeatLatency is how long the gateway took to acknowledge the last
// heartbeat; 0 before the first, and without a gateway.
func (a *Adapter) HeartbeatLatency() time.Duration { return a.gateway.Latency() }

// Run implements chat.Adapter. Commands are registered meanwhile, so that a
// failure there does not keep interactions waiting.
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

// register writes the table of commands to Discord, trying until it is there, and
// then reports the bot's name where no gateway does. It returns an error only when
// the token is refused.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	err := transport.Policy{
		Backoff: transport.Backoff{First: 2 * time.Second, Max: time.Minute},
		Again: func(err error) (bool, time.Duration) {
			_, atLeast := api.Retryable(err)
			return !errors.Is(err, api.ErrToken), atLeast // A permission may be granted later.
		},
		Failed: func(err error, _ int, pause time.Duration) {
			a.Log.Warn("registering commands failed, trying again", "err", err, "pause", pause)
		},
	}.Do(ctx, func(ctx context.Context) error {
		app, err := a.api.Application(ctx)
		if err != nil {
			return err
		}
		// Commands that Discord has already do not count towards its 200 new ones a day.
		owner := cmp.Or(a.ApplicationID, app.ID)
		endpoint := discordgo.EndpointApplicationGlobalCommands(owner)
		if a.GuildID != "" {
			endpoint = discordgo.EndpointApplicationGuildCommands(owner, a.GuildID)
		}
		if _, wrong := a.judge(app); wrong != nil {
			a.Log.Warn("interactions may not arrive", "err", wrong)
		}
		var written []struct{ ID, Name string }
		err = a.api.Call(ctx, http.MethodPut, endpoint, definitions(commands, a.GuildID == ""), &written)
		ids := map[string]string{}
		for _, c := range written {
			ids[c.Name] = c.ID
		}
		a.ids.Store(ids)
		if err == nil && a.PublicKey != nil {
			a.connected(app.Name)
		}
		return err
	})
	if errors.Is(err, api.ErrToken) {
		return err
	}
	return nil
}

// commandID is Discord's ID of a command, for a mention such as </price:1234>. It is
// empty until the commands are registered.
func (a *Adapter) commandID(name string) string {
	ids, _ := a.ids.Load().(map[string]string)
	return ids[name]
}

// connected reports a connection by the bot's name, which is text of Discord.
func (a *Adapter) connected(name string) {
	name = string(chat.NewUntrusted(name, maxName))
	a.name.Store(name)
	a.Connected(name)
}

// Check asks Discord who owns the token, and whether interactions come the way
// that the settings say. It returns sentences for an operator. Its error is a
// *config.WrongError where settings contradict what Discord says.
func (a *Adapter) Check(ctx context.Context) (learned []string, err error) {
	app, err := a.api.Application(ctx)
	if err != nil {
		return nil, err
	}
	return a.judge(app)
}

// judge is Check of what Discord says.
func (a *Adapter) judge(app api.Application) (learned []string, err error) {
	learned = []string{fmt.Sprintf("%s, application %s", chat.NewUntrusted(app.Name, maxName), app.ID)}
	host := chat.NewUntrusted(config.Host(app.Endpoint), 2*maxName) // without the path, which may be a secret
	wrong := &config.WrongError{Settings: "DISCORD_PUBLIC_KEY"}
	switch {
	case a.ApplicationID != "" && a.ApplicationID != app.ID:
		wrong.Settings = "DISCORD_APPLICATION_ID and DISCORD_BOT_TOKEN"
		wrong.Problem = "the token belongs to this application, and not to the one that is set"
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
