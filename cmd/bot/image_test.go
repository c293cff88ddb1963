package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
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
