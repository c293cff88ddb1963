package app

import (
	"context"
	"slices"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/partner"
	"herald/internal/staking"
	"herald/internal/supply"
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

// maxConns bounds the connections to each service. It is no less than the
// calls that core makes at a time.
const maxConns = 32

// connect makes the services' clients, for commands to ask and for Check to
// probe. It contacts nothing.
func (b *Bot) connect(store core.Store) (commands.Client, error) {
	cfg := b.cfg
	timeout := cfg.Limits.UpstreamTimeout
	accounts := partner.New(partner.Config{
		BaseURL:       cfg.Partner.URL,
		AppID:         cfg.Partner.AppID,
		SecretKey:     cfg.Partner.SecretKey.Reveal(),
		NotFoundCodes: cfg.Partner.NotFoundCodes,
		Timeout:       timeout,
		MaxConns:      maxConns,
	})
	price := market.New(market.Config{
		URL:      cfg.Market.URL,
		Key:      cfg.Market.APIKey.Reveal(),
		By:       cfg.Market.By,
		Token:    cfg.Market.Token,
		Symbol:   cfg.Market.Symbol,
		Timeout:  timeout,
		MaxConns: maxConns,
	})
	supplies := supply.New(supply.Config{URL: cfg.Supply.URL, Timeout: timeout, MaxConns: maxConns})
	chain, err := staking.New(staking.Config{
		RPCURL:        cfg.Staking.RPCURL.Reveal(),
		ChainID:       cfg.Staking.ChainID,
		Pools:         cfg.Staking.Pools,
		Method:        cfg.Staking.Method,
		PendingMethod: cfg.Staking.PendingMethod,
		Multicall:     cfg.Staking.Multicall,
		Decimals:      cfg.Staking.Decimals,
		Timeout:       timeout,
		MaxConns:      maxConns,
	})
	if err != nil {
		return nil, err
	}
	b.metrics.ClockSkew(accounts.Skew)
	b.probes = []probe{
		{title: "partner API", url: cfg.Partner.URL, ask: func(ctx context.Context) (string, error) {
			_, err := accounts.Account(ctx, core.Identity{Platform: "Telegram", UID: "1"})
			return skewDetail(accounts.Skew()), err
		}},
		{title: "price provider", url: cfg.Market.URL, ask: func(ctx context.Context) (string, error) {
			_, err := price.Quote(ctx)
			return "", err
		}},
		{title: "supply host", url: cfg.Supply.URL, ask: func(ctx context.Context) (string, error) {
			_, err := supplies.Supply(ctx)
			return "", err
		}},
		{title: "staking pools", url: cfg.Staking.RPCURL.Reveal(), settings: "STAKING_POOLS and EVM_RPC_URL",
			ask: func(ctx context.Context) (string, error) { return probePools(ctx, chain, len(cfg.Staking.Pools)) }},
	}
	return core.NewClient(core.ClientConfig{
		Price:       price,
		Supply:      supplies,
		Accounts:    accounts,
		Staking:     chain,
		PriceTTL:    cfg.Market.TTL,
		SupplyTTL:   cfg.Supply.TTL,
		StakeTTL:    cfg.Staking.TTL,
		ExistsTTL:   cfg.Partner.ExistsTTL,
		LoginsTTL:   cfg.Partner.LoginsTTL,
		StaleFor:    cfg.Cache.StaleFor,
		MaxItems:    cfg.Cache.MaxItems,
		CallTimeout: timeout,
		Timeout:     cfg.Limits.CommandTimeout,
		Store:       store,
		Observer:    b.metrics,
	}), nil
}
