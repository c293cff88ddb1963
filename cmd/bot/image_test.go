package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

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
			t.Errorf("the program holds %s, so the linker keeps every method, and it is a third larger", path)
		}
		if ours {
			packages = append(packages, path)
		}
	}
	return packages
}

func TestEveryPlatformAndServiceIsInTheProgram(t *testing.T) {
	packages := shipped(t)
	for _, room := range []string{"platform", "service"} {
		dirs, err := filepath.Glob("../../internal/" + room + "/*")
		if err != nil || len(dirs) == 0 {
			t.Fatal(dirs, err)
		}
		for _, dir := range dirs {
			isFile := strings.HasSuffix(dir, ".go")
			isForTests := strings.HasSuffix(dir, "test")
			if isFile || isForTests {
				continue
			}
			if path := "herald/internal/" + room + "/" + filepath.Base(dir); !slices.Contains(packages, path) {
				t.Errorf("the program lacks %s: wire it in internal/app/%ss.go", path, room)
			}
		}
	}
}

// A list may name the package, or all packages in its folder, as the services' list does.
func TestEachPackageHasAnImportList(t *testing.T) {
	rules := configtest.Read(t, "../../.golangci.yml")
	lists, strict := strings.Count(rules, " files: ["), strings.Count(rules, " list-mode: strict\n")
	if lists != strict {
		t.Errorf("%d lists of imports, of which %d are strict", lists, strict)
	}
	for _, name := range shipped(t) {
		dir := `"**/` + strings.TrimPrefix(name, "herald/")
		hasList := strings.Contains(rules, dir+`/*.go"`) || strings.Contains(rules, dir+`/**"`)
		excluded := strings.Contains(rules, `"!`+dir[1:]+`/*.go"`)
		sharesList := strings.Contains(rules, path.Dir(dir)+`/*/*.go"`) && !excluded
		if !hasList && !sharesList {
			t.Errorf("%s has no import list. Add a strict one to linters.settings.depguard.rules "+
				"in .golangci.yml, with no more than it needs", name)
		}
	}
}
