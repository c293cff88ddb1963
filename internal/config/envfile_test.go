package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// texts are the values alone.
func texts(vars map[string]fileValue) map[string]string {
	found := map[string]string{}
	for name, v := range vars {
		found[name] = v.text
	}
	return found
}

func TestEnvFile(t *testing.T) {
	for _, test := range []struct {
		what    string
		content string
		want    map[string]string
	}{
		{"nothing", "", nil},
		{"comments and blank lines", "# A=1\n\n  # B=2\n \t\nC=3", map[string]string{"C": "3"}},
		{"carriage returns", "A=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}},
		{"white space around both", "  A  =  b c  \n", map[string]string{"A": "b c"}},
		{"what nobody sees around both", "\u200bA\u00a0=\u00a0b\ufeff\n", map[string]string{"A": "b"}},
		{"exported", "export A=1\nexport\tB=2\nexported=3", map[string]string{"A": "1", "B": "2", "exported": "3"}},
		{"a variable named export", "export=1", map[string]string{"export": "1"}},
		{"equals signs in the value", "A=b=c==", map[string]string{"A": "b=c=="}},
		{"nothing, and then a value", "A=\nA=1", map[string]string{"A": "1"}},
		{"no values", "A=\nB= # b", map[string]string{"A": "", "B": ""}},
		{"the same twice", "A=1\nA='1' # again", map[string]string{"A": "1"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, err := parseEnvFile(test.content)
			if err != nil || !maps.Equal(texts(got), test.want) {
				t.Errorf("got %q, %v; want %q", texts(got), err, test.want)
			}
		})
	}
}

func TestEnvFileErrorsNumberTheLines(t *testing.T) {
	for _, line := range []string{canary, "=" + canary, "1A=" + canary, "A B=" + canary, "A: " + canary, "export A", "A\x00=" + canary, "OK=2" + canary} {
		_, err := parseEnvFile("OK=1\n" + line + "\nOK=1\n" + line)
		wrong := splitJoined(err)
		if len(wrong) != 2 || !strings.HasPrefix(wrong[0].Error(), "line 2 ") || !strings.HasPrefix(wrong[1].Error(), "line 4 ") {
			t.Errorf("%q: %v", line, err)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%q: the line is repeated: %v", line, err)
		}
	}
	if _, err := parseEnvFile(strings.Repeat("x\n", 1000)); len(splitJoined(err)) != mostJoined+1 {
		t.Errorf("a file of rubbish gives %d errors", len(splitJoined(err)))
	}
}

func TestEnvFileIsReadWithItsByteOrderMark(t *testing.T) {
	if s := mustRead(t, write(t, "\ufeffNAME=x\n")); s.Name != "x" {
		t.Error("the first line was lost")
	}
}

func TestAnEnvFileThatCannotBeReadIsToldAlone(t *testing.T) {
	folder := t.TempDir()
	closed := filepath.Join(folder, canary)
	if err := os.WriteFile(closed, []byte("NAME=x"), 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{filepath.Join(folder, "none", canary), "there is no such file. Make one with `cp config.example.env herald.env`"},
		{folder, "this is a folder"},
		{closed, "the user that runs Herald may not read the file"},
		{write(t, "\xff\xfeN\x00A\x00"), "the file is not UTF-8 text"},
		{write(t, strings.Repeat("#", 1<<20+1)), "the file is larger than"},
	} {
		if test.path == closed && os.Getuid() == 0 {
			continue // who may read everything
		}
		_, mistakes := readSample(test.path, "PAUSE=soon")
		if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], test.want) || strings.Contains(mistakes[0], canary) {
			t.Errorf("want %q, got: %v", test.want, mistakes)
		}
	}
}
