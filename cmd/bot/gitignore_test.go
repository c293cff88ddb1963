package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ignorer reports whether Git would leave a path of the repository out, by the
// repository's own .gitignore alone. It also works where the repository is no
// clone.
func ignorer(t *testing.T) func(path string) bool {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	clone := t.TempDir()
	run := func(args ...string) error {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = clone
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "XDG_CONFIG_HOME="+clone)
		return cmd.Run()
	}
	if err := run("init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, ".gitignore"), []byte(read(t, ".gitignore")), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(path string) bool {
		err := run("check-ignore", "--quiet", path)
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatal(err)
		}
		return err == nil
	}
}

var codeBlock = regexp.MustCompile("(?s)\n```(?:sh|bash|console)\n(.*?)\n```")

// made are what the commands in a document make in the folder of the repository.
func made(document string) []string {
	var paths []string
	for _, block := range codeBlock.FindAllStringSubmatch(document, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ := strings.Cut(line, " #")
			paths = append(paths, matches(`\s-o (\S+)`, line)...)
			paths = append(paths, matches(`--env-file[= ](\S+)`, line)...)
			paths = append(paths, matches(`^(?:cp|install) (?:\S+ )+(\S+)$`, strings.TrimSpace(line))...)
			paths = append(paths, matches(`\bmkdir (?:-\S+ )*(\S+)`, line)...)
			paths = append(paths, matches(`>>? ?(\S+)`, line)...)
			paths = append(paths, matches(`\bDATA_DIR=(\S+)`, line)...)
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool {
		return strings.ContainsAny(path, "$<~&") || filepath.IsAbs(path)
	})
}

func TestGitLeavesOutWhatTheDocumentsLetPeopleMake(t *testing.T) {
	ignored := ignorer(t)
	for document, text := range documents(t) {
		paths := made(text)
		for _, path := range paths {
			if _, err := os.Stat(filepath.Join(repository, path)); err == nil && !ignored(path) {
				continue // it is the repository's own
			}
			if !ignored(path) {
				t.Errorf("%s lets people make %s, which .gitignore does not leave out", document, path)
			}
		}
		if document == "README.md" && (!slices.Contains(paths, "herald.env") || !slices.Contains(paths, "bot")) {
			t.Errorf("the commands of %s make %q, without the settings and the program", document, paths)
		}
	}
}

func TestGitLeavesOutSecretsAndKeepsExamples(t *testing.T) {
	ignored := ignorer(t)
	for _, path := range []string{"herald.env", ".env", ".env.production", "prod.env", "deploy/herald.env", "bot", "herald", "secrets/telegram_bot_token", "deploy/.env", "deploy/secrets/key", "data/quotes.db"} {
		if !ignored(path) {
			t.Errorf("%s is not left out", path)
		}
	}
	for _, path := range []string{"config.example.env", "examples/matchain.env", "examples/compose/herald.env", "cmd/bot/main.go", "internal/chart/data.go"} {
		if ignored(path) {
			t.Errorf("%s is left out", path)
		}
	}
}

func TestWhatCommandsMakeIsFound(t *testing.T) {
	got := made("text\n\n```sh\ngo build -o bot ./cmd/bot\n./bot run --env-file=a.env   # > not\ncp b c\nmkdir -p d\nopenssl rand -hex 32 > e\n" +
		"DATA_DIR=f ./bot\ncp g /h\n```\n\n```\ncp i j\n```\n")
	if want := []string{"a.env", "bot", "c", "d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
