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

const usd = `"price":0.00001234567890123456789,"volume_24h":0,"percent_change_1h":-1.5,"percent_change_24h":2e1,` +
	`"percent_change_7d":null,"percent_change_30d":48.25,"percent_change_60d":-60,"percent_change_90d":9e1,"market_cap":123456789012.5,"last_updated":"2026-11-20T12:00:00.000Z"`

const entry = `{"id":42,"symbol":"HRD","slug":"herald","quote":{"USD":{` + usd + `}}}`

const other = `{"id":43,"symbol":"HRD","slug":"other","quote":{"USD":{"price":9}}}`

const foreign = `{"id":44,"symbol":"XYZ","slug":"xyz","quote":{"USD":{"price":9}}}`

func ok(data string) string {
	return `{"status":{"error_code":0,"error_message":null},"data":` + data + `}`
}

// quote asks past the cache.
func quote(ctx context.Context, s market.Settings) (core.Quote, error) {
	s.Uncounted = true
	found, err := newClient(s).Price.Fetch(ctx, struct{}{})
	return *found, err
}

func newClient(s market.Settings) *market.Client {
	return market.New(s, query.NewCache(query.CacheConfig{MaxItems: 10, CallTimeout: time.Minute, Timeout: time.Minute, StaleFor: time.Hour, Observer: ops.NewMetrics()}), slog.New(slog.DiscardHandler))
}

// serve starts a provider that answers every request alike, and returns its URL.
func serve(t *testing.T, status int, body string) string {
	return resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func ask(t *testing.T, by, token string, status int, body string) (core.Quote, error) {
	t.Helper()
	return quote(t.Context(), market.Settings{URL: serve(t, status, body), By: by, Token: token, Symbol: "hrd"})
}

func TestTheTokenIsNamedByTheFirstSettingGiven(t *testing.T) {
	var got *http.Request
	url := resttest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
	for wantQuery, environ := range map[string][]string{
		"convert=USD&id=42":        {"PRICE_TOKEN_ID=42", "TOKEN_SYMBOL=H&D", "PRICE_API_KEY=k3y"},
		"convert=USD&symbol=H%26D": {"TOKEN_SYMBOL=H&D"},
	} {
		var s market.Settings
		configtest.Fill(t, s.Table(), append(environ, "PRICE_API_URL="+url)...)
		quote(t.Context(), s)
		if got.Method != "GET" || got.URL.Path != "/v1/cryptocurrency/quotes/latest" || got.URL.RawQuery != wantQuery {
			t.Errorf("got %s %s, want %s", got.Method, got.URL, wantQuery)
		}
		if _, sent := got.Header["X-Cmc_pro_api_key"]; sent != (len(environ) > 1) || sent && got.Header.Get("X-CMC_PRO_API_KEY") != "k3y" {
			t.Errorf("%s: the header is %v", wantQuery, got.Header)
		}
	}
}

func TestCreditsAreCountedUnlessTheBoundIsZero(t *testing.T) {
	for value, counted := range map[string]bool{"": true, "5": true, "0": false} {
		var s market.Settings
		configtest.Fill(t, s.Table(), "TOKEN_SYMBOL=HRD", "PRICE_MONTHLY_CREDITS="+value)
		if got := newClient(s).Budget != nil; got != counted {
			t.Errorf("%q: they are counted: %t", value, got)
		}
	}
}

func TestImpossiblePricesAndTimesAreMalformed(t *testing.T) {
	for _, quote := range []string{
		`null`, `{}`, `[]`, `{"EUR":{"price":1}}`, `{"usd":{"price":1}}`, `{"USD":null}`, `{"USD":{}}`, `{"USD":[]}`,
		`{"USD":{"price":0}}`, `{"USD":{"price":-1}}`, `{"USD":{"price":"NaN"}}`,
		`{"USD":{"price":1e400}}`, `{"USD":{"price":1e-999999999}}`, `{"USD":{"price":1e16}}`, `{"USD":{"price":true}}`,
		`{"USD":{"Price":1}}`, `{"USD":{"price":1,"price":2}}`,
		`{"USD":{"price":1,"last_updated":5}}`, `{"USD":{"price":1,"last_updated":"yesterday"}}`,
		`{"USD":{"price":1,"last_updated":"9999-01-01T00:00:00Z"}}`,
	} {
		t.Log(quote)
		_, err := ask(t, "id", "42", 200, ok(`{"42":{"id":42,"symbol":"HRD","quote":`+quote+`}}`))
		resttest.WantReason(t, err, market.Service, core.Malformed)
	}
}

// optional are the numbers that a quote can do without, and some that each cannot have.
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

func TestAnImpossibleOptionalNumberIsLeftOut(t *testing.T) {
	everywhere := []string{"null", `"much"`, `""`, "true", "[]", "{}", "[5]", "1e400", "1e-999999999"}
	for name, impossible := range optional {
		for _, value := range append(impossible, everywhere...) {
			usd, counts := map[string]string{"price": "1.5"}, map[string]string{}
			for other := range optional {
				usd[other], counts[other] = "25", "25"
			}
			usd[name], counts[name] = value, value
			entry := `{"id":42,"symbol":"HRD",` + members(counts) + `,"quote":{"USD":{` + members(usd) + `}}}`
			q, err := ask(t, "id", "42", 200, ok(`{"42":`+entry+`}`))
			if err != nil || q.Price.String() != "1.5" {
				t.Errorf("%s %s: the price is %v, %v", name, value, q.Price, err)
			}
			if known := numbersOf(q); known[name].Valid || len(known) != len(optional) {
				t.Errorf("%s %s: got %v", name, value, known)
			}
			for other, n := range numbersOf(q) {
				if other != name && n.Decimal.String() != "25" {
					t.Errorf("%s %s: %s is %v", name, value, other, n)
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
		"percent_change_1h": q.Change1h, "percent_change_24h": q.Change24h, "percent_change_7d": q.Change7d,
		"percent_change_30d": q.Change30d, "market_cap": q.MarketCap, "volume_24h": q.Volume24h,
		"circulating_supply": q.Circulating, "total_supply": q.Total,
	}
}

func TestQuoteIsExact(t *testing.T) {
	number := func(s string) decimal.NullDecimal { return decimal.NewNullDecimal(decimal.RequireFromString(s)) }
	bare := func(usd string) string { return `{"id":42,"symbol":"HRD","quote":{"USD":{` + usd + `}}}` }
	for entry, want := range map[string]core.Quote{
		entry: {
			Price: decimal.RequireFromString("0.00001234567890123456789"), Change1h: number("-1.5"), Change24h: number("2e1"),
			Change30d: number("48.25"),
			MarketCap: number("123456789012.5"), Volume24h: number("0"), LastUpdated: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
			Page: "https://coinmarketcap.com/currencies/herald/",
		},
		bare(`"price":"1.50"`):                           {Price: decimal.RequireFromString("1.50")},
		bare(`"price":1,"market_cap":0`):                 {Price: decimal.RequireFromString("1")},
		bare(`"price":1,"market_cap":"0.0"`):             {Price: decimal.RequireFromString("1")},
		bare(`"price":1,"market_cap":-0,"volume_24h":0`): {Price: decimal.RequireFromString("1"), Volume24h: number("0")},
	} {
		want.Source = "CoinMarketCap"
		want.Endpoint = "/v1/cryptocurrency/quotes/latest"
		got, err := ask(t, "id", "42", 200, ok(`{"42":`+entry+`}`))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", entry, err, got, want)
		}
	}
}

func TestAPageIsNamedByAnHonestSlugOnly(t *testing.T) {
	for slug, named := range map[string]bool{
		`"a-9"`: true, `42`: true, `null`: false, `""`: false, `"Herald"`: false, `"a/b"`: false, `"a?b"`: false, `"é"`: false, `{}`: false,
		`"` + strings.Repeat("a", 64) + `"`: true, `"` + strings.Repeat("a", 65) + `"`: false,
	} {
		got, err := ask(t, "id", "42", 200, ok(`{"42":{"id":42,"symbol":"HRD","slug":`+slug+`,"quote":{"USD":{"price":1}}}}`))
		want := ""
		if named {
			want = "https://coinmarketcap.com/currencies/" + strings.Trim(slug, `"`) + "/"
		}
		if err != nil || got.Page != want {
			t.Errorf("%s: the page is %q, want %q, %v", slug, got.Page, want, err)
		}
	}
}

func TestAQuoteIsOldFromMaxPriceAgeOn(t *testing.T) {
	for setting, want := range map[string]time.Duration{"": time.Hour, "90m": 90 * time.Minute, "off": 0} {
		var s market.Settings
		configtest.Fill(t, s.Table(), "TOKEN_SYMBOL=HRD", "MAX_PRICE_AGE="+setting)
		s.URL = serve(t, 200, ok(`{"42":`+entry+`}`))
		q, err := quote(t.Context(), s)
		if err != nil || q.Old() != (want > 0) || want > 0 && q.CurrentUntil.Sub(q.LastUpdated) != want {
			t.Errorf("%q: %v, old from %v, %v", setting, q.LastUpdated, q.CurrentUntil, err)
		}
	}
}

func TestOnlyTheTokensEntryIsTaken(t *testing.T) {
	bare := `{"id":"42","symbol":"hrd","quote":{"USD":{` + usd + `}}}`
	for by, entries := range map[string]map[string]bool{
		"id": {
			`{"42":` + entry + `}`: true, `{"HRD":` + entry + `}`: true, `{"42":[` + entry + `]}`: true, `[` + entry + `]`: true,
			`{"HRD":[` + other + `,` + entry + `,` + foreign + `]}`: true, `{"42":` + bare + `}`: true,
			`{"42":` + strings.Replace(entry, "HRD", "$HRD", 1) + `}`: true,
			`[]`: false, `{}`: false, `null`: false, `"text"`: false, `{"42":null}`: false, `{"42":[]}`: false, `[null]`: false,
			`5`: false, `{"42":` + foreign + `}`: false, `{"42":` + other + `}`: false,
			`{"42":{"symbol":"HRD","quote":{"USD":{"price":1}}}}`: false, `{"42":{"id":42,"symbol":"XYZ","quote":{"USD":{"price":1}}}}`: false,
		},
		"symbol": {
			`{"HRD":` + entry + `}`: true, `{"HRD":[` + foreign + `,` + entry + `]}`: true,
			`{"HRD":` + foreign + `}`: false, `{"HRD":[` + entry + `,` + other + `]}`: false,
			`{"HRD":` + other + `,"x":{"id":45,"symbol":"HRD","quote":{"USD":{"price":null}}}}`: false,
		},
	} {
		token := map[string]string{"id": "42", "symbol": "HRD"}[by]
		for data, taken := range entries {
			got, err := ask(t, by, token, 200, ok(data))
			if taken && (err != nil || got.Price.String() != "0.00001234567890123456789") {
				t.Errorf("by %s in %s: got %v, %v", by, data, got.Price, err)
			}
			if !taken {
				resttest.WantReason(t, err, market.Service, core.Malformed)
			}
		}
	}
}

// An upgrade of the plan ends it before the month does.
func TestAPlanThatIsUsedUpIsAskedForWithinTheHour(t *testing.T) {
	url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2678400")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status":{"error_code":1010}}`)
	})
	_, err := quote(t.Context(), market.Settings{URL: url, By: "id", Token: "42", Symbol: "hrd"})
	if failed := resttest.WantReason(t, err, market.Service, core.UsedUp); failed.RetryAfter > time.Hour {
		t.Errorf("asked again in %v", failed.RetryAfter)
	}
}

func TestErrorCodeDecidesAtAnyStatus(t *testing.T) {
	for code, want := range map[string]core.Reason{"1001": core.Denied, `"1010"`: core.UsedUp} {
		for _, status := range []int{200, 400, 401, 402, 429, 500} {
			_, err := ask(t, "id", "42", status, `{"status":{"error_code":`+code+`},"data":{"42":`+entry+`}}`)
			resttest.WantReason(t, err, market.Service, want)
		}
	}
	for _, c := range []struct {
		status int
		body   string
		want   core.Reason // "" is a quote
	}{
		{200, `{"status":{"error_code":"0"},"data":{"42":` + entry + `}}`, ""},
		{200, `{"status":{"error_code":500}}`, core.Unreachable},
		{400, `{"status":{"error_code":0},"data":{"42":` + entry + `}}`, core.Rejected},
		{500, `{"status":{"error_code":500}}`, core.Unreachable},
		{500, `{"status":{"error_code":1234}}`, core.Unreachable},
		{429, `{"status":{}}`, core.Limited},
		{200, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":null,"volume_24h":1}}}}`), core.NoData},
		{200, `{"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `{"status":{"error_code":null},"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `{"status":{"error_code":"none"},"data":{"42":` + entry + `}}`, core.Malformed},
		{200, `[]`, core.Malformed},
	} {
		if _, err := ask(t, "id", "42", c.status, c.body); c.want != "" || err != nil {
			resttest.WantReason(t, err, market.Service, c.want)
		}
	}
}

func TestOfTwoTimesToWaitTheLongerCounts(t *testing.T) {
	for asked, want := range map[string]time.Duration{"": time.Minute, "300": 5 * time.Minute} {
		url := resttest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", asked)
			w.WriteHeader(429)
			io.WriteString(w, `{"status":{"error_code":1008}}`)
		})
		_, err := quote(t.Context(), market.Settings{URL: url, By: "id", Token: "42", Symbol: "hrd"})
		if failed := resttest.WantReason(t, err, market.Service, core.Limited); failed.RetryAfter != want {
			t.Errorf("asked for %q: retry after %v, want %v", asked, failed.RetryAfter, want)
		}
	}
}

func TestTheProvidersSentenceIsLoggedAndInNoError(t *testing.T) {
	refused := func(sentence string) string { return `{"status":{"error_code":400,"error_message":` + sentence + `}}` }
	for body, want := range map[string]string{
		refused(`"Invalid value for \"symbol\": \"QQQ\""`): `Invalid value for \"symbol\": \"QQQ\"`,
		refused(`"This API\nKey is invalid."`):             "This API Key is invalid.",
		refused(`"` + strings.Repeat("long ", 1000) + `"`): "long long",
		refused("null"): "", refused("5"): "5", refused("{}"): "",
		`{"status":{"error_code":400}}`: "", "<html>": "",
	} {
		var log bytes.Buffer
		c := market.New(market.Settings{URL: serve(t, 400, body), By: "symbol", Token: "QQQ", Symbol: "QQQ", Uncounted: true},
			query.NewCache(query.CacheConfig{CallTimeout: time.Minute}), slog.New(slog.NewTextHandler(&log, nil)))
		for range 2 {
			_, err := c.Probe(t.Context())
			if err == nil || want != "" && strings.Contains(err.Error(), "Key is") {
				t.Errorf("%.80s: got %v", body, err)
			}
		}
		lines := strings.Count(log.String(), "says=")
		if lines != min(len(want), 1) || !strings.Contains(log.String(), want) || log.Len() > 400 {
			t.Errorf("%.80s: logged %s", body, log.String())
		}
	}
}
