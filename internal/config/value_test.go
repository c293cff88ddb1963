package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAValueIsReadAsEnvFilesWriteIt(t *testing.T) {
	for raw, want := range map[string]string{
		"  b c\t":                 "b c",
		`""`:                      "",
		`"b # c" # d`:             "b # c",
		`'"b"'`:                   `"b"`,
		`"it's"`:                  "it's",
		`b"c"`:                    `b"c"`,
		"b # c":                   "b",
		"b#c":                     "b#c",
		"# b":                     "",
		"\u201cb\u201d":           "\u201cb\u201d",
		"a # one\nb # two":        "a # one\nb",
		"\u2060\"b\"\u00a0# note": "b",
	} {
		if got := readValue(raw); got.err != nil || got.text != want || got.isSet() != (want != "") {
			t.Errorf("%q is read as %q, %v; want %q", raw, got.text, got.err, want)
		}
	}
	// In a secret's file, quotes and # are part of the value.
	if got := mustRead(t, "", "NAME=x # y", "KEY_FILE='"+write(t, "\"a\" # b\n")+"' # c").Key.Reveal(); got != `"a" # b` {
		t.Errorf("a secret's file is read as %q", got)
	}
}

func TestAValueInDoubtIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		`"` + canary:           "begins with a quote that does not end it",
		`'` + canary + `" # c`: "begins with a quote that does not end it",
		`"` + canary + `"b"`:   "begins with a quote that does not end it",
		canary + "\u200bb":     "must be one line of visible characters",
		canary + "\u00a0b":     "must be one line of visible characters",
	} {
		file := write(t, "KEY="+raw)
		_, inFile := readSample(file, "NAME=x")
		_, got := readSample("", "NAME=x", "KEY="+raw)
		if len(got) != 1 || !slices.Equal(inFile, Errors{file + ":1: " + got[0]}) || !strings.HasPrefix(got[0], "KEY: "+want) || strings.Contains(got[0], canary) {
			t.Errorf("%q is told as %v, in a file as %v; want %q", raw, got, inFile, want)
		}
	}
}

func TestPublicHTTPIsPlainHTTPToTheInternet(t *testing.T) {
	for address, want := range map[string]bool{
		"http://partner.example.org": true, "http://PARTNER.example.org.:8080/x": true, "http://8.8.8.8": true, "http://[2001:4860:4860::8888]:80": true,
		"https://partner.example.org": false, "http://localhost:1": false, "http://a.localhost": false, "http://partner": false, "http://partner.:80": false,
		"http://127.0.0.1:1": false, "http://10.1.2.3": false, "http://192.168.1.1": false, "http://[::1]": false, "http://[fd00::1]": false, "http://169.254.1.1": false,
		"http://[fe80::1%25eth0]": false, "http://partner.default.svc": false, "http://partner.default.svc.cluster.local": false, "http://host.docker.internal": false,
	} {
		if got := PublicHTTP(address); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
