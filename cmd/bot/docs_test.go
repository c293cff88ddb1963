package main

import (
	"fmt"
	"io/fs"
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

// documents are what people read, by path, with its content: every page, and
// the files that they copy.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(repository), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) == ".go":
		case filepath.Ext(path) == ".md" || copied.MatchString(path):
			found[path] = read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// copied are the files that people copy or run.
var copied = regexp.MustCompile(`^(deploy|examples)/[^/]+$|^\.ci/run$|^Dockerfile$|^config\.example\.env$`)

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
		fmt.Sprintf("downloads %d modules", len(modules)),
		fmt.Sprintf("holds %d modules", len(modules)),
		fmt.Sprintf("\n%d of them are the ones above", direct),
		fmt.Sprintf("the other %d come", len(modules)-direct),
		fmt.Sprintf("# %d\n", strings.Count(read(t, "go.mod"), "// indirect")),
	} {
		if !strings.Contains(page+read(t, "README.md"), want) {
			t.Errorf("neither docs/dependencies.md nor README.md says %q", want)
		}
	}
}

// TestDocumentsNameWhatThereIs looks up every file, setting, command and test
// that a document names.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	tests := namedTests(t, "go test ./...")
	settings := matches(`(?m)^#?([A-Z_]+)=`, read(t, "config.example.env"))
	for name, text := range documents(t) {
		for _, path := range matches(`(?:^|[\s(\x60])((?:cmd|commands|internal|docs|deploy|examples|\.ci)/[\w./-]+)`, text) {
			path = strings.TrimRight(path, ".")
			_, err := os.Stat(filepath.Join(repository, path))
			if err != nil { // It may be one that its reader makes of an example.
				_, err = os.Stat(filepath.Join(repository, strings.Replace(path, ".env", ".example.env", 1)))
			}
			if err != nil {
				t.Errorf("%s names %s, which does not exist", name, path)
			}
		}
		for _, setting := range matches("`([A-Z]+(?:_[A-Z]+)+)`", text) {
			if !slices.Contains(settings, strings.TrimSuffix(setting, "_FILE")) && setting != "NAME_FILE" {
				t.Errorf("%s names the setting %s, which config.example.env does not list", name, setting)
			}
		}
		for _, test := range matches("`(Test[A-Z]\\w*)`", text) {
			if !slices.Contains(tests, test) {
				t.Errorf("%s names the test %s, which does not exist", name, test)
			}
		}
		for _, command := range matches("`bot ([a-z]+)", text) {
			if _, found := find(command); !found {
				t.Errorf("%s names the command `bot %s`, which does not exist", name, command)
			}
		}
	}
}

// TestLinksLeadSomewhere follows the links and pictures of every page, within
// the repository.
func TestLinksLeadSomewhere(t *testing.T) {
	for name, text := range documents(t) {
		for _, link := range matches(`\]\(([^)\s]+)\)`, text) {
			if strings.Contains(link, "://") {
				continue
			}
			page, anchor, hasAnchor := strings.Cut(link, "#")
			target := name
			if page != "" {
				target = filepath.Join(filepath.Dir(name), page)
			}
			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, link)
			} else if hasAnchor && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s links to %s, where there is no such heading", name, link)
			}
		}
	}
}

// anchors are what GitHub makes of a page's headings.
func anchors(page string) (all []string) {
	for _, heading := range matches(`(?m)^#+ (.*)$`, page) {
		letters := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading), "")
		all = append(all, strings.ReplaceAll(letters, " ", "-"))
	}
	return all
}

func TestReadmeLinksEveryPage(t *testing.T) {
	linked := matches(`\]\(([\w./-]+\.md)`, read(t, "README.md"))
	for name := range documents(t) {
		if filepath.Ext(name) == ".md" && name != "README.md" && !slices.Contains(linked, name) {
			t.Errorf("README.md does not link to %s", name)
		}
	}
}

// go test passes where a pattern matches no test: a command in a document that
// names none any more would print nothing, and nobody would notice.
func TestCommandsInDocumentsRunSomething(t *testing.T) {
	commands := 0
	for name, text := range documents(t) {
		for _, line := range typed(text) {
			if !strings.HasPrefix(line, "go test ") {
				continue
			}
			commands++
			named := namedTests(t, line)
			for _, pattern := range matches(`-(?:run|bench|fuzz) '?([^\s']+)'?`, line) {
				for alternative := range strings.SplitSeq(pattern, "|") {
					if alternative == "^$" || alternative == "." {
						continue
					}
					if !slices.ContainsFunc(named, regexp.MustCompile(alternative).MatchString) {
						t.Errorf("%s: %s: no test is named %s", name, line, alternative)
					}
				}
			}
		}
	}
	if commands == 0 {
		t.Error("no document has a command")
	}
}

// namedTests are the tests, benchmarks and fuzz targets of the packages that a
// command names.
func namedTests(t *testing.T, command string) (names []string) {
	t.Helper()
	for _, pattern := range matches(`\s(\./[\w./-]*)`, command) {
		dir, recursive := strings.CutSuffix(pattern, "/...")
		err := fs.WalkDir(os.DirFS(repository), filepath.Clean(dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && !recursive && path != filepath.Clean(dir):
				return fs.SkipDir
			case strings.HasSuffix(path, "_test.go"):
				names = append(names, matches(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(`, read(t, path))...)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	return names
}
