package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvFileLines(t *testing.T) {
	for content, want := range map[string]string{
		"# NAME=1\n\n  # NAME=2\n \t\nNAME=3":    "3",
		"NAME=1\r\nMODE=on\r\n":                  "1",
		"  NAME  =  b c  \n":                     "b c",
		"\u200bNAME\u00a0=\u00a0b\ufeff\n":       "b",
		"export NAME=1":                          "1",
		"NAME=\nNAME=1\nMODE= # b\nNAME=1":       "1",
		"\ufeffNAME='$A # \"b\"' # d\nMODE=\"\"": `$A # "b"`,
	} {
		got, wrong := Collect(nil, write(t, content))
		if len(wrong) > 0 || got["NAME"].text != want {
			t.Errorf("%q: got %+v, %v; want %q", content, got, wrong, want)
		}
	}
}

func TestEnvFileErrorsNumberTheLines(t *testing.T) {
	for _, line := range []string{
		canary,
		"=" + canary,
		"1A=" + canary,
		"A B=" + canary,
		"A: " + canary,
		"export A",
		"A\x01=" + canary,
		"OK=2" + canary,
	} {
		file := write(t, "OK=1\n"+line+"\nOK=1\n"+line)
		_, wrong := Collect(nil, file)
		if len(wrong) != 2 || !strings.HasPrefix(wrong[0], file+":2: ") || !strings.HasPrefix(wrong[1], file+":4: ") {
			t.Errorf("%q: %v, want mistakes in the lines 2 and 4", line, wrong)
		}
		if strings.Contains(wrong.Error(), canary) {
			t.Errorf("the value is repeated: %v", wrong)
		}
	}
}

func TestAnEnvFileThatCannotBeReadIsReported(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ path, want string }{
		{
			path: filepath.Join(folder, "none", canary),
			want: "cannot be opened: no such file or directory; " +
				"make one with `install -m 0600 config.example.env herald.env`",
		},
		{
			path: folder,
			want: "cannot be read: is a directory",
		},
		{
			path: write(t, "\xff\xfeN\x00A\x00"),
			want: "is UTF-16 text; save it as UTF-8",
		},
		{
			path: write(t, strings.Repeat("#", 1<<20+1)),
			want: "is larger than",
		},
	} {
		_, wrong := Collect(nil, test.path)
		wantMistake(t, wrong, "--env-file: the file "+test.want)
	}
}

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{
		"A=1\nexport B='2'\r\n# c\n",
		"A=\"b",
		"=",
		"A= # b",
		"A=\"b\" # c\nA=b",
		"\u200bA=\u00a0\u201cb\u201d",
		"\x00=\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		given := Given{}
		given.parse("file", content)
		for name, v := range given {
			if !variableName.MatchString(name) || v.line < 1 {
				t.Errorf("read the name %q of line %d", name, v.line)
			}
			if Trim(v.text) != v.text || strings.Contains(v.text, "\n") {
				t.Errorf("read %q=%+v", name, v)
			}
		}
	})
}

func TestQuotesAndCommentsOfAValue(t *testing.T) {
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
}

func TestInASecretsFileQuotesAndCommentsArePartOfTheValue(t *testing.T) {
	file := write(t, "\"a\" # b\n")
	s := mustRead(t, "", "NAME=x # y", "KEY_FILE='"+file+"' # c")
	if got := s.Key.Reveal(); got != `"a" # b` {
		t.Errorf("the secret is %q", got)
	}
}

func TestAnAmbiguousValueIsRefused(t *testing.T) {
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
		wantMistake(t, got, "KEY: "+want)
		wantMistake(t, inFile, file+":1: KEY: "+want)
	}
}

func TestPublicHTTPIsPlainHTTPToTheInternet(t *testing.T) {
	for _, address := range []string{
		"http://partner.example.org",
		"http://PARTNER.example.org.:8080/x",
		"http://8.8.8.8",
		"http://[2001:4860:4860::8888]:80",
	} {
		if !PublicHTTP(address) {
			t.Errorf("%s is not public HTTP", address)
		}
	}
}

func TestHTTPSAndPrivateHostsAreNotPublicHTTP(t *testing.T) {
	for _, address := range []string{
		"https://partner.example.org",
		"http://localhost:1",
		"http://a.localhost",
		"http://partner",
		"http://partner.:80",
		"http://127.0.0.1:1",
		"http://10.1.2.3",
		"http://192.168.1.1",
		"http://169.254.1.1",
		"http://[::1]",
		"http://[fd00::1]",
		"http://[fe80::1%25eth0]",
		"http://partner.default.svc",
		"http://partner.default.svc.cluster.local",
		"http://host.docker.internal",
	} {
		if PublicHTTP(address) {
			t.Errorf("%s is public HTTP", address)
		}
	}
}
