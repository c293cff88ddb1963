package market

import (
	"testing"
	"time"
)

func TestDayAndMonthLimitsLastUntilTheirReset(t *testing.T) {
	for _, c := range []struct {
		code int
		now  string
		want time.Duration
	}{
		{1009, "2026-11-20T23:59:00Z", time.Minute},
		{1009, "2026-12-31T00:00:00Z", 24 * time.Hour},
		{1009, "2026-11-20T01:00:00+02:00", time.Hour},
		{1010, "2026-11-30T23:00:00Z", time.Hour},
		{1010, "2026-12-31T23:59:59Z", time.Second},
		{1010, "2027-02-01T00:00:00Z", 28 * 24 * time.Hour},
		{1011, "2026-11-20T12:00:00Z", 0},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := codeError(c.code, now).RetryAfter; got != c.want {
			t.Errorf("%d at %s: retry after %v, want %v", c.code, c.now, got, c.want)
		}
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
		q, err := token{"id", "42", "HRD"}.parse(body, now)
		if err == nil && (!q.Price.IsPositive() || q.MarketCap.Valid && !q.MarketCap.Decimal.IsPositive() || q.Volume24h.Decimal.IsNegative()) {
			t.Fatalf("%q is taken for %+v", body, q)
		}
	})
}
