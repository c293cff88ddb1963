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

// token is what was asked for.
type token struct{ by, value, symbol string }

// find picks the token's entry from data, in which entries are members of an
// object (version 1 of the API), lists in one (2), or a list (3). More than one
// that fits leaves open which is meant, and is an error.
func (t token) find(data any) (map[string]any, error) {
	var found map[string]any
	renamed := false
	entries := flatten(data)
	for _, v := range entries {
		entry, ok := v.(map[string]any)
		switch {
		case !ok:
			return nil, errors.New("an entry that is not an object")
		case !t.isNamedBy(entry):
		case !t.hasSymbol(entry):
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
	case found == nil && renamed:
		return nil, &config.WrongError{
			Problem:  "the token has another symbol there than TOKEN_SYMBOL",
			Settings: "TOKEN_SYMBOL and PRICE_TOKEN_" + strings.ToUpper(t.by),
		}
	case found == nil:
		return nil, errors.New("entries of other tokens only")
	}
	return found, nil
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

// isNamedBy reports whether the entry has what was asked for; a slug only where
// there is one, since an entry need not repeat it.
func (t token) isNamedBy(entry map[string]any) bool {
	switch t.by {
	case "id":
		return rest.Text(entry["id"]) == t.value
	case "slug":
		slug, there := entry["slug"]
		text, _ := slug.(string)
		return !there || strings.EqualFold(text, t.value)
	}
	return t.hasSymbol(entry)
}

// hasSymbol must hold, too: a coin of another symbol is never shown, whatever its
// ID.
func (t token) hasSymbol(entry map[string]any) bool {
	symbol, _ := entry["symbol"].(string)
	return strings.EqualFold(symbol, t.symbol)
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
		// Beside a price that is how providers say that they do not know it.
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
