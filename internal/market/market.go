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
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/internal/core"
	"herald/internal/rest"
)

// Config says whom to ask for what.
type Config struct {
	// URL is the provider's origin.
	URL string
	// Key is sent as X-CMC_PRO_API_KEY; empty = not sent.
	Key string
	// By is what Token is: "id", "slug" or "symbol".
	By    string
	Token string
	// Symbol is the token's; a quote of another is refused.
	Symbol string
	// Timeout bounds a call.
	Timeout time.Duration
	// MaxConns bounds the connections to the provider.
	MaxConns int
}

// Client is a core.PriceSource.
type Client struct {
	url   string
	key   string
	token token
	rest  *rest.Client
}

// New makes a client. It asks nothing.
func New(c Config) *Client {
	query := url.Values{c.By: {c.Token}, "convert": {"USD"}}
	return &Client{
		url:   strings.TrimRight(c.URL, "/") + "/v1/cryptocurrency/quotes/latest?" + query.Encode(),
		key:   c.Key,
		token: token{c.By, c.Token, c.Symbol},
		rest:  rest.New(core.Price, c.Timeout, c.MaxConns),
	}
}

// Quote asks for the current quote. It fails with a *core.Error, which is
// Malformed also if the provider has no price, or quotes another token.
func (c *Client) Quote(ctx context.Context) (core.Quote, error) {
	header := http.Header{}
	if c.key != "" {
		header.Set("X-CMC_PRO_API_KEY", c.key)
	}
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: "quote", Method: http.MethodGet, URL: c.url, Header: header})
	if err != nil {
		return core.Quote{}, refusal(resp, err, time.Now())
	}
	return c.token.parse(resp.Body, time.Now())
}

// parse reads a whole answer.
func (t token) parse(body []byte, now time.Time) (core.Quote, error) {
	answer, err := rest.Parse(body)
	if err != nil {
		return core.Quote{}, malformed(err)
	}
	code, err := statusCode(answer)
	if err != nil {
		return core.Quote{}, malformed(err)
	}
	if code != 0 {
		return core.Quote{}, codeError(code, now)
	}
	entry, err := t.find(answer.(map[string]any)["data"])
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
	return &core.Error{Service: core.Price, Reason: core.Malformed, Err: fmt.Errorf("quote: %w", err)}
}
