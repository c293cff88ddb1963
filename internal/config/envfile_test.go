package config

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// texts returns the values without their lines.
func texts(vars Given) map[string]string {
	found := map[string]string{}
	for name, v := range vars {
		found[name] = v.text
	}
	return found
}

func TestEnvFile(t *testing.T) {
	for content, want := range map[string]map[string]string{
		"# A=1\n\n  # B=2\n \t\nC=3":    {"C": "3"},
		"A=1\r\nB=2\r\n":                {"A": "1", "B": "2"},
		"  A  =  b c  \n":               {"A": "b c"},
		"\u200bA\u00a0=\u00a0b\ufeff\n": {"A": "b"},
		"export A=1\nexported=3":        {"A": "1", "exported": "3"},
		"export=1":                      {"export": "1"},
		"A=\nA=1\nB= # b":               {"A": "1", "B": ""},
	} {
		got := Given{}
		if err := got.parse(content); err != nil || !maps.Equal(texts(got), want) {
			t.Errorf("%q: got %q, %v; want %q", content, texts(got), err, want)
		}
	}
}

func TestEnvFileErrorsNumberTheLines(t *testing.T) {
	for _, line := range []string{canary, "=" + canary, "1A=" + canary, "A B=" + canary, "A: " + canary, "export A", "A\x00=" + canary, "OK=2" + canary} {
		err := Given{}.parse("OK=1\n" + line + "\nOK=1\n" + line)
		wrong := lines(err)
		if len(wrong) != 2 || !strings.HasPrefix(wrong[0], "line 2 ") || !strings.HasPrefix(wrong[1], "line 4 ") {
			t.Errorf("%q: %v", line, err)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%q: the line is repeated: %v", line, err)
		}
	}
	if err := (Given{}).parse(strings.Repeat("x\n", 1000)); len(lines(err)) != maxErrors+1 {
		t.Errorf("a file of rubbish gives %d errors", len(lines(err)))
	}
}

func TestAnEnvFileThatCannotBeReadIsReported(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ path, want string }{
		{filepath.Join(folder, "none", canary), "the file cannot be opened: no such file or directory; make one with `cp config.example.env herald.env`"},
		{folder, "the file cannot be read: is a directory"},
		{write(t, "\xff\xfeN\x00A\x00"), "the file is not UTF-8 text"},
		{write(t, strings.Repeat("#", 1<<20+1)), "the file is larger than"},
	} {
		_, wrong := Collect(nil, test.path)
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], "--env-file: "+test.want) || strings.Contains(wrong[0], canary) {
			t.Errorf("want %q, got: %v", test.want, wrong)
		}
	}
}

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"A=1\nexport B='2'\r\n# c\n", "A=\"b", "=", "export =1", "A= # b", "A=\"b\" # c\nA=b", "\u200bA=\u00a0\u201cb\u201d", "\x00=\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		vars := Given{}
		err := vars.parse(content)
		if len(lines(err)) > maxErrors+1 {
			t.Errorf("%d mistakes", len(lines(err)))
		}
		for name, v := range vars {
			if !variableName.MatchString(name) || trim(v.text) != v.text || strings.Contains(v.text, "\n") || v.line < 1 {
				t.Errorf("read %q=%+v", name, v)
			}
		}
	})
}
