package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvFileLines(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"comments and empty lines": {
			content: "# NAME=1\n\n  # NAME=2\n \t\nNAME=3",
			want:    "3",
		},
		"lines of Windows": {
			content: "NAME=1\r\nMODE=on\r\n",
			want:    "1",
		},
		"white space": {
			content: "  NAME  =  b c  \n",
			want:    "b c",
		},
		"invisible characters": {
			content: "\u200bNAME\u00a0=\u00a0b\ufeff\n",
			want:    "b",
		},
		"export": {
			content: "export NAME=1",
			want:    "1",
		},
		"an empty value, and the same value twice": {
			content: "NAME=\nNAME=1\nMODE= # b\nNAME=1",
			want:    "1",
		},
		"a byte order mark, quotes and a comment": {
			content: "\ufeffNAME='$A # \"b\"' # d\nMODE=\"\"",
			want:    `$A # "b"`,
		},
	} {
		given, mistakes := Collect(nil, write(t, test.content))
		if len(mistakes) > 0 || given["NAME"].text != test.want {
			t.Errorf("%s: got %+v, %v; want %q", name, given, mistakes, test.want)
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
		// At most half of the lines may be wrong. Otherwise the file as a whole is refused.
		file := write(t, "OK=1\n"+line+"\nOK=1\n"+line)
		_, mistakes := Collect(nil, file)
		if len(mistakes) != 2 {
			t.Errorf("%q: %v, want two mistakes", line, mistakes)
			continue
		}
		for i, where := range []string{":2: ", ":4: "} {
			if !strings.HasPrefix(mistakes[i], file+where) {
				t.Errorf("%q: %s, want a mistake at %s", line, mistakes[i], where)
			}
		}
		if strings.Contains(mistakes.Error(), canary) {
			t.Errorf("the value is repeated: %v", mistakes)
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
		_, mistakes := Collect(nil, test.path)
		wantMistake(t, mistakes, "--env-file: the file "+test.want)
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
		got := readValue(raw)
		if got.err != nil || got.text != want {
			t.Errorf("%q is read as %q, %v; want %q", raw, got.text, got.err, want)
		}
		if isSet := want != ""; got.isSet() != isSet {
			t.Errorf("%q is set: %t, want %t", raw, got.isSet(), isSet)
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
		_, inEnviron := readSample("", "NAME=x", "KEY="+raw)
		wantMistake(t, inFile, file+":1: KEY: "+want)
		wantMistake(t, inEnviron, "KEY: "+want)
	}
}
