package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvFile(t *testing.T) {
	for content, want := range map[string]string{
		"# NAME=1\n\n  # NAME=2\n \t\nNAME=3":    "3",
		"NAME=1\r\nMODE=on\r\n":                  "1",
		"  NAME  =  b c  \n":                     "b c",
		"\u200bNAME\u00a0=\u00a0b\ufeff\n":       "b",
		"export NAME=1":                          "1",
		"NAME=\nNAME=1\nMODE= # b\nNAME=1":       "1",
		"\ufeffNAME='$A # \"b\"' # d\nMODE=\"\"": `$A # "b"`,
	} {
		if got, wrong := Collect(nil, write(t, content)); len(wrong) > 0 || got["NAME"].text != want {
			t.Errorf("%q: got %+v, %v; want %q", content, got, wrong, want)
		}
	}
}

func TestEnvFileErrorsNumberTheLines(t *testing.T) {
	for _, line := range []string{canary, "=" + canary, "1A=" + canary, "A B=" + canary, "A: " + canary, "export A", "A\x00=" + canary,
		"OK=2" + canary} {
		file := write(t, "OK=1\n"+line+"\nOK=1\n"+line)
		_, wrong := Collect(nil, file)
		if len(wrong) != 2 || !strings.HasPrefix(wrong[0], file+":2: ") || !strings.HasPrefix(wrong[1], file+":4: ") ||
			strings.Contains(wrong.Error(), canary) {
			t.Errorf("%q: %v", line, wrong)
		}
	}
}

func TestAnEnvFileThatCannotBeReadIsReported(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ path, want string }{
		{filepath.Join(folder, "none", canary), "cannot be opened: no such file or directory; make one with `cp config.example.env herald.env`"},
		{folder, "cannot be read: is a directory"},
		{write(t, "\xff\xfeN\x00A\x00"), "is not UTF-8 text"},
		{write(t, strings.Repeat("#", 1<<20+1)), "is larger than"},
	} {
		_, wrong := Collect(nil, test.path)
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], "--env-file: the file "+test.want) || strings.Contains(wrong[0], canary) {
			t.Errorf("want %q, got: %v", test.want, wrong)
		}
	}
}

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"A=1\nexport B='2'\r\n# c\n", "A=\"b", "=", "A= # b", "A=\"b\" # c\nA=b", "\u200bA=\u00a0\u201cb\u201d", "\x00=\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		given := Given{}
		given.parse("file", content)
		for name, v := range given {
			if !variableName.MatchString(name) || trim(v.text) != v.text || strings.Contains(v.text, "\n") || v.line < 1 {
				t.Errorf("read %q=%+v", name, v)
			}
		}
	})
}
