// Package supply asks the supply host how many tokens there are.
//
// When its own source fails, the host answers 0 or the text of an error, with status 200. So an answer counts only if
// it is one number above zero, in a form that rest.Client.Figure accepts.
package supply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/rest"
)

// The paths below SUPPLY_URL.
const (
	totalPath       = "/total-supply"
	circulatingPath = "/circulating-supply"
)

// Settings are what an operator chooses.
type Settings struct {
	// URL is the host's origin and path prefix, without a slash at its end; empty: there is no supply host.
	URL string
	// TTL is how long supplies are fresh.
	TTL time.Duration
}

// IsOn reports whether there is a supply host to ask.
func (s Settings) IsOn() bool { return s.URL != "" }

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Supply",
			Name:    "SUPPLY_URL",
			Example: "https://supply.example.org/token",
			Comment: "URL of the supply host; /total-supply and /circulating-supply are appended.",
			Set:     config.Field(&s.URL, config.BaseURLWithout(totalPath, circulatingPath)),
		},
		{
			Name:    "SUPPLY_TTL",
			Default: "5m",
			Set:     config.Field(&s.TTL, config.Duration),
			Comment: "How long supplies are fresh.",
		},
	}
}

// Service is the supply host.
var Service = &core.Service{
	Name:     "supply",
	Title:    "supply host",
	Settings: map[core.Reason]string{"": "SUPPLY_URL"},
}

// Client asks the host.
type Client struct {
	*query.Upstream
	// Supply returns both figures, in tokens. It fails as Malformed if more tokens circulate than there are. If its Fetch
	// fails, it still returns the figures that it could read.
	Supply *query.Query[struct{}, core.Supply]

	url  string
	rest *rest.Client
}

// New returns a Client that caches supplies in cache. It contacts nothing.
func New(s Settings, cache *query.Cache) *Client {
	c := &Client{
		Upstream: query.NewUpstream(cache, Service, s.TTL, nil),
		url:      s.URL,
		rest:     rest.New(Service, cache.CallTimeout),
	}
	c.Supply = query.New(c.Upstream, query.Config[struct{}, core.Supply]{
		Name:     "supply",
		TTL:      s.TTL,
		Fetch:    c.fetch,
		SharedAs: s.URL,
		Check:    check,
	})
	return c
}

// fetch asks for both figures at once. If it fails, a figure that could not be read is zero.
func (c *Client) fetch(ctx context.Context, _ struct{}) (core.Supply, error) {
	var s core.Supply
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		s.Total, err = c.fetchFigure(ctx, "total supply", totalPath)
		return err
	})
	both.Go(func() (err error) {
		s.Circulating, err = c.fetchFigure(ctx, "circulating supply", circulatingPath)
		return err
	})
	if err := both.Wait(); err != nil {
		return s, err
	}
	if err := check(s); err != nil {
		return s, Service.Fail(core.Malformed, err)
	}
	return s, nil
}

// fetchFigure asks for one of the two figures. name is its name in errors.
func (c *Client) fetchFigure(ctx context.Context, name, path string) (decimal.Decimal, error) {
	return c.rest.Figure(ctx, rest.Request{Attempt: name, Base: c.url, Path: path}, "result", "data")
}

// check returns an error if s is impossible.
func check(s core.Supply) error {
	if err := cmp.Or(rest.CheckFigure(s.Total), rest.CheckFigure(s.Circulating)); err != nil {
		return err
	}
	if s.Circulating.GreaterThan(s.Total) {
		return errors.New("more tokens circulate than there are")
	}
	return nil
}
