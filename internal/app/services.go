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

// Services are the settings of the services that the bot asks.
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

// service is one service that the bot asks.
type service struct {
	*core.Upstream
	url string // only its host is shown
	// probe asks it past the cache. It returns what is worth knowing, a short
	// sentence each, also when it fails.
	probe func(context.Context) (details []string, err error)
}

// connect makes the services' clients and the history of quotes. It contacts
// nothing. /status, `bot check` and the metrics go over b.services.
func (b *Bot) connect(c *core.Cache) (commands.Sources, error) {
	price := market.New(b.cfg.Market, c, b.priceBudget())
	supplies := supply.New(b.cfg.Supply, c)
	stakes, err := staking.New(b.cfg.Staking, c, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	accounts := partner.New(b.cfg.Partner, c)
	symbol := b.cfg.Market.Symbol
	b.services = []service{
		{Upstream: price.Upstream, url: b.cfg.Market.URL,
			probe: func(ctx context.Context) ([]string, error) { return aboutQuote(price.Probe(ctx)) }},
		{Upstream: supplies.Upstream, url: b.cfg.Supply.URL,
			probe: func(ctx context.Context) ([]string, error) {
				found, err := supplies.Supply.Fetch(ctx, struct{}{})
				return aboutSupply(found, symbol), err
			}},
		{Upstream: stakes.Upstream, url: b.cfg.Staking.RPCURL.Reveal(),
			probe: func(ctx context.Context) ([]string, error) { return aboutPools(stakes.Probe(ctx)) }},
		{Upstream: accounts.Upstream, url: b.cfg.Partner.URL,
			probe: func(ctx context.Context) ([]string, error) {
				err := accounts.Probe(ctx)
				return aboutPartner(b.cfg.Partner.URL, accounts.Skew(), err), err
			}},
	}
	var statuses []commands.Service
	for _, s := range b.services {
		statuses = append(statuses, s.Upstream)
		b.metrics.Service(s.Health)
	}
	b.metrics.ClockSkew(accounts.Skew)

	var stores []core.Store
	if b.redis != nil {
		stores = append(stores, b.redis)
	}
	if b.disk != nil {
		stores = append(stores, b.disk)
	}
	b.quotes = pricechart.NewQuotes(tokenID(b.cfg.Market), stores, b.log)
	recorded := pricechart.Recorded{Prices: price.Price, Quotes: b.quotes}
	if b.cfg.Discord.Presence {
		b.status = ticker(b.cfg, b.statusGap(), recorded, price.Price.Last)
	}
	return commands.Sources{
		Price:    recorded,
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
		Chart:    pricechart.New(b.quotes, symbol, b.cfg.Charts).Chart,
		Services: statuses,
	}, nil
}

// priceBudget returns nil if calls to the price provider are not bounded.
func (b *Bot) priceBudget() core.Budget {
	if b.cfg.Market.MonthlyCredits == 0 {
		return nil
	}
	config := credits.Config{PerMonth: b.cfg.Market.MonthlyCredits, Plan: b.cfg.Market.URL}
	switch {
	case b.redis != nil:
		config.Store, config.Shared = b.redis, true
	case b.disk != nil:
		config.Store = b.disk
	}
	b.credits = credits.New(config)
	b.metrics.Credits(b.credits.Taken, b.credits.Available)
	return b.credits
}

// statusGap returns how long Discord's status waits between two calls of its own: at most
// a third of the credits are spent on it.
func (b *Bot) statusGap() time.Duration {
	const least = 5 * time.Minute
	if b.credits == nil {
		return least
	}
	return max(least, 3*b.credits.Every())
}

// tokenID is different for every token and provider, and does not show the
// provider's URL, which may hold a key.
func tokenID(m market.Settings) string { return hash(m.URL, m.By, m.Token, m.Symbol) }
