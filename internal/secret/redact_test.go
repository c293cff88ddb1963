package secret

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestStringFindsEverySpelling(t *testing.T) {
	const secret = `123:a+b/c d"é&<token>`
	encoded, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRedactor([]string{"", "short", secret})
	for _, text := range []string{secret, url.PathEscape(secret), url.QueryEscape(secret), strconv.Quote(secret), string(encoded)} {
		if got := strings.Trim(r.String("before "+text+" after"), `"`); strings.Replace(got, `"`+Mark+`"`, Mark, 1) != "before "+Mark+" after" {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestStringLeavesTheRest(t *testing.T) {
	r := NewRedactor([]string{"", "short", "longer-secret", "longer-secret-still"})
	const discord, quoted = "https://discord.com/api/v9/interactions/123/", "u=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F45%2F"
	for text, want := range map[string]string{
		"a short message":                          "a short message",
		"longer-secret-still here":                 Mark + " here",
		"x longer-secret":                          "x " + Mark,
		"/webhooks/12/":                            "/webhooks/12/",
		"see /interactions and /webhooks":          "see /interactions and /webhooks",
		discord + "aW50ZXJhY3Rpb24_x-y.z/callback": discord + Mark + "/callback",
		`"/webhooks/45/aW50ZXI/messages/@x": EOF`:  `"/webhooks/45/` + Mark + `/messages/@x": EOF`,
		quoted + "aW50ZXI%2Fmessages":              quoted + Mark + "%2Fmessages",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add("secret", "before ", " after")
	f.Add("[redacted]", "", "")
	f.Add("\xff\x00\xfe%2F\"\\<", "a", "b")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < minSecret || strings.Contains(Mark, secret) {
			return
		}
		r := NewRedactor([]string{secret})
		for _, spelling := range spellings(secret) {
			if got := r.String(before + spelling + after); !strings.Contains(got, Mark) || r.String(spelling) != Mark {
				t.Errorf("%q becomes %q", spelling, got)
			}
		}
	})
}
