// Package market asks a price provider that speaks CoinMarketCap's API for the
// token's quote.
//
// Many coins share a symbol, and a wrong price is worse than none: an entry counts
// only if it is beyond doubt the token that was asked for, and all its numbers are
// possible. Asked by symbol, version 1 of the API answers with the coin that the
// provider ranks first, so an ID or a slug is safer.
package market

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"herald/internal/core"
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

// Client asks the provider. Its Upstream's Ping asks for the price.
type Client struct {
	*core.Upstream
	// Price is the current quote. It fails as Malformed also if the provider has no
	// price, or quotes another token.
	Price *core.Query[struct{}, core.Quote]

	settings Settings
	url      string
	rest     *rest.Client
}

// New makes a client. It asks nothing. budget bounds its calls, except Probe's;
// nil sets no bound.
func New(s Settings, c *core.Cache, budget core.Budget) *Client {
	query := url.Values{s.By: {s.Token}, "convert": {"USD"}}
	m := &Client{
		Upstream: core.NewUpstream(c, Service, s.TTL, budget),
		settings: s,
		url:      s.URL + "/v1/cryptocurrency/quotes/latest?" + query.Encode(),
		rest:     rest.New(Service, c.CallTimeout),
	}
	m.Price = core.NewQuery(m.Upstream, &core.Query[struct{}, core.Quote]{
		Name: "price", TTL: s.TTL,
		Fetch: func(ctx context.Context, _ struct{}) (core.Quote, error) {
			found, err := m.Probe(ctx)
			return found.Quote, err
		},
		Source: fmt.Sprint(m.url, " ", s.Symbol, " ", s.MaxPriceAge),
		Check:  func(q core.Quote) error { return check(q, time.Now()) },
	})
	core.PingWith(m.Upstream, m.Price)
	return m
}

// Listing is a token as the provider lists it. The texts are the provider's own,
// not sanitized; an empty one was not given.
type Listing struct {
	ID, Name, Symbol string
	Quote            core.Quote
}

// Probe asks for the quote, past the cache.
func (c *Client) Probe(ctx context.Context) (Listing, error) {
	header := http.Header{}
	if c.settings.APIKey.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.settings.APIKey.Reveal())
	}
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: "quote", Method: http.MethodGet, URL: c.url, Header: header})
	if resp == nil {
		return Listing{}, err
	}
	data, refused, parseErr := parseAnswer(resp.Body, time.Now())
	failed, _ := errors.AsType[*core.Error](err)
	switch {
	case failed != nil && (refused == nil || refused.Reason == core.Rejected):
		return Listing{}, err
	case failed != nil && refused.Reason != core.UsedUp:
		// Of two times to wait the longer counts, unless a limit's reset is known.
		refused.RetryAfter = max(refused.RetryAfter, failed.RetryAfter)
		return Listing{}, refused
	case refused != nil:
		return Listing{}, refused
	case parseErr != nil:
		return Listing{}, malformed(parseErr)
	}
	return c.settings.listing(data, time.Now())
}

func malformed(err error) error { return Service.Fail(core.Malformed, err).During("quote") }

// parseAnswer reads an answer. refused is what its status says, if that is not
// success.
func parseAnswer(body []byte, now time.Time) (data any, refused *core.Error, err error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, nil, err
	}
	answer, _ := v.(map[string]any)
	status, ok := answer["status"].(map[string]any)
	code, err := strconv.Atoi(rest.Text(status["error_code"]))
	switch {
	case !ok:
		return nil, nil, errors.New("no status")
	case err != nil:
		return nil, nil, errors.New("status without an error code")
	case code == 0:
		return answer["data"], nil, nil
	}
	if told, err := time.Parse(time.RFC3339, rest.Text(status["timestamp"])); err == nil {
		now = told // limits are reset by the provider's clock, and this machine's may be off
	}
	return nil, refusal(code, now.UTC()), nil
}

// refusal is the error of a code other than 0. Codes that are not the provider's
// own repeat an HTTP status.
// https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits
func refusal(code int, now time.Time) *core.Error {
	e := Service.Fail(core.Rejected, fmt.Errorf("quote: answered with error code %d", code))
	switch code {
	case 1001, 1002, 1003, 1004, 1005, 1006, 1007: // the key is invalid, missing, not paid for, disabled …
		e.Reason = core.Denied
	case 1008, // resets every 60 seconds
		1011: // limits this machine's address; no time is published
		e.Reason, e.RetryAfter = core.Limited, time.Minute
	case 1009: // resets at midnight, UTC
		e.Reason, e.RetryAfter = core.UsedUp, time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Sub(now)
	case 1010: // resets with the month, UTC
		e.Reason, e.RetryAfter = core.UsedUp, time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
	}
	return e
}
