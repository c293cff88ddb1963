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

// dependencies returns the import paths of all packages in the program. ours has only our own packages.
func dependencies(t *testing.T) (all, ours []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{.ImportPath}} {{with .Module}}{{.Main}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, isOurs, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, path)
		if isOurs == "true" {
			ours = append(ours, path)
		}
	}
	return all, ours
}

func TestTheProgramLacksPackagesThatAreOnlyForTestsOrTooLarge(t *testing.T) {
	all, _ := dependencies(t)
	for path, reason := range map[string]string{
		"testing":                             "it adds flags",
		"net/http/httptest":                   "it adds flags",
		"github.com/ethereum/go-ethereum/rlp": "the linker then keeps every method, and the program is a third larger",
	} {
		if slices.Contains(all, path) {
			t.Errorf("the program contains %s: %s", path, reason)
		}
	}
}

func TestEveryPlatformAndServiceIsInTheProgram(t *testing.T) {
	_, ours := dependencies(t)
	for _, kind := range []string{"platform", "service"} {
		entries, err := filepath.Glob("../../internal/" + kind + "/*")
		if err != nil || len(entries) == 0 {
			t.Fatal(entries, err)
		}
		for _, entry := range entries {
			isFile := strings.HasSuffix(entry, ".go")
			isForTests := strings.HasSuffix(entry, "test")
			if isFile || isForTests {
				continue
			}
			path := "herald/internal/" + kind + "/" + filepath.Base(entry)
			if !slices.Contains(ours, path) {
				t.Errorf("the program lacks %s: wire it in internal/app/%ss.go", path, kind)
			}
		}
	}
}

// A package may have an import list of its own in .golangci.yml. It may instead share the list of all packages in its
// folder, as the services do.
func TestEachPackageHasAnImportList(t *testing.T) {
	rules := configtest.Read(t, "../../.golangci.yml")
	lists := strings.Count(rules, " files: [")
	strict := strings.Count(rules, " list-mode: strict\n")
	if lists != strict {
		t.Errorf("%d lists of imports, of which %d are strict", lists, strict)
	}
	_, ours := dependencies(t)
	for _, name := range ours {
		dir := "**/" + strings.TrimPrefix(name, "herald/")
		names := func(pattern string) bool { return strings.Contains(rules, `"`+pattern+`"`) }
		hasOwnList := names(dir+"/*.go") || names(dir+"/**")
		isExcluded := names("!" + dir + "/*.go")
		sharesList := names(path.Dir(dir)+"/*/*.go") && !isExcluded
		if !hasOwnList && !sharesList {
			t.Errorf("%s has no import list. Add a strict one to linters.settings.depguard.rules "+
				"in .golangci.yml, with no more than it needs", name)
		}
	}
}
