package services

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// market is the price provider: a part of CoinMarketCap's API. It has quotes of one token, and information about the
// plan of the caller's key. The plan has a number of credits per month, and a quote costs one credit.
type market struct {
	prices prices
	key    string // the only valid key
	// oldQuote makes market return quotes from three hours ago.
	oldQuote *Fault
	// rateLimit makes market refuse every call for a quote.
	rateLimit *Fault
	// usedCredits is the number of credits spent.
	usedCredits *atomic.Int64
}

// prices returns the quote at a time, and its changes in per cent by the provider's names of the periods.
type prices func(at time.Time) (quote core.Quote, percent map[string]decimal.Decimal)

// constantPrices returns prices with the same price and changes at all times.
func constantPrices(quote core.Quote) prices {
	percent := map[string]decimal.Decimal{}
	for _, c := range changes {
		percent[c.name] = decimal.RequireFromString(c.percent)
	}
	return func(at time.Time) (core.Quote, map[string]decimal.Decimal) {
		q := quote
		latest := at.Add(-QuoteAge)
		if latest.Before(q.LastUpdated) {
			q.LastUpdated = latest
		}
		return q, percent
	}
}

func (m market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	key := r.Header.Get("X-CMC_PRO_API_KEY")
	switch {
	case key != "" && key != m.key:
		m.refuse(w, http.StatusUnauthorized, 1001, "This API Key is invalid.")
	case r.URL.Path == "/v1/key/info" && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, marketAnswer(0, "null", m.keyInfo()))
	case r.URL.Path != "/v1/cryptocurrency/quotes/latest" || r.Method != http.MethodGet:
		m.refuse(w, http.StatusNotFound, 404, "Not Found")
	case query.Has("convert") && query.Get("convert") != "USD":
		m.refuse(w, http.StatusBadRequest, 400, `Invalid value for \"convert\"`)
	case query.Has("id") && query.Get("id") != TokenID:
		m.refuse(w, http.StatusBadRequest, 400, `Invalid value for \"id\"`)
	case !query.Has("id") && query.Get("symbol") != Symbol:
		m.refuse(w, http.StatusBadRequest, 400, `Invalid value for \"symbol\"`)
	case m.rateLimit.On.Load():
		m.refuse(w, http.StatusTooManyRequests, 1008,
			"You've exceeded your API Key's HTTP request rate limit. Rate limits reset every minute.")
	default:
		m.usedCredits.Add(1)
		token := cmp.Or(query.Get("id"), query.Get("symbol"))
		writeJSON(w, http.StatusOK, marketAnswer(0, "null", m.quotes(token)))
	}
}

func (market) refuse(w http.ResponseWriter, status, code int, message string) {
	writeJSON(w, status, marketAnswer(code, `"`+message+`"`, "{}"))
}

// marketAnswer returns the body of an answer. message and data are JSON.
func marketAnswer(code int, message, data string) string {
	return fmt.Sprintf(`{"status":{"error_code":%d,"error_message":%s,"elapsed":1,"credit_count":1},"data":%s}`,
		code, message, data)
}

// planCredits is the number of credits per month in the plan.
const planCredits = 15_000

// keyInfo returns the data of an answer about the plan.
func (m market) keyInfo() string {
	now := time.Now().UTC()
	used := m.usedCredits.Load()
	nextMonth := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	const format = `{"plan":{"credit_limit_monthly":%d,` +
		`"credit_limit_monthly_reset_timestamp":%q,"rate_limit_minute":50},` +
		`"usage":{"current_minute":{"requests_made":1,"requests_left":49},` +
		`"current_day":{"credits_used":%d,"credits_left":null},` +
		`"current_month":{"credits_used":%d,"credits_left":%d}}}`
	return fmt.Sprintf(format, planCredits, nextMonth.Format(marketTime), used, used, planCredits-used)
}

// quotes returns the data of an answer with the quote, in the form of the API's version 1. token is the ID or the
// symbol in the call.
func (m market) quotes(token string) string {
	q, percent := m.prices(m.oldQuote.timeBefore(time.Now(), 3*time.Hour))
	usd := map[string]any{
		"price":        number(q.Price),
		"volume_24h":   number(q.Volume24h.Decimal),
		"market_cap":   number(q.MarketCap.Decimal),
		"last_updated": q.LastUpdated.Format(marketTime),
	}
	for name, change := range percent {
		usd["percent_change_"+name] = number(change)
	}
	entry := map[string]any{
		"id":     number(decimal.RequireFromString(TokenID)),
		"name":   "Herald Demo",
		"symbol": Symbol,
		"slug":   "herald-demo",
		"quote":  map[string]any{"USD": usd},
	}
	data, _ := json.Marshal(map[string]any{token: entry}) // cannot fail
	return string(data)
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

// marketTime is the format of the provider's times.
const marketTime = "2006-01-02T15:04:05.000Z"
