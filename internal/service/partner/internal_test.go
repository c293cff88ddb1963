package partner

import (
	"strings"
	"testing"
	"time"
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
		got, err := existenceCheck.parse(body)
		if err != nil {
			return
		}
		account, err := parseAccount(got.data)
		if err == nil && account.Registered() && !strings.HasPrefix(account.DID, "did:") {
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

// SetClock replaces this machine's clock by now.
func (c *Client) SetClock(now func() time.Time) { c.now = now }
