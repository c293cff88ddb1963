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
	"strings"
	"sync/atomic"
	"time"

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
		Token: c.Token, API: a.api, Insecure: strings.HasPrefix(c.APIURL, "http://"), Log: c.Log, Count: c.Count, Connected: a.connected,
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

// register brings Discord's list of commands in line, trying until it is, and
// reports the bot's name where no gateway does. It returns an error only when
// the token is refused.
func (a *Adapter) register(ctx context.Context, commands chat.Commands) error {
	var ours api.Application
	backoff := transport.Backoff{First: 2 * time.Second, Max: time.Minute}
	for failures := 1; ; failures++ {
		err := a.registerOnce(ctx, &ours, commands)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, api.ErrToken) {
			return api.ErrToken
		}
		// Any other refusal may end: a permission may be granted later.
		_, atLeast := api.Retryable(err)
		pause := max(backoff.After(failures), atLeast)
		a.Log.Warn("registering commands failed, trying again", "err", err, "pause", pause)
		if !transport.Sleep(ctx, pause) {
			return nil
		}
	}
}

// registerOnce does so once. It keeps in ours what Discord said.
func (a *Adapter) registerOnce(ctx context.Context, ours *api.Application, commands chat.Commands) error {
	if ours.ID == "" {
		told, err := a.api.Application(ctx)
		if err != nil {
			return err
		}
		if *ours = told; a.PublicKey != nil {
			a.connected(told.Name)
		}
	}
	written, err := syncCommands(ctx, a.api, cmp.Or(a.ApplicationID, ours.ID), a.GuildID, commands)
	switch {
	case err != nil:
		return err
	case written:
		a.Count("commands_written")
	default:
		a.Count("commands_current")
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
