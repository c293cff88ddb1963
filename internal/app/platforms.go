package app

import (
	"context"
	"net/http"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
)

// platform is a chat platform whose token is set.
type platform struct {
	adapter interface {
		chat.Adapter
		http.Handler
		InFlight() int
	}
	probe probe
	// webhookPath is the URL path to which the platform posts updates; empty: it posts none.
	webhookPath string
}

// newPlatforms returns the platforms whose tokens are set. It makes their adapters, and has the
// rest of the bot use these.
func (b *Bot) newPlatforms() (on []platform) {
	if b.cfg.Telegram.Token.IsSet() {
		on = append(on, b.newTelegram())
	}
	if b.cfg.Discord.Token.IsSet() {
		on = append(on, b.newDiscord())
	}
	return on
}

// newTelegram makes Telegram's adapter. Through it the Router asks for a user's role in a chat, and
// b.members gives tags.
func (b *Bot) newTelegram() platform {
	s := b.cfg.Telegram
	a := telegram.New(telegram.Config{
		Settings: s, Dedup: b.state, Limiter: b.state, CommandTimeout: b.cfg.Limits.CommandTimeout,
		Log: b.log, Count: b.metrics.Events(string(telegram.Platform)), Connected: b.logConnected(telegram.Platform),
		Joins: &b.joins, Seen: b.members.Seen,
	})
	b.roles[telegram.Platform] = a.Role
	b.members.Use(telegram.Platform, a)
	p := probe{title: "Telegram", url: s.APIURL, settings: telegram.TokenSetting + " and TELEGRAM_API_URL", ask: withRights(a.Check)}
	return platform{adapter: a, probe: p, webhookPath: s.WebhookPath}
}

// newDiscord makes Discord's adapter, through which b.members gives roles. Without a webhook, the
// metrics have the latency of its gateway.
func (b *Bot) newDiscord() platform {
	s := b.cfg.Discord
	a := discord.New(discord.Config{
		Settings: s, Dedup: b.state, Status: b.status, Seen: b.members.Seen,
		Log: b.log, Count: b.metrics.Events(string(discord.Platform)), Connected: b.logConnected(discord.Platform),
	})
	b.members.Use(discord.Platform, a)
	p := probe{title: "Discord", url: s.APIURL, settings: discord.TokenSetting + " and DISCORD_API_URL", ask: withRights(a.Check)}
	if s.PublicKey != nil {
		return platform{adapter: a, probe: p, webhookPath: "/discord/interactions"}
	}
	b.metrics.ExportHeartbeat(a.HeartbeatLatency)
	return platform{adapter: a, probe: p}
}

// withRights returns the ask of a probe: it calls an adapter's Check, and returns its details and
// then a line about each right. It fails if Check fails, or the bot lacks a right.
func withRights(check func(context.Context) ([]string, []chat.Right, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		details, rights, err := check(ctx)
		for _, r := range rights {
			details = append(details, r.Lines()...)
			if r.Problem != "" && err == nil {
				err = &config.WrongError{Problem: r.Setting + " does not work yet: see above"}
			}
		}
		return details, err
	}
}

// logConnected returns a function that logs that a platform is connected, with the bot's name there.
func (b *Bot) logConnected(p chat.Platform) func(name string) {
	return func(name string) { b.log.Info("platform connected", "platform", p, "name", name) }
}
