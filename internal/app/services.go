package app

import (
	"context"
	"slices"
	"time"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/pricechart"
	"herald/internal/service/market"
	"herald/internal/service/market/credits"
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

// service is a service that the bot asks. /status, `bot check` and the metrics list
// every one in Bot.services.
type service struct {
	*core.Upstream
	url string // only its host is shown
	// ask is as in probe. It asks past the cache.
	ask func(context.Context) (details []string, err error)
}

// connect makes the services' clients and lists them in b.services. It contacts
// nothing.
func (b *Bot) connect() (commands.Sources, error) {
	cfg := b.cfg.Services
	price := market.New(cfg.Market, b.cache, b.priceBudget())
	supplies := supply.New(cfg.Supply, b.cache)
	stakes, err := staking.New(cfg.Staking, b.cache, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	accounts := partner.New(cfg.Partner, b.cache)
	b.services = []service{
		{Upstream: price.Upstream, url: cfg.Market.URL,
			ask: func(ctx context.Context) ([]string, error) { return aboutQuote(price.Probe(ctx)) }},
		{Upstream: supplies.Upstream, url: cfg.Supply.URL,
			ask: func(ctx context.Context) ([]string, error) {
				found, err := supplies.Supply.Fetch(ctx, struct{}{})
				return aboutSupply(found, cfg.Market.Symbol), err
			}},
		{Upstream: stakes.Upstream, url: cfg.Staking.RPCURL.Reveal(),
			ask: func(ctx context.Context) ([]string, error) { return aboutPools(stakes.Probe(ctx)) }},
		{Upstream: accounts.Upstream, url: cfg.Partner.URL,
			ask: func(ctx context.Context) ([]string, error) {
				err := accounts.Probe(ctx)
				return aboutPartner(cfg.Partner.URL, accounts.Skew(), err), err
			}},
	}
	b.metrics.ExportClockSkew(accounts.Skew)
	recorded := b.recordQuotes(price)
	sources := commands.Sources{
		Price: recorded, Supply: supplies.Supply, Stakes: stakes.Stakes,
		Accounts: accounts.Accounts, Logins: accounts.Logins,
		Chart: pricechart.New(b.quotes, cfg.Market.Symbol, cfg.Charts).Chart,
	}
	for _, s := range b.services {
		sources.Services = append(sources.Services, s.Upstream)
		b.metrics.ExportService(s.Health)
	}
	return sources, nil
}

// recordQuotes returns a source of prices that records each in b.quotes, for charts. It
// also makes b.status, if Discord is to show the price.
func (b *Bot) recordQuotes(price *market.Client) *pricechart.Recorded {
	var stores []core.Store
	for _, s := range b.stores {
		stores = append(stores, s)
	}
	b.quotes = pricechart.NewQuotes(tokenID(b.cfg.Market), stores, b.log)
	recorded := &pricechart.Recorded{Prices: price.Price, Quotes: b.quotes}
	if b.cfg.Discord.Presence {
		b.status = ticker(b.cfg, b.statusGap(), recorded, price.Price.Last)
	}
	return recorded
}

// priceBudget sets b.credits and returns it; nil if calls to the price provider are not
// bounded.
func (b *Bot) priceBudget() core.Budget {
	if b.cfg.Market.MonthlyCredits == 0 {
		return nil
	}
	config := credits.Config{PerMonth: b.cfg.Market.MonthlyCredits, Plan: b.cfg.Market.URL, Shared: b.redis != nil}
	if len(b.stores) > 0 {
		config.Store = b.stores[0]
	}
	b.credits = credits.New(config)
	b.metrics.ExportCredits(b.credits.Available)
	return b.credits
}

// statusGap returns how long Discord's status waits between two calls of its own: 5
// minutes, or longer where they would take more than a third of the credits.
func (b *Bot) statusGap() time.Duration {
	const least = 5 * time.Minute
	if b.credits == nil {
		return least
	}
	return max(least, 3*b.credits.Every())
}

// tokenID returns an ID of the token and its provider. It does not show the provider's URL,
// which may hold a key.
func tokenID(m market.Settings) string { return hash(m.URL, m.By, m.Token, m.Symbol) }
