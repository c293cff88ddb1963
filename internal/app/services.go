package app

import (
	"context"
	"slices"
	"strconv"
	"time"

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/members"
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
// Bot.services.
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

// connect makes the clients of the services. It sets b.services, b.members, b.quotes,
// b.prices and b.status, and contacts nothing.
func (b *Bot) connect() (commands.Sources, error) {
	cfg := b.cfg.Services
	price := market.New(cfg.Market, b.cache, b.log)
	if budget := price.Budget; budget != nil {
		b.metrics.ExportCredits(budget.Available, budget.Left)
	}
	supplies := supply.New(cfg.Supply, b.cache)
	stakes, err := staking.New(cfg.Staking, b.cache, b.metrics.PoolUnread)
	if err != nil {
		return commands.Sources{}, err
	}
	accounts := partner.New(cfg.Partner, b.cache)
	b.metrics.ExportClockSkew(accounts.Skew)
	b.members = b.newMembers()
	b.members.Stakes, b.members.Accounts = stakes.StakesOf, accounts.Accounts
	b.quotes, b.prices = b.newPrices(price)
	b.services = b.list(price, supplies, stakes, accounts)
	if b.cfg.Discord.Presence {
		last := func() (at time.Time, believed query.Answer[core.Quote]) {
			quote, known := price.Price.Last(struct{}{})
			if known {
				believed.Snapshot, believed.Err = b.prices.Peek(quote)
			}
			return quote.At, believed
		}
		b.status = ticker(b.cfg, func() time.Duration { return statusInterval(price.Budget) }, b.prices, last)
	}
	sources := commands.Sources{
		Price:    b.prices,
		Supply:   supplies.Supply,
		Stakes:   stakes.Stakes,
		Total:    stakes.Total(cfg.Supply.TTL),
		Accounts: accounts.Accounts,
		Logins:   accounts.Logins,
		Joins:    &b.joins,
		Moves:    &b.moves,
		Started:  time.Now(),
		Members:  b.members,
		Chart:    pricechart.New(b.quotes, cfg.Market.Symbol, cfg.Charts).Chart,
	}
	for _, s := range b.services {
		sources.Services = append(sources.Services, s.HealthCheck)
		b.metrics.ExportService(s.Health)
	}
	return sources, nil
}

// list returns every service, with the question that `bot check` puts to its client.
func (b *Bot) list(
	price *market.Client, supplies *supply.Client, stakes *staking.Client, accounts *partner.Client,
) []service {
	s := b.cfg.Services
	return []service{
		{
			HealthCheck: query.NewHealthCheck(price.Upstream, b.prices),
			url:         s.Market.URL,
			free:        price.Reach,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				found, err := price.Probe(ctx)
				details, err := aboutQuote(found, err)
				if err == nil {
					details = append(details, b.aboutDoubt(found.Quote)...)
					left, failed := price.Credits(ctx)
					details = append(details, aboutCredits(left, failed, price.Budget != nil))
				}
				return details, err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(supplies.Upstream, supplies.Supply),
			url:         s.Supply.URL,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				found, err := supplies.Supply.Fetch(ctx, struct{}{})
				return aboutSupply(found, s.Market.Symbol), err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(stakes.Upstream, stakes.Ping),
			url:         s.Staking.RPCURL.Reveal(),
			free: func(ctx context.Context) error {
				_, err := stakes.Ping.Get(ctx, struct{}{})
				return err
			},
			ask: func(ctx context.Context, wallet string) ([]string, error) {
				found, err := stakes.Probe(ctx, wallet)
				details := aboutPools(found, s.Market.Symbol)
				if err == nil {
					details = append(details, aboutNames(s.Staking.Pools)...)
				}
				if wallet != "" && s.Staking.PendingMethod == "" {
					details = append(details, "pending of the wallet: unknown without STAKING_PENDING_METHOD")
				}
				return details, err
			},
		},
		{
			HealthCheck: query.NewHealthCheck(accounts.Upstream, accounts.Ping),
			url:         s.Partner.URL,
			ask: func(ctx context.Context, _ string) ([]string, error) {
				err := accounts.Probe(ctx)
				return aboutPartner(s.Partner.URL, accounts.Skew(), err), err
			},
		},
	}
}

// newMembers returns what saves addresses, if there is a store for them. It may be called once
// openState has returned. The caller sets Stakes and Accounts before Run or CheckAll.
func (b *Bot) newMembers() *members.Members {
	c := members.Config{
		Settings: b.cfg.Members,
		Badges:   b.cfg.badges(),
		Bots:     b.rows.bots,
		Claims:   b.state,
		Limiter:  b.state,
		Symbol:   b.cfg.Market.Symbol,
		Chain:    strconv.FormatUint(b.cfg.Staking.ChainID, 10),
		Pools:    b.cfg.Staking.Pools,
		Language: b.cfg.Language,
		Count:    b.metrics.Events("members"),
		Log:      b.log,
	}
	if b.rows.bucket != nil {
		c.Bucket = func(name string) members.Store { return b.rows.bucket(name) }
	}
	if b.rows.former != nil {
		c.Former, c.FormerIsShared = b.rows.former, b.rows.formerIsShared
	}
	m := members.New(c)
	if m.Enabled() {
		b.metrics.ExportMembers(m.Census)
	}
	return m
}

// newPrices returns the prices seen so far, which are kept in b.stores, and the source of prices that are believed.
// It does not block.
func (b *Bot) newPrices(provider *market.Client) (*pricechart.Quotes, *belief.Prices) {
	var stores []query.Store
	for _, s := range b.stores {
		stores = append(stores, s)
	}
	token := tokenID(b.cfg.Market)
	quotes := pricechart.NewQuotes(token, stores, b.log)
	return quotes, belief.NewPrices(belief.Config{
		Source: provider.Price,
		Token:  token,
		Series: quotes,
		Stores: stores,
		Log:    b.log,
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
