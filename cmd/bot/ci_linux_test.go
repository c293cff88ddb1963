package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkUntilFormatting runs .ci/run with these variables, up to its first check,
// which fails.
func checkUntilFormatting(t *testing.T, environ ...string) (output string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		// README promises tests that need only Go; .ci/run itself needs bash.
		t.Skip(".ci/run needs bash, which is not installed")
	}
	stubs := t.TempDir()
	if err := os.WriteFile(filepath.Join(stubs, "gofmt"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), bash, filepath.Join(repository, ".ci/run"))
	run.Env = append(environ, "PATH="+stubs+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Run(); err == nil {
		t.Fatalf("it goes on without gofmt:\n%s", &out)
	}
	return out.String()
}

func TestTheLinterIsKeptWhereNobodyElseCanWrite(t *testing.T) {
	home := t.TempDir()
	for want, environ := range map[string][]string{
		filepath.Join(home, "1/.cache/herald-ci"): {"HOME=" + filepath.Join(home, "1"), "TMPDIR=" + filepath.Join(home, "tmp")},
		filepath.Join(home, "2/herald-ci"):        {"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "2")},
		filepath.Join(home, "3"):                  {"HOME=" + home, "CACHE=" + filepath.Join(home, "3")},
	} {
		for range 2 { // made, and found
			out := checkUntilFormatting(t, environ...)
			info, err := os.Stat(want)
			if err != nil || info.Mode().Perm() != 0o700 || !strings.Contains(out, "== gofmt") {
				t.Errorf("%q: %v %v\n%s", environ, info, err, out)
			}
		}
	}

	refused := func(what, dir string) {
		t.Helper()
		if out := checkUntilFormatting(t, "CACHE="+dir); strings.Contains(out, "== gofmt") || !strings.Contains(out, "others can write") {
			t.Errorf("a folder that is %s is used:\n%s", what, out)
		}
	}
	dir := filepath.Join(home, "3")
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused(mode.String(), dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused("a link", link)
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused("another's", dir)
	}
}

func TestTheWorkflowChecksBuildsAndScansWithWhatIsPinned(t *testing.T) {
	workflow := read(t, ".github/workflows/ci.yml")
	for _, want := range []string{
		"\n  push:", "\n  pull_request:", "\n  schedule:\n    - cron: ", "\npermissions:\n  contents: read\n",
		"- run: .ci/run\n", "- run: docker build ", "- run: go run golang.org/x/vuln/cmd/govulncheck@v",
	} {
		if !strings.Contains(workflow, want) {
			t.Errorf("the workflow lacks %q", want)
		}
	}
	if strings.Contains(workflow, "write") || strings.Contains(workflow, "secrets.") {
		t.Error("the workflow asks for more than to read")
	}
	pinned := regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40} # v[0-9.]+$`)
	uses := matches(`uses: (.*)`, workflow)
	for _, action := range uses {
		if !pinned.MatchString(action) {
			t.Errorf("%s is not pinned to a commit", action)
		}
	}
	if len(uses) == 0 {
		t.Error("the workflow uses no action, not even to check out")
	}
	kept := matches(`package-ecosystem: (\S+)\n    directory: /\n    schedule: \{interval: weekly\}`, read(t, ".github/dependabot.yml"))
	if want := []string{"docker", "github-actions", "gomod"}; !slices.Equal(kept, want) {
		t.Errorf("Dependabot looks after %v weekly, want %v", kept, want)
	}
}
