// Package market asks a price provider that speaks CoinMarketCap's API for the
// token's quote.
//
// Many coins share a symbol, and a wrong price is worse than none. So an entry counts
// only if it is surely the requested token, and its price and time are possible. Another
// number is left out if it is impossible. Whether a price is plausible is not decided here.
// Asked by symbol, the API answers with the coin that the provider ranks first, so an ID is
// safer.
package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
		core.Rejected:  "PRICE_TOKEN_ID, TOKEN_SYMBOL and PRICE_API_URL",
		core.Malformed: "PRICE_TOKEN_ID, TOKEN_SYMBOL and PRICE_API_URL",
		core.NoData:    "PRICE_TOKEN_ID and TOKEN_SYMBOL: the provider may no longer track that token",
	},
}

// Client asks the provider.
type Client struct {
	*query.Upstream
	// Price returns the current quote in USD. It fails as Malformed if the provider quotes
	// another token, and as NoData if it has no price.
	Price *query.Query[struct{}, *core.Quote]
	// Budget has the credits that the client may spend; nil: calls are not counted.
	Budget *Budget

	settings Settings
	query    string // of every request for the quote
	rest     *rest.Client
	log      *slog.Logger
	// v1Gone is when version 1 of the quotes was last gone and version 3 answered, in Unix
	// nanoseconds; 0: never.
	v1Gone atomic.Int64
	// v1Told is set once the log says that version 1 is gone.
	v1Told atomic.Bool
	// said is the provider's sentence that was logged last.
	said atomic.Value
}

// New makes a client. It contacts nothing. log is told when version 1 of the quotes is gone.
func New(s Settings, c *query.Cache, log *slog.Logger) *Client {
	m := &Client{
		settings: s,
		query:    url.Values{s.By: {s.Token}, "convert": {"USD"}}.Encode(),
		rest:     rest.New(Service, c.CallTimeout),
		log:      log,
	}
	var budget query.Budget
	if !s.Uncounted {
		failing := func() bool { return !m.Health().FailingSince.IsZero() }
		m.Budget = newBudget(s.MonthlyCredits, m.Credits, failing)
		budget = m.Budget
	}
	m.Upstream = query.NewUpstream(c, Service, s.TTL, budget)
	m.Price = query.New(m.Upstream, query.Config[struct{}, *core.Quote]{
		Name: "price",
		TTL:  s.TTL,
		Fetch: func(ctx context.Context, _ struct{}) (*core.Quote, error) {
			found, status, err := m.probe(ctx)
			if m.Budget != nil {
				m.Budget.settle(status, err)
			}
			return &found.Quote, err
		},
		SharedAs: fmt.Sprint(s.URL, " ", m.query, " ", s.Symbol, " ", s.MaxPriceAge),
		Check:    checkSaved,
	})
	return m
}

// Listing is a token as the provider lists it. Its texts are the provider's, not
// sanitized; empty: not given.
type Listing struct {
	ID, Name, Symbol string
	Quote            core.Quote
}

const (
	pathV1 = "/v1/cryptocurrency/quotes/latest"
	pathV3 = "/v3/cryptocurrency/quotes/latest"
	// retryV1 is how long version 3 of the quotes is asked after version 1 was gone.
	retryV1 = time.Hour
)

// Probe asks for the quote, past the cache and the budget.
func (c *Client) Probe(ctx context.Context) (Listing, error) {
	found, _, err := c.probe(ctx)
	return found, err
}

// probe asks version 1 of the quotes and, if that is gone, version 3. It returns the status of
// the last response; 0: there was none.
func (c *Client) probe(ctx context.Context) (found Listing, status int, err error) {
	path, gone := pathV1, c.v1Gone.Load()
	if gone != 0 && time.Since(time.Unix(0, gone)) < retryV1 {
		path = pathV3
	}
	resp, data, err := c.get(ctx, "quote", path+"?"+c.query)
	if path == pathV1 && isGone(resp) {
		path = pathV3
		resp, data, err = c.get(ctx, "quote", path+"?"+c.query)
		if !isGone(resp) && !c.v1Told.Swap(true) {
			c.log.WarnContext(ctx, "the price provider has ended version 1 of its quotes; version 3 is asked", "path", pathV1)
		}
		if err == nil {
			c.v1Gone.Store(time.Now().UnixNano())
		}
	}
	if err == nil {
		found, err = c.settings.listing(data, time.Now())
		err = asking(path+"?"+c.query, err)
	}
	if path == pathV3 {
		found.Quote.V1Gone = true
		err = nameV1(err, resp)
	}
	return found, resp.Status, err
}

// nameV1 wraps an error of version 3 of the quotes, so that it also says that version 1 is gone. It
// returns any other error as it is.
func nameV1(err error, resp rest.Response) error {
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return err
	}
	gone := core.V1GoneError{V1: pathV1, V3: pathV3, Err: failed.Err}
	if resp.Status != http.StatusOK {
		gone.Status = resp.Status
	}
	named := *failed
	named.Err = &gone
	return &named
}

func isGone(resp rest.Response) bool {
	return resp.Status == http.StatusNotFound || resp.Status == http.StatusGone
}

// get makes one request and returns the response and its data. attempt names the request in
// errors. Without a response resp is zero.
func (c *Client) get(ctx context.Context, attempt, pathAndQuery string) (resp rest.Response, data any, err error) {
	// On a connection that was used before, net/http repeats a request that got no answer. The
	// provider may count both.
	header := http.Header{"Connection": {"close"}}
	if c.settings.APIKey.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.settings.APIKey.Reveal())
	}
	got, err := c.rest.Do(ctx, rest.Request{
		Attempt: attempt,
		Base:    c.settings.URL,
		Path:    pathAndQuery,
		Header:  header,
	})
	if got == nil {
		return rest.Response{}, nil, err
	}
	resp = *got
	data, refused := parseAnswer(resp.Body, time.Now().UTC())
	if refused != nil && !isGone(resp) {
		c.logSentence(ctx, resp)
	}
	if failed, is := errors.AsType[*core.Error](err); is {
		if refused == nil || refused.Reason == core.Malformed || refused.Reason == core.Rejected && refused.RetryAfter == 0 {
			return resp, nil, err // The body says no more than the status.
		}
		if refused.Reason != core.UsedUp { // An upgrade ends that before the month does.
			refused.RetryAfter = max(refused.RetryAfter, failed.RetryAfter)
		}
	}
	if refused != nil {
		return resp, nil, asking(pathAndQuery, refused.During(attempt))
	}
	return resp, data, nil
}

// asking returns an error with the request that it is about. err is nil or a *core.Error.
func asking(pathAndQuery string, err error) error {
	failed, is := errors.AsType[*core.Error](err)
	if !is {
		return err
	}
	named := *failed
	named.Asked = http.MethodGet + " " + pathAndQuery
	return &named
}

// logSentence logs what the provider says about a refusal, unless it has just said the same. No
// error holds the sentence: an error has nothing of a service's text.
func (c *Client) logSentence(ctx context.Context, resp rest.Response) {
	said := sentence(resp.Body)
	if said == "" || c.said.Swap(said) == said {
		return
	}
	c.log.WarnContext(ctx, "the price provider refuses a request", "status", resp.Status, "says", said)
}
