package main

import (
	"fmt"
	"os"
	"os/exec"
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
			t.Errorf("the program holds %s, for which the linker keeps every method of every type: it is half as large again", path)
		}
		if ours {
			packages = append(packages, path)
		}
	}
	return packages
}

// Helpers of tests stay out of the program. The stand-ins of services and platforms are in
// it, for the demos.
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

func TestEveryPlatformAndServiceIsInTheProgram(t *testing.T) {
	packages := shipped(t)
	for _, room := range []string{"platform", "service"} {
		dirs, err := filepath.Glob("../../internal/" + room + "/*")
		if err != nil || len(dirs) == 0 {
			t.Fatal(dirs, err)
		}
		for _, dir := range dirs {
			if path := "herald/internal/" + room + "/" + filepath.Base(dir); !slices.Contains(packages, path) {
				t.Errorf("the program lacks %s: wire it in internal/app/%ss.go", path, room)
			}
		}
	}
}

// A list that names a package above or below does not count.
func TestEachPackageHasAnImportList(t *testing.T) {
	rules := configtest.Read(t, "../../.golangci.yml")
	if lists, strict := strings.Count(rules, " files: ["), strings.Count(rules, " list-mode: strict\n"); lists != strict {
		t.Errorf("%d lists of imports, of which %d are strict", lists, strict)
	}
	for _, path := range shipped(t) {
		dir := `"**/` + strings.TrimPrefix(path, "herald/")
		if !strings.Contains(rules, dir+`/*.go"`) && !strings.Contains(rules, dir+`/**"`) {
			t.Errorf("%s has no import list. Add it to linters.settings.depguard.rules in .golangci.yml, with no more than it needs:\n%s",
				path, listFor(t, path))
		}
	}
}

// listFor returns a list that allows what the package imports today.
func listFor(t *testing.T, path string) string {
	t.Helper()
	const format = `{{range .Imports}}{{println .}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", format, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := "$gostd"
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if first, _, _ := strings.Cut(name, "/"); first == "herald" || strings.Contains(first, ".") {
			allowed += ", " + name + "$"
		}
	}
	return fmt.Sprintf("        %s:\n          list-mode: strict\n          files: [\"**/%s/*.go\", \"!$test\"]\n          allow: [%s]\n",
		filepath.Base(path), strings.TrimPrefix(path, "herald/"), allowed)
}
