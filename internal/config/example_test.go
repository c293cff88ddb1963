package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write config.example.env anew from the table of settings")

const exampleFile = "../../config.example.env"

const exampleHead = `# Settings of Herald. Copy this file, fill in what is not commented out and
# the token of at least one platform, and start ` + "`bot run --env-file FILE`" + `.
#
# A variable of the process environment wins over the same one here. An empty
# value counts as unset. A line that is commented out shows the default, and
# where nothing follows its = there is none. Durations carry a unit: 30s, 1h30m.
#
# Each secret NAME can be given as NAME_FILE instead: the path to a file that
# holds nothing but the value, as Docker and Kubernetes mount secrets.
`

// renderExample writes the table of settings as config.example.env.
func renderExample() string {
	var b strings.Builder
	b.WriteString(exampleHead)
	for _, s := range settings {
		if s.heading != "" {
			fmt.Fprintf(&b, "\n\n## %s\n", s.heading)
		}
		b.WriteString("\n# " + strings.ReplaceAll(s.comment, "\n", "\n# ") + "\n")
		if s.secret {
			fmt.Fprintf(&b, "# Secret; may be given as %s_FILE.\n", s.name)
		}
		if s.byDefault != s.example {
			fmt.Fprintf(&b, "# For example %s\n", s.example)
		}
		if !s.required {
			b.WriteString("#")
		}
		fmt.Fprintf(&b, "%s=%s\n", s.name, s.byDefault)
	}
	return b.String()
}

func readExample(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestExampleFileIsTheTableOfSettings(t *testing.T) {
	want := renderExample()
	if *update {
		if err := os.WriteFile(exampleFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readExample(t) != want {
		t.Error("config.example.env differs from the table; write it anew with: go test ./internal/config -update")
	}
}

func TestExampleFileListsEverySettingWithItsDefault(t *testing.T) {
	assignments := regexp.MustCompile(`(?m)^(#?)([A-Z][A-Z0-9_]*)=(.*)$`).FindAllStringSubmatch(readExample(t), -1)
	if len(assignments) != len(settings) {
		t.Fatalf("the file has %d settings, the table %d", len(assignments), len(settings))
	}
	for i, s := range settings {
		commented, name, value := assignments[i][1] == "#", assignments[i][2], assignments[i][3]
		if name != s.name || value != s.byDefault || commented == s.required {
			t.Errorf("setting %d is %s=%s in the file, %s=%s in the table", i+1, name, value, s.name, s.byDefault)
		}
	}
}

func TestExampleFileLoadsWithTheRequiredFilledIn(t *testing.T) {
	if _, err := Load(with(), exampleFile); err != nil {
		t.Errorf("from the environment: %v", err)
	}
	content := readExample(t)
	for name, value := range required() {
		content = strings.Replace(content, "\n"+name+"=\n", "\n"+name+"="+value+"\n", 1)
	}
	if _, err := Load(nil, write(t, content)); err != nil {
		t.Errorf("from the file: %v", err)
	}
	_, err := Load(nil, exampleFile)
	if got := len(mistakesOf(t, err)); got != len(required()) {
		t.Errorf("as it stands, %d mistakes are told, want %d:\n%v", got, len(required()), err)
	}
}

func TestDefaultsAndExamplesAreRightInForm(t *testing.T) {
	for _, s := range settings {
		for _, value := range []string{s.byDefault, s.example} {
			if value == "" {
				continue
			}
			if err := s.set(&Config{}, value); err != nil {
				t.Errorf("%s=%s %v", s.name, value, err)
			}
		}
		if s.comment == "" || s.example == "" || s.required && s.byDefault != "" {
			t.Errorf("%s lacks a comment or an example, or is required and has a default", s.name)
		}
	}
}
