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

// lameDuck is how long the HTTP server still answers webhooks, with 503, after ctx is done. A
// proxy in front of several replicas turns to another one meanwhile, and loses no request.
const lameDuck = time.Second

// Run serves every platform whose token is set. It blocks until ctx is done and the commands in
// flight are answered, and then returns nil. It returns an error if it cannot listen, or once
// every platform has stopped by itself.
func (b *Bot) Run(ctx context.Context) error {
	server, err := b.startServer()
	if err != nil {
		return err
	}
	b.logWarnings(ctx)
	stopBackground := runInBackground(ctx, b.members.Run, b.probeServices, b.watchRights)
	lameDuckEnds := afterEnd(ctx, lameDuck)
	err = serve(ctx, b.handler(), b.connections, b.log)
	stopBackground()
	if server != nil {
		hasWebhook := func(c connection) bool { return c.webhook != nil }
		if ctx.Err() != nil && slices.ContainsFunc(b.connections, hasWebhook) {
			<-lameDuckEnds
		}
		server.Close() // Last, so that every webhook in flight has its response.
	}
	return err
}

// afterEnd returns a channel that is closed d after ctx is done.
func afterEnd(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() {
		time.AfterFunc(d, func() { close(over) })
	})
	return over
}

// logWarnings logs a warning for each configured risk. It blocks while it asks Redis. A failure
// of Redis is not logged here: the next call to Redis fails too, and logs it.
func (b *Bot) logWarnings(ctx context.Context) {
	if redis := b.state.redis; redis != nil && redis.Probe(ctx) == nil {
		for _, warning := range redis.Durability(ctx) {
			b.log.Warn("redis may lose saved addresses", "reason", warning)
		}
	}
	if config.PublicHTTP(b.cfg.Partner.URL) {
		b.log.Warn(unencrypted)
	}
	if idle := b.cfg.idleModerators(); idle != "" {
		b.log.Warn("settings have little effect", "reason", idle)
	}
}

// probeServices asks each service a question that costs nothing, and logs a warning for each that
// fails. It blocks until all have answered, for COMMAND_TIMEOUT at most. Without it, a wrong setting
// of a service would show only once a member asks.
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

// runInBackground calls each task in a goroutine. stop cancels the context of the tasks, and
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

// startServer opens HTTP_ADDR and starts a server there for health, metrics and the platforms'
// webhooks. It returns no server if HTTP_ADDR is off. The caller closes the server.
func (b *Bot) startServer() (*ops.Server, error) {
	var adapters []platform.Adapter
	for _, c := range b.connections {
		adapters = append(adapters, c.adapter)
	}
	if b.cfg.Ops.Addr == "" {
		return nil, nil
	}
	listener, err := b.listen("tcp", b.cfg.Ops.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on HTTP_ADDR: %w; stop what listens there, or set HTTP_ADDR to another port, or off",
			err)
	}
	server := ops.NewServer(listener, b.metrics, adapters, b.log)
	for _, p := range b.connections {
		if p.webhook != nil {
			server.Handle(p.webhookPath, p.webhook)
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

// serve runs the adapters of platforms. It blocks until each adapter has stopped: by itself,
// or because ctx is done. If one stops by itself, the others go on. serve returns an error if all
// have stopped before ctx is done.
func serve(ctx context.Context, h platform.Handler, platforms []connection, log *slog.Logger) error {
	stopped := make([]error, len(platforms))
	var running sync.WaitGroup
	for i, p := range platforms {
		running.Go(func() {
			if stopped[i] = p.adapter.Run(ctx, h); stopped[i] != nil {
				log.Error("platform stopped", "platform", p.adapter.Platform(), "err", stopped[i])
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	// Join is not nil: before ctx is done, a platform.Adapter stops only with an error.
	return fmt.Errorf("no platform is left to serve: %w", errors.Join(stopped...))
}
