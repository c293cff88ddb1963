package market_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
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

// provider is a price provider in simulated time. It counts a credit for each quote with status 200. Its info says how
// many credits are left of the month.
type provider struct {
	plan      int64         // the credits of a month when the test begins
	resets    time.Duration // from the beginning of the test until the month ends
	hasNoInfo bool          // a request for the info is answered with status 404
	infoHangs bool          // a request for the info is never answered

	began  time.Time
	limit  atomic.Int64               // the credits of a month; a test may change them
	used   atomic.Int64               // the credits that were counted
	fault  atomic.Pointer[quoteFault] // nil: quotes do not fail
	quotes atomic.Int64               // requests for a quote
	infos  atomic.Int64               // requests for the info
	log    bytes.Buffer               // of the client
}

// quoteFault answers a request for a quote and returns true, or does nothing and returns false.
type quoteFault func(http.ResponseWriter, *http.Request) bool

// counted is a response of a provider. It counts a credit if its status is 200.
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
		p.serveInfo(w, r)
		return
	}
	p.serveQuote(counted{w, p}, r)
}

func (p *provider) serveInfo(w http.ResponseWriter, r *http.Request) {
	p.infos.Add(1)
	switch {
	case p.hasNoInfo:
		http.NotFound(w, r)
	case p.infoHangs:
		silence(w, r)
	default:
		fmt.Fprint(w, keyInfo(p.limit.Load(), p.limit.Load()-p.used.Load(), p.began.Add(p.resets)))
	}
}

func (p *provider) serveQuote(w counted, r *http.Request) {
	p.quotes.Add(1)
	if fault := p.fault.Load(); fault != nil && (*fault)(w, r) {
		return
	}
	if p.used.Load() >= p.limit.Load() {
		w.WriteHeader(http.StatusPaymentRequired)
		io.WriteString(w, `{"status":{"error_code":1010}}`)
		return
	}
	w.WriteHeader(http.StatusOK)
	updated := time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339)
	quote := `{"USD":{"price":1.5,"last_updated":"` + updated + `"}}`
	io.WriteString(w, ok(`{"42":{"id":42,"symbol":"HRD","quote":`+quote+`}}`))
}

// keyInfo returns the info of a provider.
func keyInfo(limit, left int64, resets time.Time) string {
	const format = `{
		"status": {"error_code": 0},
		"data": {
			"plan": {
				"credit_limit_monthly": %d,
				"credit_limit_monthly_reset_timestamp": %q,
				"rate_limit_minute": 50
			},
			"usage": {
				"current_minute": {"requests_left": 49},
				"current_day": {"credits_used": 12, "credits_left": null},
				"current_month": {"credits_left": %d}
			}
		}
	}`
	return fmt.Sprintf(format, limit, resets.UTC().Format("2006-01-02T15:04:05.000Z"), left)
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
		p.began = time.Now()
		settings := market.Settings{
			URL:     "http://prices.example.org",
			TokenBy: "id",
			Token:   "42",
			Symbol:  "hrd",
			TTL:     30 * time.Second,
		}
		cache := query.NewCache(query.CacheConfig{
			MaxItems:    10,
			CallTimeout: 5 * time.Second,
			Timeout:     20 * time.Second,
			StaleFor:    time.Hour,
			Observer:    ops.NewMetrics(),
		})
		defer cache.Close()
		test(t, market.New(settings, cache, slog.New(slog.NewTextHandler(&p.log, nil))))
	})
}

// askEvery asks for the price for a time, with pauses, and ignores the answers.
func askEvery(t *testing.T, c *market.Client, pause, lasts time.Duration) {
	for began := time.Now(); time.Since(began) < lasts; time.Sleep(pause) {
		c.Price.Get(t.Context(), struct{}{})
	}
}

// temporaryFaults are ways in which quotes fail for a while.
var temporaryFaults = map[string]quoteFault{
	"500":                      status(500, ""),
	"502 with HTML":            status(502, "<html>"),
	"200 with HTML":            status(200, "<html>"),
	"200 with error code 500":  status(200, `{"status":{"error_code":500}}`),
	"429":                      status(429, ""),
	"a price of null":          status(200, ok(`{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":null}}}}`)),
	"silence":                  silence,
	"a connection that breaks": reset,
}

// status returns a fault that answers with this status and body.
func status(code int, body string) quoteFault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		io.WriteString(w, body)
		return true
	}
}

// silence never answers. It returns when the client gives up.
func silence(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// reset resets the connection.
func reset(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// After an outage of a minute, the price is fresh within 15 seconds. The bot may have just started, and the provider
// may have no info.
func TestThePriceIsBackSoonAfterAnOutage(t *testing.T) {
	for name, fault := range temporaryFaults {
		for _, hasNoInfo := range []bool{false, true} {
			for _, runningFor := range []time.Duration{0, time.Hour} {
				p := &provider{plan: 15_000, resets: 15 * 24 * time.Hour, hasNoInfo: hasNoInfo}
				inBubble(t, p, func(t *testing.T, c *market.Client) {
					askEvery(t, c, 5*time.Minute, runningFor)
					p.fault.Store(&fault)
					askEvery(t, c, 2*time.Second, time.Minute)
					p.fault.Store(nil)
					t.Logf("%s, no info: %t, the bot started %v before", name, hasNoInfo, runningFor)
					wantFreshPrice(t, c, 15*time.Second)
				})
			}
		}
	}
}

// wantFreshPrice fails the test unless the price is fresh within a time.
func wantFreshPrice(t *testing.T, c *market.Client, within time.Duration) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		q, err := c.Price.Get(t.Context(), struct{}{})
		if err == nil && !q.Stale && q.Why == nil && time.Since(q.At) < 30*time.Second {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %v the price is %+v, %v", time.Since(began), q, err)
		}
	}
}

// In 3 hours, a plan of 15,000 credits for 15 days allows about 161 calls, and about 54 if the provider has no info.
const (
	minCalls, maxCalls                       = 140, 165
	minCallsWithoutInfo, maxCallsWithoutInfo = 45, 60
)

// countQuotesInThreeHours returns how often a quote is requested in 3 hours, in which all quotes fail.
func countQuotesInThreeHours(t *testing.T, fault quoteFault, hasNoInfo bool) int64 {
	t.Helper()
	p := &provider{plan: 15_000, resets: 15 * 24 * time.Hour, hasNoInfo: hasNoInfo}
	p.fault.Store(&fault)
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		askEvery(t, c, time.Second, 3*time.Hour)
	})
	return p.quotes.Load()
}

// wantQuotes fails the test unless the number of quotes is within these limits.
func wantQuotes(t *testing.T, name string, got, wantMin, wantMax int64) {
	t.Helper()
	if got < wantMin || got > wantMax {
		t.Errorf("%s: %d quotes requested, want %d to %d", name, got, wantMin, wantMax)
	}
}

// The provider may have counted the call.
func TestACallWithoutAnAnswerCostsACredit(t *testing.T) {
	for name, fault := range map[string]quoteFault{
		"silence":                  silence,
		"silence that is counted":  countedSilence,
		"silence in the body":      silenceInBody,
		"a body that breaks off":   brokenBody,
		"a connection that breaks": reset,
		"a break that is counted":  countedReset,
	} {
		wantQuotes(t, name, countQuotesInThreeHours(t, fault, false), minCalls, maxCalls)
	}
	for name, fault := range map[string]quoteFault{
		"silence, without info":                  silence,
		"a connection that breaks, without info": reset,
	} {
		wantQuotes(t, name, countQuotesInThreeHours(t, fault, true), minCallsWithoutInfo, maxCallsWithoutInfo)
	}
}

func TestARefusedCallIsFree(t *testing.T) {
	wantQuotes(t, "status 429", countQuotesInThreeHours(t, status(429, ""), false), 2000, 5000)
}

func TestAUsedUpPlanIsTriedOnceAnHourUnlessCreditsAreLeft(t *testing.T) {
	usedUp := status(429, `{"status":{"error_code":1010}}`)
	wantQuotes(t, "no info", countQuotesInThreeHours(t, usedUp, true), 3, 3)
	wantQuotes(t, "credits are left", countQuotesInThreeHours(t, usedUp, false), 30, 40)
}

// countedSilence never answers, but the provider counts the request.
func countedSilence(w http.ResponseWriter, r *http.Request) bool {
	w.(counted).p.used.Add(1)
	return silence(w, r)
}

// silenceInBody answers only with the header.
func silenceInBody(w http.ResponseWriter, r *http.Request) bool {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	return silence(w, r)
}

// brokenBody resets the connection after the header.
func brokenBody(w http.ResponseWriter, r *http.Request) bool {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	return reset(w, r)
}

// countedReset resets the connection after the provider has counted the request.
func countedReset(w http.ResponseWriter, r *http.Request) bool {
	w.(counted).p.used.Add(1)
	return reset(w, r)
}

// The provider counts each quote, but a proxy resets the connection. The plan has 1000 credits for the last three days
// of the month.
func TestCreditsLastBehindAProxyThatResets(t *testing.T) {
	fault := quoteFault(countedReset)
	for _, hasNoInfo := range []bool{false, true} {
		p := &provider{plan: 1000, resets: 3 * 24 * time.Hour, hasNoInfo: hasNoInfo}
		p.fault.Store(&fault)
		inBubble(t, p, func(t *testing.T, c *market.Client) {
			askEvery(t, c, 2*time.Minute, p.resets)
			if used := p.used.Load(); used < 750 || used > p.plan {
				t.Errorf("without info %t: %d calls counted, want at most %d", hasNoInfo, used, p.plan)
			}
		})
	}
}

func TestHowOftenThePlanIsRead(t *testing.T) {
	failing := status(500, "")
	for name, test := range map[string]struct {
		left    int64
		fault   *quoteFault
		perHour int64
	}{
		"while there are credits": {left: 1_000_000, perHour: 7},
		"without a credit":        {left: 0, perHour: 60},
		"during an outage":        {left: 1_000_000, fault: &failing, perHour: 60},
	} {
		p := &provider{plan: test.left, resets: 10 * 24 * time.Hour}
		p.fault.Store(test.fault)
		inBubble(t, p, func(t *testing.T, c *market.Client) {
			askEvery(t, c, 10*time.Second, time.Hour)
			if n := p.infos.Load(); n > test.perHour || n < test.perHour-5 {
				t.Errorf("%s: read %d times in an hour, want %d", name, n, test.perHour)
			}
		})
	}
}

func TestASilentPlanDelaysAPriceByTwoSeconds(t *testing.T) {
	p := &provider{plan: 1, infoHangs: true}
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		began := time.Now()
		_, err := c.Price.Get(t.Context(), struct{}{})
		if took := time.Since(began); err != nil || took != 2*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// withoutCredits asks for the price for ten minutes, in which the plan has no credit left, and then
// runs a test.
func withoutCredits(t *testing.T, test func(t *testing.T, p *provider, c *market.Client)) {
	t.Helper()
	p := &provider{plan: 1000, resets: 10 * 24 * time.Hour}
	p.used.Store(1000)
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		for range 60 {
			_, err := c.Price.Get(t.Context(), struct{}{})
			resttest.WantReason(t, err, market.Service, core.UsedUp)
			time.Sleep(10 * time.Second)
		}
		test(t, p, c)
	})
}

func TestWithoutACreditNoQuoteIsRequested(t *testing.T) {
	withoutCredits(t, func(t *testing.T, p *provider, c *market.Client) {
		if n := p.quotes.Load(); n > 1 {
			t.Errorf("%d quotes were requested, want at most the first", n)
		}
		_, err := c.Price.Get(t.Context(), struct{}{})
		failed := resttest.WantReason(t, err, market.Service, core.UsedUp)
		if failed.RetryAfter < 9*24*time.Hour {
			t.Errorf("retry after %v, want ten days", failed.RetryAfter)
		}
	})
}

func TestAnUpgradeIsNoticedWithinAMinute(t *testing.T) {
	withoutCredits(t, func(t *testing.T, p *provider, c *market.Client) {
		p.limit.Store(10_000)
		time.Sleep(time.Minute)
		if _, err := c.Price.Get(t.Context(), struct{}{}); err != nil {
			t.Errorf("a minute after an upgrade: %v", err)
		}
	})
}

// providersDate is the Date of the provider's answers. This machine's clock is a day ahead of it.
var providersDate = time.Now().UTC().Truncate(time.Second).Add(-24 * time.Hour)

var inTenDays = providersDate.Add(10 * 24 * time.Hour)

// readCredits returns what a client reads from an answer about the plan.
func readCredits(t *testing.T, status int, body string) (market.Reading, error) {
	t.Helper()
	url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", providersDate.Format(http.TimeFormat))
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	return newClient(market.Settings{URL: url}).Credits(t.Context())
}

func TestThePlanIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		left   int
		resets time.Duration
	}{
		"good": {
			body:   keyInfo(15_000, 11_988, inTenDays),
			left:   11_988,
			resets: 10 * 24 * time.Hour,
		},
		"none left": {
			body:   keyInfo(15_000, 0, inTenDays),
			left:   0,
			resets: 10 * 24 * time.Hour,
		},
		"more left than the plan has": {
			body:   keyInfo(15_000, 99_999, inTenDays),
			left:   15_000,
			resets: 10 * 24 * time.Hour,
		},
		"no limit, but what is left": {
			body:   keyInfo(0, 500, inTenDays),
			left:   500,
			resets: 10 * 24 * time.Hour,
		},
		"a reset in the past": {
			body:   keyInfo(15_000, 11_988, providersDate.Add(-time.Hour)),
			left:   11_988,
			resets: 31 * 24 * time.Hour,
		},
		"a reset in years": {
			body:   keyInfo(15_000, 11_988, providersDate.AddDate(3, 0, 0)),
			left:   11_988,
			resets: 31 * 24 * time.Hour,
		},
		"a byte order mark": {
			body:   "\uFEFF" + keyInfo(15_000, 11_988, inTenDays),
			left:   11_988,
			resets: 10 * 24 * time.Hour,
		},
	} {
		got, err := readCredits(t, http.StatusOK, test.body)
		if err != nil || got.Left != test.left || got.MonthEndsIn != test.resets {
			t.Errorf("%s: got %+v, %v; want %d left for %v", name, got, err, test.left, test.resets)
		}
	}
}

func TestAnAnswerWithoutTheCreditsLeftIsAnError(t *testing.T) {
	good := keyInfo(15_000, 11_988, inTenDays)
	left := func(value string) string { return strings.Replace(good, "11988", value, 1) }
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"less than zero left":  {200, keyInfo(15_000, -1, inTenDays)},
		"a negative limit":     {200, keyInfo(-1, 11_988, inTenDays)},
		"a plan without limit": {200, left("null")},
		"a fraction":           {200, left("11988.5")},
		"an exponent bomb":     {200, left("1e999999")},
		"a text":               {200, left(`"many"`)},
		"no reset":             {200, strings.Replace(good, "2", "x", 1)},
		"HTML":                 {200, "<html>"},
		"another form":         {200, ok(`[]`)},
		"401":                  {401, `{"status":{"error_code":1001}}`},
		"404":                  {404, "not found"},
	} {
		if got, err := readCredits(t, test.status, test.body); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}
