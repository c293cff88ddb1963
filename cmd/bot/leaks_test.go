package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// secrets are values by name that may stand nowhere.
type secrets map[string]string

// mustNotShow fails for each of them that text holds in any spelling.
func (s secrets) mustNotShow(t *testing.T, where, text string) {
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

// find looks for secret in whatever way it may be written, and tells how and
// what stands around it; "" is not at all.
func (h haystack) find(secret string) (spelling, around string) {
	forms := []struct{ spelling, in, text string }{
		{"raw", h.raw, secret},
		{"escaped as in Go", h.raw, inner(strconv.Quote(secret))},
		{"escaped as in JSON", h.raw, inner(jsonOf(secret))},
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

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func jsonOf(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestTheSearchKnowsEverySpelling(t *testing.T) {
	const secret = "12:Ab\"c/d+é<e?f_g-hij"
	texts := map[string]string{
		"raw":          secret,
		"path":         url.PathEscape(secret),
		"query":        url.QueryEscape(secret),
		"lower query":  strings.ToLower(url.QueryEscape("12:")) + url.QueryEscape(secret[3:]),
		"twice":        url.QueryEscape(url.QueryEscape(secret)),
		"every byte":   everyByte(secret),
		"quoted":       strconv.Quote(secret),
		"JSON":         jsonOf(secret),
		"hex":          hex.EncodeToString([]byte(secret)),
		"upper hex":    strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"bytes":        fmt.Sprint([]byte("a" + secret)),
		"basic":        base64.StdEncoding.EncodeToString([]byte("ann:" + secret)),
		"escaped in B": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("x" + secret + "y"))),
	}
	for before := range 3 {
		for after := range 3 {
			padded := []byte("abc"[:before] + secret + "xyz"[:after])
			for name, e := range map[string]*base64.Encoding{
				"std": base64.StdEncoding, "url": base64.URLEncoding, "raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding,
			} {
				texts[fmt.Sprintf("%s %d %d", name, before, after)] = e.EncodeToString(padded)
			}
		}
	}
	for name, text := range texts {
		if spelling, _ := newHaystack("some text " + text + " and more").find(secret); spelling == "" {
			t.Errorf("%s is not found: %s", name, text)
		}
	}
	for _, text := range []string{"", secret[1:], secret[:len(secret)-1], strings.ToUpper(secret)} {
		if spelling, _ := newHaystack(text).find(secret); spelling != "" {
			t.Errorf("%q is found %s", text, spelling)
		}
	}
}

func everyByte(s string) string {
	encoded := ""
	for _, b := range []byte(s) {
		encoded += fmt.Sprintf("%%%02x", b)
	}
	return encoded
}
