package market_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/rest/resttest"
)

const usd = `"price":0.00001234567890123456789,"volume_24h":0,"percent_change_1h":-1.5,"percent_change_24h":2e1,` +
	`"percent_change_7d":null,"market_cap":123456789012.5,"last_updated":"2026-11-20T12:00:00.000Z"`

const entry = `{"id":42,"symbol":"HRD","slug":"herald","quote":{"USD":{` + usd + `}}}`

const other = `{"id":43,"symbol":"HRD","slug":"other","quote":{"USD":{"price":9}}}`

const foreign = `{"id":44,"symbol":"XYZ","slug":"xyz","quote":{"USD":{"price":9}}}`

func ok(data string) string {
	return `{"status":{"error_code":0,"error_message":null},"data":` + data + `}`
}

// quote asks past the cache.
func quote(ctx context.Context, s market.Settings, timeout time.Duration) (core.Quote, error) {
	return market.New(s, core.NewCache(core.CacheConfig{CallTimeout: timeout}), nil).Price.Ask(ctx, core.NoArgument{})
}

func ask(t *testing.T, by, token string, status int, body string) (core.Quote, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer server.Close()
	return quote(t.Context(), market.Settings{URL: server.URL, By: by, Token: token, Symbol: "hrd"}, time.Minute)
}

func wantReason(t *testing.T, err error, want core.Reason) time.Duration {
	t.Helper()
	var failure *core.Error
	if !errors.As(err, &failure) || failure.Service != market.Service || failure.Reason != want {
		t.Errorf("got %v, want %s", err, want)
		return 0
	}
	return failure.RetryAfter
}

func TestRequest(t *testing.T) {
	for _, c := range []struct{ by, token, key, wantQuery string }{
		{"id", "42", "k3y", "convert=USD&id=42"},
		{"slug", "herald", "", "convert=USD&slug=herald"},
		{"symbol", "H&D", "k3y", "convert=USD&symbol=H%26D"},
	} {
		var got *http.Request
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
		quote(t.Context(), market.Settings{URL: server.URL, APIKey: config.NewSecret(c.key), By: c.by, Token: c.token}, time.Minute)
		server.Close()
		if got.Method != "GET" || got.URL.Path != "/v1/cryptocurrency/quotes/latest" || got.URL.RawQuery != c.wantQuery {
			t.Errorf("got %s %s", got.Method, got.URL)
		}
		if keys := got.Header["X-Cmc_pro_api_key"]; strings.Join(keys, ",") != c.key || (c.key == "" && keys != nil) {
			t.Errorf("the key was sent as %q, want %q", keys, c.key)
		}
	}
}

func TestQuoteIsExact(t *testing.T) {
	got, err := ask(t, "id", "42", 200, ok(`{"42":`+entry+`}`))
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) decimal.NullDecimal { return decimal.NewNullDecimal(decimal.RequireFromString(s)) }
	want := core.Quote{
		Price:       decimal.RequireFromString("0.00001234567890123456789"),
		Change1h:    number("-1.5"),
		Change24h:   number("2e1"),
		MarketCap:   number("123456789012.5"),
		Volume24h:   number("0"),
		LastUpdated: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEntryIsFoundInEveryForm(t *testing.T) {
	for _, c := range []struct{ by, token, data string }{
		{"id", "42", `{"42":` + entry + `}`},
		{"id", "42", `{"HRD":` + entry + `}`},
		{"id", "42", `{"42":[` + entry + `]}`},
		{"id", "42", `[` + entry + `]`},
		{"id", "42", `{"HRD":[` + other + `,` + entry + `,` + foreign + `]}`},
		{"id", "42", `[` + other + `,` + foreign + `,` + entry + `]`},
		{"id", "42", `{"42":{"id":"42","symbol":"hrd","quote":{"USD":{` + usd + `}}}}`},
		{"slug", "herald", `{"42":` + entry + `}`},
		{"slug", "Herald", `[` + other + `,` + entry + `]`},
		{"slug", "herald", `{"42":{"id":42,"symbol":"HRD","quote":{"USD":{` + usd + `}}}}`},
		{"symbol", "HRD", `{"HRD":` + entry + `}`},
		{"symbol", "HRD", `{"HRD":[` + foreign + `,` + entry + `]}`},
	} {
		got, err := ask(t, c.by, c.token, 200, ok(c.data))
		if err != nil || got.Price.String() != "0.00001234567890123456789" {
			t.Errorf("by %s in %s: got %v, %v", c.by, c.data, got.Price, err)
		}
	}
}

func TestWhatIsNotTheTokensQuoteIsMalformed(t *testing.T) {
	for _, c := range []struct{ by, token, data string }{
		{"id", "42", `[]`}, {"id", "42", `{}`}, {"id", "42", `null`}, {"id", "42", `5`}, {"id", "42", `"text"`},
		{"id", "42", `{"42":null}`}, {"id", "42", `{"42":[]}`}, {"id", "42", `[null]`}, {"id", "42", `[[` + entry + `]]`},
		{"id", "42", `{"42":` + foreign + `}`},
		{"id", "42", `{"42":` + other + `}`},
		{"id", "42", `{"42":{"symbol":"HRD","quote":{"USD":{"price":1}}}}`},
		{"id", "44", `{"44":` + foreign + `}`},
		{"slug", "herald", `{"43":` + other + `}`},
		{"slug", "herald", `{"43":{"id":43,"symbol":"HRD","slug":null,"quote":{"USD":{"price":1}}}}`},
		{"symbol", "HRD", `{"HRD":` + foreign + `}`},
		{"symbol", "HRD", `{"HRD":[` + entry + `,` + other + `]}`},
		{"symbol", "HRD", `[` + other + `,{"id":45,"symbol":"HRD","quote":{"USD":{"price":null}}}]`},
	} {
		got, err := ask(t, c.by, c.token, 200, ok(c.data))
		wantReason(t, err, core.Malformed)
		if err == nil {
			t.Errorf("by %s in %s: got %v", c.by, c.data, got)
		}
	}
}

func TestImpossibleNumbersAreMalformed(t *testing.T) {
	for _, quote := range []string{
		`null`, `{}`, `[]`, `{"EUR":{"price":1}}`, `{"usd":{"price":1}}`, `{"USD":null}`, `{"USD":{}}`, `{"USD":[]}`,
		`{"USD":{"price":null}}`, `{"USD":{"price":0}}`, `{"USD":{"price":-1}}`, `{"USD":{"price":"NaN"}}`,
		`{"USD":{"price":1e400}}`, `{"USD":{"price":1e-999999999}}`, `{"USD":{"price":1e16}}`, `{"USD":{"price":true}}`,
		`{"USD":{"Price":1}}`, `{"USD":{"price":1,"price":2}}`,
		`{"USD":{"price":1,"market_cap":-1}}`, `{"USD":{"price":1,"volume_24h":-0.1}}`, `{"USD":{"price":1,"market_cap":1e99}}`,
		`{"USD":{"price":1,"market_cap":"much"}}`, `{"USD":{"price":1,"volume_24h":[]}}`,
		`{"USD":{"price":1,"percent_change_1h":-100.1}}`, `{"USD":{"price":1,"percent_change_7d":1e50}}`, `{"USD":{"price":1,"percent_change_24h":{}}}`,
		`{"USD":{"price":1,"last_updated":5}}`, `{"USD":{"price":1,"last_updated":"yesterday"}}`, `{"USD":{"price":1,"last_updated":"9999-01-01T00:00:00Z"}}`,
	} {
		got, err := ask(t, "id", "42", 200, ok(`{"42":{"id":42,"symbol":"HRD","quote":`+quote+`}}`))
		wantReason(t, err, core.Malformed)
		if err == nil {
			t.Errorf("%s: got %+v", quote, got)
		}
	}
}

func TestPriceAloneIsAQuote(t *testing.T) {
	got, err := ask(t, "id", "42", 200, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":"1.50"}}}}`))
	want := core.Quote{Price: decimal.RequireFromString("1.50")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAMarketCapOfZeroBesideAPriceIsNotKnown(t *testing.T) {
	for _, zero := range []string{`0`, `0.0`, `-0`, `"0"`, `0e9`} {
		got, err := ask(t, "id", "42", 200, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":1,"market_cap":`+zero+`,"volume_24h":0}}}}`))
		if err != nil || got.MarketCap.Valid || !got.Volume24h.Valid {
			t.Errorf("%s: got %+v, %v", zero, got, err)
		}
	}
}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	const key, id, slug = "k3y-k3y", "4242", "s3cret-slug"
	for by, token := range map[string]string{"id": id, "slug": slug} {
		resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
			_, err := quote(ctx, market.Settings{URL: baseURL, APIKey: config.NewSecret(key), By: by, Token: token, Symbol: "HRD"}, timeout)
			return err
		}, key, slug, "quotes", "convert", by+"="+token)
	}
}

func TestClientDoesNotPrintItsKey(t *testing.T) {
	c := market.New(market.Settings{APIKey: config.NewSecret("k3y-k3y")}, core.NewCache(core.CacheConfig{}), nil)
	if text := fmt.Sprintf("%+v %#v", c, c); strings.Contains(text, "k3y") {
		t.Errorf("printed %s", text)
	}
}
