package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"herald/internal/config"
	"herald/internal/ops"
	"herald/internal/platform"
)

// Run serves every platform whose token is set. It blocks until ctx is done and the commands in flight are answered,
// and then returns nil. It returns an error if it cannot listen at HTTP_ADDR, or once every platform has stopped by
// itself.
func (b *Bot) Run(ctx context.Context) error {
	server, err := b.startServer(ctx)
	if err != nil {
		return err
	}
	b.logWarnings(ctx)
	stopBackground := runInBackground(ctx, b.members.Run, b.probeServices, b.watchRights)
	refusalEnds := afterEnd(ctx, refusalTime)
	err = serve(ctx, b.handler(), b.connections, b.log)
	stopBackground()
	if server == nil {
		return err
	}
	hasWebhook := func(c connection) bool { return c.webhook != nil }
	if ctx.Err() != nil && slices.ContainsFunc(b.connections, hasWebhook) {
		<-refusalEnds
	}
	server.Close() // After serve, so that every webhook in flight has its response.
	return err
}

// refusalTime is how long the HTTP server of a bot with webhooks still listens after ctx is done. It answers /healthz
// and webhooks with 503 in that time. A proxy in front of several replicas passes a refused webhook to another replica,
// and sends nothing more to this one after its next request for /healthz. In deploy/Caddyfile, that request comes
// within half of refusalTime. So no update is lost.
const refusalTime = time.Second

// afterEnd returns a channel that is closed d after ctx is done.
func afterEnd(ctx context.Context, d time.Duration) <-chan struct{} {
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		time.AfterFunc(d, func() { close(closed) })
	})
	return closed
}

// startServer opens HTTP_ADDR and starts a server there for health, metrics and the platforms' webhooks. It returns a
// nil server if HTTP_ADDR is off. ctx is done when the bot begins to stop. The caller must close the server.
func (b *Bot) startServer(ctx context.Context) (*ops.Server, error) {
	if b.cfg.Ops.Addr == "" {
		return nil, nil
	}
	var adapters []platform.Adapter
	for _, c := range b.connections {
		adapters = append(adapters, c.adapter)
	}
	listener, err := b.listen("tcp", b.cfg.Ops.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on HTTP_ADDR: %w; stop what listens there, or set HTTP_ADDR to another port, or off",
			err)
	}
	server := ops.NewServer(ctx, listener, b.metrics, adapters, b.log)
	for _, c := range b.connections {
		if c.webhook != nil {
			server.Handle(c.webhookPath, c.webhook)
		}
	}
	go func() {
		if err := server.Serve(); err != nil {
			b.log.Error("http server ended", "err", err)
		}
	}()
	b.log.Info("http server listens", "addr", server.Addr())
	return server, nil
}

// logWarnings logs a warning for each risk in the settings. It blocks while it asks Redis how safely it stores data. If
// Redis fails, logWarnings does not log that: the next call to Redis will.
func (b *Bot) logWarnings(ctx context.Context) {
	if redis := b.state.redis; redis != nil && redis.Probe(ctx) == nil {
		for _, warning := range redis.Durability(ctx) {
			b.log.Warn("redis may lose saved addresses", "reason", warning)
		}
	}
	if config.PublicHTTP(b.cfg.Partner.URL) {
		b.log.Warn(unencrypted)
	}
	if warning := b.cfg.moderatorsWarning(); warning != "" {
		b.log.Warn("settings have little effect", "reason", warning)
	}
}

// probeServices makes a call to each service, and logs a warning for each service that fails. Otherwise, nobody would
// notice a wrong setting until a member asks. The calls cost no money. probeServices blocks until all services have
// answered, for at most COMMAND_TIMEOUT.
func (b *Bot) probeServices(ctx context.Context) {
	probing, cancel := context.WithTimeout(ctx, b.cfg.Limits.CommandTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, s := range b.services.list {
		asking.Go(func() {
			err := s.reach(probing)
			if err == nil || ctx.Err() != nil {
				return
			}
			d := diagnose(err, s.SettingsFor(""))
			text := d.problem
			if d.settings != "" {
				text += "; look at " + d.settings
			}
			b.log.Warn("a service fails at the start; bot check says more", "service", s.Name, "err", text)
		})
	}
	asking.Wait()
	b.log.Debug("the services were asked")
}

// runInBackground calls each task in its own goroutine. The returned function cancels the context of the tasks, and
// blocks until all have returned.
func runInBackground(ctx context.Context, tasks ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// serve runs the adapters of all connections. It blocks until every adapter has stopped. If one stops by itself, serve
// logs its error, and the others go on. serve returns an error if all have stopped before ctx is done.
func serve(ctx context.Context, h platform.Handler, connections []connection, log *slog.Logger) error {
	errs := make([]error, len(connections))
	var running sync.WaitGroup
	for i, c := range connections {
		running.Go(func() {
			err := c.adapter.Run(ctx, h)
			if err != nil {
				log.Error("platform stopped", "platform", c.adapter.Platform(), "err", err)
			}
			errs[i] = err
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	// Before ctx is done, Run returns only with an error, so Join does not return nil.
	return fmt.Errorf("no platform is left to serve: %w", errors.Join(errs...))
}
