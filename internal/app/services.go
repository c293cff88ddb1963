package app

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"herald/commands"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/history"
	"herald/internal/market"
	"herald/internal/partner"
	"herald/internal/pricechart"
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
// probe, and opens the file of quotes. It contacts nothing.
func (b *Bot) connect(c *core.Cache) (commands.Sources, error) {
	accounts := partner.New(b.cfg.Partner, c)
	price := market.New(b.cfg.Market, c)
	supplies := supply.New(b.cfg.Supply, c)
	stakes, err := staking.New(b.cfg.Staking, c, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	b.quotes, err = history.Open(b.cfg.History.Dir, tokenID(b.cfg.Market), b.log)
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
		Price:    pricechart.Recorded(price.Price, b.quotes),
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
		Charts:   pricechart.New(b.quotes, b.cfg.Market.Symbol),
	}, nil
}

// tokenID tells the token from any other, at any provider, without showing the
// provider's URL, which may hold a key.
func tokenID(m market.Settings) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.URL, m.By, m.Token, m.Symbol}, " ")))
	return hex.EncodeToString(sum[:])
}
