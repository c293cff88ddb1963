// Package app makes a running bot from settings. It alone knows every other package:
// services and platforms never import each other. A platform is added in platforms.go, a
// service in services.go.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/pricechart"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/secret"
	"herald/internal/store"
)

// Bot is a whole bot. It must be closed.
type Bot struct {
	cfg     *Config
	log     *slog.Logger
	metrics *ops.Metrics
	state   interface { // of this process or of all replicas
		claim.Claims
		ratelimit.Limiter
	}
	redis  *store.Redis  // nil without REDIS_URL
	folder *store.Folder // nil without DATA_DIR
	joins  platform.JoinLog
	moves  platform.Moves
	// rows keep saved addresses; zero: none can be saved.
	rows rowStore
	// members saves addresses in rows.
	members *members.Members
	// stores are Redis and the files of DATA_DIR, as far as they are set. The first keeps
	// answers.
	stores []keeper
	cache  *core.Cache        // of every service's answers
	quotes *pricechart.Quotes // seen so far; nil until connect
	// status returns the price for Discord's member list; nil if none is shown.
	status   func(context.Context) string
	services []service
	// Router answers requests from every platform.
	Router *router.Router
	// Listen opens HTTP_ADDR. It is net.Listen; a test in simulated time replaces it before Run.
	Listen func(network, address string) (net.Listener, error)
	// retries limits the lines of logRetries.
	retries *ratelimit.Memory
	// roles ask a platform for a user's role; filled as adapters are made.
	roles map[chat.Platform]router.AskRole
}

// keeper keeps values for a later process.
type keeper interface {
	core.Store
	io.Closer
	Bucket(name string) store.Bucket
	Former() store.Bucket
}

// rowStore is what keeps saved addresses.
type rowStore struct {
	bucket func(name string) store.Bucket
	// former has what version b7a8be84 saved. formerIsShared says that other bots may have rows there.
	former         store.Bucket
	formerIsShared bool
	// bots has the IDs of the bot, by platform.
	bots map[chat.Platform]string
}

// maxCached bounds the cached answers of all services. Beyond it the oldest make room.
const maxCached = 100_000

// New makes a Bot, which has DATA_DIR to itself until Close. It does not block, and contacts
// nothing but Redis. It fails with a config.Errors if another process has DATA_DIR, and if a
// setting cannot be used after all.
func New(cfg *Config, log *slog.Logger) (*Bot, error) {
	return newWithState(cfg, log, (*Bot).openState)
}

// NewForCheck makes a Bot for Check. It works beside a running bot, and of DATA_DIR it only reads saved addresses.
func NewForCheck(cfg *Config, log *slog.Logger) (*Bot, error) {
	withoutFolder := *cfg
	withoutFolder.Store.DataDir = ""
	return newWithState(&withoutFolder, log, func(b *Bot) error {
		err := b.openState()
		dir := cfg.Store.DataDir
		_, missing := os.Stat(dir) // The bot makes it at its first start.
		if dir != "" && missing == nil && b.redis == nil {
			b.rows = rowsIn(store.NewFolder(dir, log), cfg)
		}
		return err
	})
}

// newWithState is New with another openState.
func newWithState(cfg *Config, log *slog.Logger, openState func(*Bot) error) (*Bot, error) {
	b := &Bot{
		cfg:     cfg,
		log:     log,
		metrics: ops.NewMetrics(),
		Listen:  net.Listen,
		retries: ratelimit.NewMemory(),
		roles:   map[chat.Platform]router.AskRole{},
	}
	if err := openState(b); err != nil {
		return nil, err
	}
	if b.folder != nil {
		if err := b.folder.Lock(); err != nil {
			b.closeState()
			return nil, err
		}
	}
	cache := core.CacheConfig{
		MaxItems: maxCached, StaleFor: cfg.StaleFor,
		CallTimeout: cfg.Limits.UpstreamTimeout, Timeout: cfg.Limits.CommandTimeout,
		Observer: b.metrics, Log: log,
	}
	if len(b.stores) > 0 {
		cache.Store = b.stores[0]
	}
	b.cache = core.NewCache(cache)
	b.metrics.ExportCache(b.cache.Items)
	sources, err := b.connect()
	if err == nil {
		b.Router, err = b.newRouter(sources)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// newRouter makes the Router of all commands, which ask sources.
func (b *Bot) newRouter(sources commands.Sources) (*router.Router, error) {
	return router.New(router.Config{
		Commands:  commands.All(sources, b.cfg.Answers),
		Operators: b.cfg.Operators, ModeratorChats: b.cfg.ModeratorChats, Roles: b.roles,
		Limiter: b.state, UserPerMinute: b.cfg.Limits.UserPerMinute, ChatPerMinute: b.cfg.Limits.ChatPerMinute,
		Bot:     b.id(),
		Timeout: b.cfg.Limits.CommandTimeout, Language: b.cfg.Language,
		Nearest: config.Nearest, Explain: commands.Explain, Observe: b.metrics.Command, Log: b.log,
	})
}

// id returns an ID of the bot among others that share a Redis.
func (b *Bot) id() string {
	platform, token := telegram.Platform, b.cfg.Telegram.Token
	if !token.IsSet() {
		platform, token = discord.Platform, b.cfg.Discord.Token
	}
	return string(platform) + "-" + botID(platform, token.Reveal())
}

// ReportBuild logs the version, and exports it to /metrics. It panics if it is called twice.
func (b *Bot) ReportBuild(version, commit string) {
	b.log.Info("herald starts", "version", version, "commit", commit)
	b.metrics.ExportBuild(version, commit)
}

// openState sets b.state, b.redis, b.folder, b.stores and b.rows. It locks nothing.
func (b *Bot) openState() error {
	b.state = store.NewMemory()
	if b.cfg.Store.RedisURL.IsSet() {
		salt := sha256.Sum256([]byte("herald state " + b.cfg.Partner.SecretKey.Reveal()))
		redis, err := store.NewRedis(b.cfg.Store, salt[:], b.id(), b.log)
		if err != nil {
			return err
		}
		b.metrics.ExportRedis(redis.Up, redis.Fallbacks)
		b.state, b.redis, b.stores = redis, redis, []keeper{redis}
	}
	if dir := b.cfg.Store.DataDir; dir != "" {
		b.folder = store.NewFolder(dir, b.log)
		b.stores = append(b.stores, b.folder)
	}
	if len(b.stores) > 0 {
		b.rows = rowsIn(b.stores[0], b.cfg)
	}
	return nil
}

// rowsIn returns the saved addresses in a store.
func rowsIn(s keeper, cfg *Config) rowStore {
	return rowStore{
		bucket: s.Bucket, former: s.Former(), formerIsShared: cfg.Store.RedisURL.IsSet(),
		bots: cfg.bots(),
	}
}

// closeState closes what openState opened.
func (b *Bot) closeState() {
	for _, s := range b.stores {
		_ = s.Close()
	}
}

// hash returns an ID of the parts, which shows none of them.
func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])
}

// Close stops what New started.
func (b *Bot) Close() {
	b.cache.Close()
	if b.quotes != nil {
		b.quotes.Close()
	}
	b.closeState()
}

// NewLogger returns a logger to w that redacts every secret of cfg.
func NewLogger(cfg *Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: secret.NewRedactor(cfg.Secrets()).ReplaceAttr}
	var h slog.Handler = slog.NewTextHandler(w, options)
	if cfg.LogJSON {
		h = slog.NewJSONHandler(w, options)
	}
	return slog.New(h)
}
