package main

import (
	"go/ast"
	"io/fs"
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
