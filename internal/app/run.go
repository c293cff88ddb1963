package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"herald/internal/chat"
	"herald/internal/ops"
)

// Run serves every platform whose token is set until ctx is done.
func (b *Bot) Run(ctx context.Context) error {
	platforms, err := b.platforms()
	if err != nil {
		return err
	}
	var adapters []chat.Adapter
	for _, p := range platforms {
		adapters = append(adapters, p.adapter)
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
	return serve(ctx, b.Router, adapters, b.log)
}

// serve runs the adapters until ctx is done and each has drained. When one
// stops by itself the others go on; it is an error if none is left.
func serve(ctx context.Context, h chat.Handler, adapters []chat.Adapter, log *slog.Logger) error {
	ended := make([]error, len(adapters))
	var running sync.WaitGroup
	for i, a := range adapters {
		running.Go(func() {
			if ended[i] = a.Run(ctx, h); ended[i] != nil {
				log.Error("platform stopped", "platform", a.Platform(), "err", ended[i])
			}
		})
	}
	running.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("no platform is left to serve: %w", errors.Join(ended...))
	}
	return nil
}
