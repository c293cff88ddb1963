// Package app is the wiring: settings in, a running bot out. It is the only package that
// knows every other, so that no other has to: services and platforms never import each
// other. A platform is added in platforms.go, a service in services.go.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/ops"
	"herald/internal/pricechart"
	"herald/internal/secret"
	"herald/internal/service/market/credits"
	"herald/internal/store"
)

// Bot is a whole bot. It must be closed.
type Bot struct {
	cfg     *Config
	log     *slog.Logger
	metrics *ops.Metrics
	state   interface { // of this process or of all replicas
		chat.Dedup
		chat.Limiter
	}
	redis   *store.Redis       // nil without one
	disk    *store.Folder      // nil without DATA_DIR
	cache   *core.Cache        // of all that is asked
	credits *credits.Budget    // of the price provider; nil without a bound
	quotes  *pricechart.Quotes // the quotes seen, nil until made
	// status is the price under Discord's bot; nil where none is shown.
	status   func(context.Context) string
	services []service
	// Router answers requests from every platform.
	Router *chat.Router
	// roles ask a platform for a user's role; filled as adapters are made.
	roles map[chat.Platform]func(context.Context, chat.User, string) (chat.Role, error)
}

// New wires the way from Request to Reply. It contacts nothing.
func New(cfg *Config, log *slog.Logger) (*Bot, error) {
	b := &Bot{cfg: cfg, log: log, metrics: ops.NewMetrics(),
		roles: map[chat.Platform]func(context.Context, chat.User, string) (chat.Role, error){}}
	store, err := b.openState()
	if err != nil {
		return nil, err
	}
	b.cache = core.NewCache(core.CacheConfig{
		MaxItems:    cfg.CacheItems,
		StaleFor:    cfg.StaleFor,
		CallTimeout: cfg.Limits.UpstreamTimeout,
		Timeout:     cfg.Limits.CommandTimeout,
		Store:       store,
		Observer:    b.metrics,
		Log:         log,
	})
	b.metrics.Cache(b.cache.Items, cfg.CacheItems)
	sources, err := b.connect(b.cache)
	if err == nil {
		b.Router, err = chat.NewRouter(chat.Config{
			Commands:       commands.All(sources, cfg.options()),
			Operators:      slices.Clone(cfg.Operators),
			ModeratorChats: slices.Clone(cfg.ModeratorChats),
			Timeout:        cfg.Limits.CommandTimeout,
			Limiter:        b.state,
			UserPerMinute:  cfg.Limits.UserPerMinute,
			ChatPerMinute:  cfg.Limits.ChatPerMinute,
			Bot:            hash("bot", cfg.Telegram.Token.Reveal(), cfg.Discord.Token.Reveal()),
			Language:       cfg.Language,
			Nearest:        config.Nearest,
			Explain:        commands.Explain,
			Observe:        b.metrics.Command,
			Log:            log,
			Roles:          b.roles,
		})
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// ExportBuild exports what is running to /metrics. Call it at most once.
func (b *Bot) ExportBuild(version, commit string) { b.metrics.Build(version, commit) }

// openState sets the state. The Store is Redis, else the files of DATA_DIR, else
// nil.
func (b *Bot) openState() (core.Store, error) {
	if dir := b.cfg.Store.DataDir; dir != "" {
		b.disk = store.NewFolder(dir, b.log)
	}
	if !b.cfg.Store.RedisURL.IsSet() {
		b.state = store.NewMemory()
		if b.disk != nil {
			return b.disk, nil
		}
		return nil, nil
	}
	claim := max(b.cfg.Limits.CommandTimeout, time.Second)
	salt := sha256.Sum256([]byte("herald state " + b.cfg.Partner.SecretKey.Reveal()))
	redis, err := store.NewRedis(b.cfg.Store, salt[:], claim, b.log)
	if err != nil {
		return nil, err
	}
	b.metrics.Redis(redis.Up, redis.Fallbacks)
	b.state, b.redis = redis, redis
	return redis, nil
}

// hash tells these parts from any others, and shows none of them.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])
}

// Close frees what New made.
func (b *Bot) Close() {
	b.cache.Close()
	if b.quotes != nil {
		b.quotes.Close()
	}
	if b.redis != nil {
		_ = b.redis.Close()
	}
}

// NewLogger logs to w, with every known secret redacted.
func NewLogger(cfg *Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: secret.NewRedactor(cfg.Secrets()).ReplaceAttr}
	var h slog.Handler = slog.NewTextHandler(w, options)
	if cfg.LogJSON {
		h = slog.NewJSONHandler(w, options)
	}
	return slog.New(h)
}
