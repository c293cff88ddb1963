package market

import (
	"fmt"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/query"
)

const noon = "2026-11-20T12:00:00Z"

// errorCodes are the provider's error codes, with the reason and the wait that they stand for at a time.
var errorCodes = []struct {
	codes      []int
	at         string
	want       core.Reason
	retryAfter time.Duration
}{
	{
		codes: []int{1, 404, 600, 1000, 1012},
		at:    noon,
		want:  core.Rejected,
	},
	{
		codes:      []int{400},
		at:         noon,
		want:       core.Rejected,
		retryAfter: time.Minute,
	},
	{
		codes:      []int{401, 403, 1001, 1002, 1007},
		at:         noon,
		want:       core.Denied,
		retryAfter: time.Minute,
	},
	{
		codes:      []int{429, 1008, 1011},
		at:         noon,
		want:       core.Limited,
		retryAfter: time.Minute,
	},
	{
		codes: []int{500, 502, 599},
		at:    noon,
		want:  core.Unreachable,
	},
	{
		codes:      []int{1009, 1010},
		at:         noon,
		want:       core.UsedUp,
		retryAfter: time.Hour,
	},
	{
		codes:      []int{1009}, // the day's credits, which come back at midnight
		at:         "2026-11-20T23:59:00Z",
		want:       core.UsedUp,
		retryAfter: time.Minute,
	},
	{
		codes:      []int{1010},
		at:         "2026-12-31T23:59:59Z",
		want:       core.UsedUp,
		retryAfter: time.Hour,
	},
}

func TestErrorCodesHaveReasonsAndWaits(t *testing.T) {
	for _, test := range errorCodes {
		now, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range test.codes {
			_, refused := parseAnswer(fmt.Appendf(nil, `{"status":{"error_code":%d}}`, code), now)
			if refused.Reason != test.want || refused.RetryAfter != test.retryAfter {
				t.Errorf("%d at %s: %s, retry after %v; want %s, %v",
					code, test.at, refused.Reason, refused.RetryAfter, test.want, test.retryAfter)
			}
		}
	}
}

func TestALoadedPriceIsChecked(t *testing.T) {
	c := New(Settings{}, query.NewCache(query.CacheConfig{CallTimeout: time.Minute}), nil)
	if c.Price.Check(&core.Quote{}) == nil || c.Price.Check(nil) == nil {
		t.Error("a price of 0, or none, passes the check")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"status":{"error_code":0},"data":{"42":{"id":42,"symbol":"HRD",` +
			`"quote":{"USD":{"price":1.5,"market_cap":null}}}}}`,
		`{"status":{"error_code":"0"},"data":{"HRD":[{"id":42,"symbol":"HRD",` +
			`"quote":{"USD":{"price":1e-5,"last_updated":"2026-11-20T12:00:00Z"}}}]}}`,
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
		found, err := Settings{TokenBy: "id", Token: "42", Symbol: "HRD"}.listing(data, now)
		if err != nil {
			return
		}
		q := found.Quote
		if !q.Price.IsPositive() ||
			q.MarketCap.Valid && !q.MarketCap.Decimal.IsPositive() ||
			q.Volume24h.Decimal.IsNegative() {
			t.Fatalf("%q is taken for %+v", body, q)
		}
	})
}

func TestASymbolIsWrittenFromLeftToRight(t *testing.T) {
	for text, isAllowed := range map[string]bool{
		"HRD":        true,
		"Ж":          true,
		"元":          true,
		"\u05d0":     false, // Hebrew
		"\u0628":     false, // Arabic
		"\u0710":     false, // Syriac
		"\u0800":     false, // Samaritan
		"\u0840":     false, // Mandaic
		"A\u07ca":    false, // Nko
		"\U00010d00": false, // Hanifi Rohingya
		"\U00010e80": false, // Yezidi
		"\U0001e800": false, // Mende Kikakui
		"\U0001e900": false, // Adlam
	} {
		if _, err := symbol(text); (err == nil) != isAllowed {
			t.Errorf("symbol %+q: %v", text, err)
		}
	}
}
