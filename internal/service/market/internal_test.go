package market

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/query"
)

func TestWhatAnErrorCodeMeans(t *testing.T) {
	const noon = "2026-11-20T12:00:00Z"
	for _, c := range []struct {
		now   string
		want  core.Reason
		retry time.Duration
		codes []int
	}{
		{noon, core.Rejected, 0, []int{1, 404, 600, 1000, 1012}},
		{noon, core.Rejected, time.Minute, []int{400}},
		{noon, core.Denied, time.Minute, []int{401, 403, 1001, 1002, 1007}},
		{noon, core.Limited, time.Minute, []int{429, 1008, 1011}},
		{noon, core.Unreachable, 0, []int{500, 502, 599}},
		{noon, core.UsedUp, time.Hour, []int{1009, 1010}},
		{"2026-11-20T23:59:00Z", core.UsedUp, time.Minute, []int{1009}},
		{"2026-12-31T23:59:59Z", core.UsedUp, time.Hour, []int{1010}},
	} {
		now, _ := time.Parse(time.RFC3339, c.now)
		for _, code := range c.codes {
			_, refused := parseAnswer(fmt.Appendf(nil, `{"status":{"error_code":%d}}`, code), now)
			if refused.Reason != c.want || refused.RetryAfter != c.retry {
				t.Errorf("%d at %s: %s, retry after %v, want %s, %v", code, c.now, refused.Reason, refused.RetryAfter, c.want, c.retry)
			}
		}
	}
}

func TestALoadedPriceIsChecked(t *testing.T) {
	c := New(Settings{}, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}), nil)
	if c.Price.Check(&core.Quote{}) == nil || c.Price.Check(nil) == nil {
		t.Error("a price of 0 is possible")
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
		data, refused := parseAnswer(body, now)
		if refused != nil {
			return
		}
		found, err := Settings{By: "id", Token: "42", Symbol: "HRD"}.listing(data, now)
		q := found.Quote
		if err == nil && (!q.Price.IsPositive() || q.MarketCap.Valid && !q.MarketCap.Decimal.IsPositive() || q.Volume24h.Decimal.IsNegative()) {
			t.Fatalf("%q is taken for %+v", body, q)
		}
	})
}
