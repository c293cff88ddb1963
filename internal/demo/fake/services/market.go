package services

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// market is the price provider, which knows one token.
type market struct {
	// at returns the quote at a time, and its changes in per cent by the provider's names
	// of the periods.
	at  func(time.Time) (core.Quote, map[string]decimal.Decimal)
	key string
	// old makes it return quotes of three hours ago, and limited refuse every call.
	old, limited *Fault
	// used counts the credits spent: one for each quote with status 200.
	used *atomic.Int64
}

// plan is the number of credits in a month.
const plan = 15_000

// keyInfo returns the data about the plan.
func (m market) keyInfo() string {
	now, used := time.Now().UTC(), m.used.Load()
	month := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	const format = `{"plan":{"credit_limit_monthly":%d,` +
		`"credit_limit_monthly_reset_timestamp":%q,"rate_limit_minute":50},` +
		`"usage":{"current_minute":{"requests_made":1,"requests_left":49},` +
		`"current_day":{"credits_used":%d,"credits_left":null},` +
		`"current_month":{"credits_used":%d,"credits_left":%d}}}`
	return fmt.Sprintf(format, plan, month.Format("2006-01-02T15:04:05.000Z"), used, used, plan-used)
}

// standing returns q and its changes for any time: the price does not move.
func standing(q core.Quote) func(time.Time) (core.Quote, map[string]decimal.Decimal) {
	percent := map[string]decimal.Decimal{}
	for _, c := range changes {
		percent[c.name] = decimal.RequireFromString(c.percent)
	}
	return func(now time.Time) (core.Quote, map[string]decimal.Decimal) {
		q := q
		if newest := now.Add(-QuoteAge); newest.Before(q.LastUpdated) {
			q.LastUpdated = newest
		}
		return q, percent
	}
}

// data returns the data of an answer, in the form of the API's first version. key is what was asked for.
func (m market) data(key string) string {
	q, percent := m.at(m.old.since(time.Now(), 3*time.Hour))
	usd := map[string]any{
		"price":        number(q.Price),
		"volume_24h":   number(q.Volume24h.Decimal),
		"market_cap":   number(q.MarketCap.Decimal),
		"last_updated": q.LastUpdated.Format("2006-01-02T15:04:05.000Z"),
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
	data, _ := json.Marshal(map[string]any{key: entry}) // has numbers and texts alone
	return string(data)
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func (m market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch key := r.Header.Get("X-CMC_PRO_API_KEY"); {
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
	case m.limited.On.Load():
		m.refuse(w, http.StatusTooManyRequests, 1008,
			"You've exceeded your API Key's HTTP request rate limit. Rate limits reset every minute.")
	default:
		m.used.Add(1)
		writeJSON(w, http.StatusOK, marketAnswer(0, "null", m.data(cmp.Or(query.Get("id"), query.Get("symbol")))))
	}
}

func (market) refuse(w http.ResponseWriter, status, code int, message string) {
	writeJSON(w, status, marketAnswer(code, `"`+message+`"`, "{}"))
}

func marketAnswer(code int, message, data string) string {
	return fmt.Sprintf(`{"status":{"error_code":%d,"error_message":%s,"elapsed":1,"credit_count":1},"data":%s}`,
		code, message, data)
}

// supplyHost answers one question as text and the other as JSON, as such hosts do.
type supplyHost struct{ core.Supply }

func (s supplyHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /total-supply":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.Total.String())
	case "GET /circulating-supply":
		writeJSON(w, http.StatusOK, fmt.Sprintf(`{"result":%q}`, s.Circulating))
	default:
		http.NotFound(w, r)
	}
}
