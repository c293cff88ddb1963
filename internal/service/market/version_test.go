package market_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/rest/resttest"
)

// versions is a provider that has two versions of its quotes.
type versions struct {
	v1, v3 int    // the HTTP status of each version
	data   string // the data in every answer
	v1Asks int    // how often version 1 was requested
}

func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := v.v3
	if r.URL.Path == "/v1/cryptocurrency/quotes/latest" {
		v.v1Asks++
		status = v.v1
	}
	w.WriteHeader(status)
	io.WriteString(w, ok(v.data))
}

// probeThreeTimes asks the provider three times with one client. It passes each answer to check, and returns the
// client's log.
func (v *versions) probeThreeTimes(t *testing.T, check func(market.Listing, error)) (log string) {
	t.Helper()
	var out bytes.Buffer
	settings := market.Settings{
		URL:       resttest.Serve(t, v.ServeHTTP),
		TokenBy:   "id",
		Token:     "42",
		Symbol:    "hrd",
		Unlimited: true,
	}
	cache := query.NewCache(query.CacheConfig{CallTimeout: time.Minute})
	c := market.New(settings, cache, slog.New(slog.NewTextHandler(&out, nil)))
	for range 3 {
		check(c.Probe(t.Context()))
	}
	return out.String()
}

const (
	dataV1 = `{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":1.5}}}}`
	dataV3 = `[{"id":42,"symbol":"HRD","quote":[{"symbol":"EUR","price":9},{"symbol":"USD","price":1.5}]}]`
)

// v1Ended is part of the warning that version 1 is gone.
const v1Ended = "has ended version 1"

func TestVersion3IsUsedIfVersion1IsGone(t *testing.T) {
	for _, gone := range []int{http.StatusNotFound, http.StatusGone} {
		v := &versions{v1: gone, v3: http.StatusOK, data: dataV3}
		log := v.probeThreeTimes(t, func(found market.Listing, err error) {
			if err != nil || found.Quote.Price.String() != "1.5" || !found.IsV1Gone() {
				t.Errorf("version 1 answers %d: got %+v, %v", gone, found, err)
			}
		})
		if v.v1Asks != 1 {
			t.Errorf("version 1 answers %d: requested %d times of three, want once", gone, v.v1Asks)
		}
		if n := strings.Count(log, v1Ended); n != 1 {
			t.Errorf("version 1 answers %d: %d warnings, want 1", gone, n)
		}
	}
}

func TestVersion1IsUsedWhileItAnswers(t *testing.T) {
	v := &versions{v1: http.StatusOK, v3: http.StatusOK, data: dataV1}
	log := v.probeThreeTimes(t, func(found market.Listing, err error) {
		if err != nil || found.Quote.Price.String() != "1.5" || found.IsV1Gone() {
			t.Errorf("got %+v, %v", found, err)
		}
	})
	if v.v1Asks != 3 || strings.Contains(log, v1Ended) {
		t.Errorf("version 1 was requested %d times of three; the log is\n%s", v.v1Asks, log)
	}
}

// Version 1 may recover first, so it is requested each time. If both are gone, the URL is probably wrong. So there is
// no warning about version 1.
func TestVersion1IsTriedAgainWhileVersion3HasNoAnswer(t *testing.T) {
	for _, test := range []struct {
		v1, v3       int // HTTP statuses
		want         core.Reason
		wantWarnings int
	}{
		{v1: 404, v3: 404, want: core.Rejected, wantWarnings: 0},
		{v1: 410, v3: 503, want: core.Unreachable, wantWarnings: 1},
	} {
		v := &versions{v1: test.v1, v3: test.v3, data: dataV3}
		log := v.probeThreeTimes(t, func(_ market.Listing, err error) {
			resttest.WantReason(t, err, market.Service, test.want)
		})
		if v.v1Asks != 3 {
			t.Errorf("%+v: version 1 was requested %d times of three", test, v.v1Asks)
		}
		if n := strings.Count(log, v1Ended); n != test.wantWarnings {
			t.Errorf("%+v: %d warnings", test, n)
		}
	}
}

// After the first probe, version 1 is back, and version 3 fails. The second probe still asks version 3, and fails. The
// third one asks version 1 again.
func TestVersion1IsTriedAgainOnceVersion3Fails(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusNotFound} {
		v := &versions{v1: http.StatusGone, v3: http.StatusOK, data: dataV3}
		probes := 0
		v.probeThreeTimes(t, func(_ market.Listing, err error) {
			probes++
			wantsError := probes == 2
			if (err != nil) != wantsError {
				t.Errorf("version 3 answers %d: probe %d: %v", status, probes, err)
			}
			v.v1, v.v3, v.data = http.StatusOK, status, dataV1
		})
	}
}

// A quote that cannot be understood is an answer, so version 1 counts as gone.
func TestAnUnclearQuoteOfVersion3IsMalformed(t *testing.T) {
	for name, data := range map[string]string{
		"two in USD":        strings.Replace(dataV3, "EUR", "USD", 1),
		"none in USD":       strings.Replace(dataV3, `"USD"`, `"GBP"`, 1),
		"no list of quotes": `[{"id":42,"symbol":"HRD","quote":5}]`,
	} {
		v := &versions{v1: http.StatusNotFound, v3: http.StatusOK, data: data}
		log := v.probeThreeTimes(t, func(_ market.Listing, err error) {
			resttest.WantReason(t, err, market.Service, core.Malformed)
		})
		if v.v1Asks != 1 || strings.Count(log, v1Ended) != 1 {
			t.Errorf("%s: version 1 was requested %d times of three; the log is\n%s", name, v.v1Asks, log)
		}
	}
}

// answering returns a handler that answers with this status and body.
func answering(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { status(code, body)(w, r) }
}

func TestAnErrorOfVersion3NamesVersion1(t *testing.T) {
	const both = "/v1/cryptocurrency/quotes/latest is gone, and /v3/cryptocurrency/quotes/latest fails"
	for name, test := range map[string]struct {
		v3   http.HandlerFunc
		want core.Reason
		// state is ReplacementRefuses for an HTTP status that is a failure, and otherwise ReplacementBroken.
		state  query.ReplacementState
		status int    // in the error
		text   string // in the error
	}{
		"500": {
			v3:     answering(500, ""),
			want:   core.Unreachable,
			state:  query.ReplacementRefuses,
			status: 500,
			text:   "answered with status 500",
		},
		"404": {
			v3:     http.NotFound,
			want:   core.Rejected,
			state:  query.ReplacementRefuses,
			status: 404,
			text:   "answered with status 404",
		},
		"an error code": {
			v3:    answering(200, `{"status":{"error_code":1002}}`),
			want:  core.Denied,
			state: query.ReplacementBroken,
			text:  "error code 1002",
		},
		"HTML": {
			v3:    answering(200, "<html>"),
			want:  core.Malformed,
			state: query.ReplacementBroken,
			text:  "HTML",
		},
		"a broken connection": {
			v3:    resttest.Reset(""),
			want:  core.Unreachable,
			state: query.ReplacementBroken,
			text:  "connection",
		},
	} {
		url := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/") {
				http.NotFound(w, r)
				return
			}
			test.v3(w, r)
		})
		_, err := newClient(market.Settings{URL: url, TokenBy: "id", Token: "42", Symbol: "hrd"}).Probe(t.Context())
		resttest.WantReason(t, err, market.Service, test.want)
		gone, is := errors.AsType[*market.V1GoneError](err)
		if !is || gone.State != test.state || gone.Status != test.status {
			t.Errorf("%s: got %+v, want state %v and status %d", name, gone, test.state, test.status)
		}
		if !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), both) {
			t.Errorf("%s: got %v, want %s", name, err, test.text)
		}
	}
}

func TestBothVersionsGiveTheSameQuote(t *testing.T) {
	const numbers = `"price":1.5,"volume_24h":5,"market_cap":3e20,` +
		`"percent_change_1h":2500000000,"percent_change_24h":-50`
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
		q, err := fetchQuote(t.Context(), market.Settings{URL: url, TokenBy: "id", Token: "42", Symbol: "hrd"})
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

func TestVersion1IsRequestedAgainAfterAnHour(t *testing.T) {
	v1Asks := 0
	gone := quoteFault(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			return false
		}
		v1Asks++
		return status(404, "")(w, r)
	})
	p := &provider{plan: 15_000, resets: time.Hour}
	p.fault.Store(&gone)
	inBubble(t, p, func(t *testing.T, c *market.Client) {
		for _, step := range []struct {
			wait time.Duration
			want int // requests of version 1 so far
		}{
			{0, 1},
			{time.Hour - time.Second, 1},
			{time.Second, 2},
			{time.Second, 2},
		} {
			time.Sleep(step.wait)
			if _, err := c.Probe(t.Context()); err != nil || v1Asks != step.want {
				t.Errorf("after %v: version 1 requested %d times, want %d; %v", step.wait, v1Asks, step.want, err)
			}
		}
		if n := strings.Count(p.log.String(), v1Ended); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}
