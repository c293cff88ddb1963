package app

import (
	"context"
	"math"
	"slices"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/pricechart"
	"herald/internal/service/market"
	"herald/internal/service/market/credits"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
	"herald/internal/store"
)

// Services are the settings of the services that the bot asks.
type Services struct {
	Partner partner.Settings
	Market  market.Settings
	Supply  supply.Settings
	Staking staking.Settings
}

func (s *Services) table() []config.Setting {
	return slices.Concat(s.Partner.Table(), s.Market.Table(), s.Supply.Table(), s.Staking.Table())
}

// connect makes the services' clients, for commands to ask and for Check to
// probe, and the history of quotes. It contacts nothing.
func (b *Bot) connect(c *core.Cache) (commands.Sources, error) {
	price := market.New(b.cfg.Market, c, b.priceBudget())
	supplies := supply.New(b.cfg.Supply, c)
	stakes, err := staking.New(b.cfg.Staking, c, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	accounts := partner.New(b.cfg.Partner, c)
	var stores []core.Store
	if b.redis != nil {
		stores = append(stores, b.redis)
	}
	if b.disk != nil {
		stores = append(stores, b.disk)
	}
	b.quotes = pricechart.NewQuotes(tokenID(b.cfg.Market), stores, b.log)
	b.metrics.ClockSkew(accounts.Skew)
	b.probes = []probe{
		serviceProbe(partner.Service, b.cfg.Partner.URL, func(ctx context.Context) ([]string, error) {
			found, err := accounts.Probe(ctx)
			return aboutPartner(found, err == nil), clockFirst(found, err)
		}),
		serviceProbe(market.Service, b.cfg.Market.URL, func(ctx context.Context) ([]string, error) {
			found, err := price.Probe(ctx)
			if err != nil {
				return nil, err
			}
			return aboutQuote(found), nil
		}),
		serviceProbe(supply.Service, b.cfg.Supply.URL, func(ctx context.Context) ([]string, error) {
			found, err := supplies.Probe(ctx)
			return aboutSupply(found, b.cfg.Market.Symbol), err
		}),
		serviceProbe(staking.Service, b.cfg.Staking.RPCURL.Reveal(), func(ctx context.Context) ([]string, error) {
			found, err := stakes.Probe(ctx)
			return aboutPools(found), err
		}),
	}
	recorded := pricechart.Recorded(price.Price, b.quotes)
	if b.cfg.Discord.Presence {
		t := &ticker{
			symbol: b.cfg.Market.Symbol, language: b.cfg.Answers.Language, last: price.Price.Last, price: recorded,
			maxAge: b.cfg.Market.TTL + b.cfg.Cache.StaleFor,
		}
		if b.credits != nil {
			t.credit = b.credits.Limit().Every()
		}
		b.status = t.text
	}
	return commands.Sources{
		Price:    recorded,
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
		Charts:   pricechart.New(b.quotes, b.cfg.Market.Symbol),
		Status:   commands.Status{Health: c.Health, Pools: stakes.Pools, Registration: accounts.Registration},
	}, nil
}

// priceBudget is nil where calls to the price provider are not bounded.
func (b *Bot) priceBudget() core.Budget {
	if b.cfg.Market.MonthlyCredits == 0 {
		return nil
	}
	config := credits.Config{PerMonth: b.cfg.Market.MonthlyCredits, Plan: b.cfg.Market.URL}
	left := math.NaN // where replicas share them
	if b.redis != nil {
		config.Limiter, config.Shared = b.redis, true
	} else {
		// Of its own: a slow disk must hold up no other limit.
		slots := store.NewSlots()
		if b.disk != nil {
			slots.Kept, config.Kept = b.disk, true
		}
		config.Limiter = slots
		left = func() float64 { return float64(slots.Left(context.Background(), b.credits.Limit())) }
	}
	b.credits = credits.New(config)
	b.metrics.Credits(b.credits.Taken, left)
	return b.credits
}

// tokenID tells the token from any other, at any provider, without showing the
// provider's URL, which may hold a key.
func tokenID(m market.Settings) string {
	return hash(m.URL, m.By, m.Token, m.Symbol)
}
