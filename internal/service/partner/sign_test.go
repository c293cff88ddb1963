package partner_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"herald/internal/secret"
	"herald/internal/service/partner"
)

// The signatures were made by
//
//	printf '%s' 1700000000123POST<path><inner> | openssl dgst -sha256 -hmac topsecret -binary | base64
func TestRequestIsSignedAsSent(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	for prefix, c := range map[string]struct {
		ask               func(*partner.Client)
		path, inner, sign string
	}{
		"": {
			ask:   func(c *partner.Client) { c.Accounts.Fetch(t.Context(), ann) },
			path:  "/api/v1/partner/user/exists",
			inner: `{"platform":"Telegram","platform_uid":"1234567890"}`,
			sign:  "3GXXgga87H2AOclc7RmslcH5VOxlzLVQKAO8JVEfFAc=",
		},
		"/gate": { // with HTML characters
			ask:   func(c *partner.Client) { c.Logins.Fetch(t.Context(), "did:x:a<b>&c") },
			path:  "/gate/api/v1/partner/user/dapps/login/log",
			inner: `{"did":"did:x:a<b>&c"}`,
			sign:  "Hbb+3Tx04S/OpTrZWxH8rWbljHUEpvwfDAVJbsWLe/Q=",
		},
	} {
		client := newClient(partner.Settings{URL: server.URL + prefix, AppID: "app", SecretKey: secret.New("topsecret")}, time.Minute)
		client.SetClock(func() time.Time { return time.UnixMilli(1700000000123) })
		c.ask(client)
		if want := `{"requestBody":` + strconv.Quote(c.inner) + `}`; string(body) != want || got.Method != "POST" || got.URL.Path != c.path {
			t.Errorf("got %s %s of %s, want %s", got.Method, got.URL.Path, body, want)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/json", "appid": "app", "timestamp": "1700000000123", "sign": c.sign,
		} {
			if got.Header.Get(header) != want {
				t.Errorf("%s was %q, want %q", header, got.Header.Get(header), want)
			}
		}
	}
}
