package main

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

// notSettings are variables of others, of a deployment and of earlier versions.
const notSettings = " NAME_FILE HTTPS_PROXY GITHUB_REPOSITORY HERALD_IMAGE HERALD_DOMAIN DISCORD_APPLICATION_ID CACHE_MAX_ITEMS CHART_THEME DISCORD_GUILD_ID PRICE_TOKEN_SLUG "

var repository = os.DirFS("../..")

// document is a page. In text, a line of a fenced block stands in backticks behind a tab. code has
// a line for each piece in backticks, without its comment, and words one for each word of code.
type document struct{ file, text, code, words string }

func read(t *testing.T, file string) document {
	quote := func(block string) string { return regexp.MustCompile(`(?m)^.+$`).ReplaceAllString(block, "\t`$0`") }
	blocks := regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	d := document{file: file, text: blocks.ReplaceAllStringFunc(configtest.Read(t, "../../"+file), quote)}
	for _, found := range matches("`([^`\n]+?)( #[^`\n]*)?`", d.text) {
		d.code += strings.TrimSpace(found[1]) + "\n"
	}
	d.words = strings.Join(strings.Fields(d.code), "\n")
	return d
}

// matches returns what FindAllStringSubmatch does, with ^ and $ at each line's begin and end.
func matches(pattern, text string) [][]string {
	return regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(text, -1)
}

func (d document) checkLinks(t *testing.T) {
	for _, found := range matches(`(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]*)#?([^)"\s:]*)[)"]`, d.text) {
		file, anchor := path.Join(path.Dir(d.file), cmp.Or(found[1], path.Base(d.file))), found[2]
		if _, err := fs.Stat(repository, file); err != nil || anchor != "" && !read(t, file).hasHeading(anchor) {
			t.Errorf("%s: no such file or heading: %s", d.file, found[0])
		}
	}
}

// hasHeading reports whether GitHub gives this anchor to a heading.
func (d document) hasHeading(anchor string) bool {
	kept := regexp.MustCompile(`\]\([^)]*\)|[^\p{L}\p{M}\p{N}_ #\t\n-]`).ReplaceAllString(strings.ToLower(d.text), "")
	return len(matches(`^#+-`+regexp.QuoteMeta(anchor)+`$`, strings.ReplaceAll(kept, " ", "-"))) > 0
}

func (d document) checkFiles(t *testing.T) {
	for _, found := range matches(`^(?:\./)?((?:internal|commands|cmd|docs|deploy|examples|\.ci|\.github)(?:/[\w.*-]+)*|config\.[\w.]+|Dockerfile|go\.mod|[A-Z]+\.md)/?$`, d.words) {
		if there, _ := fs.Glob(repository, strings.TrimSuffix(found[1], "/...")); len(there) == 0 {
			t.Errorf("%s: no such file: %s", d.file, found[0])
		}
	}
}

func (d document) checkSettings(t *testing.T) {
	for _, found := range matches(`^([A-Z]+(?:_[A-Z]+)+?)(?:_FILE)?(?:=|$)`, d.words) {
		if known := matches("^#?"+found[1]+"=", configtest.Read(t, "../../config.example.env")); len(known) == 0 && !strings.Contains(notSettings, " "+found[1]+" ") {
			t.Errorf("%s: no such setting: %s", d.file, found[0])
		}
	}
}

func (d document) checkTests(t *testing.T, tests string) {
	for _, found := range matches(`^(?:-([a-z]+\.[a-z]+)|((?:Test|Fuzz|Benchmark)[A-Z]\w*))$`, d.words) {
		if !strings.Contains(tests, "/"+found[1]+found[2]+"\n") {
			t.Errorf("%s: no such test, or flag of tests: %s", d.file, found[0])
		}
	}
}

// checkCommands has the program read its arguments, up to a pipe or the like.
func (d document) checkCommands(t *testing.T) {
	for _, found := range matches(`^(?:bot|\./bot|(?:.* )?/bot|(?:.* )?go run \./cmd/bot)(?: ([^|>&;\n]*).*)?$`, d.code) {
		if _, _, err := parse(strings.Fields(found[1])); err != nil {
			t.Errorf("%s: the program refuses %s", d.file, found[0])
		}
	}
}

// checkTestCommands looks, in the packages that go test gets, for its build tags, and for a test for
// each part of a pattern such as Flood|Burst. tests has a line for each, behind its package.
func (d document) checkTestCommands(t *testing.T, tests string) {
	names := map[string]string{"run": `\w*PART`, "fuzz": `\w*PART`, "bench": `Benchmark\w*PART`, "tags": `PART$`}
	for _, command := range matches(`^(?:[A-Z]+=\S+ )?go test .+$`, d.code) {
		packages := regexp.MustCompile(` \./\S+`).FindAllString(command[0], -1)
		in := strings.ReplaceAll(strings.Join(packages, "|"), "/...", "(?:/.*)?")
		for _, flag := range matches(`-(run|fuzz|bench|tags) '?([^' /]+)`, command[0]) {
			for _, part := range matches(`[^|,^$]+`, flag[2]) {
				if name := strings.Replace(names[flag[1]], "PART", part[0], 1); len(matches("^(?:"+in+")/"+name, tests)) == 0 {
					t.Errorf("%s: in %q is no %s: %s", d.file, packages, part[0], command[0])
				}
			}
		}
	}
}

func TestDocumentsNameWhatThereIs(t *testing.T) {
	tests, documents := "", map[string]document{}
	page := regexp.MustCompile(`^(?:\w+\.md|docs/\w+\.md|\.github/ISSUE_TEMPLATE/.+|config\.example\.env)$`)
	if err := fs.WalkDir(repository, ".", func(file string, _ fs.DirEntry, err error) error {
		if page.MatchString(file) {
			documents[file] = read(t, file)
		}
		if strings.HasSuffix(file, "_test.go") {
			for _, found := range matches(`^func ((?:Test|Fuzz|Benchmark)\w*)\(|\bflag\.\w+\("([\w.]+)"|^//go:build (\w+)$`, configtest.Read(t, "../../"+file)) {
				tests += " ./" + path.Dir(file) + "/" + found[1] + found[2] + found[3] + "\n"
			}
		}
		return err
	}); err != nil || documents["README.md"].code == "" || documents["docs/proof.md"].code == "" {
		t.Fatalf("of %d documents, one is missing: %v", len(documents), err)
	}
	for _, d := range documents {
		d.checkLinks(t)
		d.checkFiles(t)
		d.checkSettings(t)
		d.checkTests(t, tests)
		d.checkCommands(t)
		d.checkTestCommands(t, tests)
	}
}
