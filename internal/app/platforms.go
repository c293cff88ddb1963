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

// platforms makes an adapter for each platform whose token is set, and has b.members use it.
// It registers Telegram's Role in b.roles and the heartbeat of Discord's gateway in the
// metrics.
func (b *Bot) platforms() (on []platform) {
	if s := b.cfg.Telegram; s.Token.IsSet() {
		a := telegram.New(telegram.Config{
			Settings: s, Dedup: b.state, Limiter: b.state, CommandTimeout: b.cfg.Limits.CommandTimeout,
			Log: b.log, Count: b.metrics.Events(string(telegram.Platform)), Connected: b.connected(telegram.Platform),
			Joins: &b.joins, Seen: b.members.Seen,
		})
		b.roles[telegram.Platform] = a.Role
		b.members.Use(telegram.Platform, a)
		on = append(on, platform{adapter: a, webhookPath: s.WebhookPath,
			probe: probe{title: "Telegram", url: s.APIURL, settings: "TELEGRAM_BOT_TOKEN and TELEGRAM_API_URL", ask: withRights(a.Check)}})
	}
	if s := b.cfg.Discord; s.Token.IsSet() {
		a := discord.New(discord.Config{
			Settings: s, Dedup: b.state, Status: b.status, Seen: b.members.Seen,
			Log: b.log, Count: b.metrics.Events(string(discord.Platform)), Connected: b.connected(discord.Platform),
		})
		b.members.Use(discord.Platform, a)
		p := platform{adapter: a,
			probe: probe{title: "Discord", url: s.APIURL, settings: "DISCORD_BOT_TOKEN and DISCORD_API_URL", ask: withRights(a.Check)}}
		if s.PublicKey != nil {
			p.webhookPath = "/discord/interactions"
		} else {
			b.metrics.ExportHeartbeat(a.HeartbeatLatency)
		}
		on = append(on, p)
	}
	return on
}

// withRights returns check as a probe asks it: with a line about each right. It fails if check
// fails, or the bot may not do what a setting asks for.
func withRights(check func(context.Context) ([]string, []chat.Right, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		details, rights, err := check(ctx)
		for _, r := range rights {
			if details = append(details, r.Lines()...); r.Problem != "" && err == nil {
				err = &config.WrongError{Problem: r.Setting + " does not work yet: see above"}
			}
		}
		return details, err
	}
}

// connected returns a function that logs that p is connected, with the bot's name there.
func (b *Bot) connected(p chat.Platform) func(name string) {
	return func(name string) { b.log.Info("platform connected", "platform", p, "name", name) }
}
