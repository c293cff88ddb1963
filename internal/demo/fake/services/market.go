package services

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// market is the price provider, which knows one token.
type market struct {
	quote core.Quote
	key   string
}

func otherMembers(q core.Quote) string {
	var b strings.Builder
	for _, member := range []struct {
		name  string
		value decimal.NullDecimal
	}{
		{"volume_24h", q.Volume24h},
		{"percent_change_1h", q.Change1h},
		{"percent_change_24h", q.Change24h},
		{"percent_change_7d", q.Change7d},
		{"market_cap", q.MarketCap},
	} {
		fmt.Fprintf(&b, `,%q:%s`, member.name, member.value.Decimal)
	}
	fmt.Fprintf(&b, `,"last_updated":%q`, q.LastUpdated.Format("2006-01-02T15:04:05.000Z"))
	return b.String()
}

func (m market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch key := r.Header.Get("X-CMC_PRO_API_KEY"); {
	case key != "" && key != m.key:
		m.refuse(w, http.StatusUnauthorized, "1001", "This API Key is invalid.")
	case r.URL.Path != "/v1/cryptocurrency/quotes/latest":
		m.refuse(w, http.StatusNotFound, "404", "Not Found")
	case r.Method != http.MethodGet:
		m.refuse(w, http.StatusMethodNotAllowed, "405", "Method Not Allowed")
	case query.Has("convert") && query.Get("convert") != "USD":
		m.refuse(w, http.StatusBadRequest, "400", `Invalid value for "convert"`)
	default:
		m.latest(w, query)
	}
}

// latest answers version 1 of the endpoint: entries by the key that was asked
// for.
func (m market) latest(w http.ResponseWriter, query url.Values) {
	asked := map[string]struct{ known, key string }{
		"id":     {TokenID, TokenID},
		"slug":   {TokenSlug, TokenID},
		"symbol": {Symbol, Symbol},
	}
	var key string
	given := 0
	for name, token := range asked {
		if !query.Has(name) {
			continue
		}
		given++
		if query.Get(name) != token.known {
			m.refuse(w, http.StatusBadRequest, "400", fmt.Sprintf("Invalid value for %q", name))
			return
		}
		key = token.key
	}
	if given != 1 {
		m.refuse(w, http.StatusBadRequest, "400", `"value" must contain one of [id, symbol, slug]`)
		return
	}
	entry := fmt.Sprintf(`{"id":%s,"name":"Herald Demo","symbol":%q,"slug":%q,"quote":{"USD":{"price":%s%s}}}`,
		TokenID, Symbol, TokenSlug, m.quote.Price, otherMembers(m.quote))
	writeJSON(w, http.StatusOK, envelope("0", "", fmt.Sprintf(`{%q:%s}`, key, entry)))
}

func (market) refuse(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, envelope(code, message, "{}"))
}

func envelope(code, message, data string) string {
	told := "null"
	if message != "" {
		told = fmt.Sprintf("%q", message)
	}
	return fmt.Sprintf(`{"status":{"timestamp":%q,"error_code":%s,"error_message":%s,"elapsed":1,"credit_count":1},"data":%s}`,
		time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), code, told, data)
}
