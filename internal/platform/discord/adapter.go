// Package discord is the adapter for Discord: it turns interactions into
// requests and replies into messages.
//
// Interactions arrive over the gateway (package gateway) or, with a public key,
// by HTTP (http.go). Either way a session parses one (parse.go), has it handled,
// renders the reply (render.go) and sends it (package api). Parse and render are
// pure. A command, a button and a modal are requests alike. A button that asks a
// question opens a modal, and choices are offered while an argument is written,
// both without a request.
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
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"herald/internal/chat"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/discord/gateway"
	"herald/internal/transport"
)

// statusEvery is how often the bot's status is brought up to date.
const statusEvery = time.Minute

// Adapter joins Discord to a Handler. It implements chat.Adapter, and
// http.Handler for interactions that arrive by HTTP.
type Adapter struct {
	Config
	api      *api.Client
	gateway  *gateway.Gateway
	inFlight atomic.Int64
	session  atomic.Pointer[session] // set while interactions are taken by HTTP
}

// New makes an adapter that has contacted nobody. Its error names the setting
// at fault.
func New(c Config) (*Adapter, error) {
	if c.CommandTimeout >= api.TokenLife {
		return nil, fmt.Errorf("COMMAND_TIMEOUT: must be below %v, after which Discord takes no answer", api.TokenLife)
	}
	c.Log = c.Log.With("platform", Platform)
	a := &Adapter{Config: c, api: api.New(c.Token, c.APIURL, c.Count)}
	a.gateway = gateway.New(gateway.Config{
		Token: c.Token, API: a.api, Insecure: strings.HasPrefix(c.APIURL, "http://"),
		Log: c.Log, Count: c.Count, Connected: a.connected,
	})
	return a, nil
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
	s := &session{Config: a.Config, api: a.api, tasks: chat.NewTasks(ctx, h, a.Log, a.Count), inFlight: &a.inFlight}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return a.register(running, h.Commands()) })
	switch {
	case a.PublicKey != nil:
		a.session.Store(s)
	case a.Status != nil:
		group.Go(func() error { return a.showStatus(running) })
		fallthrough
	default:
		group.Go(func() error { return a.gateway.Run(running, s.receive) })
	}
	<-running.Done()
	a.session.Store(nil)
	err := group.Wait()
	if !s.tasks.Drain() {
		a.Log.Error("commands in flight were left unanswered")
	}
	a.api.CloseIdleConnections()
	return err
}

// register writes the table of commands to Discord, trying until it is there, and
// reports the bot's name where no gateway does. It returns an error only when
// the token is refused.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	var ours api.Application // once Discord has said so
	err := transport.Policy{
		Backoff: transport.Backoff{First: 2 * time.Second, Max: time.Minute},
		Again: func(err error) (bool, time.Duration) {
			_, atLeast := api.Retryable(err)
			return !errors.Is(err, api.ErrToken), atLeast // A permission may be granted later.
		},
		Failed: func(err error, _ int, pause time.Duration) {
			a.Log.Warn("registering commands failed, trying again", "err", err, "pause", pause)
		},
	}.Do(ctx, func(ctx context.Context) (err error) {
		if ours.ID == "" {
			if ours, err = a.api.Application(ctx); err != nil {
				return err
			}
			if a.PublicKey != nil {
				a.connected(ours.Name)
			}
		}
		// Commands that Discord has already do not count towards its 200 new ones a day.
		endpoint := discordgo.EndpointApplicationGlobalCommands(cmp.Or(a.ApplicationID, ours.ID))
		if a.GuildID != "" {
			endpoint = discordgo.EndpointApplicationGuildCommands(cmp.Or(a.ApplicationID, ours.ID), a.GuildID)
		}
		if err := a.api.Call(ctx, http.MethodPut, endpoint, definitions(commands, a.GuildID == ""), nil); err != nil {
			return fmt.Errorf("write the commands: %w", err)
		}
		a.Count("commands_written")
		return nil
	})
	if errors.Is(err, api.ErrToken) {
		return api.ErrToken
	}
	return nil
}

// showStatus keeps the status up to date until ctx is done.
func (a *Adapter) showStatus(ctx context.Context) error {
	for {
		a.gateway.Show(a.Status(ctx))
		if !transport.Sleep(ctx, statusEvery) {
			return nil
		}
	}
}

// connected reports a connection by the bot's name, which is text of Discord.
func (a *Adapter) connected(name string) { a.Connected(string(chat.NewUntrusted(name, maxName))) }
