package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// connection is the adapter of a chat platform whose token is set.
type connection struct {
	adapter adapter
	probe   probe
	// webhookPath is the URL path to which the platform posts updates; empty: it posts none.
	webhookPath string
}

// adapter is what package app uses of a platform's adapter.
type adapter interface {
	platform.Adapter
	http.Handler
	InFlight() int
	// Check returns also a Right for each of moderated, which are IDs of communities.
	Check(ctx context.Context, moderated ...string) (details []string, rights []platform.Right, err error)
}

// newPlatforms returns the platforms whose tokens are set. It makes their adapters, and has the
// rest of the bot use these.
func (b *Bot) newPlatforms() (on []connection) {
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
func (b *Bot) newTelegram() connection {
	s := b.cfg.Telegram
	a := telegram.New(telegram.Config{
		Settings:       s,
		Dedup:          b.state,
		Limiter:        b.state,
		CommandTimeout: b.cfg.Limits.CommandTimeout,
		Log:            b.log,
		Count:          b.metrics.Events(string(telegram.Platform)),
		Connected:      b.logConnected(telegram.Platform),
		Retried:        b.logRetries(telegram.Platform),
		Joins:          &b.joins,
		Seen:           b.members.Seen,
		Moves:          &b.moves,
		ModeratorChats: b.moderated(telegram.Platform),
		Links:          b.cfg.links(),
	})
	b.roles[telegram.Platform] = a.Role
	b.members.Use(telegram.Platform, a)
	return connection{
		adapter:     a,
		webhookPath: s.WebhookPath,
		probe: probe{
			title:    "Telegram",
			url:      s.APIURL,
			settings: telegram.TokenSetting + " and TELEGRAM_API_URL",
			ask:      b.askOf(a),
		},
	}
}

// newDiscord makes Discord's adapter, through which b.members gives roles. Without a webhook, the
// metrics have the latency of its gateway.
func (b *Bot) newDiscord() connection {
	s := b.cfg.Discord
	a := discord.New(discord.Config{
		Settings:  s,
		Commands:  b.Router.Commands(),
		Dedup:     b.state,
		Status:    b.status,
		Seen:      b.members.Seen,
		Log:       b.log,
		Count:     b.metrics.Events(string(discord.Platform)),
		Connected: b.logConnected(discord.Platform),
		Retried:   b.logRetries(discord.Platform),
	})
	b.members.Use(discord.Platform, a)
	p := probe{title: "Discord", url: s.APIURL, settings: discord.TokenSetting + " and DISCORD_API_URL", ask: b.askOf(a)}
	if s.PublicKey != nil {
		return connection{adapter: a, probe: p, webhookPath: "/discord/interactions"}
	}
	b.metrics.ExportHeartbeat(a.HeartbeatLatency)
	return connection{adapter: a, probe: p}
}

// askOf returns the ask of a probe. The ask calls an adapter's Check, also for the platform's entries
// of MODERATOR_CHATS, and returns its details and then the lines of each right. The ask fails if Check
// fails or a right has a Problem.
func (b *Bot) askOf(a adapter) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		details, rights, err := a.Check(ctx, b.moderated(a.Platform())...)
		for _, r := range rights {
			details = append(details, r.Lines()...)
			if r.Problem != "" && err == nil {
				err = &config.WrongError{Problem: r.Setting + " does not work yet: see above"}
			}
		}
		return details, err
	}
}

// moderated returns the IDs of a platform's communities in MODERATOR_CHATS.
func (b *Bot) moderated(p chat.Platform) (ids []string) {
	for _, entry := range b.cfg.ModeratorChats {
		if id, here := strings.CutPrefix(entry, string(p)+":"); here {
			ids = append(ids, id)
		}
	}
	return ids
}

// logConnected returns a function that logs that a platform is connected, with the bot's name there.
func (b *Bot) logConnected(p chat.Platform) func(name string) {
	return func(name string) { b.log.Info("platform connected", "platform", p, "name", name) }
}

// logRetries returns a function that logs a failed call that is about to be made again. It logs at
// most once a minute for each platform. Connections that were never made count as one, for all
// platforms together. A call that fails every few seconds can keep all others out of the log.
func (b *Bot) logRetries(p chat.Platform) func(error) {
	return func(err error) {
		limit := ratelimit.Limit{Key: string(p), Burst: 1, Every: time.Minute}
		if transport.NeverSent(err) {
			limit.Key = "" // One for all platforms.
		}
		if b.retries.Allow(limit) {
			b.log.Warn("a call failed, trying again; bot check says what can be reached", "platform", p, "err", err)
		}
	}
}
