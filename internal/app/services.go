package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/pricechart"
	"herald/internal/pricechart/history"
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
}

func (s *Services) table() []config.Setting {
	return slices.Concat(s.Partner.Table(), s.Market.Table(), s.Supply.Table(), s.Staking.Table())
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
				found, err := supplies.Probe(ctx)
				return aboutSupply(found, symbol), err
			}},
		{Upstream: stakes.Upstream, url: b.cfg.Staking.RPCURL.Reveal(),
			probe: func(ctx context.Context) ([]string, error) { return aboutPools(stakes.Probe(ctx)) }},
		{Upstream: accounts.Upstream, url: b.cfg.Partner.URL,
			probe: func(ctx context.Context) ([]string, error) {
				err := accounts.Probe(ctx)
				return aboutPartner(accounts.Skew(), err)
			}},
	}
	var statuses []commands.Service
	for _, s := range b.services {
		statuses = append(statuses, s.Upstream)
	}
	b.metrics.Services(func() (all []core.Health) {
		for _, s := range b.services {
			all = append(all, s.Health())
		}
		return all
	})
	b.metrics.ClockSkew(accounts.Skew)

	quotes := history.Config{Source: tokenID(b.cfg.Market), Log: b.log}
	if b.redis != nil {
		quotes.Stores = append(quotes.Stores, b.redis)
	}
	if b.disk != nil {
		quotes.Stores = append(quotes.Stores, b.disk)
		quotes.OldFile = filepath.Join(b.cfg.Store.DataDir, "quotes.db")
	}
	b.quotes = history.New(quotes)
	recorded := pricechart.Recorded(price.Price, b.quotes)
	if b.cfg.Discord.Presence {
		t := &ticker{
			symbol: symbol, language: b.cfg.Answers.Language, last: price.Price.Last, price: recorded,
			maxAge: b.cfg.Market.TTL + b.cfg.Cache.StaleFor,
		}
		if b.credits != nil {
			t.credit = b.credits.Every()
		}
		b.status = t.text
	}
	return commands.Sources{
		Price:    recorded,
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
		Charts:   pricechart.New(b.quotes, symbol),
		Services: statuses,
	}, nil
}

// priceBudget returns nil if calls to the price provider are not bounded.
func (b *Bot) priceBudget() core.Budget {
	if b.cfg.Market.MonthlyCredits == 0 {
		return nil
	}
	config := credits.Config{PerMonth: b.cfg.Market.MonthlyCredits, Plan: b.cfg.Market.URL, Turns: b.turns}
	if b.disk != nil {
		config.Store = b.disk
	}
	b.credits = credits.New(config)
	b.metrics.Credits(b.credits.Taken, b.credits.Left)
	return b.credits
}

// tokenID is different for every token and provider, and does not show the
// provider's URL, which may hold a key.
func tokenID(m market.Settings) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.URL, m.By, m.Token, m.Symbol}, " ")))
	return hex.EncodeToString(sum[:])
}
