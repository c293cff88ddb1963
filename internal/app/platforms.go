package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/store"
)

// Platforms are the settings of the chat platforms.
type Platforms struct {
	Telegram telegram.Settings
	Discord  discord.Settings
}

func (p *Platforms) table() []config.Setting {
	return slices.Concat(p.Telegram.Table(), p.Discord.Table())
}

// platform is one that is on.
type platform struct {
	adapter interface {
		chat.Adapter
		http.Handler
		InFlight() int
		Check(context.Context) (learned []string, err error)
	}
	title, apiURL string
	// settings are those to look at when Check fails.
	settings string
	// path is where the adapter is called by HTTP; empty is nowhere.
	path string
	// heartbeat is how long the platform took to acknowledge one; nil where there
	// are none.
	heartbeat func() time.Duration
}

// platforms makes an adapter for each platform whose token is set.
func (b *Bot) platforms() ([]platform, error) {
	var on []platform
	if s := b.cfg.Telegram; s.Token.IsSet() {
		a, err := telegram.New(telegram.Config{
			Settings:       s,
			Dedup:          b.state,
			Limiter:        store.NewSlots(),
			CommandTimeout: b.cfg.Limits.CommandTimeout,
			Log:            b.log,
			Count:          b.metrics.Events(string(telegram.Platform)),
			Connected:      b.connected(telegram.Platform),
		})
		if err != nil {
			return nil, err
		}
		b.roles[telegram.Platform] = a.Role
		on = append(on, platform{a, "Telegram", s.APIURL, "TELEGRAM_BOT_TOKEN and TELEGRAM_API_URL", s.WebhookPath, nil})
	}
	if s := b.cfg.Discord; s.Token.IsSet() {
		a, err := discord.New(discord.Config{
			Settings:       s,
			Dedup:          b.state,
			CommandTimeout: b.cfg.Limits.CommandTimeout,
			Log:            b.log,
			Count:          b.metrics.Events(string(discord.Platform)),
			Connected:      b.connected(discord.Platform),
			Status:         b.status,
		})
		if err != nil {
			return nil, err
		}
		p := platform{a, "Discord", s.APIURL, "DISCORD_BOT_TOKEN and DISCORD_API_URL", "", a.HeartbeatLatency}
		if s.PublicKey != nil {
			p.path, p.heartbeat = "/discord/interactions", nil
		}
		on = append(on, p)
	}
	return on, nil
}

// connected returns what to call with the bot's name on a platform whenever it has
// connected there.
func (b *Bot) connected(p chat.Platform) func(name string) {
	return func(name string) { b.log.Info("platform connected", "platform", p, "name", name) }
}
