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

// writing are calls that make files, open them to be written, change, move or
// remove them, or may do so by other means.
var writing = regexp.MustCompile(`"(io/ioutil|os/exec|plugin|golang\.org/x/sys/unix)"` +
	`|\bos\.(Create|CopyFS|Mkdir|WriteFile|OpenFile|OpenRoot|Rename|Remove|Link\b|Symlink|Truncate|Chmod|Chtimes|L?[Cc]hown|StartProcess)` +
	`|\bsyscall\.(Open|Creat|Mk|Rename|Unlink|Rmdir|Link|Symlink|Exec|ForkExec|StartProcess|(Raw)?Syscall)`)

// shipped are the directories of our own packages in the program, by import
// path.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{.ImportPath}} {{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, ours := strings.Cut(strings.TrimSpace(line), " ")
		if path == "testing" || path == "net/http/httptest" {
			t.Errorf("the program holds %s, with its flags", path)
		}
		if path == "github.com/ethereum/go-ethereum/rlp" {
			t.Errorf("the program holds %s, for which the linker keeps every method of every type: it is half as large again", path)
		}
		if ours {
			packages[path] = dir
		}
	}
	return packages
}

// Ways of failing, fakes and what tests share stay out of the program, but for the
// stand-ins of the chat platforms, on which the demo on a page runs.
func TestTheProgramHoldsNothingOfTheTests(t *testing.T) {
	packages := shipped(t)
	standIns := []string{"herald/internal/demo/fake/telegram", "herald/internal/demo/fake/discord"}
	for path := range packages {
		ofTests := strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/fault") || strings.Contains(path, "/e2e")
		if ofTests && !slices.Contains(standIns, path) {
			t.Errorf("the program holds %s", path)
		}
	}
	for _, path := range append(standIns, "herald/internal/demo/fake/services") {
		if packages[path] == "" {
			t.Errorf("the demo's %s is not among %v", path, packages)
		}
	}
}

// mayWrite are the packages that write to disk, below DATA_DIR.
var mayWrite = []string{"herald/internal/store"}

// TestNothingElseIsWrittenToDisk reads all code of ours that gets into the
// program, whose root file system may be read-only. It does not read the modules
// that the program is built on.
func TestNothingElseIsWrittenToDisk(t *testing.T) {
	for path, dir := range shipped(t) {
		if slices.Contains(mayWrite, path) {
			continue
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, found := range writing.FindAllString(read(t, name), -1) {
				t.Errorf("%s uses %s", path, found)
			}
		}
	}
}
