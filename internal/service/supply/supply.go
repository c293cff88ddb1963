// Package supply asks the supply host how many tokens there are.
//
// The host answers in a few forms, and says 0 or an error's text with status 200
// when its own source failed. So an answer counts only if it is one number above
// zero, in one of the forms that are known; everything else could not be read.
// Thousands separators are refused, since "1,234" may have a fraction.
package supply

import (
	"context"
	"errors"
	"net/http"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"herald/internal/core"
	"herald/internal/service/rest"
)

// Service is the supply host.
var Service = &core.Service{
	Name:     "supply",
	Title:    "supply host",
	Settings: map[core.Reason]string{"": "SUPPLY_URL"},
}

// Client asks the host.
type Client struct {
	// Supply fails as Malformed also if more tokens circulate than there are.
	Supply *core.Cached[struct{}, core.Supply]

	url  string
	rest *rest.Client
}

// New makes a client. It asks nothing.
func New(s Settings, c *core.Cache) *Client {
	h := &Client{url: s.URL, rest: rest.New(Service, c.CallTimeout)}
	h.Supply = core.NewCached(core.NewBreaker(c, Service, s.TTL, nil), core.Query[struct{}, core.Supply]{
		Name: "supply", TTL: s.TTL, Fetch: h.supply,
		Shared: &core.Shared[core.Supply]{Source: s.URL, Check: check},
	})
	return h
}

// Probe asks for the supply, past the cache. When it fails it returns the figures
// that came nevertheless, and zero for those that did not.
func (c *Client) Probe(ctx context.Context) (core.Supply, error) {
	var s core.Supply
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) { s.Total, err = c.ask(ctx, total); return })
	both.Go(func() (err error) { s.Circulating, err = c.ask(ctx, circulating); return })
	if err := both.Wait(); err != nil {
		return s, err
	}
	if err := check(s); err != nil {
		return s, Service.Fail(core.Malformed, err)
	}
	return s, nil
}

func (c *Client) supply(ctx context.Context, _ struct{}) (core.Supply, error) {
	s, err := c.Probe(ctx)
	if err != nil {
		return core.Supply{}, err
	}
	return s, nil
}

// check fails if s cannot be true.
func check(s core.Supply) error {
	for _, amount := range []decimal.Decimal{s.Total, s.Circulating} {
		if err := checkAmount(amount); err != nil {
			return err
		}
	}
	if s.Circulating.GreaterThan(s.Total) {
		return errors.New("more tokens circulate than there are")
	}
	return nil
}

func checkAmount(amount decimal.Decimal) error {
	if !rest.IsBounded(amount) || !amount.IsPositive() {
		return errors.New("not above zero")
	}
	return nil
}

func (c *Client) ask(ctx context.Context, f figure) (decimal.Decimal, error) {
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: f.name, Method: http.MethodGet, URL: c.url + f.path})
	if err != nil {
		return decimal.Decimal{}, err
	}
	amount, err := parseFigure(resp.Body, resp.Complete)
	if err != nil {
		return decimal.Decimal{}, Service.Fail(core.Malformed, err).During(f.name)
	}
	return amount, nil
}
