// Package market asks a price provider that speaks CoinMarketCap's API for the
// token's quote.
//
// Many coins share a symbol, and a wrong price is worse than none. So an entry counts
// only if it must be the token that was asked for, and if all its numbers are possible.
// Asked by symbol, the API answers with the coin that the provider ranks first, so an ID
// or a slug is safer.
package market

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
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
	// Price returns the current quote in USD. It fails as Malformed if the provider has no
	// price, or quotes another token.
	Price *core.Query[struct{}, core.Quote]

	settings Settings
	url      string
	rest     *rest.Client
}

// New makes a client. It contacts nothing. budget bounds its calls, except Probe's; nil
// sets no bound.
func New(s Settings, c *core.Cache, budget core.Budget) *Client {
	query := url.Values{s.By: {s.Token}, "convert": {"USD"}}
	m := &Client{
		Upstream: core.NewUpstream(c, Service, s.TTL, budget), settings: s, rest: rest.New(Service, c.CallTimeout),
		url: s.URL + "/v1/cryptocurrency/quotes/latest?" + query.Encode(),
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

// Listing is a token as the provider lists it. Its texts are the provider's, not
// sanitized; empty: not given.
type Listing struct {
	ID, Name, Symbol string
	Quote            core.Quote
}

// Probe asks for the quote, past the cache and the budget.
func (c *Client) Probe(ctx context.Context) (Listing, error) {
	header := http.Header{}
	if c.settings.APIKey.IsSet() {
		header.Set("X-CMC_PRO_API_KEY", c.settings.APIKey.Reveal())
	}
	resp, err := c.rest.Do(ctx, rest.Request{Attempt: "quote", URL: c.url, Header: header})
	if resp == nil {
		return Listing{}, err
	}
	data, refused, parseErr := parseAnswer(resp.Body, time.Now().UTC())
	failed, _ := errors.AsType[*core.Error](err)
	switch {
	case failed != nil && (refused == nil || refused.Reason == core.Rejected):
		return Listing{}, err
	case failed != nil:
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

// parseAnswer returns the data of an answer, or the refusal that its status stands for. A
// code below 1001 repeats an HTTP status.
// https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits
func parseAnswer(body []byte, now time.Time) (data any, refused *core.Error, err error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, nil, err
	}
	answer, _ := v.(map[string]any)
	status, _ := answer["status"].(map[string]any)
	code, err := strconv.Atoi(rest.Text(status["error_code"]))
	if err != nil {
		return nil, nil, errors.New("no status with an error code")
	}
	refused = Service.Fail(core.Rejected, fmt.Errorf("quote: answered with error code %d", code))
	switch {
	case code == 0:
		return answer["data"], nil, nil
	case code >= 1001 && code <= 1007: // the key is invalid, missing, not paid for, disabled …
		refused.Reason = core.Denied
	case code == 1008, // resets every 60 seconds
		code == 1011: // limits this machine's address; no time is published
		refused.Reason, refused.RetryAfter = core.Limited, time.Minute
	case code == 1009: // resets at midnight, UTC
		midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		refused.Reason, refused.RetryAfter = core.UsedUp, midnight.Sub(now)
	case code == 1010: // resets with the month, UTC
		month := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		refused.Reason, refused.RetryAfter = core.UsedUp, month.Sub(now)
	}
	return nil, refused, nil
}

// Source is the provider's name for people.
const Source = "CoinMarketCap"

// pageName matches a slug that can be part of a web address.
var pageName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// listing returns the token's entry in the data of an answer. It fails as Malformed.
func (s Settings) listing(data any, now time.Time) (Listing, error) {
	entry, err := s.find(data)
	if err != nil {
		return Listing{}, malformed(err)
	}
	quote, err := parseQuote(entry, now)
	if err != nil {
		return Listing{}, malformed(err)
	}
	if s.MaxPriceAge > 0 && !quote.LastUpdated.IsZero() {
		quote.OldFrom = quote.LastUpdated.Add(s.MaxPriceAge)
	}
	if slug := rest.Text(entry["slug"]); pageName.MatchString(slug) {
		quote.Page = "https://coinmarketcap.com/currencies/" + slug + "/"
	}
	id, name, symbol := rest.Text(entry["id"]), rest.Text(entry["name"]), rest.Text(entry["symbol"])
	return Listing{ID: id, Name: name, Symbol: symbol, Quote: quote}, nil
}

// find returns the one entry of the token. A member of data is an entry or a list of them.
// It fails if no entry matches, or several do.
func (s Settings) find(data any) (map[string]any, error) {
	var matching []map[string]any
	members, _ := data.(map[string]any)
	for _, member := range members {
		entries, isList := member.([]any)
		if !isList {
			entries = []any{member}
		}
		for _, v := range entries {
			entry, ok := v.(map[string]any)
			if !ok {
				return nil, errors.New("an entry that is not an object")
			}
			if s.matches(entry) {
				matching = append(matching, entry)
			}
		}
	}
	switch len(matching) {
	case 0:
		return nil, errors.New("no entry of the token with the symbol TOKEN_SYMBOL")
	case 1:
		return matching[0], nil
	}
	return nil, errors.New("several entries fit: ask by ID")
}

// matches reports whether an entry has the symbol, and the ID or slug that was asked for.
// An entry may leave out its slug.
func (s Settings) matches(entry map[string]any) bool {
	symbol := strings.TrimPrefix(rest.Text(entry["symbol"]), "$") // some coins have one there
	slug, hasSlug := entry["slug"]
	return strings.EqualFold(symbol, s.Symbol) &&
		(s.By != "id" || rest.Text(entry["id"]) == s.Token) &&
		(s.By != "slug" || !hasSlug || strings.EqualFold(rest.Text(slug), s.Token))
}

// The bounds of possible numbers, in USD and per cent. The largest market of all has about
// 10^14 USD.
var (
	maxPrice  = decimal.New(1, 15)
	maxMarket = decimal.New(1, 18)
	maxChange = decimal.New(1, 9)
	minChange = decimal.New(-100, 0)
)

// maxAhead is how far the provider's clock may be ahead of this machine's.
const maxAhead = 24 * time.Hour

// number is an optional number of a quote, with its bounds.
type number struct {
	name     string // in the provider's JSON
	value    *decimal.NullDecimal
	min, max decimal.Decimal
}

func numbers(q *core.Quote) []number {
	return []number{
		{name: "percent_change_1h", value: &q.Change1h, min: minChange, max: maxChange},
		{name: "percent_change_24h", value: &q.Change24h, min: minChange, max: maxChange},
		{name: "percent_change_7d", value: &q.Change7d, min: minChange, max: maxChange},
		{name: "percent_change_30d", value: &q.Change30d, min: minChange, max: maxChange},
		{name: "market_cap", value: &q.MarketCap, max: maxMarket},
		{name: "volume_24h", value: &q.Volume24h, max: maxMarket},
	}
}

func parseQuote(entry map[string]any, now time.Time) (q core.Quote, err error) {
	q.Source = Source
	quotes, _ := entry["quote"].(map[string]any)
	usd, ok := quotes["USD"].(map[string]any)
	if !ok {
		return q, errors.New("no quote in USD")
	}
	q.Price, _ = rest.Decimal(usd["price"]) // check refuses the 0 of what is no number
	for _, n := range numbers(&q) {
		if usd[n.name] == nil {
			continue
		}
		if n.value.Decimal, n.value.Valid = rest.Decimal(usd[n.name]); !n.value.Valid {
			return q, errors.New("an impossible " + n.name)
		}
	}
	if q.MarketCap.Decimal.IsZero() { // that is, unknown
		q.MarketCap = decimal.NullDecimal{}
	}
	if usd["last_updated"] != nil {
		updated, err := time.Parse(time.RFC3339, rest.Text(usd["last_updated"]))
		if err != nil {
			return q, errors.New("an impossible last_updated")
		}
		q.LastUpdated = updated.UTC()
	}
	return q, check(q, now)
}

// check fails if a number or the time of q is impossible.
func check(q core.Quote, now time.Time) error {
	if !rest.IsBounded(q.Price) || !q.Price.IsPositive() || q.Price.GreaterThan(maxPrice) {
		return errors.New("no possible price")
	}
	for _, n := range numbers(&q) {
		d := n.value.Decimal
		if n.value.Valid && (!rest.IsBounded(d) || d.LessThan(n.min) || d.GreaterThan(n.max)) {
			return errors.New("an impossible " + n.name)
		}
	}
	if q.LastUpdated.After(now.Add(maxAhead)) {
		return &config.WrongError{Problem: "last updated in the future", Settings: "this machine's clock"}
	}
	return nil
}
