package market

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/service/rest"
)

func TestDayAndMonthLimitsLastUntilTheirResetByTheProvidersClock(t *testing.T) {
	for _, c := range []struct {
		code int
		now  string
		want time.Duration
	}{
		{1009, "2026-11-20T23:59:00Z", time.Minute},
		{1009, "2026-11-20T01:00:00+02:00", time.Hour},
		{1010, "2026-12-31T23:59:59Z", time.Second},
		{1010, "2027-02-01T00:00:00Z", 28 * 24 * time.Hour},
		{1010, "2026-12-01T00:00:00Z", 31 * 24 * time.Hour},
	} {
		now, _ := time.Parse(time.RFC3339, c.now)
		_, told, err := parseStatus(fmt.Appendf(nil, `{"status":{"timestamp":%q,"error_code":%d}}`, c.now, c.code))
		if err != nil {
			t.Fatal(err)
		}
		here, there := (status{code: c.code}).err(now, 0), told.err(now.AddDate(1, 5, 11), 0)
		if here.RetryAfter != c.want || there.RetryAfter != c.want || here.Reason != core.UsedUp {
			t.Errorf("%d at %s: %s, retry after %v by this machine's clock, %v by the provider's, want %v",
				c.code, c.now, here.Reason, here.RetryAfter, there.RetryAfter, c.want)
		}
	}
}

func TestMinuteLimitWaitsAMinuteOrAsLongAsIsAsked(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: time.Minute, 5 * time.Minute: 5 * time.Minute} {
		refusal := &core.Error{Service: Service, Reason: core.Limited, RetryAfter: asked}
		err := (&Client{}).refused(&rest.Response{Body: []byte(`{"status":{"error_code":1008}}`)}, refusal)
		if got, _ := errors.AsType[*core.Error](err); got.RetryAfter != want || got.Reason != core.Limited {
			t.Errorf("asked for %v: retry after %v, want %v", asked, got.RetryAfter, want)
		}
	}
}

func TestALimitOfTheAddressIsWaitedForLongerEachTime(t *testing.T) {
	c := &Client{}
	for _, want := range []time.Duration{1, 2, 4, 8} {
		if got := c.limited(status{code: 1011}); got.RetryAfter != want*time.Minute || got.Reason != core.Limited {
			t.Errorf("%s, retry after %v, want %v", got.Reason, got.RetryAfter, want*time.Minute)
		}
	}
	for range 1000 {
		if got := c.limited(status{code: 1011}); got.RetryAfter <= 8*time.Minute {
			t.Fatalf("retry after %v", got.RetryAfter)
		}
	}
	c.limited(status{code: 1008})
	if got := c.limited(status{code: 1011}); got.RetryAfter != time.Minute {
		t.Errorf("after another answer, retry after %v", got.RetryAfter)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"status":{"error_code":0},"data":{"42":{"id":42,"symbol":"HRD","quote":{"USD":{"price":1.5,"market_cap":null}}}}}`,
		`{"status":{"error_code":"0"},"data":{"HRD":[{"id":42,"symbol":"HRD","quote":{"USD":{"price":1e-5,"last_updated":"2026-11-20T12:00:00Z"}}}]}}`,
		`{"status":{"error_code":1008},"data":[]}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, told, err := parseStatus(body)
		if err != nil || told.code != 0 {
			return
		}
		found, err := token{"id", "42", "HRD"}.parse(answer["data"], now)
		q := found.Quote
		if err == nil && (!q.Price.IsPositive() || q.MarketCap.Valid && !q.MarketCap.Decimal.IsPositive() || q.Volume24h.Decimal.IsNegative()) {
			t.Fatalf("%q is taken for %+v", body, q)
		}
	})
}
