package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is its root.
const repository = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// documents are the repository's own by path, with their content.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			path, err := filepath.Rel(repository, path)
			if err != nil {
				t.Fatal(err)
			}
			found[path] = read(t, path)
		}
	}
	return found
}

// matches are the first groups of all matches, sorted and each once.
func matches(pattern, text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestDependenciesAreExplained(t *testing.T) {
	var required []string
	for line := range strings.Lines(read(t, "go.mod")) {
		if !strings.Contains(line, "// indirect") {
			required = append(required, matches(`^\s+(\S+) v`, line)...)
		}
	}
	slices.Sort(required)
	explained := matches("(?m)^\\| `([^`]*\\.[^`]*/[^` ,]*)` \\|", read(t, "docs/dependencies.md"))
	for _, module := range required {
		if !slices.Contains(explained, module) {
			t.Errorf("docs/dependencies.md does not explain %s", module)
		}
	}
	for _, module := range explained {
		if !slices.Contains(required, module) {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require directly", module)
		}
	}
	if len(required) == 0 {
		t.Error("go.mod requires nothing")
	}
}

func TestDependenciesAreCountedRightly(t *testing.T) {
	page := read(t, "docs/dependencies.md")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Indirect}}{{end}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m == "" })
	direct := 0
	for _, m := range modules {
		if strings.HasSuffix(m, " false") {
			direct++
		}
	}
	for _, want := range []string{
		fmt.Sprintf("holds %d modules", len(modules)),
		fmt.Sprintf("\n%d of them are the ones above", direct),
		fmt.Sprintf("the other %d come", len(modules)-direct),
		fmt.Sprintf("# %d\n", strings.Count(read(t, "go.mod"), "// indirect")),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/dependencies.md does not say %q", want)
		}
	}
}

// TestDocumentsNameWhatThereIs looks up every file, setting and command that
// a document names.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	settings := matches(`(?m)^#?([A-Z_]+)=`, read(t, "config.example.env"))
	for name, text := range documents(t) {
		for _, path := range append(
			matches(`(?:^|[\s(\x60])((?:cmd|commands|internal|docs|\.ci)/[\w./-]+)`, text),
			matches(`\]\(([\w./-]+)\)`, text)...) {
			if _, err := os.Stat(filepath.Join(repository, strings.TrimRight(path, "."))); err != nil {
				t.Errorf("%s names %s, which does not exist", name, path)
			}
		}
		for _, setting := range matches("`([A-Z]+(?:_[A-Z]+)+)`", text) {
			if !slices.Contains(settings, setting) && setting != "NAME_FILE" {
				t.Errorf("%s names the setting %s, which config.example.env does not list", name, setting)
			}
		}
		for _, command := range matches("`bot ([a-z]+)", text) {
			if !strings.Contains(usage, "bot "+command) && !strings.Contains(usage, "bot ["+command+"]") {
				t.Errorf("%s names the command `bot %s`, which does not exist", name, command)
			}
		}
	}
}
