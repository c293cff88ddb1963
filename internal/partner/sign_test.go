package partner_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/partner"
)

// The signatures were made by
//
//	printf '%s' 1700000000123POST<path><inner> | openssl dgst -sha256 -hmac topsecret -binary | base64
func TestRequestIsSignedAsSent(t *testing.T) {
	for name, c := range map[string]struct {
		prefix string
		ask    func(*partner.Client)
		path   string
		inner  string
		sign   string
	}{
		"existence": {
			ask:   func(c *partner.Client) { c.Accounts.Ask(t.Context(), ann) },
			path:  "/api/v1/partner/user/exists",
			inner: `{"platform":"Telegram","platform_uid":"1234567890"}`,
			sign:  "3GXXgga87H2AOclc7RmslcH5VOxlzLVQKAO8JVEfFAc=",
		},
		"logins, below a prefix, with HTML characters": {
			prefix: "/gate",
			ask:    func(c *partner.Client) { c.Logins.Ask(t.Context(), "did:x:a<b>&c") },
			path:   "/gate/api/v1/partner/user/dapps/login/log",
			inner:  `{"did":"did:x:a<b>&c"}`,
			sign:   "Hbb+3Tx04S/OpTrZWxH8rWbljHUEpvwfDAVJbsWLe/Q=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
			}))
			defer server.Close()
			client := newClient(partner.Settings{
				URL: server.URL + c.prefix, AppID: "app", SecretKey: config.NewSecret("topsecret"),
			}, time.Minute)
			client.SetClock(func() time.Time { return time.UnixMilli(1700000000123) })
			c.ask(client)
			var sent map[string]string
			if err := json.Unmarshal(body, &sent); err != nil || len(sent) != 1 || sent["requestBody"] != c.inner {
				t.Errorf("the body was %s, %v; want a requestBody of %s", body, err, c.inner)
			}
			if strings.Contains(string(body), `\u00`) {
				t.Errorf("the body escapes HTML: %s", body)
			}
			if got.Method != "POST" || got.URL.Path != c.path {
				t.Errorf("got %s %s", got.Method, got.URL.Path)
			}
			for header, want := range map[string]string{
				"Content-Type": "application/json", "appid": "app", "timestamp": "1700000000123", "sign": c.sign,
			} {
				if got.Header.Get(header) != want {
					t.Errorf("%s was %q, want %q", header, got.Header.Get(header), want)
				}
			}
		})
	}
}

func TestSignatureDoesNotReachTheError(t *testing.T) {
	var sign string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sign = r.Header.Get("sign")
		json.NewEncoder(w).Encode(map[string]string{"code": sign, "message": sign})
	}))
	defer server.Close()
	_, err := newClient(partner.Settings{URL: server.URL}, time.Minute).Accounts.Ask(t.Context(), ann)
	wantReason(t, err, core.Rejected)
	if sign == "" || strings.Contains(err.Error(), sign) {
		t.Errorf("sign is %q, the error %v", sign, err)
	}
}
