package app

import (
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

// connect makes the services' clients, for commands to ask and for Check to
// probe. It contacts nothing.
func (b *Bot) connect(c *core.Cache) (commands.Sources, error) {
	accounts := partner.New(b.cfg.Partner, c)
	price := market.New(b.cfg.Market, c)
	supplies := supply.New(b.cfg.Supply, c)
	stakes, err := staking.New(b.cfg.Staking, c, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	b.metrics.ClockSkew(accounts.Skew)
	b.probes = []probe{
		serviceProbe(partner.Service, b.cfg.Partner.URL, accounts.Probe),
		serviceProbe(market.Service, b.cfg.Market.URL, price.Probe),
		serviceProbe(supply.Service, b.cfg.Supply.URL, supplies.Probe),
		serviceProbe(staking.Service, b.cfg.Staking.RPCURL.Reveal(), stakes.Probe),
	}
	return commands.Sources{
		Price:    price.Price,
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
	}, nil
}
