package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

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
	return slices.Concat(s.Market.Table(), s.Charts.Table(), s.Supply.Table(), s.Staking.Table(), s.Partner.Table())
}

// service is a service that is on. /status, `bot check` and the metrics show all of them.
type service struct {
	query.HealthCheck
	url string // only its host is shown
	// ask calls the service for `bot check`, past the cache, and blocks for the calls. It returns the details of a
	// probe. If wallet is not empty, the staking service's details include the wallet's withdrawals.
	ask func(ctx context.Context, wallet string) (details []string, err error)
	// askFree makes a single call that costs no money, and blocks for it. It is nil if ask costs no money either.
	askFree func(ctx context.Context) error
}

// reach asks the service something that costs no money. It blocks for the answer, and returns an error if there is
// none.
func (s service) reach(ctx context.Context) error {
	if s.askFree != nil {
		return s.askFree(ctx)
	}
	_, err := s.ask(ctx, "")
	return err
}

// upstreams holds the services that are on. Each method connect… adds a service.
type upstreams struct {
	cfg     *Config
	cache   *query.Cache // the answers of all services
	metrics *ops.Metrics
	log     *slog.Logger
	// list has each service, in the order of /status.
	list []service
	// sources are what commands ask. The sources of a service that is off are nil.
	sources commands.Sources
	// stakesOf returns the stakes of several wallets, in order. It is nil if the staking service is off.
	stakesOf func(context.Context, []common.Address) []query.Answer[core.Stake]
	// quotes are the quotes seen so far. It is nil if the price provider is off.
	quotes *pricechart.Quotes
	// status returns the price for Discord's member list. It is nil if none is shown.
	status func(context.Context) string
	// closers stop what the services have started. close calls them in order.
	closers []func()
}

// connect makes the clients of the services that are on. It makes no calls.
func connect(cfg *Config, state *state, metrics *ops.Metrics, log *slog.Logger) (*upstreams, error) {
	cache := newCache(cfg, state, metrics, log)
	s := &upstreams{cfg: cfg, cache: cache, metrics: metrics, log: log, closers: []func(){cache.Close}}
	if cfg.Market.IsOn() {
		s.connectPrice(state)
	}
	if cfg.Supply.IsOn() {
		s.connectSupply()
	}
	if cfg.Staking.IsOn() {
		if err := s.connectStaking(); err != nil {
			s.close()
			return nil, err
		}
	}
	if cfg.Partner.IsOn() {
		s.connectPartner()
	}
	metrics.ExportCache(cache.Items)
	for _, each := range s.list {
		metrics.ExportService(each.Health)
		s.sources.Services = append(s.sources.Services, each.HealthCheck)
	}
	return s, nil
}

// maxCached is the maximum number of cached answers of all services together.
const maxCached = 100_000

// newCache makes the cache of all answers. If state has stores, the first one saves answers for other replicas and for
// the next process.
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

// close calls the closers. The first one closes the cache, which ends the calls in flight. So no call adds a price or a
// quote after the next closers have saved them.
func (s *upstreams) close() {
	for _, end := range s.closers {
		end()
	}
}

// connectPrice connects the price provider. Commands do not ask the client, but a belief.Prices. It passes on the
// client's prices, except that it returns an error for a doubtful price: one that contradicts other figures.
func (s *upstreams) connectPrice(state *state) {
	client := market.New(s.cfg.Market, s.cache, s.log)
	quotes, prices := newPrices(s.cfg, client, state, s.log)
	s.quotes = quotes
	s.closers = append(s.closers, prices.Close, quotes.Close)
	s.sources.Price = prices
	s.sources.Chart = pricechart.New(quotes, s.cfg.Market.Symbol, s.cfg.Charts).Chart
	s.list = append(s.list, service{
		HealthCheck: query.NewHealthCheck(client.Upstream, prices).WithEnded(market.EndedEndpoints),
		url:         s.cfg.Market.URL,
		askFree:     client.Reach,
		ask: func(ctx context.Context, _ string) ([]string, error) {
			found, err := client.Probe(ctx)
			if err != nil {
				return aboutRefusal(client.Said()), err
			}
			details := append(aboutQuote(found), aboutDoubt(prices, found.Quote)...)
			reading, unknown := client.Credits(ctx)
			return append(details, aboutCredits(reading, unknown, client.Budget != nil)), nil
		},
	})
	if client.Budget != nil {
		s.metrics.ExportCredits(client.Budget.Available, client.Budget.Left)
	}
	if s.cfg.Discord.Presence {
		s.status = s.newTicker(client, prices).Text
	}
}

// newPrices returns the quotes seen so far, and a belief.Prices of the provider's prices. Both save what they know in
// every store of state. newPrices does not block.
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

// tokenID returns an ID for the token at its price provider. It is a hash, because the URL may contain a key.
func tokenID(m market.Settings) string { return hash(m.URL, m.TokenBy, m.Token, m.Symbol) }

// newTicker returns a ticker that shows the provider's prices, and marks those that prices doubts.
func (s *upstreams) newTicker(client *market.Client, prices *belief.Prices) *ticker {
	return &ticker{
		language: s.cfg.Language,
		symbol:   s.cfg.Market.Symbol,
		maxAge:   s.cfg.Market.TTL + s.cfg.StaleFor,
		// A shorter interval than the TTL would be useless: until the TTL is over, the source answers from the cache.
		interval: func() time.Duration { return max(s.cfg.Market.TTL, statusInterval(client.Budget)) },
		source:   prices,
		last: func() (last lastPrice) {
			quote, known := client.Price.Last(struct{}{})
			if known {
				last.At = quote.At
				last.Quote.Snapshot, last.Quote.Err = prices.Peek(quote)
			}
			return last
		},
	}
}

// statusInterval returns the minimum time between two calls of the price provider for Discord's status: at least 5
// minutes, and so long that the calls use at most a third of the credits. For example, if the budget allows a call
// every 4 minutes, the interval is 12 minutes. A nil budget allows any number of calls.
func statusInterval(budget *market.Budget) time.Duration {
	const minInterval = 5 * time.Minute
	if budget == nil {
		return minInterval
	}
	return max(minInterval, 3*budget.Every())
}

// connectSupply connects the supply host.
func (s *upstreams) connectSupply() {
	client := supply.New(s.cfg.Supply, s.cache)
	s.sources.Supply = client.Supply
	s.list = append(s.list, service{
		HealthCheck: query.NewHealthCheck(client.Upstream, client.Supply),
		url:         s.cfg.Supply.URL,
		ask: func(ctx context.Context, _ string) ([]string, error) {
			found, err := client.Supply.Fetch(ctx, struct{}{})
			return aboutSupply(found, s.cfg.Market.Symbol), err
		},
	})
}

// connectStaking connects the chain's node, which reads the staking pools.
func (s *upstreams) connectStaking() error {
	settings := s.cfg.Staking
	client, err := staking.New(settings, s.cache, s.metrics.PoolUnread)
	if err != nil {
		return err
	}
	s.stakesOf = client.StakesOf
	s.sources.Stakes = client.Stakes
	s.sources.Total = client.Total(s.cfg.Supply.TTL) // /supply shows the total beside the supply.
	s.list = append(s.list, service{
		HealthCheck: query.NewHealthCheck(client.Upstream, client.Ping),
		url:         settings.RPCURL.Reveal(),
		askFree: func(ctx context.Context) error {
			_, err := client.Ping.Get(ctx, struct{}{})
			return err
		},
		ask: func(ctx context.Context, wallet string) ([]string, error) {
			found, err := client.Probe(ctx, wallet)
			details := aboutPools(found, s.cfg.Market.Symbol)
			if err == nil {
				details = append(details, aboutNames(settings.Pools)...)
			}
			if wallet != "" && settings.PendingMethod == "" {
				details = append(details, "pending of the wallet: unknown without STAKING_PENDING_METHOD")
			}
			return details, err
		},
	})
	return nil
}

// connectPartner connects the partner API.
func (s *upstreams) connectPartner() {
	client := partner.New(s.cfg.Partner, s.cache)
	s.sources.Accounts = client.Accounts
	s.sources.Logins = client.Logins
	s.metrics.ExportClockSkew(client.Skew)
	s.list = append(s.list, service{
		HealthCheck: query.NewHealthCheck(client.Upstream, client.Ping),
		url:         s.cfg.Partner.URL,
		ask: func(ctx context.Context, _ string) ([]string, error) {
			err := client.Probe(ctx)
			return aboutPartner(s.cfg.Partner.URL, client.Skew(), err), err
		},
	})
}
