package services

import (
	"fmt"
	"io"
	"net/http"

	"herald/internal/core"
)

// market is the price provider, which knows one token.
type market struct {
	quote core.Quote
	key   string
}

// quoteData is the data of the provider's first version: the entry by what was
// asked.
const quoteData = `{"` + TokenID + `":{"id":` + TokenID + `,"name":"Herald Demo","symbol":"` + Symbol + `","slug":"herald-demo",` +
	`"quote":{"USD":{"price":%s,"volume_24h":%s,"percent_change_1h":%s,"percent_change_24h":%s,"percent_change_7d":%s,` +
	`"market_cap":%s,"last_updated":%q}}}}`

func (m market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, q := r.URL.Query(), m.quote
	switch key := r.Header.Get("X-CMC_PRO_API_KEY"); {
	case key != "" && key != m.key:
		m.refuse(w, http.StatusUnauthorized, 1001, "This API Key is invalid.")
	case r.URL.Path != "/v1/cryptocurrency/quotes/latest" || r.Method != http.MethodGet:
		m.refuse(w, http.StatusNotFound, 404, "Not Found")
	case query.Has("convert") && query.Get("convert") != "USD":
		m.refuse(w, http.StatusBadRequest, 400, `Invalid value for \"convert\"`)
	case query.Get("id") != TokenID:
		m.refuse(w, http.StatusBadRequest, 400, `Invalid value for \"id\"`)
	default:
		writeJSON(w, http.StatusOK, marketAnswer(0, "null", fmt.Sprintf(quoteData, q.Price, q.Volume24h.Decimal, q.Change1h.Decimal,
			q.Change24h.Decimal, q.Change7d.Decimal, q.MarketCap.Decimal, q.LastUpdated.Format("2006-01-02T15:04:05.000Z"))))
	}
}

func (market) refuse(w http.ResponseWriter, status, code int, message string) {
	writeJSON(w, status, marketAnswer(code, `"`+message+`"`, "{}"))
}

func marketAnswer(code int, message, data string) string {
	return fmt.Sprintf(`{"status":{"error_code":%d,"error_message":%s,"elapsed":1,"credit_count":1},"data":%s}`, code, message, data)
}

// supplyHost answers its two questions in two forms, as such hosts do: as text and
// as JSON.
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
