package sandbox_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/sandbox"
	"herald/internal/sandbox/sandboxtest"
)

const quotesPath = "/v1/cryptocurrency/quotes/latest"

func TestPriceAnswersByIDSlugAndSymbol(t *testing.T) {
	s := start(t)
	for asked, key := range map[string]string{
		"id=" + sandbox.TokenID:     sandbox.TokenID,
		"slug=" + sandbox.TokenSlug: sandbox.TokenID,
		"symbol=" + sandbox.Symbol:  sandbox.Symbol,
	} {
		t.Run(asked, func(t *testing.T) {
			got, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Price.URL()+quotesPath+"?convert=USD&"+asked, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Status struct {
					ErrorCode *int `json:"error_code"`
				}
				Data map[string]struct {
					Symbol string
					Quote  map[string]struct {
						Price       decimal.Decimal
						MarketCap   decimal.Decimal `json:"market_cap"`
						Change24h   decimal.Decimal `json:"percent_change_24h"`
						LastUpdated time.Time       `json:"last_updated"`
					}
				}
			}
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
				t.Fatalf("%v in %s", err, got.Body)
			}
			if answer.Status.ErrorCode == nil || *answer.Status.ErrorCode != 0 {
				t.Errorf("no error code 0 in %s", got.Body)
			}
			quote, want := answer.Data[key].Quote["USD"], s.World.Quote
			if answer.Data[key].Symbol != sandbox.Symbol || !quote.Price.Equal(want.Price) ||
				!quote.MarketCap.Equal(want.MarketCap.Decimal) || !quote.Change24h.Equal(want.Change24h.Decimal) ||
				!quote.LastUpdated.Equal(want.LastUpdated) {
				t.Errorf("got %s, want %+v", got.Body, want)
			}
		})
	}
}

func TestPriceRefuses(t *testing.T) {
	s := start(t)
	right := url.Values{"id": {sandbox.TokenID}, "convert": {"USD"}}
	for name, tt := range map[string]struct {
		path, key string
		query     url.Values
		status    int
	}{
		"nothing of these": {quotesPath, s.PriceKey, right, 200},
		"a wrong key":      {quotesPath, "guessed", right, 401},
		"another path":     {"/v9/quotes", "", right, 404},
		"another id":       {quotesPath, "", url.Values{"id": {"1"}}, 400},
		"no token":         {quotesPath, "", url.Values{"convert": {"USD"}}, 400},
		"two tokens":       {quotesPath, "", url.Values{"id": {sandbox.TokenID}, "symbol": {sandbox.Symbol}}, 400},
		"another currency": {quotesPath, "", url.Values{"id": {sandbox.TokenID}, "convert": {"EUR"}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if tt.key != "" {
				header.Set("X-CMC_PRO_API_KEY", tt.key)
			}
			got, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Price.URL()+tt.path+"?"+tt.query.Encode(), header, "")
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.status || !json.Valid([]byte(got.Body)) {
				t.Errorf("got %d %s, want JSON with %d", got.Status, got.Body, tt.status)
			}
		})
	}
}

func TestSupplyAnswersInTwoForms(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{
		"/total-supply":       "987654321.123456789012345678",
		"/circulating-supply": `{"result":"612345678.901234567890123456"}`,
	} {
		got, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Supply.URL()+path, nil, "")
		if err != nil || got.Status != http.StatusOK || got.Body != want {
			t.Errorf("%s: got %d %q, %v; want %q", path, got.Status, got.Body, err, want)
		}
	}
	if got, err := sandboxtest.Send(t.Context(), http.MethodGet, s.Supply.URL()+"/supply", nil, ""); err != nil || got.Status != http.StatusNotFound {
		t.Errorf("another path: got %d, %v", got.Status, err)
	}
}
