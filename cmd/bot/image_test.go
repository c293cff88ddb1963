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

// writing are the functions that make files, open them to be written, change,
// move or remove them, by the package's import path.
var writing = map[string]*regexp.Regexp{
	"os":        regexp.MustCompile(`^(Create|CreateTemp|CopyFS|Mkdir\w*|WriteFile|OpenFile|OpenRoot|Rename|Remove\w*|Link|Symlink|Truncate|Chmod|Chtimes|L?[Cc]hown|StartProcess)$`),
	"io/ioutil": regexp.MustCompile(`^(TempFile|TempDir|WriteFile)$`),
	"syscall":   regexp.MustCompile(`^(Open\w*|Creat|Mk\w+|Rename\w*|Unlink\w*|Rmdir|Link\w*|Symlink\w*|F?[Tt]runcate|Fch\w+|Ch(mod|own)|Lchown|Utimes\w*|Mount|Exec|ForkExec|StartProcess|(Raw)?Syscall\w*)$`),
}

// others do the same by other means.
var others = []string{"os/exec", "plugin", "golang.org/x/sys/unix"}

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

// Ways of failing, fakes and what tests share stay out of the program, but for the
// stand-ins of the chat platforms, on which the demo on a page runs.
func TestTheProgramHoldsNothingOfTheTests(t *testing.T) {
	packages := shipped(t)
	standIns := []string{"herald/internal/telegram/telegramtest", "herald/internal/discord/discordtest"}
	for path := range packages {
		ofTests := strings.HasSuffix(path, "test") || strings.HasSuffix(path, "/fault") || strings.Contains(path, "/e2e")
		if ofTests && !slices.Contains(standIns, path) {
			t.Errorf("the program holds %s", path)
		}
	}
	for _, path := range append(standIns, "herald/internal/sandbox") {
		if packages[path] == "" {
			t.Errorf("the demo's %s is not among %v", path, packages)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path == "testing" || path == "net/http/httptest" {
			t.Errorf("the program holds %s, with its flags", path)
		}
	}
}

// mayWrite are the packages that write to disk, below DATA_DIR.
var mayWrite = []string{"herald/internal/disk"}

// TestNothingElseIsWrittenToDisk reads all code of ours that gets into the
// program, whose root file system may be read-only. It does not read the modules
// that the program is built on.
func TestNothingElseIsWrittenToDisk(t *testing.T) {
	seen := 0
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
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			for _, found := range writes(file) {
				t.Errorf("%s uses %s", path, found)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d files were read", seen)
	}
}

// writes are the functions of writing that file names, and the others that it
// imports.
func writes(file *ast.File) (found []string) {
	imported := map[string]string{} // paths by what the file calls them
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if slices.Contains(others, path) || writing[path] != nil && spec.Name != nil && spec.Name.Name == "." {
			found = append(found, path)
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := call.X.(*ast.Ident); ok {
			if names := writing[imported[pkg.Name]]; names != nil && names.MatchString(call.Sel.Name) {
				found = append(found, imported[pkg.Name]+"."+call.Sel.Name)
			}
		}
		return true
	})
	return found
}

func TestEveryWayOfWritingIsFound(t *testing.T) {
	for _, code := range []string{
		`import "os"; var _ = os.WriteFile`, `import disk "os"; func f() { disk.Mkdir("a", 0o700) }`, `import . "os"`,
		`import "io/ioutil"; var _ = ioutil.TempFile`, `import "syscall"; func f() { syscall.Open("a", 1, 0) }`,
		`import "os/exec"`, `import _ "golang.org/x/sys/unix"`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(writes(file)) != 1 {
			t.Errorf("%s: found %q", code, writes(file))
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p; import "os"; var _, _ = os.Open, os.Stdout`, 0)
	if err != nil || len(writes(file)) != 0 {
		t.Errorf("reading counts as writing: %q, %v", writes(file), err)
	}
}
