package market

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/rest"
)

const (
	// retryRefused is how soon the provider is asked again after a refusal that an operator
	// has to mend.
	retryRefused = time.Minute
	// retryUsedUp is how soon it is asked again at the latest after a plan was used up: this
	// machine's clock may be wrong, and the plan's month another than the calendar's.
	retryUsedUp = time.Hour
)

// parseAnswer returns the data of an answer, or the refusal that its status stands for. It
// returns a Malformed refusal for an answer of another form. A code below 1001 repeats an HTTP
// status.
// https://coinmarketcap.com/api/documentation/guides/errors-and-rate-limits
func parseAnswer(body []byte, now time.Time) (data any, refused *core.Error) {
	v, err := rest.Parse(body)
	if err != nil {
		return nil, Service.Fail(core.Malformed, err)
	}
	answer, _ := v.(map[string]any)
	status, _ := answer["status"].(map[string]any)
	code, err := strconv.Atoi(rest.Text(status["error_code"]))
	if err != nil {
		return nil, Service.Fail(core.Malformed, errors.New("no status with an error code"))
	}
	if code == 0 {
		return answer["data"], nil
	}
	refused = Service.Fail(core.Rejected, fmt.Errorf("answered with error code %d", code))
	switch {
	case code >= 500 && code < 600:
		refused.Reason = core.Unreachable
	case code == http.StatusBadRequest: // a parameter is wrong
		refused.RetryAfter = retryRefused
	case code == http.StatusUnauthorized, code == http.StatusForbidden,
		code >= 1001 && code <= 1007: // the key is invalid, missing, not paid for, disabled …
		refused.Reason, refused.RetryAfter = core.Denied, retryRefused
	case code == http.StatusTooManyRequests,
		code == 1008, // resets every 60 seconds
		code == 1011: // limits this machine's address; no time is published
		refused.Reason, refused.RetryAfter = core.Limited, time.Minute
	case code == 1009: // resets at midnight, UTC
		refused.Reason, refused.RetryAfter = core.UsedUp, min(untilMidnight(now), retryUsedUp)
	case code == 1010: // resets with the plan's month
		refused.Reason, refused.RetryAfter = core.UsedUp, retryUsedUp
	}
	return nil, refused
}

// maxSentence bounds what is logged of the provider's sentence, in characters.
const maxSentence = 200

// sentence returns what a refusal says in words, in one line; "" if it says nothing.
func sentence(body []byte) string {
	v, err := rest.Parse(body)
	if err != nil {
		return ""
	}
	words := strings.Fields(rest.Text(valueAt(v, "status", "error_message")))
	said := []rune(strings.Join(words, " "))
	return string(said[:min(len(said), maxSentence)])
}

func untilMidnight(now time.Time) time.Duration {
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}

// Source is the provider's name for people.
const Source = "CoinMarketCap"

// pageName matches a slug that can be part of a web address.
var pageName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// listing returns the token's entry in the data of an answer. It fails as Malformed, or as
// NoData if the entry has no price.
func (s Settings) listing(data any, now time.Time) (Listing, error) {
	fail := func(reason core.Reason, err error) (Listing, error) {
		return Listing{}, Service.Fail(reason, err).During("quote")
	}
	entry, err := s.find(data)
	if err != nil {
		return fail(core.Malformed, err)
	}
	quote, err := parseQuote(entry, now)
	if errors.Is(err, errNoPrice) {
		return fail(core.NoData, err)
	}
	if err != nil {
		return fail(core.Malformed, err)
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

// listOf returns the members of a list or of an object, or nil.
func listOf(v any) []any {
	if members, is := v.(map[string]any); is {
		return slices.Collect(maps.Values(members))
	}
	list, _ := v.([]any)
	return list
}

// find returns the one entry of the token. Version 1 of the API has an object of entries, or of
// lists of them; version 3 has a list of entries. It fails if no entry matches, or several do.
func (s Settings) find(data any) (map[string]any, error) {
	var matching []map[string]any
	for _, member := range listOf(data) {
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

// matches reports whether an entry has the symbol, and the ID if that was asked for.
func (s Settings) matches(entry map[string]any) bool {
	symbol := strings.TrimPrefix(rest.Text(entry["symbol"]), "$") // some coins have one there
	return strings.EqualFold(symbol, s.Symbol) && (s.By != "id" || rest.Text(entry["id"]) == s.Token)
}

// The bounds of possible numbers, in USD, per cent and tokens. The largest market of all has
// about 10^14 USD.
var (
	maxPrice  = decimal.New(1, 15)
	maxMarket = decimal.New(1, 18)
	maxChange = decimal.New(1, 9)
	minChange = decimal.New(-100, 0)
	maxCount  = decimal.New(1, 40)
)

// maxAhead is how far the provider's clock may be ahead of this machine's.
const maxAhead = 24 * time.Hour

// number is an optional number of a quote, with its bounds.
type number struct {
	name     string // in the provider's JSON
	value    *decimal.NullDecimal
	min, max decimal.Decimal
	// aboveZero means that 0 stands for an unknown number.
	aboveZero bool
}

// numbers returns the optional numbers that belong to a quote in USD.
func numbers(q *core.Quote) []number {
	return []number{
		{name: "percent_change_1h", value: &q.Change1h, min: minChange, max: maxChange},
		{name: "percent_change_24h", value: &q.Change24h, min: minChange, max: maxChange},
		{name: "percent_change_7d", value: &q.Change7d, min: minChange, max: maxChange},
		{name: "percent_change_30d", value: &q.Change30d, min: minChange, max: maxChange},
		{name: "market_cap", value: &q.MarketCap, max: maxMarket, aboveZero: true},
		{name: "volume_24h", value: &q.Volume24h, max: maxMarket},
	}
}

// counts returns the optional numbers that belong to a token's entry.
func counts(q *core.Quote) []number {
	return []number{
		{name: "circulating_supply", value: &q.Circulating, max: maxCount, aboveZero: true},
		{name: "total_supply", value: &q.Total, max: maxCount, aboveZero: true},
	}
}

// possible reports whether the number is unknown or within its bounds.
func (n number) possible() bool {
	d := n.value.Decimal
	if !n.value.Valid {
		return true
	}
	return rest.IsBounded(d) && !d.LessThan(n.min) && !d.GreaterThan(n.max) && !(n.aboveZero && d.IsZero())
}

// readNumbers sets the numbers that members has. It leaves out an impossible number: the others
// are as good without it.
func readNumbers(members map[string]any, all []number) {
	for _, n := range all {
		n.value.Decimal, n.value.Valid = rest.Decimal(members[n.name])
		if !n.possible() {
			*n.value = decimal.NullDecimal{}
		}
	}
}

// errNoPrice means that the provider has no price of the token.
var errNoPrice = errors.New("the price is null")

// inUSD returns the quote in USD, or nil: the member USD of an object or, in version 3 of the
// API, the only member of a list with that symbol.
func inUSD(quote any) (usd map[string]any) {
	if quotes, is := quote.(map[string]any); is {
		usd, _ = quotes["USD"].(map[string]any)
		return usd
	}
	for _, v := range listOf(quote) {
		q, _ := v.(map[string]any)
		if rest.Text(q["symbol"]) != "USD" {
			continue
		}
		if usd != nil {
			return nil
		}
		usd = q
	}
	return usd
}

func parseQuote(entry map[string]any, now time.Time) (q core.Quote, err error) {
	q.Source = Source
	usd := inUSD(entry["quote"])
	if usd == nil {
		return q, errors.New("no quote in USD")
	}
	if price, given := usd["price"]; given && price == nil {
		return q, errNoPrice
	}
	q.Price, _ = rest.Decimal(usd["price"]) // check refuses the 0 of what is no number
	readNumbers(usd, numbers(&q))
	readNumbers(entry, counts(&q))
	if usd["last_updated"] != nil {
		updated, err := time.Parse(time.RFC3339, rest.Text(usd["last_updated"]))
		if err != nil {
			return q, errors.New("an impossible last_updated")
		}
		q.LastUpdated = updated.UTC()
	}
	return q, check(q, now)
}

// checkSaved fails if q, which a replica or an earlier process saved, is none that the provider can have given.
func checkSaved(q *core.Quote) error {
	if q == nil {
		return errors.New("no quote")
	}
	return check(*q, time.Now())
}

// check fails if a number or the time of q is impossible.
func check(q core.Quote, now time.Time) error {
	if !rest.IsBounded(q.Price) || !q.Price.IsPositive() || q.Price.GreaterThan(maxPrice) {
		return errors.New("no possible price")
	}
	for _, n := range slices.Concat(numbers(&q), counts(&q)) {
		if !n.possible() {
			return errors.New("an impossible " + n.name)
		}
	}
	if q.LastUpdated.After(now.Add(maxAhead)) {
		return &config.WrongError{Problem: "last updated in the future", Settings: "this machine's clock"}
	}
	return nil
}
