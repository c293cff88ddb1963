package e2etest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// InteractionToken is how the token of every interaction begins that the fake of Discord sends.
const InteractionToken = "aW50ZXJhY3Rpb246"

// Secrets lists values that a text must not show, by name.
type Secrets map[string]string

// CheckHides fails the test for each secret that a text contains, as it is or encoded: in a URL, quoted, in
// Base64, in hex, or as a list of bytes.
func (s Secrets) CheckHides(t testing.TB, where, text string) {
	t.Helper()
	texts := decoded(text)
	for name, secret := range s {
		if spelling, around := find(texts, secret); spelling != "" {
			t.Errorf("%s shows the %s, %s: …%s…", where, name, spelling, around)
		}
	}
}

// decoded returns a text as it is, in lower case, and after each decoding of URLs and Base64.
func decoded(text string) []string {
	standard := strings.NewReplacer("-", "+", "_", "/") // to the standard alphabet of Base64 from that of URLs
	plain := unescape(unescape(text))                   // A URL within a query is encoded twice.
	return []string{
		text,
		strings.ToLower(text),
		plain,
		standard.Replace(text),
		standard.Replace(plain),
	}
}

// find returns how secret is spelled in one of the texts, with the text around it, or "" if
// it is in none.
func find(texts []string, secret string) (spelling, around string) {
	for spelling, spelled := range spellings(secret) {
		for _, text := range texts {
			if at := strings.Index(text, spelled); at >= 0 {
				return spelling, text[max(0, at-150):min(len(text), at+150)]
			}
		}
	}
	return "", ""
}

// spellings returns a secret in each spelling, by how it is spelled.
func spellings(secret string) map[string]string {
	quoted, inJSON := strconv.Quote(secret), strings.Builder{}
	_ = json.NewEncoder(&inJSON).Encode(secret)
	all := map[string]string{
		"as it is":          secret,
		"quoted as in Go":   quoted[1 : len(quoted)-1],
		"quoted as in JSON": strings.Trim(inJSON.String(), "\"\n"),
		"in hex":            hex.EncodeToString([]byte(secret)),
		"as a list":         strings.Trim(fmt.Sprint([]byte(secret)), "[]"),
	}
	// Base64 spells three bytes in four characters, so the spelling depends on how many bytes of a group come
	// before the secret. Characters that hold bits of other bytes are left out.
	for before, shared := range []int{0, 2, 3} {
		whole := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
		all[fmt.Sprintf("in Base64 after %d bytes", before)] = whole[shared : (before+len(secret))*8/6]
	}
	return all
}

var percentByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescape decodes every %XX and leaves the rest as it is.
func unescape(text string) string {
	return percentByte.ReplaceAllStringFunc(text, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
}
