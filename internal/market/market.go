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
	"time"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/rest"
)

// Service is the price provider.
var Service = &core.Service{
	Name:  "price",
	Title: "price provider",
	Settings: map[core.Reason]string{
		"":             "PRICE_API_URL",
		core.Denied:    "PRICE_API_KEY",
		core.Limited:   "PRICE_API_KEY, whose plan may be used up, and PRICE_TTL",
		core.Rejected:  "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
		core.Malformed: "PRICE_TOKEN_ID, PRICE_TOKEN_SLUG, TOKEN_SYMBOL and PRICE_API_URL",
	},
}

// Client asks the provider.
type Client struct {
	// Price is the current quote. It fails as Malformed also if the provider
	// has no price, or quotes another token.
	Price *core.Cached[core.NoArgument, core.Quote]

	url   string
	key   config.Secret
	token token
	rest  *rest.Client
}

// New makes a client. It asks nothing.
func New(s Settings, c *core.Cache) *Client {
	query := url.Values{s.By: {s.Token}, "convert": {"USD"}}
	m := &Client{
		url:   s.URL + "/v1/cryptocurrency/quotes/latest?" + query.Encode(),
		key:   s.APIKey,
		token: token{s.By, s.Token, s.Symbol},
		rest:  rest.New(Service, c.CallTimeout),
	}
	m.Price = core.NewCached(core.NewBreaker(c, Service, s.TTL), core.Question[core.NoArgument, core.Quote]{
		Name: "price", TTL: s.TTL, Ask: m.quote,
		Shared: &core.Shared[core.Quote]{
			Source: m.url + " " + s.Symbol,
			Check:  func(q core.Quote) error { return check(q, time.Now()) },
		},
	})
	return m
}

// Probe asks for the quote, past the cache.
func (c *Client) Probe(ctx context.Context) (detail string, err error) {
	_, err = c.quote(ctx, core.NoArgument{})
	return "", err
}

func (c *Client) quote(ctx context.Context, _ core.NoArgument) (core.Quote, error) {
	header := http.Header{}
	if c.key.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.key.Reveal())
	}
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: "quote", Method: http.MethodGet, URL: c.url, Header: header})
	if err != nil {
		return core.Quote{}, refusal(resp, err, time.Now())
	}
	return c.token.parse(resp.Body, time.Now())
}

// parse reads a whole answer.
func (t token) parse(body []byte, now time.Time) (core.Quote, error) {
	answer, code, err := parseStatus(body)
	switch {
	case err != nil:
		return core.Quote{}, malformed(err)
	case code != 0:
		return core.Quote{}, codeError(code, now)
	}
	entry, err := t.find(answer["data"])
	if err != nil {
		return core.Quote{}, malformed(err)
	}
	quote, err := parseQuote(entry, now)
	if err != nil {
		return core.Quote{}, malformed(err)
	}
	return quote, nil
}

func malformed(err error) error {
	return Service.Fail(core.Malformed, err).During("quote")
}
