package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"herald/internal/core"
)

func existsInner(account core.Identity) string {
	return fmt.Sprintf(`{"platform":%q,"platform_uid":%q}`, account.Platform, account.UID)
}

func TestPartnerTellsWhoExists(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct {
		account core.Identity
		did     string
	}{
		"registered in Telegram": {s.World.Registered.Accounts[0], s.World.Registered.DID},
		"registered in Discord":  {s.World.Registered.Accounts[1], s.World.Registered.DID},
		"registered by wallet":   {s.World.Registered.Accounts[3], s.World.Registered.DID},
		"registered newcomer":    {s.World.Newcomer.Accounts[0], s.World.Newcomer.DID},
		"unregistered":           {s.World.Unregistered.Accounts[0], ""},
		"ID of another platform": {core.Identity{Platform: "Discord", UID: s.World.Registered.UID("Telegram")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newPartnerCall(s, existsPath, existsInner(tt.account)).send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Code int
				Data *struct{ DID, MID string }
			}
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
				t.Fatalf("%v in %s", err, got.body)
			}
			did := ""
			if answer.Data != nil {
				did = answer.Data.DID
			}
			if got.status != http.StatusOK || answer.Code != 0 || did != tt.did {
				t.Errorf("got %d %s, want the DID %q", got.status, got.body, tt.did)
			}
		})
	}
}

func TestPartnerListsLogins(t *testing.T) {
	s := start(t)
	type record struct {
		Dapp     string `json:"dapp_name"`
		Platform string `json:"login_platform"`
		Time     int64  `json:"login_time"`
	}
	var want []record
	for _, login := range s.World.Logins {
		want = append(want, record{login.Dapp, login.Platform, login.At.Unix()})
	}
	for name, tt := range map[string]struct {
		did  string
		code int
		want []record
	}{
		"registered": {s.World.Registered.DID, 0, want},
		"newcomer":   {s.World.Newcomer.DID, 0, nil},
		"stranger":   {"did:herald:nobody", 40400, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newPartnerCall(s, loginsPath, fmt.Sprintf(`{"did":%q}`, tt.did)).send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Code int
				Data []record
			}
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
				t.Fatalf("%v in %s", err, got.body)
			}
			if len(answer.Data) > 1 && answer.Data[0] == tt.want[0] {
				t.Error("the newest login comes first, which no client may rely on")
			}
			slices.SortFunc(answer.Data, func(a, b record) int { return int(b.Time - a.Time) })
			if answer.Code != tt.code || !slices.Equal(answer.Data, tt.want) {
				t.Errorf("got %s, want code %d and %v", got.body, tt.code, tt.want)
			}
		})
	}
}

func TestPartnerHoldsCallersToTheSignature(t *testing.T) {
	s := start(t)
	inner := existsInner(s.World.Registered.Accounts[0])
	millis := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).UnixMilli(), 10) }
	for name, tt := range map[string]struct {
		spoil  func(*partnerCall)
		status int
	}{
		"as it should be":        {func(*partnerCall) {}, 200},
		"half a minute early":    {func(c *partnerCall) { c.timestamp = millis(-30 * time.Second) }, 200},
		"sent in another order":  {func(c *partnerCall) { c.sent = `{"platform_uid":"7000000001", "platform":"Telegram"}` }, 200},
		"sent with empty parts":  {func(c *partnerCall) { c.sent = inner[:len(inner)-1] + `,"a":"","b":null}` }, 200},
		"signed with empty part": {func(c *partnerCall) { c.sent = `{"a":"",` + inner[1:]; c.signed = c.sent }, 401},
		"signed in other order": {func(c *partnerCall) {
			c.sent = `{"platform_uid":"7000000001","platform":"Telegram"}`
			c.signed = c.sent
		}, 401},
		"signed with spaces": {func(c *partnerCall) {
			c.sent = `{"platform": "Telegram","platform_uid":"7000000001"}`
			c.signed = c.sent
		}, 401},
		"another secret":       {func(c *partnerCall) { c.secret = "guessed" }, 401},
		"another application":  {func(c *partnerCall) { c.appID = "other" }, 401},
		"another path signed":  {func(c *partnerCall) { c.header.Set("X", "y"); c.signed = loginsPath + inner }, 401},
		"two minutes early":    {func(c *partnerCall) { c.timestamp = millis(-2 * time.Minute) }, 401},
		"two minutes late":     {func(c *partnerCall) { c.timestamp = millis(2 * time.Minute) }, 401},
		"timestamp in seconds": {func(c *partnerCall) { c.timestamp = strconv.FormatInt(time.Now().Unix(), 10) }, 401},
		"no timestamp":         {func(c *partnerCall) { c.timestamp = "" }, 401},
		"another content type": {func(c *partnerCall) { c.header.Set("Content-Type", "text/plain") }, 415},
		"no JSON inside":       {func(c *partnerCall) { c.sent = "Telegram" }, 400},
		"another endpoint":     {func(c *partnerCall) { c.path = "/api/v1/partner/user" }, 404},
	} {
		t.Run(name, func(t *testing.T) {
			call := newPartnerCall(s, existsPath, inner)
			tt.spoil(&call)
			got, err := call.send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got.status != tt.status {
				t.Errorf("got %d %s, want %d", got.status, got.body, tt.status)
			}
			if !json.Valid([]byte(got.body)) {
				t.Errorf("the answer is not JSON: %s", got.body)
			}
		})
	}
}

func TestPartnerSignsMarkupUnescaped(t *testing.T) {
	s := start(t)
	inner := `{"platform":"Email","platform_uid":"a&b<c>@example.org"}`
	got, err := newPartnerCall(s, existsPath, inner).send(t.Context(), s)
	if err != nil || got.status != http.StatusOK {
		t.Errorf("got %d %s, %v", got.status, got.body, err)
	}
}
