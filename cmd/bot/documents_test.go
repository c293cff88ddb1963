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

// notSettings are names in the documents that look like settings of Herald, but belong to other programs, to
// deployments, or to earlier versions.
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

// document is a Markdown page of the repository. If its text is
//
//	Run `bot check --env-file herald.env # it asks everything` first.
//
// code is "bot check --env-file herald.env\n", and words is "bot\ncheck\n--env-file\nherald.env".
type document struct {
	file  string // its path in the repository
	text  string // the page, with each line of a fenced block in backticks, like inline code
	code  string // a line for each text in backticks, without its comment
	words string // a line for each word of code
}

func TestDocumentsNameWhatThereIs(t *testing.T) {
	tests := testNames(t)
	pages := files(t, regexp.MustCompile(
		`^(?:\w+\.md|docs/\w+\.md|\.github/ISSUE_TEMPLATE/.+|config\.example\.env)$`))
	// Without these two, files or readDocument would not work.
	for _, file := range []string{"README.md", "docs/proof.md"} {
		if !slices.Contains(pages, file) || readDocument(t, file).code == "" {
			t.Errorf("%s is missing, or has no code", file)
		}
	}
	for _, file := range pages {
		d := readDocument(t, file)
		d.checkLinks(t)
		d.checkFiles(t)
		d.checkSettings(t)
		d.checkTests(t, tests)
		d.checkCommands(t)
		d.checkTestCommands(t, tests)
	}
}

var fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// readDocument reads a file of the repository.
func readDocument(t *testing.T, file string) document {
	t.Helper()
	// The tab keeps a comment of a shell from being read as a heading.
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

// matches returns all matches of a pattern, as FindAllStringSubmatch does. ^ and $ match at the beginning and the end
// of each line.
func matches(pattern, text string) [][]string {
	return regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(text, -1)
}

// checkLinks fails the test for each link to a file, or to a heading, that does not exist.
func (d document) checkLinks(t *testing.T) {
	// A colon does not match, so addresses of the web are left out.
	const link = `(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]*)#?([^)"\s:]*)[)"]`
	for _, found := range matches(link, d.text) {
		file := path.Join(path.Dir(d.file), cmp.Or(found[1], path.Base(d.file)))
		anchor := found[2]
		_, err := fs.Stat(repository, file)
		exists := err == nil
		if exists && anchor != "" {
			exists = readDocument(t, file).hasHeading(anchor)
		}
		if !exists {
			t.Errorf("%s: no such file or heading: %s", d.file, found[0])
		}
	}
}

// hasHeading reports whether GitHub gives this anchor to a heading. For example, "## What it weighs" has the anchor
// what-it-weighs.
func (d document) hasHeading(anchor string) bool {
	// GitHub leaves out punctuation and the targets of links.
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
		existing, _ := fs.Glob(repository, strings.TrimSuffix(found[1], "/..."))
		if len(existing) == 0 {
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

// checkTests fails the test for each test, or flag of a test, in code that does not exist. tests is the result of
// testNames.
func (d document) checkTests(t *testing.T, tests string) {
	for _, found := range matches(`^(?:-([a-z]+\.[a-z]+)|((?:Test|Fuzz|Benchmark)[A-Z]\w*))$`, d.words) {
		flag, test := found[1], found[2] // One of the two is empty.
		name := flag + test
		if !strings.Contains(tests, "/"+name+"\n") {
			t.Errorf("%s: no such test, or flag of tests: %s", d.file, found[0])
		}
	}
}

// checkCommands fails the test for each command line in code that the program refuses. It ignores what follows a pipe,
// a redirection or a semicolon.
func (d document) checkCommands(t *testing.T) {
	const program = `(?:bot|\./bot|(?:.* )?/bot|(?:.* )?go run \./cmd/bot)`
	for _, found := range matches(`^`+program+`(?: ([^|>&;\n]*).*)?$`, d.code) {
		if _, _, err := parse(strings.Fields(found[1])); err != nil {
			t.Errorf("%s: the program refuses %s", d.file, found[0])
		}
	}
}

// checkTestCommands fails the test for each go test command in code that names what its packages do not have: a build
// tag, or a part of a pattern. For example, the parts of -run 'Flood|Burst' are Flood and Burst. tests is the result of
// testNames.
func (d document) checkTestCommands(t *testing.T, tests string) {
	// By flag, the pattern of a name that the flag selects. PART stands for a part of the flag's value. Except for tags, a
	// pattern need not match the end of a name.
	patterns := map[string]string{
		"run":   `\w*PART`,
		"fuzz":  `\w*PART`,
		"bench": `Benchmark\w*PART`,
		"tags":  `PART$`,
	}
	for _, command := range matches(`^(?:[A-Z]+=\S+ )?go test .+$`, d.code) {
		packages := regexp.MustCompile(` \./\S+`).FindAllString(command[0], -1)
		anyPackage := strings.ReplaceAll(strings.Join(packages, "|"), "/...", "(?:/.*)?")
		for _, flag := range matches(`-(run|fuzz|bench|tags) '?([^' /]+)`, command[0]) {
			for _, part := range matches(`[^|,^$]+`, flag[2]) {
				name := strings.Replace(patterns[flag[1]], "PART", part[0], 1)
				if len(matches("^(?:"+anyPackage+")/"+name, tests)) == 0 {
					t.Errorf("%s: no test or tag %s in %q: %s", d.file, part[0], packages, command[0])
				}
			}
		}
	}
}

// testNames returns a line for each test, flag and build tag of the tests in the repository. Each has a space and its
// package before the name, such as " ./internal/app/TestX".
func testNames(t *testing.T) string {
	t.Helper()
	const name = `^func ((?:Test|Fuzz|Benchmark)\w*)\(|\bflag\.\w+\("([\w.]+)"|^//go:build (\w+)$`
	var names strings.Builder
	for _, file := range files(t, regexp.MustCompile(`_test\.go$`)) {
		for _, found := range matches(name, configtest.Read(t, "../../"+file)) {
			test, flag, tag := found[1], found[2], found[3] // Two of the three are empty.
			names.WriteString(" ./" + path.Dir(file) + "/" + test + flag + tag + "\n")
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
