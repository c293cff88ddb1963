// Package discord is the adapter for Discord: it turns interactions into
// requests and replies into messages.
//
// Interactions arrive over the gateway (adapter.go) or, with a public key, by
// HTTP (http.go). Either way one is parsed, handled, rendered and responded to
// (answer.go), in that order; parse and render are pure. A command, a button and
// a modal are requests alike. A button that asks a question opens a modal, and
// choices are offered while an argument is written, both without a request.
//
// Who sees an answer is decided by the command before it runs, and never by a
// button, which anybody can forge. A picture is sent by an edit of what was
// promised, so that the first response, which must come within 3 seconds, does
// not depend on an upload, and an answer does not depend on its picture.
//
// REST calls go through discordgo, but not through its rate limiter (rest.go).
// The gateway's connection does not; package gateway says why.
//
// It must not import commands, core or another adapter.
package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"herald/internal/chat"
	"herald/internal/platform/discord/gateway"
)

// Platform is Discord's name in logs, metrics and OPERATORS.
const Platform chat.Platform = "discord"

// How long an interaction can be answered, at first and at all.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	firstResponse = 3 * time.Second
	tokenLife     = 15 * time.Minute
)

const (
	// deferAfter is how long after its arrival an interaction is deferred.
	deferAfter = 2 * time.Second
	// callbackFor is how long after the arrival the first response is tried.
	callbackFor = 4 * time.Second
)

// maxInHand bounds the interactions in flight, each of which takes some 20 KiB
// while it waits for a service. Beyond it they are dropped and counted.
const maxInHand = 10_000

// statusEvery is how often the bot's status is brought up to date.
const statusEvery = time.Minute

// Config is what an Adapter works with.
type Config struct {
	Settings
	Dedup chat.Dedup
	// CommandTimeout is how long the Handler may take. It must be below the 15
	// minutes for which an interaction can be answered.
	CommandTimeout time.Duration
	Log            *slog.Logger
	// Count is called with one of these: interaction, duplicate, ignored,
	// malformed, too_late, dropped, panic; deferred, answered, answer_expired,
	// answer_failed, picture_failed, rate_limited, retried; identified,
	// identify_held, connected, resumed, disconnected; bad_signature;
	// commands_written, commands_current. It must not block.
	Count func(event string)
	// Connected is called with the bot's name: whenever the gateway connects or,
	// if interactions arrive by HTTP, once Discord has said whose the token is.
	Connected func(name string)
	// Status is asked every minute for the text under the bot's name in member
	// lists, of at most 128 characters; empty takes it away. It returns when ctx
	// is done. nil shows none. It needs the gateway.
	Status func(ctx context.Context) string
}

// Adapter joins Discord to a Handler. It implements chat.Adapter, and
// http.Handler for interactions that arrive by HTTP.
type Adapter struct {
	Config
	rest    *discordgo.Session
	calls   *semaphore.Weighted
	gateway *gateway.Gateway
	inHand  chan struct{} // holds a token for each interaction in flight
	// work is set while interactions are taken by HTTP.
	work atomic.Pointer[chat.Tasks]
}

// New makes an adapter that has contacted nobody. Its error names the setting
// at fault.
func New(c Config) (*Adapter, error) {
	if c.CommandTimeout >= tokenLife {
		return nil, fmt.Errorf("COMMAND_TIMEOUT: must be below %v, after which Discord takes no answer", tokenLife)
	}
	c.Log = c.Log.With("platform", Platform)
	a := &Adapter{
		Config: c,
		rest:   newSession(c.Token, c.APIURL),
		calls:  semaphore.NewWeighted(maxCalls),
		inHand: make(chan struct{}, maxInHand),
	}
	a.gateway = gateway.New(gateway.Config{
		Token: c.Token, Ask: a.askGateway, Insecure: strings.HasPrefix(c.APIURL, "http://"), Log: c.Log, Count: c.Count, Connected: a.connected,
	})
	return a, nil
}

// Platform implements chat.Adapter.
func (a *Adapter) Platform() chat.Platform { return Platform }

// Ready reports whether interactions can arrive now: over the gateway while it
// is connected, by HTTP while Run takes them.
func (a *Adapter) Ready() bool {
	if a.PublicKey != nil {
		return a.work.Load() != nil
	}
	return a.gateway.Alive()
}

// InFlight counts the interactions in flight.
func (a *Adapter) InFlight() int { return len(a.inHand) }

// HeartbeatLatency is how long the gateway took to acknowledge the last
// heartbeat; 0 before the first, and without a gateway.
func (a *Adapter) HeartbeatLatency() time.Duration { return a.gateway.Latency() }

// Run implements chat.Adapter. Commands are registered beside the service, so
// that a failure there does not keep interactions waiting.
func (a *Adapter) Run(ctx context.Context, h chat.Handler) error {
	work := chat.NewTasks(ctx, h, a.Log, a.Count)
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return a.register(running, h.Commands()) })
	if a.PublicKey != nil {
		a.work.Store(work)
	} else {
		group.Go(func() error {
			return a.gateway.Run(running, func(data json.RawMessage, replayed bool) { a.receive(work, data, replayed) })
		})
		if a.Status != nil {
			group.Go(func() error { return a.showStatus(running) })
		}
	}
	<-running.Done()
	a.work.Store(nil)
	err := group.Wait()
	if !work.Drain() {
		a.Log.Error("commands in hand were left unanswered")
	}
	a.rest.Client.CloseIdleConnections()
	return err
}

// showStatus keeps the status up to date until ctx is done.
func (a *Adapter) showStatus(ctx context.Context) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		a.gateway.Show(a.Status(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// receive starts answering an interaction of the gateway. It does not block. The
// age of one that is not replayed is not judged: this machine's clock may be off.
func (a *Adapter) receive(work *chat.Tasks, data json.RawMessage, replayed bool) {
	i, err := decode(data)
	if err != nil {
		a.Count("malformed")
		return
	}
	arrived := time.Now()
	if created, err := discordgo.SnowflakeTimestamp(i.ID); replayed && err == nil && created.Before(arrived) {
		arrived = created
	}
	switch {
	case !a.wanted(i):
	case time.Since(arrived) >= firstResponse:
		a.Count("too_late")
	default:
		a.start(work.Go, func(id string) {
			a.take(work, id, &pendingInteraction{
				interaction: i, arrived: arrived,
				respond: func(r response) error { return a.callback(work, i.ID, i.Token, arrived, r) },
			})
		})
	}
}

// start works on an interaction by begin, which is Do or Go of a chat.Tasks. It
// reports false, and counts the interaction as dropped, where there is no room or
// nothing is taken any more.
func (a *Adapter) start(begin func(func(id string)) bool, handle func(id string)) bool {
	select {
	case a.inHand <- struct{}{}:
	default:
		a.Count("dropped")
		return false
	}
	begun := begin(func(id string) {
		defer func() { <-a.inHand }()
		handle(id)
	})
	if !begun {
		<-a.inHand
		a.Count("dropped")
	}
	return begun
}

// connected tells of a connection by the bot's name, which is text of Discord.
func (a *Adapter) connected(name string) { a.Connected(string(chat.NewUntrusted(name, longestName))) }

// wanted reports whether i is to be answered.
func (a *Adapter) wanted(i *interaction) bool {
	a.Count("interaction")
	if !i.forUs() {
		a.Count("ignored")
	}
	return i.forUs()
}
