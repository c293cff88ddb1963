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
	renamed := false
	entries := flatten(data)
	for _, v := range entries {
		entry, ok := v.(map[string]any)
		// A coin of another symbol is never shown, whatever its ID.
		symbol, _ := entry["symbol"].(string)
		switch {
		case !ok:
			return nil, errors.New("an entry that is not an object")
		case !s.isNamedBy(entry):
		case !strings.EqualFold(symbol, s.Symbol):
			renamed = true
		case found != nil:
			return nil, errors.New("several entries fit: ask by ID")
		default:
			found = entry
		}
	}
	switch {
	case len(entries) == 0:
		return nil, errors.New("no entry: the provider may not know the token")
	case found == nil && renamed && s.By != "symbol":
		return nil, &config.WrongError{
			Problem:  "the token has another symbol there than TOKEN_SYMBOL",
			Settings: "TOKEN_SYMBOL and PRICE_TOKEN_" + strings.ToUpper(s.By),
		}
	case found == nil:
		return nil, errors.New("entries of other tokens only")
	}
	return found, nil
}

// isNamedBy reports whether the entry has the ID or slug that was asked for. An
// entry need not repeat its slug.
func (s Settings) isNamedBy(entry map[string]any) bool {
	switch s.By {
	case "id":
		return rest.Text(entry["id"]) == s.Token
	case "slug":
		slug, there := entry["slug"]
		text, _ := slug.(string)
		return !there || strings.EqualFold(text, s.Token)
	}
	return true
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

func parseQuote(entry map[string]any, now time.Time) (core.Quote, error) {
	quotes, _ := entry["quote"].(map[string]any)
	usd, ok := quotes["USD"].(map[string]any)
	if !ok {
		return core.Quote{}, errors.New("no quote in USD")
	}
	var q core.Quote
	if q.Price, ok = rest.Decimal(usd["price"]); !ok {
		return core.Quote{}, errors.New("no possible price")
	}
	for name, to := range map[string]*decimal.NullDecimal{
		"percent_change_1h":  &q.Change1h,
		"percent_change_24h": &q.Change24h,
		"percent_change_7d":  &q.Change7d,
		"market_cap":         &q.MarketCap,
		"volume_24h":         &q.Volume24h,
	} {
		if usd[name] == nil {
			continue
		}
		d, ok := rest.Decimal(usd[name])
		if !ok {
			return core.Quote{}, errors.New("an impossible " + name)
		}
		*to = decimal.NewNullDecimal(d)
	}
	if q.MarketCap.Decimal.IsZero() {
		// Providers say so when they do not know it.
		q.MarketCap = decimal.NullDecimal{}
	}
	if usd["last_updated"] != nil {
		text, _ := usd["last_updated"].(string)
		updated, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return core.Quote{}, errors.New("an impossible last_updated")
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
	for _, n := range []struct {
		name     string
		value    decimal.NullDecimal
		min, max decimal.Decimal
	}{
		{"change over 1 h", q.Change1h, minChange, maxChange},
		{"change over 24 h", q.Change24h, minChange, maxChange},
		{"change over 7 d", q.Change7d, minChange, maxChange},
		{"market cap", q.MarketCap, decimal.Zero, maxMarket},
		{"volume", q.Volume24h, decimal.Zero, maxMarket},
	} {
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
