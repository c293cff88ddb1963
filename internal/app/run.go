package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/ops"
)

// lameDuck is how long a server that platforms call goes on at least once the bot is
// told to stop. It answers 503 then, so that a proxy in front of several replicas turns
// to another one; a connection that breaks would lose a request.
const lameDuck = time.Second

// Run serves every platform whose token is set until ctx is done.
func (b *Bot) Run(ctx context.Context) error {
	platforms, err := b.platforms()
	if err != nil {
		return err
	}
	var adapters []chat.Adapter
	called := false
	for _, p := range platforms {
		b.metrics.Platform(p.adapter, p.adapter.InFlight)
		adapters = append(adapters, p.adapter)
		called = called || p.path != ""
	}
	if b.cfg.Ops.Addr != "" {
		server, err := ops.Listen(b.cfg.Ops.Addr, b.metrics, adapters, b.log)
		if err != nil {
			return err
		}
		for _, p := range platforms {
			if p.path != "" {
				server.Handle(p.path, p.adapter)
			}
		}
		go func() {
			if err := server.Serve(); err != nil {
				b.log.Error("http server ended", "err", err)
			}
		}()
		// The adapters have drained by then, so every request has its answer.
		defer server.Close()
		b.log.Info("http server listens", "addr", server.Addr())
	}
	if b.redis != nil {
		_ = b.redis.Probe(ctx) // What fails is tried again, and logged then.
	}
	if config.PublicHTTP(b.cfg.Partner.URL) {
		b.log.Warn(unencrypted)
	}
	refused := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		time.Sleep(lameDuck)
		close(refused)
	})()
	err = serve(ctx, b.Router, platforms, b.log)
	if called && ctx.Err() != nil {
		<-refused
	}
	return err
}

// serve runs the platforms' adapters until ctx is done and each has drained. When one
// stops by itself the others go on; it is an error if none is left.
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
