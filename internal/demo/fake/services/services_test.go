package services

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// ask makes one request, in memory.
func ask(h http.Handler, method, path string, header http.Header, body string) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestTheWorldIsPossible(t *testing.T) {
	w := New().World
	for i, login := range w.Logins {
		age := time.Since(login.At)
		if age < 0 || age > 30*24*time.Hour || i > 0 && login.At.After(w.Logins[i-1].At) {
			t.Errorf("login %d is %v old, or newer than the one before it", i, age)
		}
	}
	for _, account := range slices.Concat(w.Registered.Accounts, w.Newcomer.Accounts, w.Unregistered.Accounts) {
		if _, err := core.NewIdentity(account.Platform, account.UID); err != nil {
			t.Errorf("%s account: %v", account.Platform, err)
		}
	}
	past := w.Past()
	day := slices.IndexFunc(past, func(q core.Quote) bool { return q.LastUpdated.Equal(w.Quote.LastUpdated.Add(-24 * time.Hour)) })
	change := w.Quote.Price.Div(past[day].Price).Sub(decimal.NewFromInt(1)).Shift(2)
	if change.Sub(w.Quote.Change24h.Decimal).Abs().GreaterThan(decimal.RequireFromString("0.001")) {
		t.Errorf("in a day it changed by %s %%", change)
	}
}

func TestAServiceFailsWhenItIsTold(t *testing.T) {
	s := New()
	for fault, want := range map[string]string{
		"down": "503 Service Unavailable\n", "nonsense": "200 <html><title>Welcome", "": `200 {"status":{"error_co`,
	} {
		err := s.Price.Fail(fault)
		status, body := ask(s.Price, "GET", "/v1/cryptocurrency/quotes/latest?id="+TokenID, http.Header{}, "")
		if got := fmt.Sprintf("%d %.20s", status, body); err != nil || got != want || s.Price.Fault() != fault {
			t.Errorf("%q: %s, %v", fault, got, err)
		}
	}
	if s.Supply.Fail("tired") == nil || s.Supply.Fault() != "" {
		t.Error("an unknown fault is taken")
	}
}

// partnerCall is a call of the partner API.
type partnerCall struct {
	path, app, secret, timestamp, kind string
	signed, sent                       string // what the signature covers, and what is sent
}

func (c partnerCall) make(s *Fakes) (status int, answer string) {
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write([]byte(c.timestamp + "POST" + c.path + c.signed))
	body, _ := json.Marshal(map[string]string{"requestBody": c.sent})
	return ask(s.Partner.Handler, "POST", c.path, http.Header{
		"Content-Type": {c.kind}, "Appid": {c.app}, "Timestamp": {c.timestamp},
		"Sign": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}, string(body))
}

func millis(ago time.Duration) string {
	return strconv.FormatInt(time.Now().Add(-ago).UnixMilli(), 10)
}

func TestThePartnerHoldsCallersToTheSignature(t *testing.T) {
	s := New()
	const inner, shuffled = `{"platform":"Telegram","platform_uid":"7000000001"}`, `{"platform_uid":"7000000001", "platform":"Telegram"}`
	for name, tt := range map[string]struct {
		spoil  func(*partnerCall)
		status int
	}{
		"as it should be":        {func(*partnerCall) {}, 200},
		"sent in another order":  {func(c *partnerCall) { c.sent = shuffled }, 200},
		"sent with empty parts":  {func(c *partnerCall) { c.sent = inner[:len(inner)-1] + `,"a":"","b":null}` }, 200},
		"markup, not escaped":    {func(c *partnerCall) { c.sent = `{"platform":"Email","platform_uid":"a&b<c>"}`; c.signed = c.sent }, 200},
		"signed in other order":  {func(c *partnerCall) { c.sent, c.signed = shuffled, shuffled }, 401},
		"signed with empty part": {func(c *partnerCall) { c.sent = `{"a":"",` + inner[1:]; c.signed = c.sent }, 401},
		"another secret":         {func(c *partnerCall) { c.secret = "guessed" }, 401},
		"another application":    {func(c *partnerCall) { c.app = "other" }, 401},
		"two minutes early":      {func(c *partnerCall) { c.timestamp = millis(2 * time.Minute) }, 401},
		"two minutes late":       {func(c *partnerCall) { c.timestamp = millis(-2 * time.Minute) }, 401},
		"timestamp in seconds":   {func(c *partnerCall) { c.timestamp = c.timestamp[:10] }, 401},
		"another content type":   {func(c *partnerCall) { c.kind = "text/plain" }, 415},
		"another endpoint":       {func(c *partnerCall) { c.path = "/api/v1/partner/user" }, 404},
	} {
		call := partnerCall{path: "/api/v1/partner/user/exists", app: s.AppID, secret: s.SecretKey, timestamp: millis(0), kind: "application/json",
			signed: inner, sent: inner}
		tt.spoil(&call)
		if status, body := call.make(s); status != tt.status || !json.Valid([]byte(body)) {
			t.Errorf("%s: got %d %s, want %d", name, status, body, tt.status)
		}
	}
}
