package services

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ask makes one request, in memory.
func ask(h http.Handler, method, path string, header http.Header, body string) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
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
