// Package supply asks the supply host how many tokens there are.
//
// The host answers in several forms, and says 0 or an error's text with status
// 200 when its own source failed. So an answer counts only if it is one number
// above zero, found where it can mean nothing else; everything else is an
// error. Thousands separators are not read, since "1,234" may have a fraction.
package supply

import (
	"context"
	"errors"
	"net/http"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"herald/internal/core"
	"herald/internal/rest"
)

// Service is the supply host.
var Service = &core.Service{
	Name:     "supply",
	Title:    "supply host",
	Phrase:   "the supply host",
	Settings: map[core.Reason]string{"": "SUPPLY_URL"},
}

// Client asks the host.
type Client struct {
	// Supply fails as Malformed also if more tokens circulate than there are.
	Supply *core.Cached[core.NoArgument, core.Supply]

	url  string
	rest *rest.Client
}

// New makes a client. It asks nothing.
func New(s Settings, c *core.Cache) *Client {
	h := &Client{url: s.URL, rest: rest.New(Service, c.CallTimeout)}
	h.Supply = core.NewCached(core.NewBreaker(c, Service, s.TTL), core.Question[core.NoArgument, core.Supply]{
		Name: "supply", TTL: s.TTL, Ask: h.supply,
		Shared: &core.Shared[core.Supply]{Source: s.URL, Check: check},
	})
	return h
}

// Probe asks for the supply, past the cache.
func (c *Client) Probe(ctx context.Context) (detail string, err error) {
	_, err = c.supply(ctx, core.NoArgument{})
	return "", err
}

// figure is one of the two numbers that the host knows.
type figure struct {
	name string
	path string
	// members are those of an object that hold it.
	members []string
}

var (
	wrappers = []string{"result", "data", "value", "supply"}
	total    = figure{"total supply", "/total-supply", append([]string{
		"total", "totalSupply", "total_supply"}, wrappers...)}
	circulating = figure{"circulating supply", "/circulating-supply", append([]string{
		"circulating", "circulatingSupply", "circulating_supply"}, wrappers...)}
)

// supply asks for both figures at once.
func (c *Client) supply(ctx context.Context, _ core.NoArgument) (core.Supply, error) {
	var s core.Supply
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) { s.Total, err = c.ask(ctx, total); return })
	both.Go(func() (err error) { s.Circulating, err = c.ask(ctx, circulating); return })
	if err := both.Wait(); err != nil {
		return core.Supply{}, err
	}
	if err := check(s); err != nil {
		return core.Supply{}, Service.Fail(core.Malformed, err)
	}
	return s, nil
}

// check fails if s cannot be true.
func check(s core.Supply) error {
	for _, amount := range []decimal.Decimal{s.Total, s.Circulating} {
		if !rest.IsBounded(amount) || !amount.IsPositive() {
			return errors.New("a supply that is not above zero")
		}
	}
	if s.Circulating.GreaterThan(s.Total) {
		return errors.New("more tokens circulate than there are")
	}
	return nil
}

func (c *Client) ask(ctx context.Context, f figure) (decimal.Decimal, error) {
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: f.name, Method: http.MethodGet, URL: c.url + f.path})
	if err != nil {
		return decimal.Decimal{}, err
	}
	amount, err := f.parse(resp.Body)
	if err != nil {
		return decimal.Decimal{}, Service.Fail(core.Malformed, err).During(f.name)
	}
	return amount, nil
}

func (f figure) parse(body []byte) (decimal.Decimal, error) {
	v, err := rest.Parse(body)
	if err != nil {
		return decimal.Decimal{}, err
	}
	for {
		object, ok := v.(map[string]any)
		if !ok {
			break
		}
		if v, err = f.member(object); err != nil {
			return decimal.Decimal{}, err
		}
	}
	amount, ok := rest.Decimal(v)
	switch {
	case !ok:
		return decimal.Decimal{}, errors.New("not a number")
	case !amount.IsPositive():
		return decimal.Decimal{}, errors.New("not above zero")
	}
	return amount, nil
}

// member is the only member of object that may hold the figure.
func (f figure) member(object map[string]any) (any, error) {
	if failed(object) {
		return nil, errors.New("an object that reports an error")
	}
	var found any
	for _, name := range f.members {
		switch v := object[name]; {
		case v == nil:
		case found != nil:
			return nil, errors.New("an object with more than one number to choose from")
		default:
			found = v
		}
	}
	if found == nil {
		return nil, errors.New("an object without the number")
	}
	return found, nil
}

func failed(object map[string]any) bool {
	switch object["error"] {
	case nil, "", false:
	default:
		return true
	}
	return object["success"] == false
}
