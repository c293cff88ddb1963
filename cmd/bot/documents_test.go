package main

import (
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

// eachPiece calls see with each line of a document, and with each piece of code, whole and by
// words. Code is a line of a fenced block, or stands in backticks.
func eachPiece(text string, see func(line int, kind, piece string)) {
	kind, other := "line", "block"
	code := map[string]*regexp.Regexp{"line": regexp.MustCompile("`([^`]+)`"), "block": regexp.MustCompile(`(.+)`)}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			kind, other = other, kind
		}
		see(i+1, kind, line)
		for _, found := range code[kind].FindAllStringSubmatch(line, -1) {
			command, _, _ := strings.Cut(strings.TrimSpace(found[1]), " #")
			see(i+1, "code", command)
			for _, word := range strings.Fields(command) {
				see(i+1, "word", word)
			}
		}
	}
}

// hasAnchor reports whether GitHub gives this anchor to a heading of a document.
func hasAnchor(text, anchor string) (has bool) {
	dropped := regexp.MustCompile(`^#+ |\]\([^)]*\)|[^\p{L}\p{M}\p{N}_ -]`)
	eachPiece(text, func(_ int, kind, piece string) {
		title := strings.ToLower(dropped.ReplaceAllString(piece, ""))
		has = has || kind == "line" && strings.HasPrefix(piece, "#") && strings.ReplaceAll(title, " ", "-") == anchor
	})
	return has
}

// finds reports whether go test with these arguments finds its build tags, and a test for each
// part of a pattern such as Flood|Burst. tests has a line for each, behind the path of its folder.
func finds(tests, args string) bool {
	var folders []string
	for _, found := range regexp.MustCompile(`(?:^| )\./(\S+)`).FindAllStringSubmatch(args, -1) {
		folders = append(folders, strings.Replace(found[1]+"/", ".../", "(?:.*/)?", 1))
	}
	names := map[string]string{"run": `\w*PART`, "fuzz": `\w*PART`, "bench": `Benchmark\w*PART`, "tags": `PART$`}
	for _, flag := range regexp.MustCompile(`-(run|fuzz|bench|tags) '?([^' /]+)`).FindAllStringSubmatch(args, -1) {
		for _, part := range regexp.MustCompile(`[|,]`).Split(flag[2], -1) {
			name := strings.Replace(names[flag[1]], "PART", strings.TrimPrefix(part, "^"), 1)
			if found, _ := regexp.MatchString("(?m)^(?:"+strings.Join(folders, "|")+")"+name, tests); !found {
				return false
			}
		}
	}
	return true
}

func TestDocumentsNameWhatThereIs(t *testing.T) {
	repository, documents, tests := os.DirFS("../.."), map[string]string{}, ""
	document := regexp.MustCompile(`^(?:\w+\.md|docs/\w+\.md|\.github/ISSUE_TEMPLATE/.+|config\.example\.env)$`)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(|\bflag\.\w+\("([\w.]+)"|^//go:build (\w+)$`)
	if err := fs.WalkDir(repository, ".", func(file string, _ fs.DirEntry, err error) error {
		if document.MatchString(file) {
			documents[file] = configtest.Read(t, "../../"+file)
		}
		if strings.HasSuffix(file, "_test.go") {
			for _, found := range declared.FindAllStringSubmatch(configtest.Read(t, "../../"+file), -1) {
				tests += path.Dir(file) + "/" + found[1] + found[2] + found[3] + "\n"
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		kind, pattern, wrong string
		holds                func(document, found, more string) bool
	}{
		{"line", `(?:\]\(|(?:src|srcset|href)=")([^)"\s:#]*)#?([^)"\s:]*)[)"]`, "no such file or heading", func(document, file, anchor string) bool {
			if file != "" {
				document = path.Join(path.Dir(document), file)
			}
			_, err := fs.Stat(repository, document)
			return err == nil && (anchor == "" || hasAnchor(documents[document], anchor))
		}},
		{"word", `^(?:\./)?((?:internal|commands|cmd|docs|deploy|examples|\.ci|\.github)(?:/[\w.*-]+)*|config\.[\w.]+|Dockerfile|go\.mod|[A-Z]+\.md)(/?)$`, "no such file", func(_, file, _ string) bool {
			there, _ := fs.Glob(repository, strings.TrimSuffix(file, "/..."))
			return len(there) > 0
		}},
		{"word", `^([A-Z]+(?:_[A-Z]+)+?)(?:_FILE)?(=|$)`, "no such setting", func(_, name, _ string) bool {
			known, _ := regexp.MatchString(`(?m)^#?`+name+`=`, documents["config.example.env"])
			return known || strings.Contains(notSettings, " "+name+" ")
		}},
		{"word", `^(?:-([a-z]+\.[a-z]+)|((?:Test|Fuzz|Benchmark)[A-Z]\w*))$`, "no such test, or flag of tests", func(_, flag, test string) bool { return strings.Contains(tests, "/"+flag+test+"\n") }},
		{"code", `^(?:bot|\./bot|(?:.* )?/bot|(?:.* )?go run \./cmd/bot)(?: ([^|>&;]*))?($)`, "the program refuses", func(_, args, _ string) bool {
			_, _, err := parse(strings.Fields(args))
			return err == nil
		}},
		{"code", `^([A-Z]+=\S+ )?go test (.+)$`, "no such test or build tag", func(_, _, args string) bool { return finds(tests, args) }},
	} {
		pattern := regexp.MustCompile(check.pattern)
		for document, text := range documents {
			eachPiece(text, func(line int, kind, piece string) {
				for _, found := range pattern.FindAllStringSubmatch(piece, -1) {
					if kind == check.kind && !check.holds(document, found[1], found[2]) {
						t.Errorf("%s:%d: %s: %s", document, line, check.wrong, found[0])
					}
				}
			})
		}
	}
}
