package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestTheImageHasNoShellAndNoRoot(t *testing.T) {
	_, image, found := strings.Cut(read(t, "../../Dockerfile"), "\nFROM scratch\n")
	if !found {
		t.Fatal("the image is not made from scratch")
	}
	for _, line := range []string{"USER 65532:65532", `ENTRYPOINT ["/bot"]`, "STOPSIGNAL SIGTERM"} {
		if !slices.Contains(strings.Split(image, "\n"), line) {
			t.Errorf("the image lacks %s", line)
		}
	}
	if strings.Contains(image, "\nRUN ") {
		t.Error("the image runs something, for which it would need a shell")
	}
	if !strings.Contains(read(t, "../../Dockerfile"), "RUN CGO_ENABLED=0 go build") {
		t.Error("the binary is not built without cgo")
	}
}

// shipped returns our own packages in the program, by import path.
func shipped(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{.ImportPath}} {{with .Module}}{{.Main}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		path, ours := strings.CutSuffix(strings.TrimSpace(line), " true")
		path, _, _ = strings.Cut(path, " ")
		if path == "testing" || path == "net/http/httptest" {
			t.Errorf("the program holds %s, with its flags", path)
		}
		if path == "github.com/ethereum/go-ethereum/rlp" {
			t.Errorf("the program holds %s, for which the linker keeps every method of every type: it is half as large again", path)
		}
		if ours {
			packages = append(packages, path)
		}
	}
	return packages
}

// What fails on purpose and what tests share stays out of the program. The stand-ins of
// services and platforms are in it, for the demos.
func TestTheProgramHoldsNothingOfTheTests(t *testing.T) {
	packages := shipped(t)
	fakes := []string{"herald/internal/demo/fake/telegram", "herald/internal/demo/fake/discord", "herald/internal/demo/fake/services"}
	for _, path := range packages {
		ofTests := strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/fault") || strings.Contains(path, "/e2e")
		if ofTests && !slices.Contains(fakes, path) {
			t.Errorf("the program holds %s", path)
		}
	}
	for _, path := range fakes {
		if !slices.Contains(packages, path) {
			t.Errorf("the demo's %s is not among %v", path, packages)
		}
	}
}

// writing matches calls that make, change, move or remove files, or may do so by other
// means.
var writing = regexp.MustCompile(`"(io/ioutil|os/exec|plugin|golang\.org/x/sys/unix)"` +
	`|\bos\.(Create|CopyFS|Mkdir|WriteFile|OpenFile|OpenRoot|Rename|Remove|Link\b|Symlink|Truncate|Chmod|Chtimes|L?[Cc]hown|StartProcess)` +
	`|\bsyscall\.(Open|Creat|Mk|Rename|Unlink|Rmdir|Link|Symlink|Exec|ForkExec|StartProcess|(Raw)?Syscall)`)

// Only package store writes to disk, below DATA_DIR: the root file system may be
// read-only. The modules that the program is built on are not read.
func TestNothingElseIsWrittenToDisk(t *testing.T) {
	for _, path := range shipped(t) {
		names, err := filepath.Glob("../../" + strings.TrimPrefix(path, "herald/") + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(path, err)
		}
		for _, name := range names {
			if found := writing.FindString(read(t, name)); found != "" && !strings.HasSuffix(name, "_test.go") && path != "herald/internal/store" {
				t.Errorf("%s uses %s", name, found)
			}
		}
	}
}
