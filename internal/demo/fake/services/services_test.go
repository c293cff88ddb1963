package services

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
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

// listed is what the price provider answers now.
func listed(t *testing.T, s *Fakes) map[string]any {
	t.Helper()
	_, body := ask(s.Price.Handler, http.MethodGet, "/v1/cryptocurrency/quotes/latest?id="+TokenID, http.Header{}, "")
	var answer struct {
		Data map[string]struct {
			Quote map[string]map[string]any `json:"quote"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data[TokenID].Quote["USD"]
}

func TestThePriceWalksAndItsChangesAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, again := New(), New()
		standing := listed(t, s)
		past := s.Walk()
		again.Walk()
		if first := listed(t, s); first["price"] != standing["price"] || first["percent_change_7d"] != standing["percent_change_7d"] ||
			first["percent_change_90d"] != standing["percent_change_90d"] || first["last_updated"] != standing["last_updated"] {
			t.Errorf("the walk begins at\n%v\nand not at\n%v", first, standing)
		}
		prices := map[int64]float64{} // by minute
		for _, q := range past {
			prices[q.LastUpdated.Unix()/60] = q.Price.InexactFloat64()
		}
		steps := []float64{}
		for before := past[0].Price.InexactFloat64(); len(past) > 0; past = past[1:] {
			price := past[0].Price.InexactFloat64()
			steps = append(steps, math.Abs(price/before-1))
			before = price
		}
		if largest := slices.Max(steps); largest > 0.06 || largest < 0.005 {
			t.Errorf("the largest step of a quarter of an hour is %.1f %%", 100*largest)
		}
		for range 3 * 60 {
			q := listed(t, s)
			if other := listed(t, again); q["price"] != other["price"] {
				t.Fatalf("two walks differ: %v, %v", q, other)
			}
			updated, err := time.Parse(time.RFC3339, q["last_updated"].(string))
			if age := time.Since(updated); err != nil || age < lag || age >= lag+time.Minute {
				t.Fatalf("a quote is %v old, %v", age, err)
			}
			price, minute := q["price"].(float64), updated.Unix()/60
			for name, minutes := range map[string]int64{"1h": 60, "24h": 1440, "7d": 7 * 1440} {
				before, known := prices[minute-minutes]
				if want := 100 * (price/before - 1); known && math.Abs(q["percent_change_"+name].(float64)-want) > 1e-4 {
					t.Fatalf("the change of %s is %v, want %v", name, q["percent_change_"+name], want)
				}
			}
			if before, known := prices[minute-1]; known && before == price {
				t.Fatalf("the price stands still at %v", price)
			}
			prices[minute] = price
			time.Sleep(time.Minute)
		}
	})
}
