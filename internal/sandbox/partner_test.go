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
	"herald/internal/sandbox/sandboxtest"
)

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
			got, err := sandboxtest.NewPartnerCall(s, sandboxtest.ExistsPath, sandboxtest.ExistsInner(tt.account)).Send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Code int
				Data *struct{ DID, MID string }
			}
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
				t.Fatalf("%v in %s", err, got.Body)
			}
			did := ""
			if answer.Data != nil {
				did = answer.Data.DID
			}
			if got.Status != http.StatusOK || answer.Code != 0 || did != tt.did {
				t.Errorf("got %d %s, want the DID %q", got.Status, got.Body, tt.did)
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
			got, err := sandboxtest.NewPartnerCall(s, sandboxtest.LoginsPath, fmt.Sprintf(`{"did":%q}`, tt.did)).Send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Code int
				Data []record
			}
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
				t.Fatalf("%v in %s", err, got.Body)
			}
			if len(answer.Data) > 1 && answer.Data[0] == tt.want[0] {
				t.Error("the newest login comes first, which no client may rely on")
			}
			slices.SortFunc(answer.Data, func(a, b record) int { return int(b.Time - a.Time) })
			if answer.Code != tt.code || !slices.Equal(answer.Data, tt.want) {
				t.Errorf("got %s, want code %d and %v", got.Body, tt.code, tt.want)
			}
		})
	}
}

func TestPartnerHoldsCallersToTheSignature(t *testing.T) {
	s := start(t)
	inner := sandboxtest.ExistsInner(s.World.Registered.Accounts[0])
	millis := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).UnixMilli(), 10) }
	for name, tt := range map[string]struct {
		spoil  func(*sandboxtest.PartnerCall)
		status int
	}{
		"as it should be":        {func(*sandboxtest.PartnerCall) {}, 200},
		"half a minute early":    {func(c *sandboxtest.PartnerCall) { c.Timestamp = millis(-30 * time.Second) }, 200},
		"sent in another order":  {func(c *sandboxtest.PartnerCall) { c.Sent = `{"platform_uid":"7000000001", "platform":"Telegram"}` }, 200},
		"sent with empty parts":  {func(c *sandboxtest.PartnerCall) { c.Sent = inner[:len(inner)-1] + `,"a":"","b":null}` }, 200},
		"signed with empty part": {func(c *sandboxtest.PartnerCall) { c.Sent = `{"a":"",` + inner[1:]; c.Signed = c.Sent }, 401},
		"signed in other order": {func(c *sandboxtest.PartnerCall) {
			c.Sent = `{"platform_uid":"7000000001","platform":"Telegram"}`
			c.Signed = c.Sent
		}, 401},
		"signed with spaces": {func(c *sandboxtest.PartnerCall) {
			c.Sent = `{"platform": "Telegram","platform_uid":"7000000001"}`
			c.Signed = c.Sent
		}, 401},
		"another secret":       {func(c *sandboxtest.PartnerCall) { c.Secret = "guessed" }, 401},
		"another application":  {func(c *sandboxtest.PartnerCall) { c.AppID = "other" }, 401},
		"another path signed":  {func(c *sandboxtest.PartnerCall) { c.Header.Set("X", "y"); c.Signed = sandboxtest.LoginsPath + inner }, 401},
		"two minutes early":    {func(c *sandboxtest.PartnerCall) { c.Timestamp = millis(-2 * time.Minute) }, 401},
		"two minutes late":     {func(c *sandboxtest.PartnerCall) { c.Timestamp = millis(2 * time.Minute) }, 401},
		"timestamp in seconds": {func(c *sandboxtest.PartnerCall) { c.Timestamp = strconv.FormatInt(time.Now().Unix(), 10) }, 401},
		"no timestamp":         {func(c *sandboxtest.PartnerCall) { c.Timestamp = "" }, 401},
		"another content type": {func(c *sandboxtest.PartnerCall) { c.Header.Set("Content-Type", "text/plain") }, 415},
		"no JSON inside":       {func(c *sandboxtest.PartnerCall) { c.Sent = "Telegram" }, 400},
		"another endpoint":     {func(c *sandboxtest.PartnerCall) { c.Path = "/api/v1/partner/user" }, 404},
	} {
		t.Run(name, func(t *testing.T) {
			call := sandboxtest.NewPartnerCall(s, sandboxtest.ExistsPath, inner)
			tt.spoil(&call)
			got, err := call.Send(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.status {
				t.Errorf("got %d %s, want %d", got.Status, got.Body, tt.status)
			}
			if !json.Valid([]byte(got.Body)) {
				t.Errorf("the answer is not JSON: %s", got.Body)
			}
		})
	}
}

func TestPartnerSignsMarkupUnescaped(t *testing.T) {
	s := start(t)
	inner := `{"platform":"Email","platform_uid":"a&b<c>@example.org"}`
	got, err := sandboxtest.NewPartnerCall(s, sandboxtest.ExistsPath, inner).Send(t.Context(), s)
	if err != nil || got.Status != http.StatusOK {
		t.Errorf("got %d %s, %v", got.Status, got.Body, err)
	}
}
