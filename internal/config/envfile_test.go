package config

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
)

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
		{"exported", "export A=1\nexport\tB=2\nexported=3", map[string]string{"A": "1", "B": "2", "exported": "3"}},
		{"a variable named export", "export=1", map[string]string{"export": "1"}},
		{"quoted", "A=\"b # c\" # d\nB='e\"f'\nC=\"\"\nD='$A\\n'", map[string]string{"A": "b # c", "B": "e\"f", "D": `$A\n`}},
		{"comment behind a value", "A=b # c\nB= # d\nC=#e\nD=f#g", map[string]string{"A": "b", "C": "#e", "D": "f#g"}},
		{"equals signs in the value", "A=b=c==", map[string]string{"A": "b=c=="}},
		{"the last one counts", "A=1\nA=2\nB=1\nB=", map[string]string{"A": "2"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, err := parseEnvFile(test.content)
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestEnvFileErrorsNumberTheLines(t *testing.T) {
	for _, line := range []string{canary, "=" + canary, "1A=" + canary, "A B=" + canary, "A=\"" + canary, "A='" + canary + "' b", "export A", "A\x00=" + canary} {
		_, err := parseEnvFile("OK=1\n" + line + "\nOK=2\n" + line)
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

func TestEnvFileThatCannotBeRead(t *testing.T) {
	_, mistakes := readSample("/nonexistent/"+canary, "NAME=x")
	if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0], "--env-file: the file cannot be opened") || strings.Contains(mistakes[0], canary) {
		t.Errorf("got: %v", mistakes)
	}
	if _, err := readEnvFile("/nonexistent/file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}
