package e2etest

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"testing"
)

func TestTheSearchKnowsEverySpelling(t *testing.T) {
	const secret = "12:Ab\"c/d+é<e?f_g-hij"
	for name, text := range map[string]string{
		"raw": secret, "path": url.PathEscape(secret), "twice": url.QueryEscape(url.QueryEscape(secret)), "quoted": strconv.Quote(secret),
		"JSON": jsonOf(secret), "hex": hex.EncodeToString([]byte(secret)), "basic": base64.StdEncoding.EncodeToString([]byte("ann:" + secret)),
		"URL": base64.RawURLEncoding.EncodeToString([]byte("ab" + secret + "x")), "escaped": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(secret))),
	} {
		if spelling, _ := newHaystack("some text " + text + " and more").find(secret); spelling == "" {
			t.Errorf("%s is not found: %s", name, text)
		}
	}
	if spelling, _ := newHaystack(secret[1:]).find(secret); spelling != "" {
		t.Errorf("a part of it is found %s", spelling)
	}
}
