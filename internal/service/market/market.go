// Package market asks a price provider that speaks CoinMarketCap's API for the token's quote.
//
// An answer lists tokens, each in an entry. Many tokens share a symbol, and a wrong price is worse than none. So an
// entry counts only if it is certainly the requested token, its price is above 0, and its time is not in the future.
// Other impossible numbers are left out. Package belief decides whether a price is plausible. If the API is asked by
// symbol, it answers with the token that the provider ranks first, so an ID is safer.
//
// The files, in reading order: market.go (the client), versions.go (which version of the API is called), answer.go (one
// call, and how the provider refuses it), quote.go (the token's quote in an answer), budget.go (the credits of the API
// key), limit.go (how the credits are spread over a month), plan.go (what the provider says of the credits),
// settings.go.
package market

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/rest"
)

// Service is the price provider.
var Service = &core.Service{
	Name:  "price",
	Title: "price provider",
	Settings: map[core.Reason]string{
		"":             "PRICE_API_URL",
		core.Denied:    "PRICE_API_KEY",
		core.Limited:   "PRICE_TTL and the plan of PRICE_API_KEY",
		core.UsedUp:    "PRICE_API_KEY, whose plan is used up, and PRICE_MONTHLY_CREDITS",
		core.NoCredit:  "PRICE_MONTHLY_CREDITS",
		core.Rejected:  "PRICE_TOKEN_ID (the UCID on your token's page at CoinMarketCap), TOKEN_SYMBOL and PRICE_API_URL",
		core.Malformed: "PRICE_TOKEN_ID, TOKEN_SYMBOL and PRICE_API_URL",
		core.NoData:    "PRICE_TOKEN_ID and TOKEN_SYMBOL: the provider may no longer track that token",
	},
}

// Client asks the provider.
type Client struct {
	*query.Upstream
	// Price returns the current quote in USD. It fails as Malformed if the provider quotes another token, and as NoData
	// if the provider has no price.
	Price *query.Query[struct{}, *core.Quote]
	// Budget has the credits that the client may spend. It is nil if calls are not counted.
	Budget *Budget

	settings Settings
	// parameters are the URL's query parameters in each call for the quote.
	parameters url.Values
	rest       *rest.Client
	log        *slog.Logger
	// v1GoneAt is the last time at which version 1 was gone and version 3 answered, in Unix nanoseconds. For an hour after
	// it, only version 3 is called (versions.go). It is 0 if that has never happened.
	v1GoneAt atomic.Int64
	// isV1GoneLogged is set once the log says that version 1 is gone.
	isV1GoneLogged atomic.Bool
	// loggedRefusal is the last sentence of the provider that logRefusal logged, a string.
	loggedRefusal atomic.Value
}

// New returns a Client that caches quotes in cache. It contacts nothing.
func New(s Settings, cache *query.Cache, log *slog.Logger) *Client {
	c := &Client{
		settings:   s,
		parameters: url.Values{s.TokenBy: {s.Token}, "convert": {"USD"}},
		rest:       rest.New(Service, cache.CallTimeout),
		log:        log,
	}
	var budget query.Budget // An interface with a nil *Budget would not be nil.
	if !s.Unlimited {
		// Credits and isFailing use c.Upstream, which is set below. They are only called later.
		isFailing := func() bool { return !c.Health().FailingSince.IsZero() }
		c.Budget = newBudget(s.MonthlyCredits, c.Credits, isFailing)
		budget = c.Budget
	}
	c.Upstream = query.NewUpstream(cache, Service, s.TTL, budget)
	c.Price = query.New(c.Upstream, query.Config[struct{}, *core.Quote]{
		Name:  "price",
		TTL:   s.TTL,
		Fetch: c.fetchPrice,
		// Replicas share a quote if these settings are the same. checkLoaded checks a quote of another replica.
		SharedAs: fmt.Sprint(s.URL, " ", c.parameters.Encode(), " ", s.Symbol, " ", s.MaxPriceAge),
		Check:    checkLoaded,
	})
	return c
}

// fetchPrice asks for the quote. The Upstream has spent a credit for the call.
func (c *Client) fetchPrice(ctx context.Context, _ struct{}) (*core.Quote, error) {
	found, status, err := c.fetchListing(ctx)
	if c.Budget != nil {
		c.Budget.recordCall(status, err)
	}
	if err != nil {
		return nil, err
	}
	return &found.Quote, nil
}

// Listing is a token as the provider lists it. Its texts are the provider's and not sanitized. A missing text is empty.
type Listing struct {
	ID     string
	Name   string
	Symbol string
	Quote  core.Quote
}

// Probe asks for the quote, without the cache, and without spending a credit of the Budget.
func (c *Client) Probe(ctx context.Context) (Listing, error) {
	found, _, err := c.fetchListing(ctx)
	return found, err
}

// fetchListing calls the API for the token's quote. It returns the HTTP status of the last call, or noResponse.
func (c *Client) fetchListing(ctx context.Context) (found Listing, status int, err error) {
	called := c.callQuotes(ctx)
	err = called.err
	if err == nil {
		found, err = c.settings.listing(called.data, time.Now())
		err = called.withRequest(err)
	}
	found.Quote.Endpoint = called.path
	if called.path == pathV3 {
		err = withV1Gone(err, called.status)
	}
	return found, called.status, err
}
