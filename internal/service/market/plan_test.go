package market_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/demo/fake/faketest"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/rest/resttest"
)

// provider is a price provider in simulated time. It counts a credit for each quote with
// status 200.
type provider struct {
	plan        int64 // the limit at first
	limit, used atomic.Int64
	resets      time.Duration // from the begin
	begun       time.Time
	noInfo      bool
	silentInfo  bool // a request for what is left is never answered
	// fault answers a request for a quote and returns true, or returns false.
	fault atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// quotes and infos count the requests.
	quotes, infos atomic.Int64
	log           bytes.Buffer // of the client
}

// counted marks the status 200 of a quote.
type counted struct {
	http.ResponseWriter
	p *provider
}

func (c counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c counted) WriteHeader(status int) {
	if status == http.StatusOK {
		c.p.used.Add(1)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/key/info" {
		p.infos.Add(1)
		if p.noInfo {
			http.NotFound(w, r)
			return
		}
		if p.silentInfo {
			silence(w, r)
			return
		}
		fmt.Fprint(w, keyInfo(p.limit.Load(), p.limit.Load()-p.used.Load(), p.begun.Add(p.resets)))
		return
	}
	p.quotes.Add(1)
	c := counted{w, p}
	if fault := p.fault.Load(); fault != nil && (*fault)(c, r) {
		return
	}
	if p.used.Load() >= p.limit.Load() {
		c.WriteHeader(http.StatusPaymentRequired)
		io.WriteString(w, `{"status":{"error_code":1010}}`)
		return
	}
	c.WriteHeader(http.StatusOK)
	updated := time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339)
	io.WriteString(w, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":1.5,"last_updated":"`+updated+`"}}}}`))
}

func keyInfo(limit, left int64, resets time.Time) string {
	return fmt.Sprintf(`{"status":{"error_code":0},"data":{"plan":{"credit_limit_monthly":%d,"credit_limit_monthly_reset_timestamp":%q,"rate_limit_minute":50},`+
		`"usage":{"current_minute":{"requests_left":49},"current_day":{"credits_used":12,"credits_left":null},"current_month":{"credits_left":%d}}}}`,
		limit, resets.UTC().Format("2006-01-02T15:04:05.000Z"), left)
}

// inBubble runs a test with a client of the provider in simulated time.
func inBubble(t *testing.T, p *provider, test func(*testing.T, *market.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := faketest.NewNetwork()
		server := &http.Server{Handler: p}
		go server.Serve(network)
		defer server.Close()
		transporttest.ChangeDefault(t, func(d *http.Transport) { d.DialContext = network.Dial })
		p.limit.Store(p.plan)
		p.begun = time.Now()
		settings := market.Settings{
			URL:    "http://prices.example.org",
			By:     "id",
			Token:  "42",
			Symbol: "hrd",
			TTL:    30 * time.Second,
		}
		cache := query.NewCache(query.CacheConfig{MaxItems: 10, CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, StaleFor: time.Hour, Observer: ops.NewMetrics()})
		defer cache.Close()
		test(t, market.New(settings, cache, slog.New(slog.NewTextHandler(&p.log, nil))))
	})
}

// faultsOfQuotes are ways in which quotes fail for a while.
var faultsOfQuotes = map[string]func(http.ResponseWriter, *http.Request) bool{
	"500":                      status(500, ""),
	"502 with HTML":            status(502, "<html>"),
	"200 with HTML":            status(200, "<html>"),
	"200 with error code 500":  status(200, `{"status":{"error_code":500}}`),
	"429":                      status(429, ""),
	"a price of null":          status(200, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":null}}}}`)),
	"silence":                  silence,
	"a connection that breaks": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
}

func status(code int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		io.WriteString(w, body)
		return true
	}
}

// After an outage of a minute the price is fresh within 15 seconds, whether the bot has just
// started or not, and whether the provider says what is left or not.
func TestThePriceIsBackSoonAfterAnOutage(t *testing.T) {
	for name, fault := range faultsOfQuotes {
		for _, noInfo := range []bool{false, true} {
			for _, before := range []time.Duration{0, time.Hour} {
				p := &provider{plan: 15_000, resets: 15 * 24 * time.Hour, noInfo: noInfo}
				inBubble(t, p, func(t *testing.T, c *market.Client) {
					for ; before > 0; before -= 5 * time.Minute {
						c.Price.Get(t.Context(), struct{}{})
						time.Sleep(5 * time.Minute)
					}
					p.fault.Store(&fault)
					for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(2 * time.Second) {
						c.Price.Get(t.Context(), struct{}{})
					}
					p.fault.Store(nil)
					begun := time.Now()
					for {
						q, err := c.Price.Get(t.Context(), struct{}{})
						if err == nil && !q.Stale && q.Why == nil && time.Since(q.At) < 30*time.Second {
							break
						}
						if time.Since(begun) > 15*time.Second {
							t.Fatalf("%s, no info %v, started %v before: after %v there is %+v, %v", name, noInfo, before, time.Since(begun), q, err)
						}
						time.Sleep(time.Second)
					}
				})
			}
		}
	}
}

// silence answers nothing until the client gives up.
func silence(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// A call without an answer costs a credit, because the provider may have counted it. A plan
// that is used up is asked for once an hour, unless the provider says that more is left.
func TestWhatTheProviderCountedCosts(t *testing.T) {
	late := func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		return silence(w, r)
	}
	broken := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	usedUp := status(429, `{"status":{"error_code":1010}}`)
	countedSilence := func(w http.ResponseWriter, r *http.Request) bool {
		w.(counted).p.used.Add(1)
		return silence(w, r)
	}
	for name, test := range map[string]struct {
		fault       func(http.ResponseWriter, *http.Request) bool
		noInfo      bool
		least, most int64 // quotes asked for in 3 hours: for 161 credits or, if it does not say, 54
	}{
		"silence":                           {silence, false, 140, 165},
		"silence of one that does not say":  {silence, true, 45, 60},
		"silence that is counted":           {countedSilence, false, 140, 165},
		"silence in the body":               {late, false, 140, 165},
		"a body that breaks off":            {broken, false, 140, 165},
		"a connection that breaks":          {faultsOfQuotes["a connection that breaks"], false, 140, 165},
		"a break, and it does not say":      {faultsOfQuotes["a connection that breaks"], true, 45, 60},
		"a break that is counted":           {countedBreak, false, 140, 165},
		"429":                               {faultsOfQuotes["429"], false, 2000, 5000},
		"used up, and it does not say":      {usedUp, true, 3, 3},
		"used up, but it says more is left": {usedUp, false, 30, 40},
	} {
		p := &provider{plan: 15_000, resets: 15 * 24 * time.Hour, noInfo: test.noInfo}
		p.fault.Store(&test.fault)
		inBubble(t, p, func(t *testing.T, c *market.Client) {
			for begun := time.Now(); time.Since(begun) < 3*time.Hour; time.Sleep(time.Second) {
				c.Price.Get(t.Context(), struct{}{})
			}
			if n := p.quotes.Load(); n < test.least || n > test.most {
				t.Errorf("%s: %d quotes asked for, want %d to %d", name, n, test.least, test.most)
			}
		})
	}
}

// countedBreak resets the connection after the provider has counted the request.
func countedBreak(w http.ResponseWriter, _ *http.Request) bool {
	w.(counted).p.used.Add(1)
	panic(http.ErrAbortHandler)
}

// These are the last three days of a month, with as many credits as belong to them.
func TestCreditsLastBehindAProxyThatResets(t *testing.T) {
	reset := countedBreak
	for _, noInfo := range []bool{false, true} {
		p := &provider{plan: 1000, resets: 3 * 24 * time.Hour, noInfo: noInfo}
		p.fault.Store(&reset)
		inBubble(t, p, func(t *testing.T, c *market.Client) {
			for time.Since(p.begun) < p.resets {
				c.Price.Get(t.Context(), struct{}{})
				time.Sleep(time.Minute)
			}
			if used := p.used.Load(); used < 750 || used > p.plan {
				t.Errorf("the provider does not say what is left %t: it has counted %d calls of %d", noInfo, used, p.plan)
			}
		})
	}
}

func TestWhatIsLeftIsAskedNowAndThen(t *testing.T) {
	failing := status(500, "")
	for name, test := range map[string]struct {
		left    int64
		fault   *func(http.ResponseWriter, *http.Request) bool
		perHour int64
	}{
		"while there are credits": {1_000_000, nil, 7}, "without a credit": {0, nil, 60}, "during an outage": {1_000_000, &failing, 60},
	} {
		p := &provider{plan: test.left, resets: 10 * 24 * time.Hour}
		p.fault.Store(test.fault)
		inBubble(t, p, func(t *testing.T, c *market.Client) {
			for begun := time.Now(); time.Since(begun) < time.Hour; time.Sleep(10 * time.Second) {
				c.Price.Get(t.Context(), struct{}{})
			}
			if n := p.infos.Load(); n > test.perHour || n < test.perHour-5 {
				t.Errorf("%s: %d times in an hour, want %d", name, n, test.perHour)
			}
		})
	}
}

func TestASilentPlanDelaysAPriceByTwoSeconds(t *testing.T) {
	p := &provider{plan: 1, silentInfo: true}
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		begun := time.Now()
		if _, err := c.Price.Get(t.Context(), struct{}{}); err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// Without a credit nobody is asked for a quote, and an upgrade is noticed within a minute.
func TestAnUpgradeIsNoticed(t *testing.T) {
	p := &provider{plan: 1000, resets: 10 * 24 * time.Hour}
	p.used.Store(1000)
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		for i := range 60 {
			_, err := c.Price.Get(t.Context(), struct{}{})
			if failed := resttest.WantReason(t, err, market.Service, core.UsedUp); i > 30 && failed.RetryAfter < 9*24*time.Hour {
				t.Fatalf("retry after %v, want ten days", failed.RetryAfter)
			}
			time.Sleep(10 * time.Second)
		}
		if n := p.quotes.Load(); n > 1 {
			t.Errorf("%d quotes asked for without a credit", n)
		}
		p.limit.Store(10_000)
		time.Sleep(time.Minute)
		if _, err := c.Price.Get(t.Context(), struct{}{}); err != nil {
			t.Errorf("a minute after an upgrade: %v", err)
		}
	})
}

func TestWhatTheProviderSaysOfThePlan(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	date := now.Add(-24 * time.Hour) // This machine's clock is a day ahead.
	tenDays := date.Add(10 * 24 * time.Hour)
	good := keyInfo(15_000, 11_988, tenDays)
	for _, test := range []struct {
		name   string
		status int
		body   string
		left   int // -1: the provider does not say
		resets time.Duration
	}{
		{"good", 200, good, 11_988, 10 * 24 * time.Hour},
		{"none left", 200, keyInfo(15_000, 0, tenDays), 0, 10 * 24 * time.Hour},
		{"more left than the plan has", 200, keyInfo(15_000, 99_999, tenDays), 15_000, 10 * 24 * time.Hour},
		{"no limit, but what is left", 200, keyInfo(0, 500, tenDays), 500, 10 * 24 * time.Hour},
		{"a reset in the past", 200, keyInfo(15_000, 11_988, date.Add(-time.Hour)), 11_988, 31 * 24 * time.Hour},
		{"a reset in years", 200, keyInfo(15_000, 11_988, date.AddDate(3, 0, 0)), 11_988, 31 * 24 * time.Hour},
		{"a negative number", 200, keyInfo(15_000, -1, tenDays), -1, 0},
		{"a negative limit", 200, keyInfo(-1, 11_988, tenDays), -1, 0},
		{"a plan without a bound", 200, strings.Replace(good, "11988", "null", 1), -1, 0},
		{"a fraction", 200, strings.Replace(good, "11988", "11988.5", 1), -1, 0},
		{"an exponent bomb", 200, strings.Replace(good, "11988", "1e999999", 1), -1, 0},
		{"a text", 200, strings.Replace(good, "11988", `"many"`, 1), -1, 0},
		{"no reset", 200, strings.Replace(good, "2", "x", 1), -1, 0},
		{"HTML", 200, "<html>", -1, 0},
		{"another form", 200, ok(`[]`), -1, 0},
		{"401", 401, `{"status":{"error_code":1001}}`, -1, 0},
		{"404", 404, "not found", -1, 0},
	} {
		url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", date.Format(http.TimeFormat))
			w.WriteHeader(test.status)
			io.WriteString(w, test.body)
		})
		got, err := newClient(market.Settings{URL: url}).Credits(t.Context())
		if failed := err != nil; failed != (test.left < 0) || !failed && (got.Left != test.left || got.Resets != test.resets) {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
	}
}

func TestVersion3IsAskedWhereVersion1IsGone(t *testing.T) {
	v3 := `[{"id":42,"symbol":"HRD","quote":[{"symbol":"EUR","price":9},{"symbol":"USD","price":1.5}]}]`
	for name, test := range map[string]struct {
		v1, v3 int
		data   string
		want   core.Reason // "" is a quote
	}{
		"404":               {404, 200, v3, ""},
		"410":               {410, 200, v3, ""},
		"both are gone":     {404, 404, v3, core.Rejected},
		"version 3 is down": {410, 503, v3, core.Unreachable},
		"two in USD":        {404, 200, strings.Replace(v3, "EUR", "USD", 1), core.Malformed},
		"none in USD":       {404, 200, strings.Replace(v3, `"USD"`, `"GBP"`, 1), core.Malformed},
		"no list of quotes": {404, 200, `[{"id":42,"symbol":"HRD","quote":5}]`, core.Malformed},
		"it is not gone":    {200, 200, `{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":1.5}}}}`, ""},
	} {
		paths := map[string]int{}
		url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			paths[r.URL.Path]++
			w.WriteHeader(map[bool]int{true: test.v1, false: test.v3}[strings.HasPrefix(r.URL.Path, "/v1/")])
			io.WriteString(w, ok(test.data))
		})
		var log bytes.Buffer
		c := market.New(market.Settings{URL: url, By: "id", Token: "42", Symbol: "hrd", Uncounted: true},
			query.NewCache(query.CacheConfig{CallTimeout: time.Minute}), slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			found, err := c.Probe(t.Context())
			if test.want != "" {
				resttest.WantReason(t, err, market.Service, test.want)
			} else if err != nil || found.Quote.Price.String() != "1.5" || found.IsV1Gone() != (test.v1 != 200) {
				t.Errorf("%s: got %+v, %v", name, found, err)
			}
		}
		wantV1, warnings := 1, 1
		if test.v1 == 200 || test.v3 == 404 {
			warnings = 0
		}
		if test.v1 == 200 || test.v3 != 200 { // Version 1 may be back first.
			wantV1 = 3
		}
		if got := paths["/v1/cryptocurrency/quotes/latest"]; got != wantV1 {
			t.Errorf("%s: version 1 is asked %d times of three, want %d", name, got, wantV1)
		}
		if got := strings.Count(log.String(), "has ended version 1"); got != warnings {
			t.Errorf("%s: %d warnings, want %d", name, got, warnings)
		}
	}
}

func answering(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { status(code, body)(w, r) }
}

// Each row is how version 3 fails, and what its error says of it.
func TestAnErrorOfVersion3NamesVersion1(t *testing.T) {
	for name, test := range map[string]struct {
		fails  http.HandlerFunc
		want   core.Reason
		state  query.ReplacementState
		status int
		text   string
	}{
		"500": {answering(500, ""), core.Unreachable, query.ReplacementRefuses, 500, "answered with status 500"},
		"404": {http.NotFound, core.Rejected, query.ReplacementRefuses, 404, "answered with status 404"},
		"an error code": {
			answering(200, `{"status":{"error_code":1002}}`), core.Denied, query.ReplacementBroken, 0, "error code 1002",
		},
		"HTML":    {answering(200, "<html>"), core.Malformed, query.ReplacementBroken, 0, "HTML"},
		"a break": {resttest.Broken("", true), core.Unreachable, query.ReplacementBroken, 0, "connection"},
	} {
		url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/") {
				http.NotFound(w, r)
				return
			}
			test.fails(w, r)
		})
		_, err := newClient(market.Settings{URL: url, By: "id", Token: "42", Symbol: "hrd"}).Probe(t.Context())
		resttest.WantReason(t, err, market.Service, test.want)
		gone, is := errors.AsType[*market.V1GoneError](err)
		const both = "/v1/cryptocurrency/quotes/latest is gone, and /v3/cryptocurrency/quotes/latest fails"
		if !is || gone.State != test.state || gone.Status != test.status {
			t.Errorf("%s: got %+v", name, gone)
		}
		if !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), both) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A quote means the same from either version.
func TestVersion3GivesTheSameQuote(t *testing.T) {
	const numbers = `"price":1.5,"volume_24h":5,"market_cap":3e20,"percent_change_1h":2500000000,"percent_change_24h":-50`
	const token = `"id":42,"symbol":"HRD","slug":"herald","circulating_supply":1000,"total_supply":-5`
	answers := map[string]string{
		"/v1/": `{"42":{` + token + `,"quote":{"USD":{` + numbers + `}}}}`,
		"/v3/": `[{` + token + `,"quote":[{"symbol":"USD",` + numbers + `}]}]`,
	}
	quotes := map[string]core.Quote{}
	for version, data := range answers {
		url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, version) {
				w.WriteHeader(http.StatusGone)
				return
			}
			io.WriteString(w, ok(data))
		})
		q, err := quote(t.Context(), market.Settings{URL: url, By: "id", Token: "42", Symbol: "hrd"})
		if err != nil || !strings.HasPrefix(q.Endpoint, version) {
			t.Fatalf("%s: got %+v, %v", version, q, err)
		}
		q.Endpoint = ""
		quotes[version] = q
	}
	if !reflect.DeepEqual(quotes["/v1/"], quotes["/v3/"]) {
		t.Errorf("got %+v\nand %+v", quotes["/v1/"], quotes["/v3/"])
	}
}

func TestWhatIsLeftIsReadBehindAByteOrderMark(t *testing.T) {
	body := "\uFEFF" + keyInfo(15_000, 11_988, time.Now().Add(10*24*time.Hour))
	got, err := newClient(market.Settings{URL: serve(t, 200, body)}).Credits(t.Context())
	if err != nil || got.Left != 11_988 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestVersion1IsAskedAgainAfterAnHour(t *testing.T) {
	p, v1 := &provider{plan: 15_000, resets: time.Hour}, 0
	gone := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			return false
		}
		v1++
		return status(404, "")(w, r)
	}
	p.fault.Store(&gone)
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {time.Hour - time.Second, 1}, {time.Second, 2}, {time.Second, 2}} {
			time.Sleep(step.wait)
			if _, err := c.Probe(t.Context()); err != nil || v1 != step.want {
				t.Errorf("after %v: version 1 is asked %d times, want %d; %v", step.wait, v1, step.want, err)
			}
		}
		if n := strings.Count(p.log.String(), "has ended version 1"); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}
