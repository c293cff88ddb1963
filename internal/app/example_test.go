package app

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

const exampleFile = "../../config.example.env"

func readExample(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestExampleFileExplainsEverySetting compares the file with the table. The
// words are the file's; what it says of defaults, examples and secrets is the
// table's.
func TestExampleFileExplainsEverySetting(t *testing.T) {
	entries := regexp.MustCompile(`(?m)((?:^# .*\n)+)^(#?)([A-Z][A-Z0-9_]*)=(.*)$`).FindAllStringSubmatch(readExample(t), -1)
	if len(entries) != len(settings) {
		t.Fatalf("the file explains %d settings, the table has %d", len(entries), len(settings))
	}
	for i, s := range settings {
		comment, name := entries[i][1], entries[i][3]
		facts := ""
		if s.Secret {
			facts += fmt.Sprintf("# Secret; may be given as %s_FILE.\n", s.Name)
		}
		if s.Example != "" {
			facts += fmt.Sprintf("# For example %s\n", s.Example)
		}
		mark := "#"
		if s.Required {
			mark = ""
		}
		words, found := strings.CutSuffix(comment, facts)
		if name != s.Name || !found || words == "" || strings.Contains(words, "# Secret; ") || strings.Contains(words, "# For example ") {
			t.Errorf("setting %d is %s in the table, with these lines at the end of its comment:\n%s\nin the file it is %s:\n%s", i+1, s.Name, facts, name, comment)
		}
		if got, want := entries[i][2]+name+"="+entries[i][4], mark+s.Name+"="+s.Default; got != want {
			t.Errorf("the file says %s, the table %s", got, want)
		}
	}
}

func TestExampleFileLoadsWithTheRequiredFilledIn(t *testing.T) {
	if _, err := Load(with(), exampleFile); err != nil {
		t.Errorf("from the environment: %v", err)
	}
	content := readExample(t)
	for _, line := range with() {
		name, _, _ := strings.Cut(line, "=")
		content = strings.Replace(content, "\n"+name+"=\n", "\n"+line+"\n", 1)
	}
	if _, err := Load(nil, write(t, content)); err != nil {
		t.Errorf("from the file: %v", err)
	}
	_, err := Load(nil, exampleFile)
	if got := len(mistakesOf(t, err)); got != len(with()) {
		t.Errorf("as it stands, there are %d mistakes, want %d:\n%v", got, len(with()), err)
	}
}
