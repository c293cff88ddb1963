package market

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/core"
)

func TestAUsedUpPlanIsAskedForWhenItMayBeReset(t *testing.T) {
	for _, c := range []struct {
		code int
		now  string
		want time.Duration
	}{
		{1009, "2026-11-20T23:59:00Z", time.Minute},
		{1009, "2026-11-20T12:00:00Z", time.Hour},
		{1010, "2026-12-31T23:59:59Z", time.Hour},
	} {
		now, _ := time.Parse(time.RFC3339, c.now)
		_, refused, _ := parseAnswer(fmt.Appendf(nil, `{"status":{"error_code":%d}}`, c.code), now)
		if refused.RetryAfter != c.want || refused.Reason != core.UsedUp {
			t.Errorf("%d at %s: %s, retry after %v, want %v", c.code, c.now, refused.Reason, refused.RetryAfter, c.want)
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
		data, refused, err := parseAnswer(body, now)
		if err != nil || refused != nil {
			return
		}
		found, err := Settings{By: "id", Token: "42", Symbol: "HRD"}.listing(data, now)
		q := found.Quote
		if err == nil && (!q.Price.IsPositive() || q.MarketCap.Valid && !q.MarketCap.Decimal.IsPositive() || q.Volume24h.Decimal.IsNegative()) {
			t.Fatalf("%q is taken for %+v", body, q)
		}
	})
}
