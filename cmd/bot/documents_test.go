package main

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

// notSettings are variables of other programs, of deployments and of earlier versions.
var notSettings = []string{
	"NAME_FILE",
	"HTTPS_PROXY",
	"GITHUB_REPOSITORY",
	"HERALD_IMAGE",
	"HERALD_DOMAIN",
	"DISCORD_APPLICATION_ID",
	"CACHE_MAX_ITEMS",
	"CHART_THEME",
	"DISCORD_GUILD_ID",
	"PRICE_TOKEN_SLUG",
}

var repository = os.DirFS("../..")

// document is a page.
type document struct {
	file  string
	text  string // Each line of a fenced block is in backticks, behind a tab.
	code  string // a line for each piece of text in backticks, without its comment
	words string // a line for each word of code
}

var fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// read returns a file of the repository.
func read(t *testing.T, file string) document {
	t.Helper()
	quote := func(block string) string {
		return regexp.MustCompile(`(?m)^.+$`).ReplaceAllString(block, "\t`$0`")
	}
	text := configtest.Read(t, "../../"+file)
	d := document{file: file, text: fencedBlock.ReplaceAllStringFunc(text, quote)}
	for _, found := range matches("`([^`\n]+?)( #[^`\n]*)?`", d.text) {
		d.code += strings.TrimSpace(found[1]) + "\n"
	}
	d.words = strings.Join(strings.Fields(d.code), "\n")
	return d
}

// matches returns the result of FindAllStringSubmatch, with ^ and $ at the beginning and the end of
// each line.
func matches(pattern, text string) [][]string {
	return regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(text, -1)
}

// checkLinks fails the test for each link to a file, or to a heading, that does not exist.
func (d document) checkLinks(t *testing.T) {
	const link = `(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]*)#?([^)"\s:]*)[)"]`
	for _, found := range matches(link, d.text) {
		file := path.Join(path.Dir(d.file), cmp.Or(found[1], path.Base(d.file)))
		anchor := found[2]
		if _, err := fs.Stat(repository, file); err != nil || anchor != "" && !read(t, file).hasHeading(anchor) {
			t.Errorf("%s: no such file or heading: %s", d.file, found[0])
		}
	}
}

// hasHeading reports whether GitHub gives this anchor to a heading.
func (d document) hasHeading(anchor string) bool {
	dropped := regexp.MustCompile(`\]\([^)]*\)|[^\p{L}\p{M}\p{N}_ #\t\n-]`)
	anchors := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(d.text), ""), " ", "-")
	return len(matches(`^#+-`+regexp.QuoteMeta(anchor)+`$`, anchors)) > 0
}

// checkFiles fails the test for each path in code that does not exist.
func (d document) checkFiles(t *testing.T) {
	const (
		inFolder = `(?:internal|commands|cmd|docs|deploy|examples|\.ci|\.github)(?:/[\w.*-]+)*`
		atTop    = `config\.[\w.]+|Dockerfile|go\.mod|[A-Z]+\.md`
	)
	for _, found := range matches(`^(?:\./)?(`+inFolder+`|`+atTop+`)/?$`, d.words) {
		if there, _ := fs.Glob(repository, strings.TrimSuffix(found[1], "/...")); len(there) == 0 {
			t.Errorf("%s: no such file: %s", d.file, found[0])
		}
	}
}

// checkSettings fails the test for each setting in code that does not exist.
func (d document) checkSettings(t *testing.T) {
	example := configtest.Read(t, "../../config.example.env")
	for _, found := range matches(`^([A-Z]+(?:_[A-Z]+)+?)(?:_FILE)?(?:=|$)`, d.words) {
		name := found[1]
		if len(matches("^#?"+name+"=", example)) == 0 && !slices.Contains(notSettings, name) {
			t.Errorf("%s: no such setting: %s", d.file, found[0])
		}
	}
}

// checkTests fails the test for each test, or flag of a test, in code that does not exist. tests is as
// from testNames.
func (d document) checkTests(t *testing.T, tests string) {
	for _, found := range matches(`^(?:-([a-z]+\.[a-z]+)|((?:Test|Fuzz|Benchmark)[A-Z]\w*))$`, d.words) {
		if !strings.Contains(tests, "/"+found[1]+found[2]+"\n") {
			t.Errorf("%s: no such test, or flag of tests: %s", d.file, found[0])
		}
	}
}

// checkCommands fails the test for each command line of the program, up to a pipe or the like, that it
// refuses.
func (d document) checkCommands(t *testing.T) {
	const program = `(?:bot|\./bot|(?:.* )?/bot|(?:.* )?go run \./cmd/bot)`
	for _, found := range matches(`^`+program+`(?: ([^|>&;\n]*).*)?$`, d.code) {
		if _, _, err := parse(strings.Fields(found[1])); err != nil {
			t.Errorf("%s: the program refuses %s", d.file, found[0])
		}
	}
}

// checkTestCommands fails the test for each build tag of a go test command, and each part of a pattern
// such as Flood|Burst, that its packages do not have. tests is as from testNames.
func (d document) checkTestCommands(t *testing.T, tests string) {
	names := map[string]string{
		"run":   `\w*PART`,
		"fuzz":  `\w*PART`,
		"bench": `Benchmark\w*PART`,
		"tags":  `PART$`,
	}
	for _, command := range matches(`^(?:[A-Z]+=\S+ )?go test .+$`, d.code) {
		packages := regexp.MustCompile(` \./\S+`).FindAllString(command[0], -1)
		in := strings.ReplaceAll(strings.Join(packages, "|"), "/...", "(?:/.*)?")
		for _, flag := range matches(`-(run|fuzz|bench|tags) '?([^' /]+)`, command[0]) {
			for _, part := range matches(`[^|,^$]+`, flag[2]) {
				name := strings.Replace(names[flag[1]], "PART", part[0], 1)
				if len(matches("^(?:"+in+")/"+name, tests)) == 0 {
					t.Errorf("%s: in %q is no %s: %s", d.file, packages, part[0], command[0])
				}
			}
		}
	}
}

// testNames returns a line for each test, flag and build tag of the tests in the repository, such as
// "./internal/app/TestX", behind a space.
func testNames(t *testing.T) string {
	t.Helper()
	const name = `^func ((?:Test|Fuzz|Benchmark)\w*)\(|\bflag\.\w+\("([\w.]+)"|^//go:build (\w+)$`
	var names strings.Builder
	for _, file := range files(t, regexp.MustCompile(`_test\.go$`)) {
		for _, found := range matches(name, configtest.Read(t, "../../"+file)) {
			names.WriteString(" ./" + path.Dir(file) + "/" + found[1] + found[2] + found[3] + "\n")
		}
	}
	return names.String()
}

// files returns the paths of the repository's files that match a pattern.
func files(t *testing.T, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	err := fs.WalkDir(repository, ".", func(file string, _ fs.DirEntry, err error) error {
		if pattern.MatchString(file) {
			found = append(found, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDocumentsNameWhatThereIs(t *testing.T) {
	tests := testNames(t)
	pages := files(t, regexp.MustCompile(
		`^(?:\w+\.md|docs/\w+\.md|\.github/ISSUE_TEMPLATE/.+|config\.example\.env)$`))
	for _, file := range []string{"README.md", "docs/proof.md"} {
		if !slices.Contains(pages, file) || read(t, file).code == "" {
			t.Errorf("%s is missing, or has no code", file)
		}
	}
	for _, file := range pages {
		d := read(t, file)
		d.checkLinks(t)
		d.checkFiles(t)
		d.checkSettings(t)
		d.checkTests(t, tests)
		d.checkCommands(t)
		d.checkTestCommands(t, tests)
	}
}
