package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheImageHasNoShellAndNoRoot(t *testing.T) {
	_, image, found := strings.Cut(read(t, "Dockerfile"), "\nFROM scratch\n")
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
	if !strings.Contains(read(t, "Dockerfile"), "RUN CGO_ENABLED=0 go build") {
		t.Error("the binary is not built without cgo")
	}
}

// writing are the functions of os and its like that make or change files.
var writing = regexp.MustCompile(`^(Create|CreateTemp|Mkdir|MkdirAll|MkdirTemp|WriteFile|OpenFile|OpenRoot|Rename|Remove|RemoveAll|Link|Symlink|Truncate|Chmod|Chown)$`)

// shipped are the directories of our own packages in the program, by import
// path.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}} {{$.Dir}}{{end}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, found := strings.Cut(strings.TrimSpace(line), " "); found {
			packages[path] = dir
		}
	}
	return packages
}

// Ways of failing, fakes and what tests share stay out of the program.
func TestTheProgramHoldsNothingOfTheTests(t *testing.T) {
	packages := shipped(t)
	for path := range packages {
		if strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/fault") || strings.Contains(path, "/e2e") {
			t.Errorf("the program holds %s", path)
		}
	}
	if packages["herald/internal/sandbox"] == "" {
		t.Errorf("the demo's stand-ins are not among %v", packages)
	}
}

// TestNothingIsWrittenToDisk reads all code of ours that gets into the program:
// its root file system may be read-only.
func TestNothingIsWrittenToDisk(t *testing.T) {
	seen := 0
	for path, dir := range shipped(t) {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := call.X.(*ast.Ident); ok && slices.Contains([]string{"os", "ioutil", "syscall"}, pkg.Name) && writing.MatchString(call.Sel.Name) {
					t.Errorf("%s calls %s.%s", path, pkg.Name, call.Sel.Name)
				}
				return true
			})
		}
	}
	if seen < 50 {
		t.Errorf("only %d files were read", seen)
	}
}
