package partner

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"code":0,"data":{"did":"did:herald:0xAb12","mid":"0x1"}}`,
		`{"code":"0","data":null}`,
		`{"code":0,"data":[{"dapp_name":"Swap","login_platform":"EVM","login_time":1795175999}]}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := existence.parse(body)
		if err != nil {
			return
		}
		if account, err := parseAccount(got.data); err == nil && account.Registered() && !strings.HasPrefix(account.DID, "did:") {
			t.Fatalf("%q is taken for the DID %q", body, account.DID)
		}
		logins, _ := parseLogins(got.data, now)
		for _, l := range logins {
			if age := now.Sub(l.At); age > maxAge || age < -maxAhead {
				t.Fatalf("%q is taken for a login %v ago", body, age)
			}
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add("Telegram", "1234567890")
	f.Add("Email", `a<b>&"c\@example.org`)
	f.Fuzz(func(t *testing.T, platform, uid string) {
		if !utf8.ValidString(platform) || !utf8.ValidString(uid) {
			return
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(canonical(map[string]string{"platform_uid": uid, "platform": platform})), &got); err != nil {
			t.Fatal(err)
		}
		if got["platform"] != platform || got["platform_uid"] != uid {
			t.Fatalf("%q and %q became %v", platform, uid, got)
		}
	})
}
