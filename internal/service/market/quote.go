package market

import (
	"errors"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/rest"
)

// listing reads the data of an answer.
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
	name, _ := entry["name"].(string)
	symbol, _ := entry["symbol"].(string)
	return Listing{ID: rest.Text(entry["id"]), Name: name, Symbol: symbol, Quote: quote}, nil
}

// find picks the token's entry from data. Entries are members of an object
// (version 1 of the API), lists in one (2), or a list (3). If several fit, any
// might be meant, and that is an error.
func (s Settings) find(data any) (map[string]any, error) {
	var found map[string]any
	entries := flatten(data)
	for _, v := range entries {
		entry, ok := v.(map[string]any)
		switch {
		case !ok:
			return nil, errors.New("an entry that is not an object")
		case !s.isMeant(entry):
		case found != nil:
			return nil, errors.New("several entries fit: ask by ID")
		default:
			found = entry
		}
	}
	switch {
	case len(entries) == 0:
		return nil, errors.New("no entry: the provider may not know the token")
	case found == nil:
		return nil, errors.New("entries of other tokens only, or of another symbol than TOKEN_SYMBOL")
	}
	return found, nil
}

// isMeant reports whether the entry has the ID or slug that was asked for, and the
// symbol: a coin of another symbol is never shown. An entry need not repeat its
// slug.
func (s Settings) isMeant(entry map[string]any) bool {
	slug, named := entry["slug"]
	symbol, _ := entry["symbol"].(string)
	return strings.EqualFold(symbol, s.Symbol) &&
		(s.By != "id" || rest.Text(entry["id"]) == s.Token) &&
		(s.By != "slug" || !named || strings.EqualFold(rest.Text(slug), s.Token))
}

func flatten(data any) []any {
	object, ok := data.(map[string]any)
	if !ok {
		entries, _ := data.([]any)
		return entries
	}
	var entries []any
	for _, v := range object {
		if several, ok := v.([]any); ok {
			entries = append(entries, several...)
		} else {
			entries = append(entries, v)
		}
	}
	return entries
}

// Bounds on what can be true. The largest market there is has some 10^14 USD.
var (
	maxPrice  = decimal.New(1, 15)
	maxMarket = decimal.New(1, 18)
	maxChange = decimal.New(1, 9)
	minChange = decimal.New(-100, 0)
)

// maxAhead is how far the provider's clock may be ahead of this machine's.
const maxAhead = 24 * time.Hour

// number is a number of a quote that the provider may not have, and its bounds.
type number struct {
	name     string // the provider's
	value    *decimal.NullDecimal
	min, max decimal.Decimal
}

func numbers(q *core.Quote) []number {
	return []number{
		{name: "percent_change_1h", value: &q.Change1h, min: minChange, max: maxChange},
		{name: "percent_change_24h", value: &q.Change24h, min: minChange, max: maxChange},
		{name: "percent_change_7d", value: &q.Change7d, min: minChange, max: maxChange},
		{name: "market_cap", value: &q.MarketCap, max: maxMarket},
		{name: "volume_24h", value: &q.Volume24h, max: maxMarket},
	}
}

func parseQuote(entry map[string]any, now time.Time) (q core.Quote, err error) {
	quotes, _ := entry["quote"].(map[string]any)
	usd, ok := quotes["USD"].(map[string]any)
	if !ok {
		return q, errors.New("no quote in USD")
	}
	if q.Price, ok = rest.Decimal(usd["price"]); !ok {
		return q, errors.New("no possible price")
	}
	for _, n := range numbers(&q) {
		if usd[n.name] == nil {
			continue
		}
		if n.value.Decimal, n.value.Valid = rest.Decimal(usd[n.name]); !n.value.Valid {
			return q, errors.New("an impossible " + n.name)
		}
	}
	if q.MarketCap.Decimal.IsZero() {
		// Providers say so when they do not know it.
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

// check fails if q cannot be true.
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
	switch {
	case q.MarketCap.Valid && q.MarketCap.Decimal.IsZero():
		return errors.New("a market cap of 0 beside a price")
	case q.LastUpdated.After(now.Add(maxAhead)):
		return &config.WrongError{Problem: "last updated in the future", Settings: "this machine's clock"}
	}
	return nil
}
