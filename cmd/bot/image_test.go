package main

import (
	"debug/elf"
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheImageNeedsNothing builds the program as the Dockerfile does: the image
// has no loader and no libraries.
func TestTheImageNeedsNothing(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a segment %v: it is not static", segment.Type)
		}
	}
}

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

// TestNothingIsWrittenToDisk reads all code of ours that gets into the program:
// its root file system may be read-only.
func TestNothingIsWrittenToDisk(t *testing.T) {
	seen := 0
	for _, dir := range []string{"cmd", "commands", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() || strings.HasSuffix(path, "test") || entry.Name() == "testdata" {
				return err
			}
			files, err := parseDir(path)
			for _, file := range files {
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
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 50 {
		t.Errorf("only %d files were read", seen)
	}
}
