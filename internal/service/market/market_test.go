package market_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/config/configtest"
	"herald/internal/core"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/rest/resttest"
)

// usd has the members of a quote in US dollars.
const usd = `"price":0.00001234567890123456789,` +
	`"volume_24h":0,` +
	`"percent_change_1h":-1.5,` +
	`"percent_change_24h":2e1,` +
	`"percent_change_7d":null,` +
	`"percent_change_30d":48.25,` +
	`"percent_change_60d":-60,` +
	`"percent_change_90d":9e1,` +
	`"market_cap":123456789012.5,` +
	`"last_updated":"2026-11-20T12:00:00.000Z"`

// Entries of three tokens. The second has the symbol of the first.
const (
	entry   = `{"id":42,"symbol":"HRD","slug":"herald","quote":{"USD":{` + usd + `}}}`
	other   = `{"id":43,"symbol":"HRD","slug":"other","quote":{"USD":{"price":9}}}`
	foreign = `{"id":44,"symbol":"XYZ","slug":"xyz","quote":{"USD":{"price":9}}}`
)

// ok returns the body of an answer that has data and no error.
func ok(data string) string {
	return `{"status":{"error_code":0,"error_message":null},"data":` + data + `}`
}

// fetchQuote fetches a quote, without the cache.
func fetchQuote(ctx context.Context, s market.Settings) (core.Quote, error) {
	s.Unlimited = true
	found, err := newClient(s).Price.Fetch(ctx, struct{}{})
	if err != nil {
		return core.Quote{}, err
	}
	return *found, nil
}

func newClient(s market.Settings) *market.Client {
	cache := query.NewCache(query.CacheConfig{
		MaxItems:    10,
		CallTimeout: time.Minute,
		Timeout:     time.Minute,
		StaleFor:    time.Hour,
		Observer:    ops.NewMetrics(),
	})
	return market.New(s, cache, slog.New(slog.DiscardHandler))
}

// serve starts a provider that gives every request this answer, and returns its URL.
func serve(t *testing.T, status int, body string) string {
	return resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// fetchQuoteBy fetches a quote of a token named by its "id" or "symbol" from a provider that gives this answer.
func fetchQuoteBy(t *testing.T, by, token string, status int, body string) (core.Quote, error) {
	t.Helper()
	return fetchQuote(t.Context(), market.Settings{
		URL:     serve(t, status, body),
		TokenBy: by,
		Token:   token,
		Symbol:  "hrd",
	})
}

// fetchQuoteFrom is fetchQuoteBy for the token with the ID 42.
func fetchQuoteFrom(t *testing.T, status int, body string) (core.Quote, error) {
	t.Helper()
	return fetchQuoteBy(t, "id", "42", status, body)
}

// captureRequest fetches a quote with these settings, and returns the request that the provider got.
func captureRequest(t *testing.T, environ ...string) (got *http.Request) {
	t.Helper()
	url := resttest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
	var s market.Settings
	configtest.Fill(t, s.Table(), append(environ, "PRICE_API_URL="+url)...)
	fetchQuote(t.Context(), s)
	return got
}

func TestTheIDNamesTheTokenRatherThanTheSymbol(t *testing.T) {
	for wantQuery, environ := range map[string][]string{
		"convert=USD&id=42":        {"PRICE_TOKEN_ID=42", "TOKEN_SYMBOL=H&D"},
		"convert=USD&symbol=H%26D": {"TOKEN_SYMBOL=H&D"},
	} {
		got := captureRequest(t, environ...)
		if got.Method != "GET" || got.URL.Path != "/v1/cryptocurrency/quotes/latest" || got.URL.RawQuery != wantQuery {
			t.Errorf("%q: requested %s %s, want %s", environ, got.Method, got.URL, wantQuery)
		}
	}
}

func TestTheKeyIsSentIfThereIsOne(t *testing.T) {
	header := captureRequest(t, "TOKEN_SYMBOL=HRD", "PRICE_API_KEY=k3y").Header
	if got := header.Get("X-CMC_PRO_API_KEY"); got != "k3y" {
		t.Errorf("the header has the key %q", got)
	}
	header = captureRequest(t, "TOKEN_SYMBOL=HRD").Header
	if _, sent := header["X-Cmc_pro_api_key"]; sent {
		t.Errorf("without a key, the header is %v", header)
	}
}

func TestCreditsAreCountedUnlessTheLimitIsZero(t *testing.T) {
	for value, counted := range map[string]bool{"": true, "5": true, "0": false} {
		var s market.Settings
		configtest.Fill(t, s.Table(), "TOKEN_SYMBOL=HRD", "PRICE_MONTHLY_CREDITS="+value)
		if got := newClient(s).Budget != nil; got != counted {
			t.Errorf("PRICE_MONTHLY_CREDITS=%s: they are counted: %t, want %t", value, got, counted)
		}
	}
}

func TestImpossiblePricesAndTimesAreMalformed(t *testing.T) {
	for _, quote := range []string{
		`null`,
		`{}`,
		`[]`,
		`{"EUR":{"price":1}}`,
		`{"usd":{"price":1}}`,
		`{"USD":null}`,
		`{"USD":{}}`,
		`{"USD":[]}`,
		`{"USD":{"price":0}}`,
		`{"USD":{"price":-1}}`,
		`{"USD":{"price":"NaN"}}`,
		`{"USD":{"price":1e400}}`,
		`{"USD":{"price":1e-999999999}}`,
		`{"USD":{"price":1e16}}`,
		`{"USD":{"price":true}}`,
		`{"USD":{"Price":1}}`,
		`{"USD":{"price":1,"price":2}}`,
		`{"USD":{"price":1,"last_updated":5}}`,
		`{"USD":{"price":1,"last_updated":"yesterday"}}`,
		`{"USD":{"price":1,"last_updated":"9999-01-01T00:00:00Z"}}`,
	} {
		t.Log(quote)
		_, err := fetchQuoteFrom(t, 200, ok(`{"42":{"id":42,"symbol":"HRD","quote":`+quote+`}}`))
		resttest.WantReason(t, err, market.Service, core.Malformed)
	}
}

// optional lists the numbers that a quote may lack, with impossible values of each.
var optional = map[string][]string{
	"percent_change_1h":  {"-100.1", "2500000000.5", "1e50"},
	"percent_change_24h": {"-101", "2500000000.5", "1e99"},
	"percent_change_7d":  {"-100.000001", "2500000000.5", "1e99"},
	"percent_change_30d": {"-1e9", "2500000000.5", "1e99"},
	"market_cap":         {"-1", "3e20", "0"},
	"volume_24h":         {"-0.1", "3e20"},
	"circulating_supply": {"-1", "1e41", "0"},
	"total_supply":       {"-1", "1e41", "0"},
}

// fetchQuoteWith fetches a quote of $1.5 in which one optional number has a value, and the others are 25.
func fetchQuoteWith(t *testing.T, name, value string) core.Quote {
	t.Helper()
	usd := map[string]string{"price": "1.5"}
	counts := map[string]string{}
	for other := range optional {
		usd[other] = "25"
		counts[other] = "25"
	}
	usd[name] = value
	counts[name] = value
	entry := `{"id":42,"symbol":"HRD",` + members(counts) + `,"quote":{"USD":{` + members(usd) + `}}}`
	q, err := fetchQuoteFrom(t, http.StatusOK, ok(`{"42":`+entry+`}`))
	if err != nil || q.Price.String() != "1.5" {
		t.Errorf("%s is %s: the price is %v, %v", name, value, q.Price, err)
	}
	return q
}

func TestAnImpossibleOptionalNumberIsLeftOut(t *testing.T) {
	everywhere := []string{"null", `"much"`, `""`, "true", "[]", "{}", "[5]", "1e400", "1e-999999999"}
	for name, impossible := range optional {
		for _, value := range append(impossible, everywhere...) {
			numbers := numbersOf(fetchQuoteWith(t, name, value))
			if len(numbers) != len(optional) {
				t.Fatalf("numbersOf returns %v, want the keys of optional", numbers)
			}
			for other, n := range numbers {
				if other == name && n.Valid {
					t.Errorf("%s is %s: read as %v", name, value, n)
				}
				if other != name && n.Decimal.String() != "25" {
					t.Errorf("%s is %s: %s is %v, want 25", name, value, other, n)
				}
			}
		}
	}
}

// members returns the members of a JSON object.
func members(values map[string]string) string {
	var all []string
	for name, value := range values {
		all = append(all, `"`+name+`":`+value)
	}
	return strings.Join(all, ",")
}

// numbersOf returns the optional numbers of a quote, by the provider's names.
func numbersOf(q core.Quote) map[string]decimal.NullDecimal {
	return map[string]decimal.NullDecimal{
		"percent_change_1h":  q.Change1h,
		"percent_change_24h": q.Change24h,
		"percent_change_7d":  q.Change7d,
		"percent_change_30d": q.Change30d,
		"market_cap":         q.MarketCap,
		"volume_24h":         q.Volume24h,
		"circulating_supply": q.Circulating,
		"total_supply":       q.Total,
	}
}

func number(s string) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.RequireFromString(s))
}

func TestQuoteIsExact(t *testing.T) {
	got, err := fetchQuoteFrom(t, http.StatusOK, ok(`{"42":`+entry+`}`))
	want := core.Quote{
		Source:      "CoinMarketCap",
		Endpoint:    "/v1/cryptocurrency/quotes/latest",
		Price:       decimal.RequireFromString("0.00001234567890123456789"),
		Change1h:    number("-1.5"),
		Change24h:   number("2e1"),
		Change30d:   number("48.25"),
		MarketCap:   number("123456789012.5"),
		Volume24h:   number("0"),
		LastUpdated: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Page:        "https://coinmarketcap.com/currencies/herald/",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

// A volume may be zero, and a market cap of zero is unknown.
func TestAQuoteMayHaveOnlyAPrice(t *testing.T) {
	for usd, want := range map[string]core.Quote{
		`"price":"1.50"`: {
			Price: decimal.RequireFromString("1.50"),
		},
		`"price":1,"market_cap":0`: {
			Price: decimal.RequireFromString("1"),
		},
		`"price":1,"market_cap":"0.0"`: {
			Price: decimal.RequireFromString("1"),
		},
		`"price":1,"market_cap":-0,"volume_24h":0`: {
			Price:     decimal.RequireFromString("1"),
			Volume24h: number("0"),
		},
	} {
		want.Source = "CoinMarketCap"
		want.Endpoint = "/v1/cryptocurrency/quotes/latest"
		got, err := fetchQuoteFrom(t, http.StatusOK, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{`+usd+`}}}}`))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", usd, err, got, want)
		}
	}
}

func TestOnlyAPlainSlugNamesAPage(t *testing.T) {
	for slug, named := range map[string]bool{
		`"a-9"`:                             true,
		`42`:                                true,
		`null`:                              false,
		`""`:                                false,
		`"Herald"`:                          false,
		`"a/b"`:                             false,
		`"a?b"`:                             false,
		`"é"`:                               false,
		`{}`:                                false,
		`"` + strings.Repeat("a", 64) + `"`: true,
		`"` + strings.Repeat("a", 65) + `"`: false,
	} {
		entry := `{"id":42,"symbol":"HRD","slug":` + slug + `,"quote":{"USD":{"price":1}}}`
		got, err := fetchQuoteFrom(t, http.StatusOK, ok(`{"42":`+entry+`}`))
		want := ""
		if named {
			want = "https://coinmarketcap.com/currencies/" + strings.Trim(slug, `"`) + "/"
		}
		if err != nil || got.Page != want {
			t.Errorf("%s: the page is %q, want %q, %v", slug, got.Page, want, err)
		}
	}
}

func TestAQuoteIsOldAfterMaxPriceAge(t *testing.T) {
	for setting, want := range map[string]time.Duration{"": time.Hour, "90m": 90 * time.Minute, "off": 0} {
		var s market.Settings
		configtest.Fill(t, s.Table(), "TOKEN_SYMBOL=HRD", "MAX_PRICE_AGE="+setting)
		s.URL = serve(t, 200, ok(`{"42":`+entry+`}`))
		q, err := fetchQuote(t.Context(), s)
		if err != nil || q.Old() != (want > 0) || want > 0 && q.CurrentUntil.Sub(q.LastUpdated) != want {
			t.Errorf("%q: %v, old from %v, %v", setting, q.LastUpdated, q.CurrentUntil, err)
		}
	}
}

// wantPrice fails the test unless the answer holds the price of entry.
func wantPrice(t *testing.T, by, token, data string) {
	t.Helper()
	got, err := fetchQuoteBy(t, by, token, http.StatusOK, ok(data))
	if err != nil || got.Price.String() != "0.00001234567890123456789" {
		t.Errorf("by %s in %s: got %v, %v", by, data, got.Price, err)
	}
}

// wantMalformed fails the test unless the token is not found in the answer.
func wantMalformed(t *testing.T, by, token, data string) {
	t.Helper()
	t.Log(data)
	_, err := fetchQuoteBy(t, by, token, http.StatusOK, ok(data))
	resttest.WantReason(t, err, market.Service, core.Malformed)
}

func TestATokenIsFoundByItsID(t *testing.T) {
	for _, data := range []string{
		`{"42":` + entry + `}`,
		`{"HRD":` + entry + `}`,
		`{"42":[` + entry + `]}`,
		`[` + entry + `]`,
		`{"HRD":[` + other + `,` + entry + `,` + foreign + `]}`,
		`{"42":{"id":"42","symbol":"hrd","quote":{"USD":{` + usd + `}}}}`,
		`{"42":` + strings.Replace(entry, "HRD", "$HRD", 1) + `}`,
	} {
		wantPrice(t, "id", "42", data)
	}
}

func TestAnAnswerWithoutTheIDOrItsSymbolIsMalformed(t *testing.T) {
	for _, data := range []string{
		`[]`,
		`{}`,
		`null`,
		`"text"`,
		`{"42":null}`,
		`{"42":[]}`,
		`[null]`,
		`5`,
		`{"42":` + foreign + `}`,
		`{"42":` + other + `}`,
		`{"42":{"symbol":"HRD","quote":{"USD":{"price":1}}}}`,
		`{"42":{"id":42,"symbol":"XYZ","quote":{"USD":{"price":1}}}}`,
	} {
		wantMalformed(t, "id", "42", data)
	}
}

func TestATokenIsFoundByASymbolThatOnlyOneHas(t *testing.T) {
	for _, data := range []string{
		`{"HRD":` + entry + `}`,
		`{"HRD":[` + foreign + `,` + entry + `]}`,
	} {
		wantPrice(t, "symbol", "HRD", data)
	}
	for _, data := range []string{
		`{"HRD":` + foreign + `}`,
		`{"HRD":[` + entry + `,` + other + `]}`,
		`{"HRD":` + other + `,"x":{"id":45,"symbol":"HRD","quote":{"USD":{"price":null}}}}`,
	} {
		wantMalformed(t, "symbol", "HRD", data)
	}
}

// The provider asks to wait until the month ends, but the plan may be upgraded earlier.
func TestAUsedUpPlanIsTriedAgainWithinTheHour(t *testing.T) {
	url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2678400")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status":{"error_code":1010}}`)
	})
	_, err := fetchQuote(t.Context(), market.Settings{URL: url, TokenBy: "id", Token: "42", Symbol: "hrd"})
	if failed := resttest.WantReason(t, err, market.Service, core.UsedUp); failed.RetryAfter > time.Hour {
		t.Errorf("retry after %v, want at most an hour", failed.RetryAfter)
	}
}

func TestTheErrorCodeDecidesAtAnyStatus(t *testing.T) {
	for code, want := range map[string]core.Reason{"1001": core.Denied, `"1010"`: core.UsedUp} {
		for _, status := range []int{200, 400, 401, 402, 429, 500} {
			body := `{"status":{"error_code":` + code + `},"data":{"42":` + entry + `}}`
			_, err := fetchQuoteFrom(t, status, body)
			resttest.WantReason(t, err, market.Service, want)
		}
	}
}

func TestTheErrorCodeMayBeAText(t *testing.T) {
	body := `{"status":{"error_code":"0"},"data":{"42":` + entry + `}}`
	if _, err := fetchQuoteFrom(t, http.StatusOK, body); err != nil {
		t.Error(err)
	}
}

func TestWithoutAKnownErrorCodeTheStatusDecides(t *testing.T) {
	const noPrice = `{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":null,"volume_24h":1}}}}`
	for _, test := range []struct {
		status int
		body   string
		want   core.Reason
	}{
		{200, `{"status":{"error_code":500}}`, core.Unreachable},
		{400, `{"status":{"error_code":0},"data":{"42":` + entry + `}}`, core.Rejected},
		{500, `{"status":{"error_code":500}}`, core.Unreachable},
		{500, `{"status":{"error_code":1234}}`, core.Unreachable},
		{429, `{"status":{}}`, core.Limited},
		{200, ok(noPrice), core.NoData},
		{200, `{"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `{"status":{"error_code":null},"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `{"status":{"error_code":"none"},"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `[]`, core.Malformed},
	} {
		t.Log(test.status, test.body)
		_, err := fetchQuoteFrom(t, test.status, test.body)
		resttest.WantReason(t, err, market.Service, test.want)
	}
}

// The provider's error code 1008 asks for a minute.
func TestTheLongerOfTwoWaitsCounts(t *testing.T) {
	for retryAfter, want := range map[string]time.Duration{"": time.Minute, "300": 5 * time.Minute} {
		url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"status":{"error_code":1008}}`)
		})
		_, err := fetchQuote(t.Context(), market.Settings{URL: url, TokenBy: "id", Token: "42", Symbol: "hrd"})
		failed := resttest.WantReason(t, err, market.Service, core.Limited)
		if failed.RetryAfter != want {
			t.Errorf("Retry-After is %q: retry after %v, want %v", retryAfter, failed.RetryAfter, want)
		}
	}
}

// probeTwice probes a provider that answers with status 400, and returns the second error and the log.
func probeTwice(t *testing.T, body string) (err error, log string) {
	t.Helper()
	var out bytes.Buffer
	settings := market.Settings{
		URL:       serve(t, http.StatusBadRequest, body),
		TokenBy:   "symbol",
		Token:     "QQQ",
		Symbol:    "QQQ",
		Unlimited: true,
	}
	cache := query.NewCache(query.CacheConfig{CallTimeout: time.Minute})
	c := market.New(settings, cache, slog.New(slog.NewTextHandler(&out, nil)))
	_, _ = c.Probe(t.Context())
	_, err = c.Probe(t.Context())
	return err, out.String()
}

// refused returns the body of a refusal with this message, which is JSON.
func refused(message string) string {
	return `{"status":{"error_code":400,"error_message":` + message + `}}`
}

func TestTheProvidersMessageIsLoggedOnceAndNotInTheError(t *testing.T) {
	for message, want := range map[string]string{
		`"Invalid value for \"symbol\": \"QQQ\""`: `Invalid value for \"symbol\": \"QQQ\"`,
		`"This API\nKey is invalid."`:             "This API Key is invalid.",
		`"` + strings.Repeat("long ", 1000) + `"`: "long long",
		"5": "5",
	} {
		err, log := probeTwice(t, refused(message))
		if err == nil || strings.Contains(err.Error(), "Key is") {
			t.Errorf("%.80s: the error is %v", message, err)
		}
		if strings.Count(log, "says=") != 1 || !strings.Contains(log, want) || len(log) > 400 {
			t.Errorf("%.80s: want one short line with %q, got\n%s", message, want, log)
		}
	}
}

func TestAnAnswerWithoutAMessageIsNotLogged(t *testing.T) {
	for _, body := range []string{refused("null"), refused("{}"), `{"status":{"error_code":400}}`, "<html>"} {
		err, log := probeTwice(t, body)
		if err == nil || strings.Contains(log, "says=") {
			t.Errorf("%s: %v, and the log is\n%s", body, err, log)
		}
	}
}
