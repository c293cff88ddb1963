// Package market asks a price provider that speaks CoinMarketCap's API for the
// token's quote.
//
// A symbol is shared by many coins, and a wrong price is worse than none: an
// entry counts only if it is beyond doubt the token that was asked for, and
// all its numbers are possible ones. With version 1 of the API a symbol gets
// the coin that the provider ranks first, so asking by ID or slug is safer.
package market

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"herald/internal/core"
	"herald/internal/secret"
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
		core.Rejected:  "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
		core.Malformed: "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
	},
}

// Client asks the provider.
type Client struct {
	// Price is the current quote. It fails as Malformed also if the provider
	// has no price, or quotes another token.
	Price *core.Cached[struct{}, core.Quote]

	url   string
	key   secret.Value
	token token
	rest  *rest.Client
	// addressLimits counts how often in a row the provider limited this machine's
	// address.
	addressLimits atomic.Int32
}

// New makes a client. It asks nothing. budget bounds its calls, those of Probe
// apart; nil is no bound.
func New(s Settings, c *core.Cache, budget core.Budget) *Client {
	query := url.Values{s.By: {s.Token}, "convert": {"USD"}}
	m := &Client{
		url:   s.URL + "/v1/cryptocurrency/quotes/latest?" + query.Encode(),
		key:   s.APIKey,
		token: token{s.By, s.Token, s.Symbol},
		rest:  rest.New(Service, c.CallTimeout),
	}
	m.Price = core.NewCached(core.NewBreaker(c, Service, s.TTL, budget), core.Query[struct{}, core.Quote]{
		Name: "price", TTL: s.TTL, Fetch: m.quote,
		Shared: &core.Shared[core.Quote]{
			Source: m.url + " " + s.Symbol,
			Check:  func(q core.Quote) error { return check(q, time.Now()) },
		},
	})
	return m
}

// Listing is a token as the provider lists it. The texts are the provider's own
// and not made harmless; an empty one was not given.
type Listing struct {
	ID, Name, Symbol string
	Quote            core.Quote
}

func (c *Client) quote(ctx context.Context, _ struct{}) (core.Quote, error) {
	found, err := c.Probe(ctx)
	return found.Quote, err
}

// Probe asks for the quote, past the cache.
func (c *Client) Probe(ctx context.Context) (Listing, error) {
	header := http.Header{}
	if c.key.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.key.Reveal())
	}
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: "quote", Method: http.MethodGet, URL: c.url, Header: header})
	if err != nil {
		return Listing{}, c.refused(resp, err)
	}
	answer, status, err := parseStatus(resp.Body)
	switch {
	case err != nil:
		return Listing{}, malformed(err)
	case status.code != 0:
		return Listing{}, c.limited(status)
	}
	c.addressLimits.Store(0)
	return c.token.parse(answer["data"], time.Now())
}

// parse reads the data of an answer.
func (t token) parse(data any, now time.Time) (Listing, error) {
	entry, err := t.find(data)
	if err != nil {
		return Listing{}, malformed(err)
	}
	quote, err := parseQuote(entry, now)
	if err != nil {
		return Listing{}, malformed(err)
	}
	name, _ := entry["name"].(string)
	symbol, _ := entry["symbol"].(string)
	return Listing{ID: rest.Text(entry["id"]), Name: name, Symbol: symbol, Quote: quote}, nil
}

func malformed(err error) error {
	return Service.Fail(core.Malformed, err).During("quote")
}
