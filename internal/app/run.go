package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/discord"
	"herald/internal/ops"
	"herald/internal/telegram"
)

// Run serves every platform whose token is set until ctx is done.
func (bot *Bot) Run(ctx context.Context) error {
	cfg, log := bot.cfg, bot.log
	served, err := platforms(cfg, bot)
	if err != nil {
		return err
	}
	if cfg.HTTPAddr != "" {
		server, err := ops.Listen(cfg.HTTPAddr, bot.metrics, served.adapters, log)
		if err != nil {
			return err
		}
		for path, handler := range served.callbacks {
			server.Handle(path, handler)
		}
		go func() {
			if err := server.Serve(); err != nil {
				log.Error("http server ended", "err", err)
			}
		}()
		// By then every request in hand has its answer: adapters drain first.
		defer server.Close()
		log.Info("http server listens", "addr", server.Addr())
	}
	return serve(ctx, bot.Router, served.adapters, log)
}

// endpoints are the platforms to serve, and what they want called in by HTTP.
type endpoints struct {
	adapters  []chat.Adapter
	callbacks map[string]http.Handler
}

// platforms makes an adapter for each platform that is on.
func platforms(cfg *config.Config, bot *Bot) (endpoints, error) {
	e := endpoints{callbacks: map[string]http.Handler{}}
	if cfg.Telegram.Token.IsSet() {
		a, err := newTelegram(cfg, bot)
		if err != nil {
			return e, err
		}
		bot.roles[telegram.Platform] = a.Role
		e.adapters = append(e.adapters, a)
		if cfg.Telegram.WebhookURL != "" {
			e.callbacks[cfg.Telegram.WebhookPath] = a
		}
	}
	if cfg.Discord.Token.IsSet() {
		a, err := newDiscord(cfg, bot)
		if err != nil {
			return e, err
		}
		e.adapters = append(e.adapters, a)
		if cfg.Discord.PublicKey != nil {
			e.callbacks["/discord/interactions"] = a
		}
	}
	return e, nil
}

func newTelegram(cfg *config.Config, bot *Bot) (*telegram.Adapter, error) {
	return telegram.New(telegram.Config{
		Settings:       telegram.Settings(cfg.Telegram),
		Dedup:          bot.state,
		CommandTimeout: cfg.Limits.CommandTimeout,
		Log:            bot.log,
		Count:          bot.metrics.Events("telegram"),
	})
}

func newDiscord(cfg *config.Config, bot *Bot) (*discord.Adapter, error) {
	return discord.New(discord.Config{
		Token:          cfg.Discord.Token.Reveal(),
		ApplicationID:  cfg.Discord.ApplicationID,
		APIURL:         cfg.Discord.APIURL,
		GuildID:        cfg.Discord.GuildID,
		PublicKey:      cfg.Discord.PublicKey,
		Dedup:          bot.state,
		CommandTimeout: cfg.Limits.CommandTimeout,
		Log:            bot.log,
		Count:          bot.metrics.Events("discord"),
	})
}

// serve runs the adapters until ctx is done and each has drained. One that can
// never be served leaves the others running; it is an error if none is left.
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
