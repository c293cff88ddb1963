package discord

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"herald/internal/discord/gateway"
)

// respond makes Discord's REST answer every call as given.
func respond(t *testing.T, answer http.HandlerFunc) *harness {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return prepare(t, func(_ *harness, c *Config) { c.APIURL = server.URL })
}

// discordgo's limiter would fail on the first two of these, and sleep on the
// next call after the third.
func TestRateLimitHeadersOfASuccessDoNothing(t *testing.T) {
	for name, headers := range map[string]map[string]string{
		"global":         {"X-RateLimit-Global": "true", "X-RateLimit-Reset-After": "3600"},
		"malformed":      {"X-RateLimit-Reset-After": "soon", "X-RateLimit-Remaining": "few"},
		"nothing left":   {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "3600"},
		"another status": {"Status": "202"},
	} {
		t.Run(name, func(t *testing.T) {
			h := respond(t, func(w http.ResponseWriter, r *http.Request) {
				for name, value := range headers {
					w.Header().Set(name, value)
				}
				if headers["Status"] != "" {
					w.WriteHeader(http.StatusAccepted)
				}
				fmt.Fprint(w, `{"id":"42"}`)
			})
			began := time.Now()
			for range 3 {
				if app, err := h.askApplication(h.ctx); app.ID != "42" || err != nil {
					t.Fatalf("%+v, %v", app, err)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("three calls took %v", took)
			}
		})
	}
}

func TestARefusalHoldsNothingOfTheServer(t *testing.T) {
	const secret = "textoftheserver"
	for status, body := range map[int]string{
		400: `{"code":50035,"message":"` + secret + `"}`, 401: secret, 403: "<html>" + secret, 429: `{"message":"` + secret + `","retry_after":1.5}`,
		302: secret, 500: secret, 502: `"` + secret + `"`, 200: secret,
	} {
		h := respond(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://"+secret+".example")
			w.Header().Set("Retry-After", "1.5")
			w.Header().Set("X-RateLimit-Reset-After", secret)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
		err := h.call(h.ctx, callTime, http.MethodGet, "https://discord.com/api/v9/webhooks/1/interactiontoken", nil, &struct{}{})
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "interactiontoken") {
			t.Errorf("status %d: %v", status, err)
		}
		if again, atLeast := retryable(err); again != (status == 429 || status >= 500 || status == 200 || status == 302) ||
			status == 429 && atLeast != 1500*time.Millisecond {
			t.Errorf("status %d: again %v, after %v", status, again, atLeast)
		}
		if (err == gateway.ErrToken) != (status == 401) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestTheTokenIsSentAndNotPrinted(t *testing.T) {
	var sent string
	h := respond(t, func(_ http.ResponseWriter, r *http.Request) { sent = r.Header.Get("Authorization") })
	_, _ = h.askApplication(h.ctx)
	if sent != "Bot "+h.fake.Token {
		t.Errorf("sent %q", sent)
	}
	for _, v := range []any{h.Adapter, h.Config, h.Settings, h.rest, h.rest.Token, h.rest.Identify, h.rest.Client.Transport, h.gateway, h.gateway.Config} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, h.fake.Token) {
				t.Errorf("%s of a %T holds the token", verb, v)
			}
		}
	}
}

func TestARefusedTokenEndsRunAndCheck(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		h := respond(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		if byHTTP {
			h.PublicKey = h.fake.PublicKey
		}
		if err := h.Run(h.ctx, h.handler); err != gateway.ErrToken {
			t.Errorf("Run: %v", err)
		}
		if _, err := h.Check(h.ctx); err != gateway.ErrToken {
			t.Errorf("Check: %v", err)
		}
	}
}

func TestACommandTimeoutThatDiscordCannotServeIsRefused(t *testing.T) {
	if _, err := New(Config{CommandTimeout: tokenLife}); err == nil || !strings.HasPrefix(err.Error(), "COMMAND_TIMEOUT: ") {
		t.Error(err)
	}
}
