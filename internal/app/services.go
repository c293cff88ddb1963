package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/ops"
	"herald/internal/pricechart"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

// Services holds the settings of the services that the bot asks, and of the charts.
type Services struct {
	Partner partner.Settings
	Market  market.Settings
	Supply  supply.Settings
	Staking staking.Settings
	Charts  pricechart.Settings
}

func (s *Services) table() []config.Setting {
	return slices.Concat(s.Partner.Table(), s.Market.Table(), s.Charts.Table(), s.Supply.Table(), s.Staking.Table())
}

// service is a service that the bot asks. /status, `bot check` and the metrics show all of
// them.
type service struct {
	query.HealthCheck
	url string // only its host is shown
	// ask calls the service, past the cache, and blocks for the call. It returns the details
	// for `bot check`, also with an error. With a wallet, some are about its withdrawals.
	ask func(ctx context.Context, wallet string) (details []string, err error)
	// free, unless nil, is asked at the start in place of ask, which costs money or many calls.
	free func(ctx context.Context) error
}

// reach asks the service something that costs nothing, and blocks for the call.
func (s service) reach(ctx context.Context) error {
	if s.free != nil {
		return s.free(ctx)
	}
	_, err := s.ask(ctx, "")
	return err
}

// upstreams are the clients of the services, and what is kept of their answers.
type upstreams struct {
	cfg     *Config
	cache   *query.Cache // of every service's answers
	price   *market.Client
	supply  *supply.Client
	staking *staking.Client
	partner *partner.Client
	quotes  *pricechart.Quotes // seen so far
	// prices are those that are believed. To commands a doubtful price is an error.
	prices *belief.Prices
	list   []service
	// status returns the price for Discord's member list; nil if none is shown.
	status func(context.Context) string
}

// connect makes the clients of the services. It contacts nothing.
func connect(cfg *Config, state *state, metrics *ops.Metrics, log *slog.Logger) (*upstreams, error) {
	cache := newCache(cfg, state, metrics, log)
	stakes, err := staking.New(cfg.Services.Staking, cache, metrics.PoolUnread)
	if err != nil {
		cache.Close()
		return nil, err
	}
	s := &upstreams{
		cfg:     cfg,
		cache:   cache,
		price:   market.New(cfg.Services.Market, cache, log),
		supply:  supply.New(cfg.Services.Supply, cache),
		staking: stakes,
		partner: partner.New(cfg.Services.Partner, cache),
	}
	s.quotes, s.prices = newPrices(cfg, s.price, state, log)
	s.list = s.all()
	if cfg.Discord.Presence {
		interval := func() time.Duration { return statusInterval(s.price.Budget) }
		s.status = ticker(cfg, interval, s.prices, s.lastPrice)
	}
	s.export(metrics)
	return s, nil
}

// newCache makes the cache of all answers. The first store of state, if there is one, keeps what outlives the process.
func newCache(cfg *Config, state *state, metrics *ops.Metrics, log *slog.Logger) *query.Cache {
	c := query.CacheConfig{
		MaxItems:    maxCached,
		StaleFor:    cfg.StaleFor,
		CallTimeout: cfg.Limits.UpstreamTimeout,
		Timeout:     cfg.Limits.CommandTimeout,
		Observer:    metrics,
		Log:         log,
	}
	if len(state.stores) > 0 {
		c.Store = state.stores[0]
	}
	return query.NewCache(c)
}

// export adds what the services know to the metrics.
func (s *upstreams) export(metrics *ops.Metrics) {
	metrics.ExportCache(s.cache.Items)
	metrics.ExportClockSkew(s.partner.Skew)
	if budget := s.price.Budget; budget != nil {
		metrics.ExportCredits(budget.Available, budget.Left)
	}
	for _, each := range s.list {
		metrics.ExportService(each.Health)
	}
}

// close ends the calls in flight, and saves the quotes.
func (s *upstreams) close() {
	s.cache.Close()
	s.prices.Close()
	s.quotes.Close()
}

// sources returns what the commands ask.
func (s *upstreams) sources(members commands.Members, joins commands.JoinLog, moves commands.Moves) commands.Sources {
	sources := commands.Sources{
		Price:    s.prices,
		Supply:   s.supply.Supply,
		Stakes:   s.staking.Stakes,
		Total:    s.staking.Total(s.cfg.Services.Supply.TTL),
		Accounts: s.partner.Accounts,
		Logins:   s.partner.Logins,
		Chart:    pricechart.New(s.quotes, s.cfg.Market.Symbol, s.cfg.Charts).Chart,
		Members:  members,
		Joins:    joins,
		Moves:    moves,
		Started:  time.Now(),
	}
	for _, each := range s.list {
		sources.Services = append(sources.Services, each.HealthCheck)
	}
	return sources
}

// all returns every service, with the question that `bot check` puts to its client.
func (s *upstreams) all() []service {
	set := s.cfg.Services
	return []service{
		{
			HealthCheck: query.NewHealthCheck(s.price.Upstream, s.prices).WithEnded(market.EndedEndpoints),
			url:         set.Market.URL,
			free:        s.price.Reach,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				found, err := s.price.Probe(ctx)
				details, err := aboutQuote(found, err)
				if err == nil {
					details = append(details, s.aboutDoubt(found.Quote)...)
					left, failed := s.price.Credits(ctx)
					details = append(details, aboutCredits(left, failed, s.price.Budget != nil))
				}
				return details, err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(s.supply.Upstream, s.supply.Supply),
			url:         set.Supply.URL,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				found, err := s.supply.Supply.Fetch(ctx, struct{}{})
				return aboutSupply(found, set.Market.Symbol), err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(s.staking.Upstream, s.staking.Ping),
			url:         set.Staking.RPCURL.Reveal(),
			free: func(ctx context.Context) error {
				_, err := s.staking.Ping.Get(ctx, struct{}{})
				return err
			},
			ask: func(ctx context.Context, wallet string) ([]string, error) {
				found, err := s.staking.Probe(ctx, wallet)
				details := aboutPools(found, set.Market.Symbol)
				if err == nil {
					details = append(details, aboutNames(set.Staking.Pools)...)
				}
				if wallet != "" && set.Staking.PendingMethod == "" {
					details = append(details, "pending of the wallet: unknown without STAKING_PENDING_METHOD")
				}
				return details, err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(s.partner.Upstream, s.partner.Ping),
			url:         set.Partner.URL,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				err := s.partner.Probe(ctx)
				return aboutPartner(set.Partner.URL, s.partner.Skew(), err), err
			},
		},
	}
}

// lastPrice is a lastPrice for the ticker.
func (s *upstreams) lastPrice() (at time.Time, believed query.Answer[*core.Quote]) {
	quote, known := s.price.Price.Last(struct{}{})
	if known {
		believed.Snapshot, believed.Err = s.prices.Peek(quote)
	}
	return quote.At, believed
}

// newPrices returns the quotes seen so far and the believed prices of the provider. All stores keep the quotes. It does
// not block.
func newPrices(
	cfg *Config, provider *market.Client, state *state, log *slog.Logger,
) (*pricechart.Quotes, *belief.Prices) {
	var stores []query.Store
	for _, s := range state.stores {
		stores = append(stores, s)
	}
	token := tokenID(cfg.Market)
	quotes := pricechart.NewQuotes(token, stores, log)
	return quotes, belief.NewPrices(belief.Config{
		Source: provider.Price,
		Token:  token,
		Series: quotes,
		Stores: stores,
		Log:    log,
	})
}

// statusInterval returns the shortest time between two calls that Discord's status causes:
// 5 minutes, or longer, so that the status takes at most a third of the credits. A nil budget
// sets no bound.
func statusInterval(budget *market.Budget) time.Duration {
	const minInterval = 5 * time.Minute
	if budget == nil {
		return minInterval
	}
	return max(minInterval, 3*budget.Every())
}

// tokenID returns an ID of the token at its provider. The ID is a hash, because the URL may
// hold a key.
func tokenID(m market.Settings) string { return hash(m.URL, m.By, m.Token, m.Symbol) }
