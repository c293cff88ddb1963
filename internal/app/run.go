package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/ops"
)

// refusing is how long, from when the bot is told to stop, a server that platforms
// call goes on at least. It answers 503 then: a proxy before several replicas turns
// to another one, where a connection that breaks would be the end of its request.
const refusing = time.Second

// Run serves every platform whose token is set until ctx is done.
func (b *Bot) Run(ctx context.Context) error {
	platforms, err := b.platforms()
	if err != nil {
		return err
	}
	on := adapters(platforms)
	for _, p := range platforms {
		b.metrics.Platform(p.adapter)
		if p.heartbeat != nil {
			b.metrics.GatewayHeartbeat(p.heartbeat)
		}
	}
	called := false
	if b.cfg.Ops.Addr != "" {
		server, err := ops.Listen(b.cfg.Ops.Addr, b.metrics, on, b.log)
		if err != nil {
			return err
		}
		for _, p := range platforms {
			if p.path != "" {
				server.Handle(p.path, p.adapter)
				called = true
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
		_ = b.redis.Connect(ctx) // What fails is tried again, and logged then.
	}
	refused := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(refusing, func() { close(refused) }) })()
	err = serve(ctx, b.Router, on, b.log)
	if called && ctx.Err() != nil {
		<-refused
	}
	return err
}

func adapters(platforms []platform) (all []chat.Adapter) {
	for _, p := range platforms {
		all = append(all, p.adapter)
	}
	return all
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
