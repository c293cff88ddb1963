package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/ops"
	"herald/internal/transport"
)

// lameDuck is how long the webhooks' server still answers, with 503, after the bot was told
// to stop. A proxy before several replicas then turns to another one and loses no request.
const lameDuck = time.Second

// Run serves every platform whose token is set. It blocks until ctx is done and the
// commands in flight are answered, or until no platform is left to serve.
func (b *Bot) Run(ctx context.Context) error {
	platforms := b.newPlatforms()
	server, err := b.listen(platforms)
	if err != nil {
		return err
	}
	if server != nil {
		// The adapters have drained by then, so every request has its answer.
		defer server.Close()
	}
	if b.redis != nil && b.redis.Probe(ctx) == nil { // What fails is tried again, and logged then.
		for _, warning := range b.storeWarnings(ctx) {
			b.log.Warn("redis may lose saved addresses", "reason", warning)
		}
	}
	if config.PublicHTTP(b.cfg.Partner.URL) {
		b.log.Warn(unencrypted)
	}
	starting, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { b.watchNetwork(starting, platforms) })
	defer watching.Wait()
	defer stop()
	refuseUntil := make(chan time.Time, 1)
	defer context.AfterFunc(ctx, func() { refuseUntil <- time.Now().Add(lameDuck) })()
	defer b.runMembers(ctx)()
	err = serve(ctx, b.Router, platforms, b.log)
	if ctx.Err() != nil && slices.ContainsFunc(platforms, func(p platform) bool { return p.webhookPath != "" }) {
		time.Sleep(time.Until(<-refuseUntil))
	}
	return err
}

// runMembers checks the saved addresses until ctx is done. wait blocks until that has ended.
func (b *Bot) runMembers(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	if b.members.Enabled() {
		running.Go(func() { b.members.Run(ctx) })
	}
	return running.Wait
}

// listen opens HTTP_ADDR and serves health, metrics and the platforms' webhooks there
// until the server is closed. It returns nil if HTTP_ADDR is off, and does not block.
func (b *Bot) listen(platforms []platform) (*ops.Server, error) {
	var adapters []chat.Adapter
	for _, p := range platforms {
		b.metrics.ExportPlatform(p.adapter, p.adapter.InFlight)
		adapters = append(adapters, p.adapter)
	}
	if b.cfg.Ops.Addr == "" {
		return nil, nil
	}
	listener, err := b.Listen("tcp", b.cfg.Ops.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on HTTP_ADDR: %w", err)
	}
	server := ops.NewServer(listener, b.metrics, adapters, b.log)
	for _, p := range platforms {
		if p.webhookPath != "" {
			server.Handle(p.webhookPath, p.adapter)
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

// networkGrace is how long after the start the log asks for a network at the earliest.
const networkGrace = time.Minute

// watchNetwork logs one error if no platform is connected networkGrace after the start
// and no probe reaches anything either. It blocks until then, or until ctx is done.
func (b *Bot) watchNetwork(ctx context.Context, platforms []platform) {
	connected := func(p platform) bool { return p.adapter.Ready() }
	if !transport.Sleep(ctx, networkGrace) || slices.ContainsFunc(platforms, connected) {
		return
	}
	if results := b.askAll(ctx, platforms, ""); ctx.Err() == nil && !networkWorks(results) {
		b.log.Error("nothing can be reached: does this machine have a network?")
	}
}

// serve runs the platforms' adapters. It blocks until ctx is done and each has drained. If
// one stops by itself the others go on; serve fails if none is left.
func serve(ctx context.Context, h chat.Handler, platforms []platform, log *slog.Logger) error {
	ended := make([]error, len(platforms))
	var running sync.WaitGroup
	for i, p := range platforms {
		running.Go(func() {
			if ended[i] = p.adapter.Run(ctx, h); ended[i] != nil {
				log.Error("platform stopped", "platform", p.adapter.Platform(), "err", ended[i])
			}
		})
	}
	running.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("no platform is left to serve: %w", errors.Join(ended...))
	}
	return nil
}
