package market

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/rest"
)

// Source is the provider's name as members read it.
const Source = "CoinMarketCap"

// pageName matches a slug that can be part of a web address.
var pageName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// listing returns the token's entry in the data of an answer. It fails as Malformed, or as NoData if the entry has no
// price.
func (s Settings) listing(data any, now time.Time) (Listing, error) {
	entry, err := s.find(data)
	if err != nil {
		return Listing{}, quoteError(err)
	}
	quote, err := parseQuote(entry, now)
	if err != nil {
		return Listing{}, quoteError(err)
	}
	if s.MaxPriceAge > 0 && !quote.LastUpdated.IsZero() {
		quote.CurrentUntil = quote.LastUpdated.Add(s.MaxPriceAge)
	}
	return Listing{
		ID:     rest.Text(entry["id"]),
		Name:   rest.Text(entry["name"]),
		Symbol: rest.Text(entry["symbol"]),
		Quote:  quote,
	}, nil
}

// errNoPrice means that the provider has no price of the token.
var errNoPrice = errors.New("the price is null")

// quoteError returns the *core.Error for err, which says why the quote in an answer cannot be used.
func quoteError(err error) *core.Error {
	reason := core.Malformed
	if errors.Is(err, errNoPrice) {
		reason = core.NoData
	}
	return Service.Fail(reason, err).During("quote")
}

// find returns the token's only entry in the data of an answer. Version 1 of the API has an object of entries, or of
// lists of entries; version 3 has a list of entries. find fails if no entry matches, or several do.
func (s Settings) find(data any) (map[string]any, error) {
	var matching []map[string]any
	for _, member := range valuesOf(data) {
		entries, isList := member.([]any)
		if !isList {
			entries = []any{member}
		}
		for _, v := range entries {
			if entry, is := v.(map[string]any); is && s.matches(entry) {
				matching = append(matching, entry)
			}
		}
	}
	switch len(matching) {
	case 0:
		return nil, errors.New("no entry with the symbol TOKEN_SYMBOL: PRICE_TOKEN_ID may be another token's")
	case 1:
		return matching[0], nil
	}
	return nil, errors.New("several entries fit: ask by ID")
}

// matches reports whether an entry has the configured symbol, and the configured ID if the token is asked for by ID.
func (s Settings) matches(entry map[string]any) bool {
	symbol := strings.TrimPrefix(rest.Text(entry["symbol"]), "$") // Some entries have a $ there.
	if !strings.EqualFold(symbol, s.Symbol) {
		return false
	}
	return s.TokenBy != byID || rest.Text(entry["id"]) == s.Token
}

// valuesOf returns the values in a list or in an object. It returns nil for anything else.
func valuesOf(v any) []any {
	if members, is := v.(map[string]any); is {
		return slices.Collect(maps.Values(members))
	}
	list, _ := v.([]any)
	return list
}

// parseQuote reads the quote in USD of a token's entry. It fails if the entry has no possible price or time. It leaves
// out other numbers that are impossible.
func parseQuote(entry map[string]any, now time.Time) (q core.Quote, err error) {
	q.Source = Source
	if slug := rest.Text(entry["slug"]); pageName.MatchString(slug) {
		q.Page = "https://coinmarketcap.com/currencies/" + slug + "/"
	}
	usd := inUSD(entry["quote"])
	if usd == nil {
		return q, errors.New("no quote in USD")
	}
	if price, isGiven := usd["price"]; isGiven && price == nil {
		return q, errNoPrice
	}
	q.Price, _ = rest.Decimal(usd["price"]) // It is 0, which check refuses, if this is not a number.
	readNumbers(usd, numbersInUSD(&q))
	readNumbers(entry, tokenCounts(&q))
	if usd["last_updated"] != nil {
		updated, err := time.Parse(time.RFC3339, rest.Text(usd["last_updated"]))
		if err != nil {
			return q, errors.New("an impossible last_updated")
		}
		q.LastUpdated = updated.UTC()
	}
	return q, check(q, now)
}

// inUSD returns the quote in USD, or nil if there is none: the member USD of an object or, in version 3 of the API, the
// only member of a list with that symbol.
func inUSD(quote any) (usd map[string]any) {
	if quotes, is := quote.(map[string]any); is {
		usd, _ = quotes["USD"].(map[string]any)
		return usd
	}
	for _, v := range valuesOf(quote) {
		q, _ := v.(map[string]any)
		if rest.Text(q["symbol"]) != "USD" {
			continue
		}
		if isSecond := usd != nil; isSecond {
			return nil
		}
		usd = q
	}
	return usd
}

// The limits of possible numbers, in USD, per cent and tokens. The largest market of all has about 10^14 USD.
var (
	maxPrice  = decimal.New(1, 15)
	maxMarket = decimal.New(1, 18)
	maxChange = decimal.New(1, 9)
	minChange = decimal.New(-100, 0)
	maxCount  = decimal.New(1, 40)
)

// number is an optional number of a quote, and which values are possible.
type number struct {
	name     string               // in the provider's JSON
	value    *decimal.NullDecimal // in the quote
	min, max decimal.Decimal
	zero     zeroMeans
}

// zeroMeans is the meaning of a 0 that the provider sends.
type zeroMeans int

const (
	zeroMeansZero zeroMeans = iota
	zeroMeansUnknown
)

// numbersInUSD returns the optional numbers that belong to the quote in USD.
func numbersInUSD(q *core.Quote) []number {
	return []number{
		{name: "percent_change_1h", value: &q.Change1h, min: minChange, max: maxChange},
		{name: "percent_change_24h", value: &q.Change24h, min: minChange, max: maxChange},
		{name: "percent_change_7d", value: &q.Change7d, min: minChange, max: maxChange},
		{name: "percent_change_30d", value: &q.Change30d, min: minChange, max: maxChange},
		{name: "market_cap", value: &q.MarketCap, max: maxMarket, zero: zeroMeansUnknown},
		{name: "volume_24h", value: &q.Volume24h, max: maxMarket},
	}
}

// tokenCounts returns the optional numbers that belong to the token's entry.
func tokenCounts(q *core.Quote) []number {
	return []number{
		{name: "circulating_supply", value: &q.Circulating, max: maxCount, zero: zeroMeansUnknown},
		{name: "total_supply", value: &q.Total, max: maxCount, zero: zeroMeansUnknown},
	}
}

// isPossible reports whether the number is unknown or within its limits.
func (n number) isPossible() bool {
	if !n.value.Valid {
		return true
	}
	d := n.value.Decimal
	if d.IsZero() && n.zero == zeroMeansUnknown {
		return false
	}
	return rest.IsBounded(d) && !d.LessThan(n.min) && !d.GreaterThan(n.max)
}

// readNumbers sets the values of numbers from the members of an object. A missing or impossible number becomes unknown;
// the others are useful without it.
func readNumbers(members map[string]any, numbers []number) {
	for _, n := range numbers {
		n.value.Decimal, n.value.Valid = rest.Decimal(members[n.name])
		if !n.isPossible() {
			*n.value = decimal.NullDecimal{}
		}
	}
}

// checkLoaded returns an error if the provider cannot have given q, which a replica or an earlier process saved.
func checkLoaded(q *core.Quote) error {
	if q == nil {
		return errors.New("no quote")
	}
	return check(*q, time.Now())
}

// maxAhead is how far the provider's clock may be ahead of this machine's.
const maxAhead = 24 * time.Hour

// check returns an error if a number or the time of q is impossible.
func check(q core.Quote, now time.Time) error {
	if !rest.IsBounded(q.Price) || !q.Price.IsPositive() || q.Price.GreaterThan(maxPrice) {
		return errors.New("no possible price")
	}
	for _, n := range slices.Concat(numbersInUSD(&q), tokenCounts(&q)) {
		if !n.isPossible() {
			return errors.New("an impossible " + n.name)
		}
	}
	if q.LastUpdated.After(now.Add(maxAhead)) {
		return &config.WrongError{Problem: "last updated in the future", Settings: "this machine's clock"}
	}
	return nil
}
