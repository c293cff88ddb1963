package market_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/rest/resttest"
)

func TestErrorCodeDecidesAtAnyStatus(t *testing.T) {
	for code, want := range map[string]core.Reason{
		"1001": core.Denied, `"1001"`: core.Denied, "1002": core.Denied, "1007": core.Denied, "1008": core.Limited,
		"1009": core.UsedUp, `"1010"`: core.UsedUp, "1011": core.Limited,
	} {
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
		{200, `{"status":{"error_code":400}}`, core.Rejected},
		{400, `{"status":{"error_code":0},"data":{"42":` + entry + `}}`, core.Rejected},
		{500, `{"status":{"error_code":500}}`, core.Unreachable},
		{429, `{"status":{}}`, core.Limited},
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
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", asked)
			w.WriteHeader(429)
			io.WriteString(w, `{"status":{"error_code":1008}}`)
		}))
		_, err := quote(t.Context(), market.Settings{URL: server.URL, By: "id", Token: "42", Symbol: "hrd"}, time.Minute)
		if failed := resttest.WantReason(t, err, market.Service, core.Limited); failed.RetryAfter != want {
			t.Errorf("asked for %q: retry after %v, want %v", asked, failed.RetryAfter, want)
		}
		server.Close()
	}
}
