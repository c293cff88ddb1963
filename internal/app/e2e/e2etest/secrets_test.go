package e2etest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

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
