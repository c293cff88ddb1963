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

// Secrets are values by name that may stand nowhere.
type Secrets map[string]string

// MustNotShow fails for each of them that text holds in any spelling.
func (s Secrets) MustNotShow(t testing.TB, where, text string) {
	t.Helper()
	in := newHaystack(text)
	for name, secret := range s {
		if spelling, around := in.find(secret); spelling != "" {
			t.Errorf("%s shows the %s, %s: …%s…", where, name, spelling, around)
		}
	}
}

// haystack is a text and what it is once decoded.
type haystack struct{ raw, lower, unescaped, base64, unescapedBase64 string }

func newHaystack(text string) haystack {
	// The two alphabets of Base64 differ in two characters.
	alphabet := strings.NewReplacer("-", "+", "_", "/")
	// A URL within a query is encoded twice.
	plain := unescaped(unescaped(text))
	return haystack{text, strings.ToLower(text), plain, alphabet.Replace(text), alphabet.Replace(plain)}
}

// find looks for secret in whatever way it may be written. It returns how it is
// written, "" if it is not there, and what stands around it.
func (h haystack) find(secret string) (spelling, around string) {
	forms := []struct{ spelling, in, text string }{
		{"raw", h.raw, secret},
		{"escaped as in Go", h.raw, inside(strconv.Quote(secret))},
		{"escaped as in JSON", h.raw, inside(jsonOf(secret))},
		{"in hex", h.lower, hex.EncodeToString([]byte(secret))},
		{"as a list of bytes", h.raw, strings.Trim(fmt.Sprint([]byte(secret)), "[]")},
		{"percent-encoded", h.unescaped, secret},
	}
	for before, form := range base64Forms(secret) {
		spelling := fmt.Sprintf("in Base64 after %d bytes", before)
		forms = append(forms, struct{ spelling, in, text string }{spelling, h.base64, form},
			struct{ spelling, in, text string }{spelling, h.unescapedBase64, form})
	}
	for _, f := range forms {
		if at := strings.Index(f.in, f.text); at >= 0 {
			return f.spelling, f.in[max(0, at-150):min(len(f.in), at+150)]
		}
	}
	return "", ""
}

// base64Forms are secret's Base64 after 0, 1 and 2 other bytes, without the
// characters that a neighbour has bits in.
func base64Forms(secret string) []string {
	var forms []string
	for before := range 3 {
		whole := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
		forms = append(forms, whole[[]int{0, 2, 3}[before]:(before+len(secret))*8/6])
	}
	return forms
}

var percentByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped decodes every %XX and leaves all else as it is.
func unescaped(text string) string {
	return percentByte.ReplaceAllStringFunc(text, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

func jsonOf(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
