package partner_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/partner"
	"herald/internal/rest/resttest"
)

const did = "did:herald:0xAb12"

var (
	ann = core.Identity{Platform: "Telegram", UID: "1234567890"}
	now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// newClient makes a client whose calls take at most timeout.
func newClient(s partner.Settings, timeout time.Duration) *partner.Client {
	return partner.New(s, core.NewCache(core.CacheConfig{CallTimeout: timeout}))
}

// said makes a client of a service whose only answer is that.
func said(t *testing.T, status int, body string) *partner.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	c := newClient(partner.Settings{
		URL: server.URL, AppID: "app", SecretKey: config.NewSecret("topsecret"), NotFoundCodes: []string{"", "404", "NO_USER"},
	}, time.Minute)
	c.SetClock(func() time.Time { return now })
	return c
}

func wantReason(t *testing.T, err error, want core.Reason) {
	t.Helper()
	var failure *core.Error
	if !errors.As(err, &failure) || failure.Service != partner.Service || failure.Reason != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err != nil {
		resttest.NoLeak(t, err, did, ann.UID, "NO_USER", "1234567")
	}
}

func TestRegisteredAccountHasItsDID(t *testing.T) {
	for _, body := range []string{
		`{"code":0,"data":{"did":"` + did + `","mid":"0x1"},"message":"ok"}`,
		`{"code":0,"data":{"did":"` + did + `"}}`,
	} {
		got, err := said(t, 200, body).Accounts.Ask(t.Context(), ann)
		if err != nil || got.DID != did {
			t.Errorf("%s: got %v, %v", body, got, err)
		}
	}
}

func TestOnlyWhatTheContractNamesIsNotRegistered(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
	}{
		{200, `{"code":0,"data":null}`},
		{200, `{"code":0}`},
		{200, `{"code":0,"data":{}}`},
		{200, `{"code":0,"data":{"mid":"0x1"}}`},
		{200, `{"code":0,"data":{"did":""}}`},
		{200, `{"code":0,"data":{"did":null}}`},
		{200, `{"code":404,"data":{"did":"` + did + `"}}`},
		{200, `{"code":"404"}`},
		{200, `{"code":"NO_USER"}`},
		{404, `{"code":404}`},
		{400, `{"code":"NO_USER","message":"no such user"}`},
	} {
		got, err := said(t, c.status, c.body).Accounts.Ask(t.Context(), ann)
		if err != nil || got.Registered() {
			t.Errorf("%d %s: got %v, %v", c.status, c.body, got, err)
		}
	}
}

func TestAnythingElseIsAnError(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   core.Reason
	}{
		{200, `{"code":1}`, core.Rejected},
		{200, `{"code":-1,"data":null}`, core.Rejected},
		{200, `{"code":"ERROR: ` + did + `"}`, core.Rejected},
		{200, `{"code":1234567890}`, core.Rejected},
		{200, `{"code":0.5}`, core.Rejected},
		{200, `{"code":"00"}`, core.Rejected},
		{200, `{"code":40}`, core.Rejected},
		{404, `{"code":0,"data":null}`, core.Rejected},
		{404, `{"code":0,"data":{"did":"` + did + `"}}`, core.Rejected},
		{404, `<html>404</html>`, core.Rejected},
		{404, `404`, core.Rejected},
		{401, `{"code":404}`, core.Denied},
		{403, `{"code":404}`, core.Denied},
		{429, `{"code":404}`, core.Limited},
		{500, `{"code":404}`, core.Unreachable},
		{200, `{"data":null}`, core.Malformed},
		{200, `{"code":null}`, core.Malformed},
		{200, `{"code":false,"data":null}`, core.Malformed},
		{200, `{"code":"0","data":null}`, core.Malformed},
		{200, `{"code":"0","data":{"did":"` + did + `"}}`, core.Malformed},
		{200, `{"code":"","data":null}`, core.Malformed},
		{200, `{"Code":0,"data":null}`, core.Malformed},
		{200, `{"code":0,"code":404}`, core.Malformed},
		{200, `null`, core.Malformed},
		{200, `[{"code":0}]`, core.Malformed},
		{200, `{"code":0,"data":[]}`, core.Malformed},
		{200, `{"code":0,"data":""}`, core.Malformed},
		{200, `{"code":0,"data":0}`, core.Malformed},
		{200, `{"code":0,"data":false}`, core.Malformed},
		{200, `{"code":0,"data":{"did":1234567}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":false}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":{}}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"1234567"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"did:herald:"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"did::0xAb12"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"DID:herald:0xAb12"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"did:herald:0x Ab12"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"` + did + `\n"}}`, core.Malformed},
		{200, `{"code":0,"data":{"did":"did:herald:` + strings.Repeat("1", 300) + `"}}`, core.Malformed},
	} {
		got, err := said(t, c.status, c.body).Accounts.Ask(t.Context(), ann)
		wantReason(t, err, c.want)
		if err == nil || got.Registered() {
			t.Errorf("%d %s: got %v, %v", c.status, c.body, got, err)
		}
	}
}

func TestLoginsOfThePastThirtyDaysNewestFirst(t *testing.T) {
	got, err := said(t, 200, `{"code":0,"data":[
		{"dapp_name":"Swap","login_platform":"EVM","login_time":1795175999},
		{"dapp_name":"","login_platform":"","login_time":"1795176001"},
		{"dapp_name":"Old","login_platform":"TON","login_time":1792583999},
		{"dapp_name":"Oldest","login_platform":"TON","login_time":1792584000}
	]}`).Logins.Ask(t.Context(), did)
	want := []core.Login{
		{At: now.Add(time.Second)},
		{Dapp: "Swap", Platform: "EVM", At: now.Add(-time.Second)},
		{Dapp: "Oldest", Platform: "TON", At: now.Add(-30 * 24 * time.Hour)},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestEmptyListIsNoLogins(t *testing.T) {
	got, err := said(t, 200, `{"code":0,"data":[]}`).Logins.Ask(t.Context(), did)
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWhatIsNoListOfLoginsIsAnError(t *testing.T) {
	for data, want := range map[string]core.Reason{
		`null`: core.Malformed, `{}`: core.Malformed, `""`: core.Malformed, `0`: core.Malformed,
		`[null]`: core.Malformed, `[[]]`: core.Malformed, `[{}]`: core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM"}]`:                                         core.Malformed,
		`[{"dapp_name":"D","login_time":1795175999}]`:                                        core.Malformed,
		`[{"dapp_name":null,"login_platform":"EVM","login_time":1795175999}]`:                core.Malformed,
		`[{"dapp_name":5,"login_platform":"EVM","login_time":1795175999}]`:                   core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":null}]`:                       core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":0}]`:                          core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":-1795175999}]`:                core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":29919600}]`:                   core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795175999000}]`:              core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795179601}]`:                 core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":9223372036854775807}]`:        core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1e400}]`:                      core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795175999.5}]`:               core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":"2026-11-20T12:00:00Z"}]`:     core.Malformed,
		`[{"dapp_name":"D","login_platform":"EVM","login_time":1795175999},{"dapp_name":1}]`: core.Malformed,
	} {
		got, err := said(t, 200, `{"code":0,"data":`+data+`}`).Logins.Ask(t.Context(), did)
		wantReason(t, err, want)
		if err == nil {
			t.Errorf("%s: got %v", data, got)
		}
	}
	_, err := said(t, 200, `{"code":0}`).Logins.Ask(t.Context(), did)
	wantReason(t, err, core.Malformed)
	_, err = said(t, 404, `{"code":404}`).Logins.Ask(t.Context(), did)
	wantReason(t, err, core.Rejected)
}

func TestNobodyIsNotAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") }))
	defer server.Close()
	c := newClient(partner.Settings{URL: server.URL}, time.Minute)
	_, err := c.Accounts.Ask(t.Context(), core.Identity{Platform: "Telegram"})
	wantReason(t, err, core.Rejected)
	_, err = c.Accounts.Ask(t.Context(), core.Identity{UID: ann.UID})
	wantReason(t, err, core.Rejected)
	_, err = c.Logins.Ask(t.Context(), "")
	wantReason(t, err, core.Rejected)
}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	const app, secret = "4pp-id", "t0psecret"
	source := func(ask func(context.Context, *partner.Client) error) resttest.Client {
		return func(ctx context.Context, baseURL string, timeout time.Duration) error {
			return ask(ctx, newClient(partner.Settings{
				URL: baseURL + "/pr3f1x", AppID: app, SecretKey: config.NewSecret(secret),
			}, timeout))
		}
	}
	secrets := []string{app, secret, did, ann.UID, "pr3f1x", "/api", "requestBody"}
	t.Run("account", func(t *testing.T) {
		resttest.Check(t, source(func(ctx context.Context, c *partner.Client) error {
			_, err := c.Accounts.Ask(ctx, ann)
			return err
		}), secrets...)
	})
	t.Run("logins", func(t *testing.T) {
		resttest.Check(t, source(func(ctx context.Context, c *partner.Client) error {
			_, err := c.Logins.Ask(ctx, did)
			return err
		}), secrets...)
	})
}
