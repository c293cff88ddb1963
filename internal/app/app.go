// Package app is the wiring: settings in, a running bot out. It is the only
// package that knows every other.
package app

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"slices"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/ops"
	"herald/internal/partner"
	"herald/internal/redact"
	"herald/internal/staking"
	"herald/internal/state"
	"herald/internal/supply"
)

// deliveryTime is how long an answer may take from its command to the chat,
// the command's own time apart; an update in hand for longer is taken to be
// abandoned.
const deliveryTime = 10 * time.Minute

// sources are the clients of the services.
type sources struct {
	partner *partner.Client
	market  *market.Client
	supply  *supply.Client
	staking *staking.Client
}

func newSources(cfg *config.Config, cache *core.Cache) (sources, error) {
	chain, err := staking.New(staking.Settings{
		RPCURL:        config.NewSecret(cfg.Chain.RPCURL),
		ChainID:       cfg.Chain.ID,
		Pools:         cfg.Chain.Pools,
		Method:        cfg.Chain.StakeMethod,
		PendingMethod: cfg.Chain.PendingMethod,
		Multicall:     cfg.Chain.Multicall,
		Decimals:      int32(cfg.Token.Decimals),
		TTL:           cfg.Cache.StakeTTL,
	}, cache)
	if err != nil {
		return sources{}, err
	}
	return sources{
		partner: partner.New(partner.Settings{
			URL:           cfg.Partner.URL,
			AppID:         cfg.Partner.AppID,
			SecretKey:     cfg.Partner.SecretKey,
			NotFoundCodes: cfg.Partner.NotFoundCodes,
			ExistsTTL:     cfg.Cache.ExistsTTL,
			LoginsTTL:     cfg.Cache.LoginsTTL,
		}, cache),
		market: market.New(market.Settings{
			URL:    cfg.Price.URL,
			APIKey: cfg.Price.APIKey,
			By:     cfg.Price.By,
			Token:  cfg.Price.Token,
			Symbol: cfg.Token.Symbol,
			TTL:    cfg.Cache.PriceTTL,
		}, cache),
		supply:  supply.New(supply.Settings{URL: cfg.SupplyURL, TTL: cfg.Cache.SupplyTTL}, cache),
		staking: chain,
	}, nil
}

// shared is the state of this process or of all replicas.
type shared interface {
	chat.Dedup
	Limiter(perMinute int) chat.Limiter
}

// Bot is a whole bot. It must be closed.
type Bot struct {
	cfg     *config.Config
	log     *slog.Logger
	metrics *ops.Metrics
	sources sources
	state   shared
	// Router answers requests as every platform's do.
	Router *chat.Router
	// roles ask a platform for a user's role; filled as adapters are made.
	roles map[chat.Platform]func(context.Context, chat.User, string) (chat.Role, error)
	// ping asks the Redis of state; nil without one.
	ping func(context.Context) (detail string, err error)
	// Close frees what New made.
	Close func()
}

// New wires the way from Request to Reply. It contacts nothing.
func New(cfg *config.Config, log *slog.Logger) (*Bot, error) {
	b := &Bot{cfg: cfg, log: log, metrics: ops.NewMetrics(), Close: func() {},
		roles: map[chat.Platform]func(context.Context, chat.User, string) (chat.Role, error){}}

	var store core.Store
	claim := cfg.Limits.CommandTimeout + deliveryTime
	b.state = state.NewMemory(claim)
	if cfg.RedisURL.IsSet() {
		salt := sha256.Sum256([]byte("herald state " + cfg.Partner.SecretKey.Reveal()))
		redis, err := state.NewRedis(state.Settings{RedisURL: cfg.RedisURL}, salt[:], claim, log)
		if err != nil {
			return nil, err
		}
		b.state, store = redis, redis
		b.ping = func(ctx context.Context) (string, error) { return "", redis.Ping(ctx) }
		b.Close = func() { _ = redis.Close() }
		b.metrics.RedisFallbacks(redis.Fallbacks)
	}
	from, err := newSources(cfg, core.NewCache(core.CacheConfig{
		MaxItems:    cfg.Cache.MaxItems,
		StaleFor:    cfg.Cache.StaleFor,
		CallTimeout: cfg.Limits.UpstreamTimeout,
		Timeout:     cfg.Limits.CommandTimeout,
		Store:       store,
		Observer:    b.metrics,
	}))
	if err != nil {
		return nil, err
	}
	b.sources = from
	b.metrics.ClockSkew(from.partner.Skew)
	b.Router, err = chat.NewRouter(chat.Config{
		Commands: commands.All(commands.Sources{
			Price:    from.market.Price,
			Supply:   from.supply.Supply,
			Stakes:   from.staking.Stakes,
			Accounts: from.partner.Accounts,
			Logins:   from.partner.Logins,
		}, commands.Token{Symbol: cfg.Token.Symbol}),
		Operators: slices.Clone(cfg.Operators),
		Timeout:   cfg.Limits.CommandTimeout,
		UserLimit: b.state.Limiter(cfg.Limits.UserPerMinute),
		ChatLimit: b.state.Limiter(cfg.Limits.ChatPerMinute),
		Explain:   commands.Explain,
		Observe:   b.metrics.Command,
		Log:       log,
		Roles:     b.roles,
	})
	return b, err
}

// NewLogger logs to w, with every known secret struck out.
func NewLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.Log.Level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if cfg.Log.JSON {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(redact.New(cfg.Secrets()).Handler(handler))
}
