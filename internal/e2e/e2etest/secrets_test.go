package e2etest

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"testing"
)

func TestASecretIsFoundInEverySpelling(t *testing.T) {
	const secret = "12:Ab\"c/d+é<e?f_g-hij"
	for _, text := range []string{
		secret, url.QueryEscape(url.QueryEscape(secret)), strconv.Quote(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("ann:" + secret)), base64.RawURLEncoding.EncodeToString([]byte("ab" + secret + "x")),
	} {
		if spelling, _ := find(decoded("some text "+text+" and more"), secret); spelling == "" {
			t.Errorf("it is not found in %s", text)
		}
	}
	if spelling, _ := find(decoded(secret[1:]), secret); spelling != "" {
		t.Errorf("a part of it is found %s", spelling)
	}
}
