package secret

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const secret = `123:a+b/c d"é&<token>`

func TestStringFindsEverySpelling(t *testing.T) {
	encoded, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"raw":                   secret,
		"in a path":             "https://host/" + url.PathEscape(secret) + "/x",
		"in a query":            "https://host/?k=" + url.QueryEscape(secret),
		"in lower-case escapes": strings.ToLower(url.QueryEscape(secret)),
		"quoted":                fmt.Sprintf("%q", secret),
		"in JSON":               string(encoded),
	} {
		t.Run(name, func(t *testing.T) {
			got := NewRedactor([]string{"", "short", secret}).String("before " + text + " after")
			if !strings.Contains(got, Mark) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("got %s", got)
			}
			if strings.Contains(got, "token") || strings.Contains(got, "a+b") {
				t.Errorf("the secret is left: %s", got)
			}
		})
	}
}

func TestStringLeavesTheRest(t *testing.T) {
	r := NewRedactor([]string{"", "short", "longer-secret", "longer-secret-still"})
	for text, want := range map[string]string{
		"a short message":                 "a short message",
		"longer-secret-still here":        Mark + " here",
		"x longer-secret":                 "x " + Mark,
		"/webhooks/12/":                   "/webhooks/12/",
		"see /interactions and /webhooks": "see /interactions and /webhooks",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestStringHidesInteractionTokens(t *testing.T) {
	r := NewRedactor(nil)
	for text, want := range map[string]string{
		"https://discord.com/api/v9/interactions/123/aW50ZXJhY3Rpb24_x-y.z/callback":     "https://discord.com/api/v9/interactions/123/" + Mark + "/callback",
		`Patch "https://discord.com/api/v9/webhooks/45/aW50ZXI/messages/@original": EOF`: `Patch "https://discord.com/api/v9/webhooks/45/` + Mark + `/messages/@original": EOF`,
		"u=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F45%2FaW50ZXI%2Fmessages":         "u=https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F45%2F" + Mark + "%2Fmessages",
	} {
		if got := r.String(text); got != want {
			t.Errorf("got %s, want %s", got, want)
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
			if got := r.String(before + spelling + after); !strings.Contains(got, Mark) {
				t.Errorf("%q is not found", spelling)
			}
			if got := r.String(spelling); got != Mark {
				t.Errorf("%q becomes %q", spelling, got)
			}
		}
	})
}
