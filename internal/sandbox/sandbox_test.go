package sandbox_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"herald/internal/core"
	"herald/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// response is what came back of one HTTP call.
type response struct {
	status int
	header http.Header
	body   string
}

func send(ctx context.Context, method, url string, header http.Header, body string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header = header
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return response{resp.StatusCode, resp.Header, string(text)}, err
}

const (
	existsPath = "/api/v1/partner/user/exists"
	loginsPath = "/api/v1/partner/user/dapps/login/log"
)

// signature is the interface's own recipe.
func signature(secret, timestamp, path, inner string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte("POST"))
	mac.Write([]byte(path))
	mac.Write([]byte(inner))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// partnerCall is a call of the partner API that a test can spoil.
type partnerCall struct {
	path, appID, secret, timestamp string
	signed, sent                   string
	header                         http.Header
}

func newPartnerCall(s *sandbox.Sandbox, path, inner string) partnerCall {
	return partnerCall{path: path, appID: s.AppID, secret: s.SecretKey,
		timestamp: strconv.FormatInt(time.Now().UnixMilli(), 10), signed: inner, sent: inner,
		header: http.Header{"Content-Type": {"application/json"}}}
}

func (c partnerCall) send(ctx context.Context, s *sandbox.Sandbox) (response, error) {
	body, err := json.Marshal(map[string]string{"requestBody": c.sent})
	if err != nil {
		return response{}, err
	}
	c.header.Set("appid", c.appID)
	c.header.Set("timestamp", c.timestamp)
	c.header.Set("sign", signature(c.secret, c.timestamp, c.path, c.signed))
	return send(ctx, http.MethodPost, s.Partner.URL()+c.path, c.header, string(body))
}

func TestServicesAreFoundByTheirNames(t *testing.T) {
	s := start(t)
	for name, want := range map[core.Service]*sandbox.Service{
		core.Partner: s.Partner, core.Price: s.Price, core.TokenSupply: s.Supply, core.Chain: s.Chain, "other": nil,
	} {
		if got := s.Service(name); got != want {
			t.Errorf("the service named %q is not the one of that field", name)
		}
	}
}

func TestWorldIsPossible(t *testing.T) {
	w := start(t).World
	if len(w.Pools) != 21 {
		t.Errorf("%d pools, want 21", len(w.Pools))
	}
	if !w.Supply.Circulating.LessThan(w.Supply.Total) {
		t.Error("more tokens circulate than exist")
	}
	for i, login := range w.Logins {
		if age := time.Since(login.At); age < 0 || age > 30*24*time.Hour {
			t.Errorf("login %d is %v old, outside of the past 30 days", i, age)
		}
		if i > 0 && login.At.After(w.Logins[i-1].At) {
			t.Errorf("login %d is newer than the one before it", i)
		}
	}
	for _, person := range []sandbox.Person{w.Registered, w.Newcomer, w.Unregistered} {
		for _, account := range person.Accounts {
			if _, err := core.NewIdentity(account.Platform, account.UID); err != nil {
				t.Errorf("%s account: %v", account.Platform, err)
			}
		}
		if person.UID("Telegram") == "" || person.UID("Discord") == "" {
			t.Error("a person lacks an account on a chat platform")
		}
	}
}

func TestSecretsDifferFromStartToStart(t *testing.T) {
	a, b := start(t), start(t)
	if a.SecretKey == b.SecretKey || a.PriceKey == b.PriceKey {
		t.Error("two sandboxes share a secret")
	}
}

func TestCloseFreesThePort(t *testing.T) {
	s, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), http.MethodGet, s.Supply.URL()+"/total-supply", nil, ""); err == nil {
		t.Error("the supply host still answers")
	}
}
